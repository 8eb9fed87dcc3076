"""A digest as it is delivered: JSON for programs, HTML and a text for mail, few words for chat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from livedata.messages import notice_events
from livedata.messages.notice_events import MOST_NAMED
from livedata.model import ids
from livedata.model.errors import NotFound
from livedata.services.notices.changes_by_name import described
from livedata.services.notices.cloud_events import SOURCE, CloudEvent, enveloped
from livedata.services.notices.gathering import change_line, met_in_a_run, shown_change
from livedata.store import datasets, digests
from livedata.store.database.store import Database
from livedata.store.notices import Notice
from livedata.store.outbox import Message

Part = Mapping[str, Any]
"""What a digest tells of one dataset, as its JSON has it."""


def digest_event(db: Database, notice: Notice, message: Message, public_url: str) -> CloudEvent:
    """A digest as it is delivered. Raises NotFound if all of its datasets were deleted."""
    with db.reading() as reader:
        there = {ids.format_uuid(key) for key, _ in datasets.all_names(reader, notice.owner)}
    parts = [part for part in message.data["datasets"] if part["dataset"]["id"] in there]
    if not parts:
        raise NotFound("There is no such dataset.")
    sentence = notice_events.digest([part["sentence"] for part in parts])
    data = {**message.data, "sentence": sentence, "datasets": parts}
    key, time = ids.format_uuid(message.id), ids.format_timestamp(message.created_at)
    return CloudEvent(
        key,
        enveloped(key, f"{public_url}{SOURCE}", digests.KIND, time, data),
        notice_events.digest_title([part["dataset"]["name"] for part in parts]),
        "\n\n".join(_text(part, public_url) for part in parts),
        "".join(_html(parts, public_url)),
        "\n".join(_brief(parts, public_url)),
    )


def _link(part: Part, public_url: str) -> str:
    """The page of the changes of a dataset; empty where nobody said how it is reached."""
    return public_url and f"{public_url}/datasets/{part['dataset']['id']}/changes"


def _text(part: Part, public_url: str) -> str:
    lines = [part["sentence"], *map(change_line, part["changes"])]
    if part["moreChanges"]:
        lines.append(f"and {part['moreChanges']} more")
    return "\n".join([*lines, *filter(None, [_link(part, public_url)])])


def _brief(parts: Sequence[Part], public_url: str) -> Iterator[str]:
    """A line for each of the first datasets, with its address below."""
    for part in parts[:MOST_NAMED]:
        yield part["sentence"]
        yield from filter(None, [_link(part, public_url)])
    if len(parts) > MOST_NAMED:
        yield f"And {len(parts) - MOST_NAMED} more."


def _html(parts: Sequence[Part], public_url: str) -> Iterator[str]:
    """The whole of a mail; all that websites have written is escaped."""
    # Lists, because the text that is made of it for other readers keeps their lines.
    for part in parts:
        yield f"<h3>{escape(part['dataset']['name'])}</h3><p>{escape(part['sentence'])}</p><ul>"
        yield from map(_item, part["changes"])
        yield "</ul>"
        if part["moreChanges"]:
            yield f"<p>and {part['moreChanges']} more</p>"
        if link := escape(_link(part, public_url)):
            yield f'<p><a href="{link}">{link}</a></p>'


def _item(change: Mapping[str, Any]) -> str:
    cells = ", ".join([*described(shown_change(change))])
    told = f"{change['kind']}{': ' if cells else ''}{cells}{met_in_a_run(change)}"
    return f"<li><b>{escape(change['row'])}</b> {escape(told)}</li>"
