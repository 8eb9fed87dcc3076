"""A transaction on one connection to a file of SQLite."""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from livedata.model import ids
from livedata.model.errors import Damaged
from livedata.model.ids import Micros, RunId
from livedata.store.database.backend import Row
from livedata.store.database.sqlite import values as stored


class SqliteTransaction:
    """A transaction on one connection: a Reader, and a Writer if the connection may write."""

    __slots__ = ("_driver",)

    def __init__(self, driver: sqlite3.Connection) -> None:
        self._driver = driver

    def rows(self, sql: str, /, **values: object) -> list[Row]:
        """Everything that `sql` selects."""
        return self._driver.execute(sql, values).fetchall()

    def each(self, sql: str, /, **values: object) -> Iterator[Row]:
        """The same one by one."""
        # A cursor of SQLite steps through the answer.
        return self._driver.execute(sql, values)

    page = each

    def row(self, sql: str, /, **values: object) -> Row | None:
        """The first that `sql` selects."""
        row: Row | None = self._driver.execute(sql, values).fetchone()
        return row

    def value(self, sql: str, /, **values: object) -> Any:
        """The first column of the first."""
        row = self._driver.execute(sql, values).fetchone()
        return None if row is None else row[0]

    def locked(self, sql: str, /, **values: object) -> Row | None:
        """The first that `sql` selects; all of them are kept from other writers."""
        # BEGIN IMMEDIATE has locked the whole file.
        return self.row(sql, **values)

    def locked_if_free(self, sql: str, /, **values: object) -> Row | None:
        """The same: there is no other writer."""
        return self.row(sql, **values)

    def execute(self, sql: str, /, **values: object) -> int:
        """Write; how many rows that concerned."""
        return self._driver.execute(sql, values).rowcount

    def many(self, sql: str, rows: Iterable[Mapping[str, object]], /) -> None:
        """Write once for each of `rows`."""
        # 1,000 new rows with their revisions take 97 ms; with an object for each, 315 ms.
        self._driver.executemany(sql, rows)

    def publish(self, run: RunId) -> None:
        """Nothing: crawl workers look at the file, which costs next to nothing."""

    def publish_next(self, site: str) -> None:
        """Nothing."""

    def forgotten(self, since: Micros) -> list[RunId]:  # noqa: ARG002  (of a protocol)
        """None: Runs have no jobs here."""
        return []

    def now(self) -> Micros:
        """The present moment: a file is used on one machine."""
        return ids.now()

    def size(self) -> int:
        """The bytes of the file, with what its journal will add."""
        size: int = self.value("PRAGMA page_count") * self.value("PRAGMA page_size")
        return size

    def damage(self) -> list[str]:
        """What SQLite finds wrong with the file."""
        try:
            faults = [row[0] for row in self.each("PRAGMA integrity_check") if row[0] != "ok"]
        except sqlite3.DatabaseError as error:
            # A file that is damaged enough fails the question instead of answering it.
            faults = [str(error)]
        damage = [f"The file of the store is damaged: {fault}." for fault in faults]
        return damage or [stored.without_key(name) for (name,) in self.rows(stored.WITHOUT_KEY)]

    def unreadable(self) -> Iterator[Damaged]:
        """The values that are no text in UTF-8, or of another type than their column."""
        return stored.unreadable(self, self._decodes)

    def unique_indexes(self) -> list[Row]:
        """(table, columns) of every unique index but primary keys."""
        return self.rows(stored.UNIQUE_INDEXES)

    def dangling(self) -> list[str]:
        """The references that lead nowhere."""
        return [
            f"Row {rowid} of the table {table} refers to nothing in {parent}."
            for table, rowid, parent, _ in self.each("PRAGMA foreign_key_check")
        ]

    def _decodes(self, sql: str) -> bool:
        """Whether all texts that `sql` selects can be read."""
        try:
            deque(self.each(sql), maxlen=0)
        except sqlite3.OperationalError:
            return False
        return True


@contextmanager
def plain_file(path: Path) -> Iterator[SqliteTransaction]:
    """A transaction on a file that is no store, such as an export; it makes the file."""
    with closing(sqlite3.connect(path)) as driver, driver:
        yield SqliteTransaction(driver)
