"""A dataset whole, as one read transaction sees it: rows and history that fit each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import orjson

from livedata.model.ids import DatasetId, OwnerName
from livedata.model.row import Change, ChangePage, Row
from livedata.store import datasets, feed
from livedata.store import rows as row_store
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database
from livedata.store.datasets import DatasetRef

PAGE = 500


@dataclass(frozen=True, slots=True)
class DatasetSnapshot:
    """The rows by key and the changes in order, to be read while the transaction lasts."""

    rows: Iterator[Row]
    changes: Iterator[Change]


@contextmanager
def snapshot(db: Database, owner: OwnerName, dataset_id: DatasetId) -> Iterator[DatasetSnapshot]:
    """Everything of a dataset at one moment. Raises NotFound."""
    with db.reading() as reader:
        about = datasets.ref(reader, owner, dataset_id)
        rows = row_store.by_key(reader, dataset_id, about.fields)
        yield DatasetSnapshot(rows, _changes(reader, about))


def _changes(reader: Reader, about: DatasetRef) -> Iterator[Change]:
    after: int | None = 0
    while after is not None:
        window = feed.Window(after, about.head, PAGE)
        page: ChangePage = orjson.loads(feed.page(reader, about.id, about.fields, window))
        yield from page["data"]
        after = page["nextAfter"]
