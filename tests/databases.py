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

from typing_extensions import override

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

    def start(self, **settings: str) -> None:
        """Start the server with settings of its own, and wait until it answers."""
        data = self.folder / "data"
        if not data.exists():
            assert self._make(data).wait(60) == 0, self.log()
        place = {"port": str(self.port), "unix_socket_directories": str(self.folder)}
        settings = SETTINGS | place | settings
        options = (word for name, value in settings.items() for word in ("-c", f"{name}={value}"))
        self._process = self.run("postgres", "-D", data, *options)
        end = time.monotonic() + 30
        while not self.answers():
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < end, self.log()
            time.sleep(0.05)

    def _make(self, data: Path) -> subprocess.Popen[bytes]:
        """The program that makes the files of the server."""
        trust = ("-U", "postgres", "-A", "trust")
        return self.run("initdb", "-D", data, *trust, "-E", "UTF8", "--no-locale", "--no-sync")

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

    def answers(self) -> bool:
        """Whether it takes connections."""
        import psycopg

        try:
            self.ask("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def run(self, program: str | Path, *arguments: object) -> subprocess.Popen[bytes]:
        """Start a program as the user of the server."""
        command = [str(self._programs / program), *map(str, arguments)]
        # Tests may be killed: their server then ends with them.
        guard = ("setpriv", "--pdeathsig", "QUIT")
        command = [*(guard if shutil.which(guard[0]) else ()), *command]
        with (self.folder / "log").open("a") as log:
            return subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log, **self._user)


class Replica(Server):
    """A streaming replica of a server, in a folder of its own."""

    def __init__(self, primary: Server, folder: Path) -> None:
        super().__init__(folder)
        self._primary = primary

    @override
    def _make(self, data: Path) -> subprocess.Popen[bytes]:
        whose = f"host=127.0.0.1 port={self._primary.port} user=postgres application_name=replica"
        fast = ("--checkpoint=fast", "--no-sync", "--write-recovery-conf")
        return self.run("pg_basebackup", "-D", data, "-d", whose, *fast)

    @override
    def answers(self) -> bool:
        """Whether it takes connections, and receives what is written."""
        if not super().answers():
            return False
        import psycopg

        with psycopg.connect(self.url("postgres")) as driver:
            return driver.execute("SELECT 1 FROM pg_stat_wal_receiver").fetchone() is not None

    def promote(self) -> None:
        """Let it be the server that is written."""
        self.ask("SELECT pg_promote()")

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Let it receive what is written, and show none of that."""
        self.ask("SELECT pg_wal_replay_pause()")
        try:
            yield
        finally:
            self.ask("SELECT pg_wal_replay_resume()")


class Pooler:
    """PgBouncer before a server, which gives each transaction any of a few connections."""

    def __init__(self, server: Server, folder: Path, *, mode: str = "transaction") -> None:
        self.port = free_port()
        lines = {
            "listen_addr": "127.0.0.1",
            "listen_port": str(self.port),
            "unix_socket_dir": "",
            "auth_type": "any",
            "pool_mode": mode,
            "default_pool_size": "3",
            "max_client_conn": "500",
        }
        to = f"host=127.0.0.1 port={server.port} user=postgres"
        settings = "\n".join(f"{name} = {value}" for name, value in lines.items())
        file = folder / "pgbouncer.ini"
        file.write_text(f"[databases]\n* = {to}\n[pgbouncer]\n{settings}\n")
        file.chmod(0o644)
        program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
        assert program is not None, "Install the package pgbouncer, or give --database sqlite."
        self._process = server.run(program, file)
        end = time.monotonic() + 30
        while not self._takes():
            assert time.monotonic() < end, server.log()
            time.sleep(0.02)

    def _takes(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False

    def url(self, database: str) -> str:
        """The address of a database behind it."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait(30)


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
    with _folder() as folder:
        server = Server(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def running_replica(primary: Server) -> Iterator[Replica]:
    """A replica of a server, for as long as the block."""
    with _folder() as folder:
        replica = Replica(primary, folder)
        replica.start()
        try:
            yield replica
        finally:
            replica.stop()


@contextmanager
def running_pooler(server: Server, mode: str = "transaction") -> Iterator[Pooler]:
    """A pooler before a server, for as long as the block."""
    with _folder() as folder:
        folder.chmod(0o755)
        pooler = Pooler(server, folder, mode=mode)
        try:
            yield pooler
        finally:
            pooler.stop()


@contextmanager
def _folder() -> Iterator[Path]:
    # A short path: that of a socket ends at 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="livedata-pg-"))
    try:
        yield folder
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
