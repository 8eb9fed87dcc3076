"""``notice list``: a line per notice, without what is secret of it."""

from __future__ import annotations

from collections.abc import Mapping

import click

from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.output.tables import print_table
from livedata.hints import Subject
from livedata.messages.templates import plural
from livedata.model import ids
from livedata.model.ids import Micros
from livedata.services.notices import subscriptions
from livedata.services.notices.subscriptions import Listing, as_json, shown_target, told_of
from livedata.store.notices import Notice

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
        shown_target(notice),
        told_of(notice),
        "all" if notice.datasets is None else ", ".join(_names(notice, listing.datasets)),
        _state(notice, listing.undelivered.get(notice.id, 0)),
    )


def _names(notice: Notice, names: Mapping[str, str]) -> list[str]:
    return [names.get(key, DELETED) for key in notice.datasets or ()]


def _state(notice: Notice, undelivered: int) -> str:
    if notice.ended_at is not None:
        return f"off since {_moment(notice.ended_at)}: 410 Gone"
    digest = "" if notice.digest_at is None else f", next digest {_moment(notice.digest_at)}"
    failing = f", {plural(undelivered, 'message')} not delivered yet" if undelivered else ""
    return f"on{digest}{failing}"


def _moment(moment: Micros) -> str:
    return f"{ids.format_timestamp(moment)[:19]}Z"
