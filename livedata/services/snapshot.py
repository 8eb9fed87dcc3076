"""A dataset whole, as one read transaction sees it: rows and history that fit each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import orjson

from livedata.model.errors import NotFound
from livedata.model.row import Change, ChangePage, Row
from livedata.store.database import Database, Reader
from livedata.store.reads import datasets as dataset_reads
from livedata.store.reads import feed
from livedata.store.reads import rows as row_reads
from livedata.store.reads.datasets import Handle

PAGE = 500


@dataclass(frozen=True, slots=True)
class DatasetSnapshot:
    """The rows by key and the changes in order, to be read while the transaction lasts."""

    rows: Iterator[Row]
    changes: Iterator[Change]


@contextmanager
def snapshot(db: Database, owner: str, dataset_id: bytes) -> Iterator[DatasetSnapshot]:
    """Everything of a dataset at one moment. Raises NotFound."""
    with db.reading() as reader:
        about = dataset_reads.handle(reader, owner, dataset_id)
        if about is None:
            raise NotFound("There is no such dataset.")
        rows = row_reads.by_key(reader, dataset_id, about.fields)
        yield DatasetSnapshot(rows, _changes(reader, about))


def _changes(reader: Reader, about: Handle) -> Iterator[Change]:
    after: int | None = 0
    while after is not None:
        window = feed.Window(after, about.head, PAGE)
        page: ChangePage = orjson.loads(feed.page(reader, about.id, about.fields, window))
        yield from page["data"]
        after = page["nextAfter"]
