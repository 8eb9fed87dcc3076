"""The databases that tests run on: a file of SQLite, and a PostgreSQL server of their own."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

from livedata.store.database.store import Store
from livedata.store.tables import metadata

Dump = dict[str, list[tuple[Any, ...]]]
SQLITE = "sqlite"
POSTGRES = "postgres"
MISSING = (
    "These tests start a PostgreSQL server, and there is none in /usr/lib/postgresql or in PATH: "
    "install the package postgresql, or give --database sqlite."
)
# Nothing here has to survive a power cut, and no table grows for long.
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "max_connections": "200",
}


class Server:
    """A running PostgreSQL server with its data in a folder that goes away with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._programs = programs()
        # PostgreSQL refuses to run as root: there it gets a user who may do less.
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            user = next(user for name in ("postgres", "nobody") if (user := _user(name)))
            self._user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(folder, user.pw_uid, user.pw_gid)
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._names = (f"livedata_{number}" for number in count(1))

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        data = self.folder / "data"
        if not data.exists():
            trust = ("-U", "postgres", "-A", "trust")
            made = self._run("initdb", "-D", data, *trust, "-E", "UTF8", "--no-locale", "--no-sync")
            assert made.wait(60) == 0, self.log()
        settings = SETTINGS | {"port": str(self.port), "unix_socket_directories": str(self.folder)}
        options = (word for name, value in settings.items() for word in ("-c", f"{name}={value}"))
        self._process = self._run("postgres", "-D", data, *options)
        end = time.monotonic() + 30
        while not self._answers():
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < end, self.log()
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Stop the server; by default as if it crashed."""
        driver = self.__dict__.pop("_driver", None)
        if driver is not None:
            driver.close()
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let the server stand still: it accepts connections, and answers nothing."""
        assert self._process is not None
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        everyone = [pid, *map(int, children)]
        for each in everyone:
            os.kill(each, signal.SIGSTOP)
        try:
            yield
        finally:
            for each in everyone:
                os.kill(each, signal.SIGCONT)

    def log(self) -> str:
        """What the server and its programs have said."""
        return (self.folder / "log").read_text()

    def url(self, database: str) -> str:
        """The address of a database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def create(self, options: str = "") -> str:
        """A new database; its name. `options` are those of CREATE DATABASE."""
        name = next(self._names)
        self.ask(f"CREATE DATABASE {name} {options}")
        return name

    def rename(self, name: str) -> str:
        """Give a database another name, which nobody who uses it knows."""
        new, driver = next(self._names), self._driver
        driver.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        driver.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
            (name,),
        )
        driver.execute(f"ALTER DATABASE {name} RENAME TO {new}")
        driver.execute(f"ALTER DATABASE {new} ALLOW_CONNECTIONS true")
        return new

    @cached_property
    def _driver(self) -> Any:
        """A connection for what every test asks: to begin one takes longer than to ask."""
        import psycopg

        return psycopg.connect(self.url("postgres"), autocommit=True)

    def drop(self, name: str) -> None:
        """Drop a database, whoever is connected to it."""
        self.ask(f"DROP DATABASE {name} WITH (FORCE)")

    def ask(self, sql: str, database: str = "postgres") -> None:
        """Say something to the server, outside of a transaction."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as driver:
            driver.execute(sql)

    def _answers(self) -> bool:
        import psycopg

        try:
            self.ask("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, program: str, *arguments: object) -> subprocess.Popen[bytes]:
        command = [str(self._programs / program), *map(str, arguments)]
        # Tests may be killed: their server then ends with them.
        guard = ("setpriv", "--pdeathsig", "QUIT")
        command = [*(guard if shutil.which(guard[0]) else ()), *command]
        with (self.folder / "log").open("a") as log:
            return subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, **self._user)


class EmptyDatabase:
    """A database with an empty store, for one test after another."""

    # To copy a database for each test and drop it takes 140 ms of CPU; to empty one, 50.
    def __init__(self, server: Server, fill: Callable[[Store], None]) -> None:
        self._server = server
        self._name = server.create()
        with closing(Store(self._server.url(self._name))) as store:
            fill(store)
            self._first = everything(store)

    def renew(self) -> str:
        """The address of the database as it was made."""
        # Under another name, so that what the last test has left running finds it no more.
        import psycopg

        self._name = self._server.rename(self._name)
        url = self._server.url(self._name)
        with psycopg.connect(url) as driver:
            # In any order, and without new files for every table and index, as TRUNCATE makes them.
            driver.execute("SET session_replication_role = replica")
            driver.execute("; ".join(f"DELETE FROM {table}" for table in self._first))
            driver.execute(
                "SELECT setval(sequencename::text, start_value, false) FROM pg_sequences"
            )
            for table, rows in self._first.items():
                for row in rows:
                    driver.execute(
                        f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(row))})", row
                    )
        return url


def everything(store: Store, without: Collection[str] = ()) -> Dump:
    """Every table of a store but some, for a comparison."""
    names = [name for name in metadata.tables if name not in without]
    with store.reading() as reader:
        return {name: sorted(reader.rows(f"SELECT * FROM {name}"), key=repr) for name in names}


@contextmanager
def full_disk(url: str, table: str) -> Iterator[None]:
    """Let a server say that its disk is full to who writes a table; or runs, at the COMMIT."""
    import psycopg

    when = f"TRIGGER full_disk BEFORE INSERT OR UPDATE OR DELETE ON {table}"
    if table == "COMMIT":
        when = (
            "CONSTRAINT TRIGGER full_disk AFTER INSERT OR UPDATE OR DELETE ON runs "
            "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
        )
    with psycopg.connect(url, autocommit=True) as driver:
        driver.execute(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "RAISE EXCEPTION 'could not extend file: No space left on device' "
            "USING ERRCODE = 'disk_full'; END $$"
        )
        driver.execute(f"CREATE {when} EXECUTE FUNCTION full_disk()")
        try:
            yield
        finally:
            driver.execute("DROP FUNCTION full_disk CASCADE")


@contextmanager
def running_server() -> Iterator[Server]:
    """A server that is running, for as long as the block."""
    # A short path: that of a socket ends at 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="livedata-pg-"))
    try:
        server = Server(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def programs() -> Path:
    """The folder of the newest PostgreSQL here."""
    installed = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = sorted(installed, key=lambda path: int(path.parts[-3]), reverse=True)
    on_path = shutil.which("initdb")
    for initdb in (*newest, *([Path(on_path)] if on_path else [])):
        return initdb.parent
    raise RuntimeError(MISSING)


def free_port() -> int:
    """A port of loopback that nobody has, and that the system gives to nobody who asks for any."""
    while True:
        port = 20_000 + secrets.randbelow(12_768)
        with suppress(OSError), socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
            return port


def _user(name: str) -> pwd.struct_passwd | None:
    return next((user for user in pwd.getpwall() if user.pw_name == name), None)
