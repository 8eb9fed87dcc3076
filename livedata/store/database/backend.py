"""What the store asks of a database: the few things in which databases differ.

A question is SQL text with named parameters (``:name``), alike on every database. One file per
database does the rest: connect, begin, lock, find damage, and word its failures.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from livedata.model.account import Limits
from livedata.model.errors import Damaged, StoreUnavailable
from livedata.model.ids import Micros

if TYPE_CHECKING:
    from sqlalchemy import Connection

Row = tuple[Any, ...]
Answer = Callable[[], list[Row]]
"""What a question is answered that was asked together with the next one."""

PAGE_BYTES = 16 * 1024 * 1024
"""After so many bytes of rows or of revisions a page of an answer ends."""
SYMPTOMS: tuple[type[Exception], ...] = (
    # Text that is no JSON or no UTF-8, bytes that cannot be unpacked, a moment out of all years.
    *(ValueError, zlib.error, OverflowError),
    # JSON of another shape than was written.
    *(TypeError, KeyError, IndexError, AttributeError, AssertionError),
)
"""The errors that an unreadable record may cause."""


class AlreadyThere(Exception):
    """Another row has the value that must be unique: a name is taken, or somebody was faster."""


class OtherVersion(StoreUnavailable):
    """Another livedata has brought the store to another version meanwhile; try again."""


class NewerStore(StoreUnavailable):
    """The store was written by a newer livedata."""


class Reader(Protocol):
    """One transaction as it is asked."""

    def rows(self, sql: str, /, **values: object) -> list[Row]:
        """Everything that `sql` selects."""

    def ask(self, sql: str, /, **values: object) -> Answer:
        """The same, asked together with the next question: a server is waited for once."""

    def each(self, sql: str, /, **values: object) -> Iterator[Row]:
        """The same one by one, for an answer that may not fit into memory."""

    def page(self, sql: str, /, **values: object) -> Iterator[Row]:
        """The same one by one, for a reader that stops after PAGE_BYTES of ``data``, ``overrides``.

        As quick as all at once, if there are no more.
        """

    def row(self, sql: str, /, **values: object) -> Row | None:
        """The first that `sql` selects."""

    def value(self, sql: str, /, **values: object) -> Any:
        """The first column of the first; None if there is none."""

    def now(self) -> Micros:
        """The present moment, by the clock that all who use the store share."""

    def size(self) -> int:
        """The bytes that the store takes, with what is free in it."""

    def damage(self) -> list[str]:
        """What the database itself finds wrong with its files, as sentences."""

    def unreadable(self) -> Iterator[Damaged]:
        """The values that are no text in UTF-8, or of another type than their column."""

    def unique_indexes(self) -> list[Row]:
        """(table, columns with commas between) of every unique index but primary keys."""

    def dangling(self) -> list[str]:
        """The references of one table to another that lead nowhere, as sentences."""


class Writer(Reader, Protocol):
    """One transaction that writes: all of it, or on any exception nothing."""

    limits: Limits
    """What each owner may have, by the settings of who writes."""

    def locked(self, sql: str, /, **values: object) -> Row | None:
        """The first that `sql` selects; all of them are kept from other writers until the end."""

    def lock(self, sql: str, /, **values: object) -> Answer:
        """All of them, asked together with the next question."""

    def lock_briefly(self, sql: str, /, **values: object) -> Answer:
        """The same of a row for which many wait: who stands still then loses all within seconds.

        `sql` may also write it, with RETURNING.
        """

    def locked_if_free(self, sql: str, /, **values: object) -> Row | None:
        """The first without what another writer has locked: it is not waited for."""

    def all_locked_if_free(self, sql: str, /, **values: object) -> list[Row]:
        """All of them in place of the first."""

    def execute(self, sql: str, /, **values: object) -> None:
        """Write before the next question, or the end: what fails is raised there at the latest."""

    def written(self, sql: str, /, **values: object) -> int:
        """Write; how many rows that concerned."""

    def many(self, sql: str, rows: Iterable[Mapping[str, object]], /) -> None:
        """Write once for each of `rows`, as `execute` does."""

    @property
    def joins(self) -> bool:
        """Whether one statement may write several tables: ``WITH also AS (UPDATE ...) ...``."""

    def call(self) -> None:
        """Call crawl workers once all of this is written: a Run was queued.

        Nothing where crawl workers look by themselves several times a second.
        """

    def call_next(self, site: str) -> None:
        """The same if a Run waits for a site, whose turn this transaction gives up."""


class Calls(Protocol):
    """What calls one crawl worker to the queue; a server that is away calls nobody.

    Only a call: it may be lost or come for nothing, because the rows of the Runs decide.
    """

    @property
    def heard(self) -> bool:
        """Whether seldom looks are enough; if not, a worker has to look often for a while."""

    @property
    def listeners(self) -> int:
        """About how many workers hear the same calls, with this one."""

    async def listen(self, ring: Callable[[], object]) -> None:
        """Call `ring` at each call, and when none will be heard any more; until cancelled."""


class Backend(Protocol):
    """A database. Everything raises StoreUnavailable if it cannot be reached or stays locked."""

    @property
    def place(self) -> str:
        """How messages name it; without a password."""

    @property
    def remote(self) -> bool:
        """Whether a question goes over a network, and may wait for it."""

    def reading(self, *, by_replica: bool = False) -> AbstractContextManager[Reader]:
        """A transaction that sees the store as it is at its start; a replica may give it."""

    def replica_problem(self) -> str | None:
        """Why the replica is not asked now, as a sentence; None if it is, or there is none."""

    def writing(self) -> AbstractContextManager[Writer]:
        """A transaction that writes. Raises AlreadyThere for a value that must be unique."""

    def make(self, version: str) -> str:
        """Make the tables of a store of a version in an empty database.

        The answer is the version that it has then: another process may have been faster.
        """

    def migrating(self) -> AbstractContextManager[Connection]:
        """A transaction for migrations, which may recreate tables."""

    def version(self) -> str | None:
        """The version of the store; None for an empty database."""

    def copy(self, file: Path, name: Path) -> None:
        """Write the store of this moment into an empty file, also while others write.

        `name` is what a person calls it, who is told of that.
        Raises Invalid if it has means of its own, and OSError for a file that cannot be written.
        """

    def calls(self) -> Calls:
        """What calls a crawl worker to the queue."""

    def writes(self) -> int | None:
        """A number that stays the same until somebody writes; None if that is not known."""

    def shrink(self) -> None:
        """Give back the space of what is written for good, unless somebody reads it just now."""

    def close(self) -> None:
        """Let go of every connection."""


class NoCalls:
    """Where nobody is called: crawl workers look at the queue by themselves."""

    heard = False
    listeners = 1

    async def listen(self, ring: Callable[[], object]) -> None:
        """Nothing comes."""
