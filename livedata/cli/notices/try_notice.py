"""``notice try``: what a notice would have told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import click

from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.messages.controls import escape_controls
from livedata.messages.templates import plural
from livedata.model.ids import format_timestamp
from livedata.services.notices import gathering, subscriptions
from livedata.services.notices.cloud_events import MOST_CHANGES, change_line
from livedata.services.notices.gathering import Gathered
from livedata.services.notices.trying import TriedMessage, tried, tried_digest


@click.command("try")
@click.argument("name")
@click.option(
    "--since",
    metavar="WHEN",
    required=True,
    help="What came after it: a moment with its zone, a day, a sequence, a Run's id.",
)
@common_options
def try_notice(ctx: CommandContext, name: str, since: str) -> None:
    """List what a notice would have told, and tell nobody.

    By day, what the accepted Runs after WHEN changed; of a notice with a digest what one would
    have told by now. Hand edits are told by no notice.

    --json is an array of the changes, as `changes --names` has them, with what each meets; of a
    digest as `dataset diff` has them, with the name of the dataset.
    """
    with ctx.reading() as db:
        notice = subscriptions.find(db, ctx.owner, name)
        if notice.digest is not None:
            _print_digest(ctx, list(tried_digest(db, notice, since, ctx.settings.timezone)))
            return
        messages = list(tried(db, notice, since, ctx.settings.timezone))
    if ctx.json:
        print_json([change.line for message in messages for change in message.changes])
        return
    for day, of_day in groupby(messages, key=lambda message: format_timestamp(message.at)[:10]):
        print_text("\n".join([day, *(f"  {line}" for each in of_day for line in _lines(each))]))
    count = sum(len(message.changes) for message in messages)
    print_message(
        f"{plural(len(messages), 'message')} of {plural(count, 'change')}; nobody was told."
    )


def _print_digest(ctx: CommandContext, gathered: Sequence[Gathered]) -> None:
    """What one digest would have told, by dataset."""
    if ctx.json:
        print_json(
            [
                {"dataset": part.dataset.name, **change.line}
                for part in gathered
                for change in part.changes
            ]
        )
        return
    for part in gathered:
        lines = [part.sentence, *map(gathering.change_line, part.changes[:MOST_CHANGES])]
        if (more := len(part.changes) - MOST_CHANGES) > 0:
            lines.append(f"and {more} more")
        print_text("\n".join(map(escape_controls, lines)))
    count = sum(len(part.changes) for part in gathered)
    print_message(f"A digest of {plural(count, 'change')}; nobody was told.")


def _lines(message: TriedMessage) -> Iterator[str]:
    """A message as it would have been read."""
    yield escape_controls(message.sentence)
    yield from (escape_controls(change_line(each)) for each in message.changes[:MOST_CHANGES])
    if (more := len(message.changes) - MOST_CHANGES) > 0:
        yield f"and {more} more"
