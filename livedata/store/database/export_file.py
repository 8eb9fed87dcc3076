"""A plain SQLite file with the tables ``rows`` and ``changes``: an export, which is no store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from livedata.model.dataset import CELL_TYPES
from livedata.model.row import Scalar
from livedata.store.database.backend import Writer
from livedata.store.database.sqlite.transaction import plain_file
from livedata.store.database.statements import insert, listed

_TYPES = {name: kind.sql for name, kind in CELL_TYPES.items()} | {"key": "TEXT PRIMARY KEY"}
# `before` and `after` have no type: each line keeps the type of the cell that it is about.
_CHANGES = """
CREATE TABLE changes (
    sequence INTEGER NOT NULL,
    time TEXT NOT NULL,
    kind TEXT NOT NULL,
    rowKey TEXT NOT NULL REFERENCES rows,
    field TEXT,
    before,
    after
)
"""
_CHANGE = ("sequence", "time", "kind", "rowKey", "field", "before", "after")
_ADD_CHANGE = insert("changes", *_CHANGE)


class ExportFile:
    """Writes the two tables; the file keeps them if the transaction ends well."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def create_rows(self, columns: Iterable[tuple[str, str]]) -> None:
        """Create ``rows`` with columns of these names and types; type "key" identifies a row."""
        # Quoted, because a column of a dataset may be called `order`.
        named = ", ".join(f"{_quote(name)} {_TYPES[kind]}" for name, kind in columns)
        self._writer.execute(f"CREATE TABLE rows ({named})")

    def add_row(self, cells: Sequence[Scalar]) -> None:
        """Add a row with a cell for each column."""
        places, values = listed("cell", cells)
        self._writer.execute(f"INSERT INTO rows VALUES ({places})", **values)  # noqa: S608

    def create_changes(self) -> None:
        """Create ``changes``, without its indexes."""
        self._writer.execute(_CHANGES)

    def add_changes(self, lines: Iterable[Sequence[Scalar]]) -> None:
        """Add lines of sequence, time, kind, row key, field, and its values before and after."""
        self._writer.many(_ADD_CHANGE, (dict(zip(_CHANGE, line, strict=True)) for line in lines))

    def index_changes(self) -> None:
        """Index ``changes`` by row and by sequence, once all lines are there."""
        # An index over all lines at the end costs less than one that grows with them.
        self._writer.execute("CREATE INDEX changes_of_a_row ON changes (rowKey, sequence)")
        self._writer.execute("CREATE INDEX changes_in_order ON changes (sequence)")


@contextmanager
def export_file(path: Path) -> Iterator[ExportFile]:
    """A new export file at a path that has no file yet, open for writing."""
    with plain_file(path) as writer:
        yield ExportFile(writer)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
