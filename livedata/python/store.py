"""A table of the store of this machine: `livedata.open` (rules 18.1)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final, cast

from msgspec import Struct

from livedata.config import Settings, load
from livedata.formats.parquet_writer import arrow_table
from livedata.hints import Subject, hints
from livedata.model.dataset import Dataset
from livedata.model.errors import BadRequest, Invalid, LivedataError
from livedata.model.ids import DatasetId, OwnerName
from livedata.python.source import (
    CellChange,
    ChangeQuestion,
    RowQuestion,
    TableChanges,
    TableRows,
)
from livedata.python.table import Table
from livedata.services import queries
from livedata.services.served_changes import HEADINGS, Line, serve_changes
from livedata.services.served_tables import ServedQuery, ServedTable, serve_table
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database
from livedata.store.shares import Scope

_TOGETHER: Final = 5_000
"""So many changes are read in one transaction: between two pages the store is not held."""


def open_table(
    dataset: str, *, home: str | os.PathLike[str] | None = None, owner: str = "local"
) -> Table:
    """The table of a dataset in the store of this machine, to be read (rules 18.1).

    `dataset` is the name of a dataset, its id or an unambiguous end of that; `home` is used instead
    of LIVEDATA_HOME. Raises LivedataError: NotFound if there is no such dataset, StoreUnavailable
    if the store cannot be read, Invalid for a setting that is wrong.
    """
    environ = os.environ if home is None else {**os.environ, "LIVEDATA_HOME": os.fspath(home)}
    store = _Store(_settings(environ), owner)
    with store.reading() as database:
        # To read makes no store: a home that is mistyped must not look like an empty one.
        database.require()
        dataset_id = queries.find_dataset(database, owner, dataset)
        name = queries.dataset(database, owner, dataset_id)["name"]
    return Table(name, _StoredTable(store, dataset_id))


def _settings(environ: Mapping[str, str]) -> Settings:
    with _sentences("local"):
        return load(environ)


@contextmanager
def _sentences(owner: OwnerName) -> Iterator[None]:
    """What goes wrong says in its own text what to do; a wrong question is Invalid."""
    try:
        yield
    except LivedataError as error:
        whole = " ".join([error.message, *hints(error.remedies, Subject(owner))])
        if isinstance(error, BadRequest):
            raise Invalid(whole, error.details, error.remedies) from None
        error.args = (whole,)
        raise


class _Store(Struct, frozen=True):
    settings: Settings
    owner: OwnerName

    @contextmanager
    def reading(self) -> Iterator[Database]:
        """The store for some questions: no connection outlives them, in a thread or a fork."""
        with _sentences(self.owner):
            database = Database(self.settings.database_url)
            try:
                yield database
            finally:
                database.close()


class _StoredTable(Struct, frozen=True):
    store: _Store
    dataset_id: DatasetId

    @property
    def place(self) -> str:
        """The home of the store."""
        return str(self.store.settings.home)

    def dataset(self) -> Dataset:
        """The dataset as it is."""
        with self.store.reading() as database:
            return queries.dataset(database, self.store.owner, self.dataset_id)

    def rows(self, asked: RowQuestion) -> TableRows:
        """Rows of one read transaction."""
        with self._served(asked) as table:
            return _rows(table, asked, None)

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

    def changes(self, asked: ChangeQuestion) -> TableChanges:
        """Changes up to the head as it is now; they are read some at a time."""
        through, first = self._page(asked)
        return TableChanges(through, self._lines(asked, through, first))

    def _lines(self, asked: ChangeQuestion, through: int, page: list[Line]) -> Iterator[CellChange]:
        while page:
            for line in page:
                if _sequence(line) > through:
                    return
                yield cast("CellChange", dict(zip(HEADINGS, line, strict=True)))
            after = _sequence(page[-1])
            if after >= through:
                return
            _, page = self._page(
                ChangeQuestion(after, None, asked.when, asked.where, asked.columns)
            )

    def _page(self, asked: ChangeQuestion) -> tuple[int, list[Line]]:
        """The sequence of the head, and the next lines: all of the last revision among them."""
        query = ServedQuery(asked.columns, asked.where, asked.when)
        with self._reading() as reader:
            served = serve_changes(reader, self._scope, query, asked.after, asked.since, self._zone)
            lines = served.lines()
            page = list(islice(lines, _TOGETHER))
            for line in lines:
                page.append(line)
                if _sequence(line) != _sequence(page[-2]):
                    page.pop()
                    break
            return served.through, page

    @contextmanager
    def _reading(self) -> Iterator[Reader]:
        with self.store.reading() as database, database.reading() as reader:
            yield reader

    @contextmanager
    def _served(self, asked: RowQuestion) -> Iterator[ServedTable]:
        query = ServedQuery(asked.columns, asked.where)
        with self._reading() as reader:
            yield serve_table(reader, self._scope, query, asked.at, self._zone)

    @property
    def _scope(self) -> Scope:
        return Scope(self.store.owner, self.dataset_id)

    @property
    def _zone(self) -> str:
        return self.store.settings.timezone


def _rows(table: ServedTable, asked: RowQuestion, most: int | None) -> TableRows:
    layout = table.view.layout(safe=False)
    rows = islice(table.rows(gone=asked.gone), most)
    return TableRows(layout.names, [layout.values(row) for row in rows], table.through)


def _sequence(line: Line) -> int:
    return cast("int", line[0])
