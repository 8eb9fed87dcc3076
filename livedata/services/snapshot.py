"""A whole table as one read transaction sees it: rows and history that fit each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import orjson
from msgspec import Struct

from livedata.model.dataset import Column
from livedata.model.ids import DatasetId, OwnerName
from livedata.model.row import Change, ChangePage, Row
from livedata.services.moments import Moment, find_moment
from livedata.store import datasets, feed, moments
from livedata.store import rows as row_store
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database
from livedata.store.datasets import DatasetRef

PAGE = 500


class TableSnapshot(Struct, frozen=True):
    """A table at a moment; rows and changes are read while the transaction lasts.

    `columns` are those of then, and `label` the field of them that names rows; `rows` stand in the
    order in which Runs found them, and `changes` are those that led to them, of all columns that
    there were `ever`.
    """

    moment: Moment
    columns: Sequence[Column]
    label: str | None
    rows: Iterator[Row]
    changes: Iterator[Change]
    ever: Sequence[Column]

    def rows_where(self, clauses: Sequence[str]) -> Iterator[Row]:
        """The rows of which all of these clauses hold. Raises Invalid for a wrong one."""
        if not clauses:
            return self.rows
        # Imported late: most exports and listings have no condition, and begin sooner.
        from livedata.rules.conditions.matching import holds
        from livedata.rules.conditions.parsing import parse_where

        states = parse_where(clauses, self.columns).states
        return (row for row in self.rows if holds(states, row["rowKey"], row["data"]))


@contextmanager
def snapshot(
    db: Database,
    owner: OwnerName,
    dataset_id: DatasetId,
    when: str | None = None,
    zone: str = "UTC",
) -> Iterator[TableSnapshot]:
    """The table of a dataset as it is, or as it was at WHEN.

    Raises NotFound, and Invalid if WHEN is no moment of the dataset.
    """
    with db.reading() as reader:
        yield read_snapshot(reader, datasets.ref(reader, owner, dataset_id), when, zone)


def read_snapshot(
    reader: Reader, dataset: DatasetRef, when: str | None, zone: str
) -> TableSnapshot:
    """The same within a transaction: rows and changes are read from it when they are asked for."""
    moment = find_moment(reader, dataset, when, zone)
    fields = moments.fields_at(reader, dataset, moment.sequence, moment.end)
    if moment.sequence == dataset.head:
        # With when each row was seen last, which no revision says.
        rows = row_store.in_order(reader, dataset.id, fields)
    else:
        rows = moments.rows_at(reader, dataset.id, fields, moment.sequence)
    changes = _changes(reader, dataset, moment.sequence)
    return TableSnapshot(
        moment, [*fields.columns.values()], fields.label, rows, changes, fields.placed
    )


def _changes(reader: Reader, dataset: DatasetRef, through: int) -> Iterator[Change]:
    # Page by page: the history of a large dataset does not fit into memory at once.
    after: int | None = 0
    while after is not None:
        window = feed.RevisionFilter(after, through, PAGE)
        page: ChangePage = orjson.loads(feed.page(reader, dataset.id, dataset.fields, window))
        yield from page["data"]
        after = page["nextAfter"]
