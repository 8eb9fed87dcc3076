"""The command ``check``: whether the store is sound."""

from __future__ import annotations

import click

from livedata.cli.context import Asked, shared
from livedata.cli.output import counted, write, write_json


@click.command()
@shared
def check(asked: Asked) -> None:
    """Judge the whole store, and say what is wrong; exit code 1 where something is."""
    from livedata.services.audit import check as judge

    with asked.reading() as db:
        report = judge(db)
    counts = {"datasets": report.datasets, "rows": report.rows, "revisions": report.revisions}
    if asked.json:
        write_json({"sound": not report.problems, **counts, "problems": report.problems})
    elif report.problems:
        write("\n".join(report.problems))
    else:
        told = ", ".join(counted(count, name.removesuffix("s")) for name, count in counts.items())
        write(f"The store is sound: {told}.")
    if report.problems:
        raise click.exceptions.Exit(1)
