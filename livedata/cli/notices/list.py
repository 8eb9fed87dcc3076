"""``notice list``: a line per notice, without what is secret of it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import click

from livedata.cli.context import CommandContext, common_options
from livedata.cli.output.streams import print_json, print_message
from livedata.cli.output.tables import print_table
from livedata.hints import Subject
from livedata.messages.deliveries import masked
from livedata.model import ids
from livedata.services.notices import subscriptions
from livedata.store.notices import Notice

DELETED = "(deleted)"
_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60}


@click.command("list")
@common_options
def list_notices(ctx: CommandContext) -> None:
    """List the notices, without secrets and passwords."""
    with ctx.reading() as db:
        listing = subscriptions.listed(db, ctx.owner)
    owner = Subject(ctx.owner)
    if ctx.json:
        print_json([as_json(notice, listing.datasets) for notice in listing.notices])
    elif listing.notices:
        print_table(
            ("name", "by", "on", "datasets", "state"),
            [_line(notice, listing.datasets) for notice in listing.notices],
        )
    elif not listing.damaged:
        add = owner.command("notice add", "ops", options=["--command", "cat >> log"])
        print_message(f"There is no notice yet. Add one: {add}")
    for name in listing.damaged:
        print_message(
            f"The notice {name!r} is damaged and tells nothing. Remove it, and add it again: "
            + owner.command("notice remove", name)
        )


def _line(notice: Notice, names: Mapping[str, str]) -> tuple[str, ...]:
    return (
        notice.name,
        shown_target(notice),
        _on(notice),
        "all" if notice.datasets is None else ", ".join(_names(notice, names)),
        "on" if notice.ended_at is None else f"off since {_moment(notice)}: 410 Gone",
    )


def as_json(notice: Notice, names: Mapping[str, str]) -> dict[str, object]:
    """A notice as JSON, without what is secret of it."""
    return {
        "name": notice.name,
        "channel": notice.channel,
        "target": shown_target(notice),
        "on": list(notice.kinds),
        "datasets": None
        if notice.datasets is None
        else [{"id": key, "name": names.get(key)} for key in notice.datasets],
        "after": notice.threshold,
        "silentFor": span(notice.silent_for),
        "createdAt": ids.format_timestamp(notice.created_at),
        "endedAt": ids.format_optional_timestamp(notice.ended_at),
    }


def shown_target(notice: Notice) -> str:
    """Whom a notice tells; of an address only the beginning, since the rest may be secret."""
    parts = urlsplit(notice.target)
    if notice.channel == "command" or not parts.scheme:
        return masked(notice.target)
    # Chat services put the key into the path of a webhook, others put it anywhere.
    is_webhook = notice.channel == "webhook"
    place = parts.netloc if is_webhook else ""
    rest = "…" if not is_webhook or parts.path.strip("/") or parts.query else ""
    return f"{parts.scheme}://{place}{'/' if place and rest else ''}{rest}"


def span(length: int | None) -> str | None:
    """A span of time as a person writes it."""
    if length is None:
        return None
    seconds = length // 1_000_000
    unit = next(unit for unit, size in _UNITS.items() if seconds % size == 0)
    return f"{seconds // _UNITS[unit]}{unit}"


def _on(notice: Notice) -> str:
    """Of what it tells, with how many Runs and how long, as they are given to `add`."""
    details = {"failing": f" after {notice.threshold}", "silent": f" for {span(notice.silent_for)}"}
    return ", ".join(f"{kind}{details.get(kind, '')}" for kind in notice.kinds)


def _names(notice: Notice, names: Mapping[str, str]) -> list[str]:
    return [names.get(key, DELETED) for key in notice.datasets or ()]


def _moment(notice: Notice) -> str:
    assert notice.ended_at is not None
    return f"{ids.format_timestamp(notice.ended_at)[:19]}Z"
