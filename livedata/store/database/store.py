"""A store: brought up to date when it is first used, then asked and written in transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from livedata.model.account import Limits
from livedata.model.errors import StoreUnavailable
from livedata.model.problem import Remedy
from livedata.store.database.backend import (
    SYMPTOMS,
    Backend,
    Calls,
    NewerStore,
    OtherVersion,
    Reader,
    Writer,
)
from livedata.store.database.sqlite.file import PREFIX, Sqlite
from livedata.store.database.table import VERSION


class Database:
    """A store that can be asked; its `url` is of SQLite (``sqlite:///``) or of PostgreSQL."""

    def __init__(
        self, url: str, backend: Backend | None = None, reader: Reader | None = None
    ) -> None:
        """The store at a URL; with the `reader` of an open transaction, all is read in that."""
        self.url = url
        self._backend = backend or _backend(url)
        self._open = reader
        self._current = False
        self._newer: tuple[str, str] | None = None

    @property
    def place(self) -> str:
        """Where the store is, as messages name it."""
        return self._backend.place

    @property
    def remote(self) -> bool:
        """Whether a question may wait for seconds, because a network lies between."""
        return self._backend.remote

    @contextmanager
    def reading(self, *, by_replica: bool = False) -> Iterator[Reader]:
        """One read transaction; it may be of a replica that has all that is written.

        Raises StoreUnavailable if the store cannot be reached, Damaged for what cannot be read.
        """
        if self._open is not None:
            yield self._open  # what fails is judged where this transaction began
            return
        self.ensure()
        try:
            with self._backend.reading(by_replica=by_replica) as reader:
                yield reader
        except SYMPTOMS as error:
            self.raise_damage(error)
            raise

    @contextmanager
    def at_one_moment(self) -> Iterator[Database]:
        """The store as one read transaction sees it: all questions agree, whatever is written.

        Raises what `reading` does.
        """
        with self.reading(by_replica=True) as reader:
            yield Database(self.url, self._backend, reader)

    def raise_damage(self, error: Exception) -> None:
        """Raise Damaged if something in the store cannot be read, which may have caused `error`."""
        if not isinstance(error, SYMPTOMS):
            return
        version = self._backend.version()
        if version is not None and version != VERSION and self._current:
            # What a newer livedata has written is no damage, and nothing is to be ended for it.
            self._look_again()
        elif version is not None:
            # Imported only here: it knows the type of every column, and few stores are damaged.
            from livedata.store.database.damage import first_damage

            with self._backend.reading() as reader:
                damaged = first_damage(reader)
            if damaged is not None:
                raise damaged from error

    def ensure(self) -> None:
        """Make the store, or bring an old one up to date; a newer one is refused untouched."""
        if self._current:
            return
        version = self._backend.version() or self._backend.make(VERSION)
        if version != VERSION:
            # A worker that waits for a newer program asks four times a second.
            if self._newer is not None and self._newer[0] == version:
                raise NewerStore(self._newer[1])
            # Alembic and SQLAlchemy are worth their import only here, once per store and version.
            from livedata.store.database.migrate import upgrade

            try:
                upgrade(self._backend, version)
            except NewerStore as error:
                self._newer = version, error.message
                raise
        self._current = True

    def _look_again(self) -> None:
        """Look at the version as at the first use. Raises NewerStore."""
        self._current = False
        self.ensure()

    def require(self) -> None:
        """Raise StoreUnavailable if there is no store yet; nothing is made."""
        if self._backend.version() is None:
            raise StoreUnavailable(
                f"There is no store at {self.place}. If you expect one there, look at LIVEDATA_HOME"
                " and LIVEDATA_DATABASE_URL; `livedata dataset create source.toml` begins a new "
                "one."
            )

    def copy(self, file: Path, name: Path | None = None) -> None:
        """Write the store of this moment into an empty file, also while others write.

        `name` is what a person calls the file, if that is not its path.
        Raises StoreUnavailable, Invalid for a database that makes its own backups, and OSError for
        a file that cannot be written.
        """
        # An old store is copied as it is: that is the backup to have before it is migrated.
        self.require()
        self._backend.copy(file, name or file)

    def close(self) -> None:
        """Let go of every connection."""
        self._backend.close()


class Store(Database):
    """A store that can be asked and written; `limits` are what each owner may have in it."""

    def __init__(
        self,
        url: str,
        *,
        read_url: str = "",
        listen_url: str = "",
        limits: Limits = Limits(),  # noqa: B008  (it is frozen)
    ) -> None:
        """The store at a URL; others of PostgreSQL name a replica, and where calls are heard."""
        super().__init__(url, _backend(url, read_url, listen_url))
        self.limits = limits

    def replica_problem(self) -> str | None:
        """Why the replica is not asked now, as a sentence; None if it is, or none is named."""
        return self._backend.replica_problem()

    def calls(self) -> Calls:
        """What calls a crawl worker to the queue."""
        return self._backend.calls()

    def writes(self) -> int | None:
        """A number that stays the same until somebody writes; None if that is not known.

        To ask for it costs a tenth of a question. Raises StoreUnavailable.
        """
        self.ensure()
        return self._backend.writes()

    def shrink(self) -> None:
        """Give back the space of what is written for good. Raises StoreUnavailable."""
        self.ensure()
        self._backend.shrink()

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """One write transaction: all of it, or on any exception nothing.

        Raises StoreUnavailable if the store cannot be reached or stays locked; AlreadyThere for a
        value that must be unique, because only the act knows what that means; Damaged for what
        cannot be read.
        """
        self.ensure()
        try:
            with self._backend.writing() as writer:
                writer.limits = self.limits
                yield writer
        except OtherVersion:
            self._look_again()
            raise
        except SYMPTOMS as error:
            self.raise_damage(error)
            raise


def _backend(url: str, read_url: str = "", listen_url: str = "") -> Backend:
    if url.startswith(PREFIX):
        return Sqlite(url)
    if url.startswith(("postgresql://", "postgres://")):
        return _postgres(url, read_url, listen_url)
    # Only its kind is repeated, and nothing of what is no URL: the rest may hold a password.
    kind, mark, _ = url.partition("://")
    named = f" {kind}://…" if mark else ""
    raise StoreUnavailable(
        f"The database URL{named} is not supported; use sqlite:/// and the path of a file, or "
        "postgresql://user@host/database."
    )


def _postgres(url: str, read_url: str, listen_url: str) -> Backend:
    # Imported only here: a store in a file needs no driver of a server.
    try:
        from livedata.store.database.postgres.server import Postgres
    except ImportError as error:
        # Not only if a module is missing: without a library of PostgreSQL psycopg has none either.
        raise StoreUnavailable(
            "A store on PostgreSQL needs the module psycopg with its library, which is not "
            "installed.",
            remedies=(Remedy("install_postgres"),),
        ) from error
    return Postgres(url, read_url, listen_url)
