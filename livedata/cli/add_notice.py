"""``notice add``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from livedata.cli.column_input import parse_names
from livedata.cli.completion import complete_dataset
from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_record
from livedata.hints import DAILY, Subject
from livedata.model.errors import Detail, Invalid
from livedata.model.ids import Micros, format_timestamp, format_uuid
from livedata.model.row import REVISION_KINDS, RevisionKind
from livedata.rules.declaration.notices import (
    CHANNELS,
    KINDS,
    LONGEST_ADDRESS,
    MOST_RUNS,
    ChangeFilter,
    Clash,
    clashes,
    parse_kinds,
    parse_span,
    usual_kinds,
)
from livedata.rules.network.targets import TargetPolicy
from livedata.services import queries
from livedata.services.notices import subscriptions
from livedata.services.notices.subscriptions import as_json
from livedata.store.notices import Notice, Subscription
from livedata.worker.delivery import courier

_CLASHES: Mapping[Clash, str] = {
    "silent": "silent and --silent-for go together: --on silent --silent-for 2d, or neither.",
    "filter": "--when, --kind, --columns and --ignore are about changes: add them to --on.",
    "digest": "--digest gathers changes: add them to --on.",
}
_OPTIONS = frozenset((*CHANNELS, "digest"))
"""What is wrong with these is said behind the name of the option."""


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
    try:
        if value == "-":
            return _line("standard input", sys.stdin.read(LONGEST_ADDRESS + 1))
        return None if value is None else kept_address(value)
    except Invalid as error:
        raise click.BadParameter(error.message) from None


def kept_address(value: str, beside: Path = Path()) -> str:
    """An address as it is given, or from where it is kept: it may hold a password.

    What stands on a command line is read by each user of the machine, and kept by the shell. A path
    is relative to `beside`. Raises Invalid for a place that holds no address.
    """
    kind, _, name = value.partition(":")
    if kind == "env":
        return _line(f"the variable {name!r}", os.environ.get(name, ""))
    if kind == "file":
        try:
            with (beside / Path(name).expanduser()).open(encoding="utf-8") as file:
                return _line(f"the file {name!r}", file.read(LONGEST_ADDRESS + 1))
        except (OSError, RuntimeError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "there is no such text"
            raise Invalid(f"the file {name!r} cannot be read: {reason}.") from None
    return value


def _line(place: str, text: str) -> str:
    lines = text.split()
    if len(lines) != 1 or len(text) > LONGEST_ADDRESS:
        raise Invalid(
            f"{place} holds no address, or more than one; it is one line such as "
            "mailto://user:password@example.org"
        )
    return lines[0]


def _channel_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an option for each channel."""
    for name, channel in reversed(CHANNELS.items()):
        callback = _address if channel.is_address else None
        command = click.option(
            f"--{name}", metavar=channel.metavar, callback=callback, help=channel.help
        )(command)
    return command


@click.command()
@click.argument("name")
@_channel_options
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
@click.option(
    "--when",
    metavar="CLAUSE",
    multiple=True,
    help="changes: only where this holds, such as 'price falls by 10%'; may be repeated: all hold.",
)
@click.option(
    "--kind",
    "only_kinds",
    multiple=True,
    type=click.Choice(REVISION_KINDS),
    help="changes: only of this kind; may be repeated.",
)
@click.option(
    "--columns",
    metavar="A,B",
    callback=parse_names,
    help="changes: only if one of these columns changed, and of these alone.",
)
@click.option(
    "--ignore",
    metavar="COL",
    multiple=True,
    help="changes: not if only such columns changed; may be repeated.",
)
@click.option(
    "--digest",
    metavar="CRON",
    help="changes: gathered, and told once when this fires, such as '0 8 * * mon': what is left of "
    "them, of all datasets in one message. --when is about each Run, not about what is left.",
)
@common_options
def add(
    ctx: CommandContext,
    name: str,
    kinds: Sequence[str] | None,
    datasets: Sequence[str],
    threshold: int,
    silent_for: Micros | None,
    when: tuple[str, ...],
    only_kinds: tuple[RevisionKind, ...],
    columns: tuple[str, ...],
    ignore: tuple[str, ...],
    digest: str | None,
    **targets: str | None,
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
    channel, target = _channel(targets)
    wanted = ChangeFilter(when, only_kinds, columns, ignore)
    narrowed = None if wanted == ChangeFilter() else wanted
    told = kinds or usual_kinds(silent_for)
    for clash in clashes(told, silent_for, narrowed, digest):
        raise click.UsageError(_CLASHES[clash])
    wish = Subscription(name, channel, target, told, None, threshold, silent_for, narrowed, digest)
    _add(ctx, wish, datasets)


def _channel(targets: Mapping[str, str | None]) -> tuple[str, str]:
    """The channel that was given, and its target. Raises UsageError for none or several."""
    given = [(channel, target) for channel, target in targets.items() if target is not None]
    if len(given) != 1:
        *options, last = [f"--{channel}" for channel in CHANNELS]
        raise click.UsageError(f"Give one of {', '.join(options)} and {last}.")
    return given[0]


def _add(ctx: CommandContext, wish: Subscription, names: Sequence[str]) -> None:
    """Add a notice of the datasets of these names, and print its secret if it has one."""
    try:
        notice, idle = _added(ctx, wish, names)
    except Invalid as error:
        details = tuple(map(_of_option, error.details))
        is_of_option = details[:1] != error.details[:1]
        said = f"--{error.message}" if is_of_option else error.message
        raise Invalid(said, details, error.remedies) from error
    if ctx.json:
        print_json({**as_json(notice, {}), "secret": notice.secret})
        return
    if notice.secret is None:
        print_text(f"The notice {notice.name} is on.")
    else:
        print_record({"notice": notice.name, "secret": notice.secret})
        # On stderr: a file to which the secret is redirected has no prose in it.
        print_message("Keep the secret for the receiver now: it is not shown again.")
    _print_next(Subject(ctx.owner), notice, idle)


def _added(
    ctx: CommandContext, wish: Subscription, names: Sequence[str]
) -> tuple[Notice, str | None]:
    """The notice, and a dataset of it if none of them is read by a schedule."""
    courier.check(wish.channel, wish.target, TargetPolicy.parse(ctx.settings.allow_hosts))
    with ctx.writing() as store:
        datasets = [queries.find_dataset(store, ctx.owner, name) for name in names]
        if datasets:
            wish = replace(wish, datasets=[format_uuid(key) for key in dict.fromkeys(datasets)])
        zone = ctx.settings.timezone
        notice = subscriptions.add(store, ctx.owner, wish, zone, first_credits=ctx.first_credits)
        return notice, subscriptions.idle_dataset(store, notice)


def _of_option(detail: Detail) -> Detail:
    return replace(detail, path=f"--{detail.path}") if detail.path in _OPTIONS else detail


def _print_next(owner: Subject, notice: Notice, idle: str | None) -> None:
    if notice.digest_at is not None:
        due = format_timestamp(notice.digest_at)[:19]
        print_message(
            f"Its next digest is due at {due}Z. `livedata serve` or `livedata worker` delivers it "
            "then, else the first `livedata run` after that."
        )
    if idle is not None:
        schedule = owner.command(
            "dataset update", idle, options=["--schedule", DAILY, "--status", "active"]
        )
        print_message(f"Nothing reads {idle} by itself. To have it read each day: {schedule}")
    print_message(f"See whether it arrives: {owner.command('notice test', notice.name)}")
