"""A whole dataset as one read transaction sees it: rows and history that fit each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import orjson
from msgspec import Struct

from livedata.model.ids import DatasetId, OwnerName
from livedata.model.row import Change, ChangePage, Row
from livedata.store import datasets, feed
from livedata.store import rows as row_store
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database
from livedata.store.datasets import DatasetRef

PAGE = 500


class DatasetSnapshot(Struct, frozen=True):
    """The rows and the changes in their orders; both are read while the transaction lasts."""

    rows: Iterator[Row]
    changes: Iterator[Change]


@contextmanager
def snapshot(db: Database, owner: OwnerName, dataset_id: DatasetId) -> Iterator[DatasetSnapshot]:
    """The rows and changes of a dataset at one moment. Raises NotFound."""
    with db.reading() as reader:
        dataset = datasets.ref(reader, owner, dataset_id)
        rows = row_store.in_order(reader, dataset_id, dataset.fields)
        yield DatasetSnapshot(rows, _changes(reader, dataset))


def _changes(reader: Reader, dataset: DatasetRef) -> Iterator[Change]:
    # Page by page: the history of a large dataset does not fit into memory at once.
    after: int | None = 0
    while after is not None:
        window = feed.RevisionFilter(after, dataset.head, PAGE)
        page: ChangePage = orjson.loads(feed.page(reader, dataset.id, dataset.fields, window))
        yield from page["data"]
        after = page["nextAfter"]
