"""Feeds of changes for feed readers: a token opens one, and each accepted Run is an entry."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence
from typing import cast

import orjson
from msgspec import Struct

from livedata.model import ids
from livedata.model.errors import NotFound
from livedata.model.ids import DatasetId, Micros, OwnerName
from livedata.model.row import ChangePage
from livedata.services.notices.told_changes import ChangesByName, NamedChange
from livedata.store import datasets, feed, feed_tokens
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database, Store
from livedata.store.datasets import DatasetRef
from livedata.store.feed_tokens import FeedHead, RunChanges

FORMS = ("atom", "json")
MOST_ENTRIES = 20
MOST_LINES = 25
"""How many changes of a Run an entry shows."""
_TOKEN_BYTES = 24
_NO_TOKEN = "-" * 32
NO_FEED = "There is no feed at this address."


class Entry(Struct, frozen=True):
    """An accepted Run: when it wrote, what it did to the rows, and its first changes."""

    run: str
    written_at: Micros
    new: int
    changed: int
    gone: int
    changes: Sequence[NamedChange]
    more: int


class News(Struct, frozen=True):
    """A feed: of which dataset, and its entries, newest first."""

    dataset: str
    name: str
    changed_at: Micros
    entries: Sequence[Entry]


def open_feed(store: Store, owner: OwnerName, dataset: DatasetId) -> str:
    """The token of a dataset's feed; the first time one is made. Raises NotFound."""
    with store.writing() as writer:
        datasets.lock_dataset(writer, dataset, owner)
        token = feed_tokens.get(writer, dataset)
        if token is None:
            token = secrets.token_urlsafe(_TOKEN_BYTES)
            feed_tokens.add(writer, dataset, token, writer.now())
        return token


def token(db: Database, owner: OwnerName, dataset: DatasetId) -> str | None:
    """The token of a dataset's feed, if it has one. Raises NotFound."""
    with db.reading() as reader:
        datasets.ref(reader, owner, dataset)
        return feed_tokens.get(reader, dataset)


def addresses(base: str, dataset: DatasetId, token: str) -> dict[str, str]:
    """Form -> the address of a dataset's feed at a server, which the token opens."""
    place = f"{base}/feeds/{ids.format_uuid(dataset)}"
    return {form: f"{place}.{form}?token={token}" for form in FORMS}


def revoke(store: Store, owner: OwnerName, dataset: DatasetId) -> bool:
    """End the token of a dataset's feed; False if it has none. Raises NotFound."""
    with store.writing() as writer:
        datasets.lock_dataset(writer, dataset, owner)
        return feed_tokens.remove(writer, dataset)


def head(db: Database, dataset: DatasetId, token: str) -> FeedHead:
    """What a feed is of, for who has its token. Raises NotFound for all others."""
    with db.reading() as reader:
        described = feed_tokens.described(reader, dataset)
    # In the same time whether there is no such dataset or the token is wrong, and wherever it is.
    known = _NO_TOKEN if described is None else described.token
    matches = hmac.compare_digest(known.encode(), token.encode(errors="replace"))
    if described is None or not matches:
        raise NotFound(NO_FEED)
    return described


def news(db: Database, dataset: DatasetId) -> News:
    """The newest entries of a dataset's feed. Raises NotFound."""
    with db.reading() as reader:
        described = feed_tokens.described(reader, dataset)
        if described is None:
            raise NotFound(NO_FEED)
        ref = datasets.ref(reader, described.owner, dataset)
        names = ChangesByName.of(reader, ref)
        entries: list[Entry] = []
        through = described.head
        # From Run to Run along the feed: its revisions are in the order of acceptance, and those of
        # one Run follow each other.
        while len(entries) < MOST_ENTRIES:
            run = feed_tokens.last_run(reader, dataset, through)
            if run is None:
                break
            entries.append(_entry(reader, ref, names, run))
            through = run.last - max(run.count, 1)
    return News(ids.format_uuid(dataset), described.name, described.changed_at, entries)


def _entry(reader: Reader, dataset: DatasetRef, names: ChangesByName, run: RunChanges) -> Entry:
    window = feed.RevisionFilter(run.last - run.count, run.last, MOST_LINES)
    page = cast("ChangePage", orjson.loads(feed.page(reader, dataset.id, dataset.fields, window)))
    changes = list(names.of_page(page))
    return Entry(
        ids.format_uuid(run.run),
        run.written_at,
        run.new,
        run.changed,
        run.gone,
        changes,
        run.count - len(changes),
    )
