"""The command lines of ``notice`` and ``feed``: click alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.model.errors import Invalid
from livedata.model.ids import Micros
from livedata.rules.declaration.notices import KINDS, MOST_RUNS, parse_kinds, parse_span

_LONGEST = 8_000
"""The characters of an address that stands elsewhere."""


def _kinds(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> list[str] | None:
    try:
        return None if value is None else parse_kinds(value)
    except Invalid as error:
        raise click.BadParameter(error.message) from None


def _span(_context: click.Context, _option: click.Parameter, value: str | None) -> Micros | None:
    try:
        return None if value is None else parse_span(value)
    except Invalid as error:
        raise click.BadParameter(error.message) from None


def _address(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """An address as it is given, or from where it is kept: it may hold a password.

    What stands on a command line is read by each user of the machine, and kept by the shell.
    """
    kind, _, name = (value or "").partition(":")
    if value == "-":
        return _line("standard input", sys.stdin.read(_LONGEST + 1))
    if kind == "env":
        return _line(f"the variable {name!r}", os.environ.get(name, ""))
    if kind == "file":
        try:
            with Path(name).expanduser().open(encoding="utf-8") as file:
                return _line(f"the file {name!r}", file.read(_LONGEST + 1))
        except (OSError, RuntimeError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "there is no such text"
            raise click.BadParameter(f"the file {name!r} cannot be read: {reason}.") from None
    return value


def _line(place: str, text: str) -> str:
    lines = text.split()
    if len(lines) != 1 or len(text) > _LONGEST:
        raise click.BadParameter(
            f"{place} holds no address, or more than one; it is one line such as "
            "mailto://user:password@example.org"
        )
    return lines[0]


def _base(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    from livedata.config import is_base

    base = value and value.rstrip("/")
    if base and not is_base(base):
        raise click.BadParameter(
            f"{value!r} is no address, or has a user, a query or a fragment; give one such as "
            "https://data.example.org"
        )
    return base


@click.group()
def notice() -> None:
    """Be told of changes and of trouble."""


@notice.command()
@click.argument("name")
@click.option(
    "--webhook", metavar="URL", callback=_address, help="POST it to this address, signed."
)
@click.option("--command", metavar="CMD", help="Start this shell command, with it on stdin.")
@click.option(
    "--apprise", metavar="URL", callback=_address, help="Mail or chat: an address of Apprise."
)
@click.option(
    "--on",
    "kinds",
    metavar="KINDS",
    callback=_kinds,
    help=f"Of what: some of {','.join(KINDS)}.  [default: all; silent with --silent-for]",
)
@click.option(
    "--dataset",
    "datasets",
    metavar="D",
    multiple=True,
    shell_complete=complete_dataset,
    help="Only of this dataset; may be repeated.  [default: all, also later ones]",
)
@click.option(
    "--after",
    "threshold",
    metavar="N",
    type=click.IntRange(1, MOST_RUNS),
    default=2,
    show_default=True,
    help="failing: after so many Runs in a row that were not accepted.",
)
@click.option(
    "--silent-for",
    metavar="TIME",
    callback=_span,
    help="silent: if no Run was accepted for so long, such as 12h or 2d.",
)
@common_options
def add(
    ctx: CommandContext,
    name: str,
    webhook: str | None,
    command: str | None,
    apprise: str | None,
    kinds: Sequence[str] | None,
    datasets: Sequence[str],
    threshold: int,
    silent_for: Micros | None,
) -> None:
    """Add a notice: whom to tell, and of what.

    \b
    changes    an accepted Run changed something
    failing    Runs in a row were not accepted, or one is held; told once until recovery
    recovered  the first accepted Run after that
    silent     no Run was accepted for a while; told once until recovery
    odd        a Run was accepted, but looks odd

    `serve` and `worker` deliver what there is to tell, and try again for a day; `run` and
    `runs accept` deliver once, at their end.

    An address with a password is better not written here, where other users of this machine
    can read it: `file:PATH`, `env:NAME` and `-` (standard input) name where it stands.
    """
    channels = {"webhook": webhook, "command": command, "apprise": apprise}
    given = {channel: target for channel, target in channels.items() if target is not None}
    if len(given) != 1:
        raise click.UsageError("Give one of --webhook, --command and --apprise.")
    if kinds is not None and ("silent" in kinds) != (silent_for is not None):
        raise click.UsageError(
            "silent and --silent-for go together: --on silent --silent-for 2d, or neither."
        )
    ((channel, target),) = given.items()
    told = kinds or [kind for kind in KINDS if kind != "silent" or silent_for is not None]
    from livedata.cli.notices.add import NewNotice, add_notice

    add_notice(ctx, NewNotice(name, channel, target, told, datasets, threshold, silent_for))


@notice.command("list")
@common_options
def list_(ctx: CommandContext) -> None:
    """List the notices, without secrets and passwords."""
    from livedata.cli.notices.list import list_notices

    list_notices(ctx)


@notice.command("test")
@click.argument("name")
@common_options
def test_(ctx: CommandContext, name: str) -> None:
    """Deliver a message now that says it is a test.

    The exit code is 1 if it is not accepted.
    """
    from livedata.cli.notices.try_out import try_notice

    try_notice(ctx, name)


@notice.command()
@click.argument("name")
@common_options
def remove(ctx: CommandContext, name: str) -> None:
    """Remove a notice, with what still waits to be delivered."""
    from livedata.cli.notices.remove import remove_notice

    remove_notice(ctx, name)


@click.command()
@click.argument("dataset", metavar="D", shell_complete=complete_dataset)
@click.option("--revoke", is_flag=True, help="End the address; the next call makes another.")
@click.option(
    "--base",
    metavar="URL",
    callback=_base,
    help="Where readers reach `livedata serve`.  [default: LIVEDATA_PUBLIC_URL, else "
    "http://127.0.0.1:8000]",
)
@common_options
def feed(ctx: CommandContext, dataset: str, revoke: bool, base: str | None) -> None:
    """Print the address of a feed of a dataset's changes.

    Whoever knows the address can read the feed, without a key. `livedata serve` answers it.
    """
    from livedata.cli.notices.feed import print_feed, revoke_feed

    if revoke:
        revoke_feed(ctx, dataset)
    else:
        print_feed(ctx, dataset, base)
