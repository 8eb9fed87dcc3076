"""From an address to an accepted Run: `init URL`, `dataset create` and `run` on each page.

python -m tests.lists.runs [NAME]...     # exit code 1 if fewer than 70 % are accepted unedited

Each page is served on loopback. Its next page is not there, so `init` says that it was not proved.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import urlsplit

import click
from msgspec import Struct

from tests.cli.shell import START, Shell
from tests.lists.gold import Gold, every_page
from tests.site import Site

LEAST: Final = 0.7
_PATIENCE: Final = 120


class Tried(Struct, frozen=True):
    """How far a page came: the command that failed, and what it said; both empty if none did."""

    name: str
    failed: str = ""
    said: str = ""


def tries(names: Collection[str] = ()) -> Iterator[Tried]:
    """Try every page with a list, or those of these names."""
    for gold in every_page():
        if gold.records and (not names or gold.name in names):
            with TemporaryDirectory() as home:
                yield _tried(gold, Path(home))


def _tried(gold: Gold, home: Path) -> Tried:
    parts = urlsplit(gold.url)
    address = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    file = str(home / "source.toml")
    with Site() as site:
        site.page(address, gold.markup)
        for words in (
            ("init", site.at(address), "-o", file, "--yes"),
            ("dataset", "create", file),
            ("run", "--all"),
        ):
            done = _typed(Shell(home), site.host, *words)
            if done.returncode:
                lines = (done.stdout + done.stderr).decode().strip().splitlines() or [""]
                return Tried(gold.name, " ".join(words[:1]), lines[-1])
    return Tried(gold.name)


def _typed(shell: Shell, host: str, *words: str) -> subprocess.CompletedProcess[bytes]:
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
        click.echo(f"{each.name:18} {each.failed or 'accepted'} {each.said}".rstrip())
        tried.append(each)
    accepted = sum(not each.failed for each in tried)
    click.echo(f"{accepted} of {len(tried)} accepted ({accepted / max(1, len(tried)):.0%})")
    raise SystemExit(accepted < LEAST * len(tried))


if __name__ == "__main__":
    main()
