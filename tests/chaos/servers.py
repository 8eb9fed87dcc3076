"""Two PostgreSQL servers on machines of their own: one has the store, one follows it."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
import time
from pathlib import Path

import psycopg

from tests.chaos.network import Machine
from tests.databases import SETTINGS, free_port, programs

DATABASE = "livedata"
_EVERYBODY = "host all all 0.0.0.0/0 trust\nhost replication all 0.0.0.0/0 trust\n"
_REPLICATED = {
    "wal_keep_size": "512MB",
    "wal_retrieve_retry_interval": "500ms",
    "listen_addresses": "*",
    "autovacuum": "on",
}
# Whatever was answered is on both then, so the other one may take over at any moment.
_SYNCHRONOUS = "ALTER SYSTEM SET synchronous_standby_names = '*'"


class RemoteServer:
    """A server on a machine of the network, with its data in a folder."""

    def __init__(self, folder: Path, machine: Machine) -> None:
        self.machine = machine
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        # PostgreSQL refuses to run as root, and only root may make machines.
        user = next(each for each in pwd.getpwall() if each.pw_name in {"postgres", "nobody"})
        os.chown(folder, user.pw_uid, user.pw_gid)
        self._lower = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")

    @property
    def place(self) -> str:
        """Where it answers: the host and the port."""
        return f"{self.machine.address}:{self._port}"

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        data = self._folder / "data"
        if not data.exists():
            words = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
            self._finish("initdb", "-D", data, *words)
            with (data / "pg_hba.conf").open("a") as file:
                file.write(_EVERYBODY)
        place = {"port": str(self._port), "unix_socket_directories": str(self._folder)}
        settings = SETTINGS | _REPLICATED | place
        options = (word for name, value in settings.items() for word in ("-c", f"{name}={value}"))
        self._process = self._run("postgres", "-D", data, *options)
        self._wait("SELECT 1")

    def stop(self) -> None:
        """Stop the server as if it crashed."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(30)

    def ask(self, sql: str) -> None:
        """Say something to the server, outside of a transaction."""
        url = f"postgresql://postgres@{self.place}/postgres?connect_timeout=3"
        with psycopg.connect(url, autocommit=True) as driver:
            driver.execute(sql)

    def follow(self, first: RemoteServer) -> None:
        """Begin as a copy of another server, which answers nobody any more before this has all."""
        self._finish(
            *("pg_basebackup", "-h", first.machine.address, "-p", first._port, "-U", "postgres"),
            *("-D", self._folder / "data", "-R", "-X", "stream", "-c", "fast"),
        )
        self.start()
        first.ask(_SYNCHRONOUS)
        first.ask("SELECT pg_reload_conf()")
        first._wait("SELECT 1 / count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")

    def promote(self) -> None:
        """Be the first from now on."""
        self.ask("SELECT pg_promote()")
        self._wait("SELECT 1 / (NOT pg_is_in_recovery())::int")

    def _wait(self, until: str) -> None:
        """Ask until it is no error."""
        end = time.monotonic() + 60
        while True:
            try:
                self.ask(until)
            except (psycopg.OperationalError, psycopg.errors.DivisionByZero):
                assert time.monotonic() < end, self._log.read_text()
                time.sleep(0.05)
            else:
                return

    def _finish(self, program: str, *words: object) -> None:
        assert self._run(program, *words).wait(120) == 0, self._log.read_text()

    def _run(self, program: str, *words: object) -> subprocess.Popen[bytes]:
        within = (*self.machine.enter(numbered=False), "setpriv", *self._lower)
        command = (*within, "--pdeathsig", "QUIT", str(programs() / program), *map(str, words))
        with self._log.open("a") as log:
            return subprocess.Popen(command, cwd=self._folder, stdout=log, stderr=log)

    @property
    def _log(self) -> Path:
        return self._folder / "log"


def url_of(*servers: RemoteServer) -> str:
    """The address of the store, on whichever of these writes."""
    places = ",".join(server.place for server in servers)
    return f"postgresql://postgres@{places}/{DATABASE}?target_session_attrs=read-write"
