"""A message as CloudEvents 1.0 has it, with the changes that it is about; and a digest.

A digest is JSON for programs, HTML and a text for mail, and few words for chat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from typing import Any

import orjson
from msgspec import Struct

from livedata.messages import notice_events
from livedata.messages.notice_events import MOST_NAMED
from livedata.model import ids
from livedata.model.errors import NotFound
from livedata.model.ids import DatasetId
from livedata.rules.declaration.notices import ChangeFilter
from livedata.services.notices import gathering
from livedata.services.notices.gathering import NAMES, met_in_a_run, named_changes, shown_change
from livedata.services.notices.told_changes import (
    ChangeRange,
    ChangesByName,
    NamedChange,
    as_html,
    described,
    told_change,
)
from livedata.store import dataset_names, datasets, digests
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database
from livedata.store.notices import Notice
from livedata.store.outbox import Message, RevisionRange

_Part = Mapping[str, Any]
"""What a digest tells of one dataset, as its JSON has it."""

_SOURCE = "/v1/datasets"
MOST_CHANGES = 100


class CloudEvent(Struct, frozen=True):
    """What is delivered: `body` for programs, a title and a text for people.

    Where mail can show more than a text that is `html`, and where chat is better off with less
    `brief`; both are empty for a message that is short itself.
    """

    id: str
    body: bytes
    title: str
    text: str
    html: str = ""
    brief: str = ""


def event_of(
    db: Database, notice: Notice, dataset: DatasetId, message: Message, public_url: str
) -> CloudEvent:
    """A message as it is delivered. Raises NotFound if its dataset was deleted."""
    data, window = dict(message.data), message.window
    told: list[NamedChange] = []
    if window is not None:
        with db.reading() as reader:
            # Revisions never change, so each try tells the same.
            every = _told(reader, notice, dataset, window, data.get("matches"))
            told = list(islice(every, MOST_CHANGES))
        data["changes"] = [change.line for change in told]
        count = window.through - window.after
        data["moreChanges"] = len(data.pop("matches", range(count))) - len(data["changes"])
    source = f"{public_url}{_SOURCE}/{ids.format_uuid(dataset)}"
    time = ids.format_timestamp(message.created_at)
    return _event(ids.format_uuid(message.id), source, message.kind, time, data, told)


def _told(
    reader: Reader,
    notice: Notice,
    dataset: DatasetId,
    window: RevisionRange,
    matches: Mapping[str, Sequence[str]] | None,
) -> Iterator[NamedChange]:
    """The changes of a message by name; of one that tells some alone these, and why."""
    names = ChangesByName.of(reader, datasets.ref(reader, notice.owner, dataset))
    for page in ChangeRange(notice.owner, dataset, window).pages(reader, MOST_CHANGES):
        for change in names.of_page(page):
            if matches is None:
                yield change
            elif (sentences := matches.get(str(change.line["sequence"]))) is not None:
                yield told_change(change, notice.change_filter or ChangeFilter(), sentences)


def trial_event(notice: Notice, public_url: str, key: str | None = None) -> CloudEvent:
    """What `notice test` delivers; a receiver takes those with the same `key` for one."""
    sentence = notice_events.sentence("test", name=notice.name)
    data = {"dataset": None, "run": None, "sentence": sentence}
    time = ids.format_timestamp(ids.now())
    source = f"{public_url}{_SOURCE}"
    return _event(key or ids.format_uuid(ids.new_id()), source, "test", time, data)


def _event(
    key: str,
    source: str,
    kind: str,
    time: str,
    data: dict[str, Any],
    told: Sequence[NamedChange] = (),
) -> CloudEvent:
    body = _enveloped(key, source, kind, time, data)
    name = data["dataset"]["name"] if data["dataset"] else ""
    return CloudEvent(key, body, notice_events.title(kind, name), _text(data, told))


def _enveloped(key: str, source: str, kind: str, time: str, data: Mapping[str, Any]) -> bytes:
    """The JSON of an event."""
    return orjson.dumps(
        {
            "specversion": "1.0",
            "id": key,
            "source": source,
            "type": f"livedata.{kind}",
            "time": time,
            "datacontenttype": "application/json",
            "data": data,
        }
    )


def _text(data: dict[str, Any], told: Sequence[NamedChange]) -> str:
    """What a person reads: the sentence, and a line for each change."""
    lines = [data["sentence"], *map(change_line, told)]
    if more := data.get("moreChanges"):
        lines.append(f"and {more} more")
    return "\n".join(lines)


def change_line(change: NamedChange) -> str:
    """A change by name as a line for people: with what it meets, where it was asked for that."""
    cells = ", ".join(change.line.get("matches") or described(change.line))
    became = notice_events.BECAME[change.line["kind"]]
    return f"- {change.name} {became}" + (f": {cells}" if cells else "")


def digest_event(db: Database, notice: Notice, message: Message, public_url: str) -> CloudEvent:
    """A digest as it is delivered. Raises NotFound if all of its datasets were deleted."""
    told_of = [part["dataset"]["id"] for part in message.data["datasets"]]
    with db.reading() as reader:
        there = dataset_names.of_ids(reader, notice.owner, told_of)
    parts = [part for part in message.data["datasets"] if part["dataset"]["id"] in there]
    if not parts:
        raise NotFound("There is no such dataset.")
    sentence = notice_events.digest([part["sentence"] for part in parts])
    # What rows are called is for people, and no program is told.
    told = [{name: value for name, value in part.items() if name != NAMES} for part in parts]
    data = {**message.data, "sentence": sentence, "datasets": told}
    key, time = ids.format_uuid(message.id), ids.format_timestamp(message.created_at)
    return CloudEvent(
        key,
        _enveloped(key, f"{public_url}{_SOURCE}", digests.KIND, time, data),
        notice_events.digest_title([part["dataset"]["name"] for part in parts]),
        "\n\n".join(_digest_text(part, public_url) for part in parts),
        "".join(_digest_html(parts, public_url)),
        "\n".join(_digest_brief(parts, public_url)),
    )


def _changes_link(part: _Part, public_url: str) -> str:
    """The page of the changes of a dataset; empty where nobody said how it is reached."""
    return public_url and f"{public_url}/datasets/{part['dataset']['id']}/changes"


def _digest_text(part: _Part, public_url: str) -> str:
    lines = [part["sentence"], *map(gathering.change_line, named_changes(part))]
    if part["moreChanges"]:
        lines.append(f"and {part['moreChanges']} more")
    return "\n".join([*lines, *filter(None, [_changes_link(part, public_url)])])


def _digest_brief(parts: Sequence[_Part], public_url: str) -> Iterator[str]:
    """A line for each of the first datasets, with its address below."""
    for part in parts[:MOST_NAMED]:
        yield part["sentence"]
        yield from filter(None, [_changes_link(part, public_url)])
    if len(parts) > MOST_NAMED:
        yield f"And {len(parts) - MOST_NAMED} more."


def _digest_html(parts: Sequence[_Part], public_url: str) -> Iterator[str]:
    """The whole of a mail; all that websites have written is escaped."""
    # Lists, because the text that is made of it for other readers keeps their lines.
    for part in parts:
        yield f"<h3>{escape(part['sentence'])}</h3><ul>"
        yield from map(_digest_item, named_changes(part))
        yield "</ul>"
        if part["moreChanges"]:
            yield f"<p>and {part['moreChanges']} more</p>"
        if link := escape(_changes_link(part, public_url)):
            yield f'<p><a href="{link}">{link}</a></p>'


def _digest_item(change: NamedChange) -> str:
    line = change.line
    cells = ", ".join([*described(shown_change(line))])
    told = f"{line['kind']}{': ' if cells else ''}{cells}{met_in_a_run(line)}"
    return f"<li><b>{as_html(change.name)}</b> {escape(told)}</li>"
