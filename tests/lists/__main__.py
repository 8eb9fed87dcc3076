"""python -m tests.lists [--aside]: what is found on each page, and the shares that are right.

Of the half that was put aside only shares are printed, so that nobody tunes on it; `--aside` prints
its pages too. Exit code 1 if a share of all pages is short of what is asked.
"""

from __future__ import annotations

import click

from tests.lists.judge import Judged, judge
from tests.lists.shares import shares


@click.command()
@click.option("--aside", is_flag=True, help="Print each page of the half that was put aside too.")
def main(aside: bool) -> None:
    """Print what is found on each page."""
    from tests.lists.gold import every_page

    judged = [judge(gold) for gold in every_page()]
    for each in judged:
        if aside or each.gold.half == "tuned":
            click.echo(_line(each))
    for half in ("tuned", "aside"):
        click.echo(f"\n{half}: {shares([each for each in judged if each.gold.half == half])}")
    every = shares(judged)
    click.echo(f"\nall: {every}")
    raise SystemExit(bool(every.short))


def _line(each: Judged) -> str:
    said = "; ".join(each.faults) or ("right" if each.gold.records else "no list, and none is seen")
    return f"{each.gold.name:18} {each.seconds:4.1f} s  {said}"


if __name__ == "__main__":
    main()
