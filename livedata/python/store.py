"""A table of the store of this machine: `livedata.open` (rules 18.1)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

from msgspec import Struct

from livedata.config import Settings, load
from livedata.formats.typed_files import arrow_table
from livedata.model.dataset import Dataset
from livedata.model.ids import DatasetId, OwnerName
from livedata.python.source import (
    CellChange,
    ChangeQuestion,
    RowQuestion,
    TableChanges,
    TableRows,
    named,
    sentences,
)
from livedata.python.table import Table
from livedata.services import queries
from livedata.services.served_tables import (
    HEADINGS,
    ServedChanges,
    ServedQuery,
    ServedTable,
    serve_changes,
    serve_table,
)
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database
from livedata.store.shares import Scope

_TOGETHER: Final = 5_000
"""So many revisions are read in one transaction: in between the store is not held."""


def open_table(
    dataset: str, *, home: str | os.PathLike[str] | None = None, owner: str = "local"
) -> Table:
    """The table of a dataset in the store of this machine, to be read (rules 18.1).

    `dataset` is its name, its id, or an unambiguous part of that; `home` is used instead of
    LIVEDATA_HOME. Raises LivedataError: NotFound if there is no such dataset, StoreUnavailable
    if the store cannot be read, Invalid for a setting that is wrong.
    """
    given = {} if home is None else {"LIVEDATA_HOME": str(Path(os.fsdecode(home)).resolve())}
    with sentences():
        store = _Store(load({**os.environ, **given}), owner)
    with store.reading() as database:
        dataset_id = queries.find_dataset(database, owner, named(dataset))
        name = queries.dataset(database, owner, dataset_id)["name"]
        return Table(name, _StoredTable(store, dataset_id, database.place))


class _Store(Struct, frozen=True):
    settings: Settings
    owner: OwnerName

    @contextmanager
    def reading(self) -> Iterator[Database]:
        """The store for some questions: no connection outlives them, in a thread or a fork."""
        with sentences(self.owner):
            database = Database(self.settings.database_url)
            try:
                # To read makes no store: a home that is mistyped must not look like an empty one.
                database.require()
                yield database
            finally:
                database.close()


class _StoredTable(Struct, frozen=True):
    store: _Store
    dataset_id: DatasetId
    place: str

    def dataset(self) -> Dataset:
        """The dataset as it is."""
        with self.store.reading() as database:
            return queries.dataset(database, self.store.owner, self.dataset_id)

    def rows(self, asked: RowQuestion) -> TableRows:
        """Rows of one read transaction."""
        with self._served(asked) as table:
            return _rows(table, asked)

    def first_rows(self, most: int) -> TableRows:
        """The first rows in the order of an export."""
        asked = RowQuestion()
        with self._served(asked) as table:
            return _rows(table, asked, most)

    def arrow(self, asked: RowQuestion) -> Any:
        """A `pyarrow.Table`, as the Parquet file of an export is."""
        with self._served(asked) as table:
            layout = table.view.layout(safe=False)
            return arrow_table(table.rows(gone=asked.gone), layout, table.about)

    def two_moments(self, since: str, until: str | None) -> tuple[TableRows, TableRows]:
        """The rows at two moments, in one read transaction."""
        then, now = RowQuestion(since, gone=True), RowQuestion(until, gone=True)
        with self._reading() as reader:
            return _rows(self._table(reader, then), then), _rows(self._table(reader, now), now)

    def changes(self, asked: ChangeQuestion) -> TableChanges:
        """Changes up to the head as it is now; they are read some at a time."""
        with self._reading() as reader:
            changes = self._changes(reader, asked, asked.after, asked.since)
            return TableChanges(changes.through, self._lines(asked, changes.after, changes.through))

    def _lines(self, asked: ChangeQuestion, after: int, through: int) -> Iterator[CellChange]:
        for start in range(after, through, _TOGETHER):
            with self._reading() as reader:
                end = min(start + _TOGETHER, through)
                lines = list(self._changes(reader, asked, start, None, end).lines())
            for line in lines:
                yield cast("CellChange", dict(zip(HEADINGS, line, strict=True)))

    def _changes(
        self,
        reader: Reader,
        asked: ChangeQuestion,
        after: int | None,
        since: str | None,
        through: int | None = None,
    ) -> ServedChanges:
        query = ServedQuery(asked.columns, asked.where, asked.when)
        return serve_changes(reader, self._scope, query, after, since, self._zone, through)

    def _table(self, reader: Reader, asked: RowQuestion) -> ServedTable:
        query = ServedQuery(asked.columns, asked.where)
        return serve_table(reader, self._scope, query, asked.at, self._zone)

    @contextmanager
    def _reading(self) -> Iterator[Reader]:
        with self.store.reading() as database, database.reading() as reader:
            yield reader

    @contextmanager
    def _served(self, asked: RowQuestion) -> Iterator[ServedTable]:
        with self._reading() as reader:
            yield self._table(reader, asked)

    @property
    def _scope(self) -> Scope:
        return Scope(self.store.owner, self.dataset_id)

    @property
    def _zone(self) -> str:
        return self.store.settings.timezone


def _rows(table: ServedTable, asked: RowQuestion, most: int | None = None) -> TableRows:
    layout = table.view.layout(safe=False)
    rows = islice(table.rows(gone=asked.gone), most)
    return TableRows(layout.names, [layout.values(row) for row in rows], table.through)
