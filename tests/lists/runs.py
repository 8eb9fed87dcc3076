"""From an address to an accepted Run: `init URL`, `dataset create` and `run` on each page.

python -m tests.lists.runs [NAME]...     # exit code 1 if fewer than 85 % are accepted unedited

Each page is served on loopback. Its next page is not there, so `init` says that it was not proved.
An accepted Run may read a wrong list, so the right ones are counted too. Of the half that was put
aside only counts are printed, but for pages that are named.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import urlsplit

import click
from msgspec import Struct

from tests.cli.shell import START, Shell
from tests.lists.gold import Gold, every_page
from tests.lists.judge import judge
from tests.site import Site

LEAST: Final = 0.85
_PATIENCE: Final = 120


class Tried(Struct, frozen=True):
    """How far a page came: the command that failed, and what it said; both empty if none did."""

    gold: Gold
    failed: str = ""
    said: str = ""


def tries(names: Collection[str] = ()) -> Iterator[Tried]:
    """Try every page with a list, or those of these names."""
    for gold in every_page():
        if gold.records and (not names or gold.name in names):
            with TemporaryDirectory() as home:
                yield _tried(gold, Path(home))


def _tried(gold: Gold, home: Path) -> Tried:
    address = path_of(gold)
    file = str(home / "source.toml")
    with Site() as site:
        site.page(address, gold.markup)
        for words in (
            ("init", site.at(address), "-o", file, "--yes"),
            ("dataset", "create", file),
            ("run", "--all"),
        ):
            done = typed(Shell(home), site.host, *words)
            if done.returncode:
                lines = (done.stdout + done.stderr).decode().strip().splitlines() or [""]
                return Tried(gold, words[0], lines[-1])
    return Tried(gold)


def path_of(gold: Gold) -> str:
    """Where a page is on its site."""
    parts = urlsplit(gold.url)
    return f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"


def typed(shell: Shell, host: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    """A command as a process of its own, which may ask a site on loopback."""
    return subprocess.run(
        [sys.executable, "-c", START, *words],
        capture_output=True,
        check=False,
        env={**shell.environ, "LIVEDATA_ALLOW_HOSTS": host},
        timeout=_PATIENCE,
    )


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
def main(names: tuple[str, ...]) -> None:
    """Print how far each page came."""
    tried = []
    for each in tries(names):
        if names or each.gold.half == "tuned":
            click.echo(f"{each.gold.name:18} {each.failed or 'accepted'} {each.said}".rstrip())
        tried.append(each)
    for half in ("tuned", "aside"):
        click.echo(f"{half}: {_counts([each for each in tried if each.gold.half == half])}")
    click.echo(f"all: {_counts(tried)}")
    raise SystemExit(sum(not each.failed for each in tried) < LEAST * len(tried))


def _counts(tried: Sequence[Tried]) -> str:
    accepted = [each.gold for each in tried if not each.failed]
    right = sum(judge(gold).place == 1 for gold in accepted)
    share = len(accepted) / max(1, len(tried))
    return f"{len(accepted)} of {len(tried)} accepted ({share:.1%}), {right} of them the right list"


if __name__ == "__main__":
    main()
