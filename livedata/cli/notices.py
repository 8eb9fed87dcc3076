"""``notice``: list notices, remove one, and learn whom one reaches and what it would have told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from threading import Event

import click

from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message, print_text
from livedata.cli.output.tables import print_table
from livedata.hints import Subject, hints
from livedata.messages.controls import escape_controls
from livedata.messages.render import sentence
from livedata.messages.templates import plural
from livedata.model import ids
from livedata.model.ids import Micros, OwnerName, format_timestamp
from livedata.rules.declaration.notices import shown_target
from livedata.rules.network.targets import TargetPolicy
from livedata.services import queries
from livedata.services.moments import day_before
from livedata.services.notices import gathering, subscriptions
from livedata.services.notices.cloud_events import MOST_CHANGES, change_line, trial_event
from livedata.services.notices.gathering import Gathered, TriedMessage, tried, tried_digest
from livedata.services.notices.subscriptions import Listing, as_json, told_of
from livedata.store.database.store import Store
from livedata.store.notices import Notice, NoticeState
from livedata.worker.delivery import courier

DELETED = "(deleted)"


@click.command("list")
@common_options
def list_notices(ctx: CommandContext) -> None:
    """List the notices, without secrets and passwords."""
    with ctx.reading() as db:
        listing = subscriptions.listed(db, ctx.owner, ctx.settings.timezone)
    owner = Subject(ctx.owner)
    if ctx.json:
        print_json([as_json(notice, listing.datasets) for notice in listing.notices])
    elif listing.notices:
        print_table(
            ("name", "by", "on", "datasets", "state"),
            [_line(notice, listing) for notice in listing.notices],
        )
    elif not listing.damaged:
        add = owner.command("notice add", "ops", options=["--command", "cat >> log"])
        print_message(f"There is no notice yet. Add one: {add}")
    for name in listing.damaged:
        print_message(
            f"The notice {name!r} is damaged and tells nothing. Remove it, and add it again: "
            + owner.command("notice remove", name)
        )


def _line(notice: Notice, listing: Listing) -> tuple[str, ...]:
    return (
        notice.name,
        shown_target(notice.channel, notice.target),
        told_of(notice),
        "all" if notice.datasets is None else ", ".join(_names(notice, listing.datasets)),
        _state(notice, listing),
    )


def _names(notice: Notice, names: Mapping[str, str]) -> list[str]:
    return [names.get(key, DELETED) for key in notice.datasets or ()]


def _state(notice: Notice, listing: Listing) -> str:
    state = listing.states.get(notice.id, NoticeState())
    if notice.ended_at is not None:
        why = ": 410 Gone" if state.is_unwanted else ""
        return f"off since {_moment(notice.ended_at)}{why}"
    undelivered = listing.undelivered.get(notice.id, 0)
    digest = "" if notice.digest_at is None else f", next digest {_moment(notice.digest_at)}"
    failing = f", {plural(undelivered, 'message')} not delivered yet" if undelivered else ""
    return f"on{digest}{failing}"


def _moment(moment: Micros) -> str:
    return f"{ids.format_timestamp(moment)[:19]}Z"


@click.command("remove")
@click.argument("name")
@common_options
def remove_notice(ctx: CommandContext, name: str) -> None:
    """Remove a notice, with what still waits to be delivered."""
    with ctx.writing() as store:
        answer = _as_json(store, ctx.owner, name) if ctx.json else None
        subscriptions.remove(store, ctx.owner, name)
    if answer is not None:
        print_json(answer)
    else:
        print_text(f"Removed the notice {name}.")


def _as_json(store: Store, owner: OwnerName, name: str) -> dict[str, object]:
    notice = subscriptions.find(store, owner, name)
    return as_json(notice, queries.names_of(store, owner, notice.datasets or ()))


@click.command("test")
@click.argument("name")
@common_options
def test_notice(ctx: CommandContext, name: str) -> None:
    """Deliver a message now that says it is a test.

    The exit code is 1 if it is not accepted.
    """
    with ctx.reading() as db:
        notice = subscriptions.find(db, ctx.owner, name)
    settings = ctx.settings
    targets, event = (
        TargetPolicy.parse(settings.allow_hosts),
        trial_event(notice, settings.public_url),
    )
    problem = courier.send(notice, event, targets, Event())
    said = None if problem is None else sentence(problem)
    if ctx.json:
        print_json({"delivered": problem is None, "problem": said})
    elif problem is None:
        print_text(f"The test of {notice.name} was delivered.")
    else:
        lines = hints(problem.remedies, Subject(ctx.owner))
        print_message("\n  ".join([f"Not delivered: {said}", *lines]))
    if problem is not None:
        raise click.exceptions.Exit(1)


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
    if not messages and (before := day_before(since, ctx.settings.timezone)) is not None:
        print_message(
            f"A day stands for its end: for what came on {since}, write --since {before}."
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
