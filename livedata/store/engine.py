"""The store as it is written: SQLAlchemy over the SQLModel tables, one transaction an act."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, CursorResult, Engine, Executable
from sqlalchemy.exc import DBAPIError, IntegrityError
from typing_extensions import override

from livedata.store.connections import make_engine
from livedata.store.database import Database, Reader
from livedata.store.version import unavailable


class Writer(Reader):
    """A write transaction: statements of SQLAlchemy, and questions on the same connection."""

    def __init__(self, connection: Connection) -> None:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        super().__init__(driver)
        self._connection = connection

    def execute(
        self, statement: Executable, rows: Sequence[dict[str, Any]] | None = None
    ) -> CursorResult[*tuple[Any, ...]]:
        """Run `statement`, once for each of `rows` where they are given."""
        return self._connection.execute(statement, rows)

    def many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run SQL text once for each of `rows`, over the driver: for what every Run writes most.

        Per row, SQLAlchemy costs more than SQLite.
        """
        self._driver.executemany(sql, rows)


class Store(Database):
    """A store that can be asked and written."""

    @cached_property
    def engine(self) -> Engine:
        """The engine, made when it is first written."""
        return make_engine(self.url)

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """One write transaction: all of it, or on any exception nothing.

        Raises StoreUnavailable where the store cannot be reached or stays locked; IntegrityError
        passes, because only the act knows what its constraint means.
        """
        self.ensure()
        try:
            with self.engine.begin() as connection:
                yield Writer(connection)
        except IntegrityError:
            raise
        except DBAPIError as error:
            raise unavailable(self.path, error.orig or error) from error
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.DatabaseError as error:
            raise unavailable(self.path, error) from error

    @override
    def close(self) -> None:
        """Let go of every connection."""
        super().close()
        if "engine" in self.__dict__:
            self.engine.dispose()
