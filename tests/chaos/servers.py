"""Two PostgreSQL servers on machines of their own: one has the store, one follows it."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import psycopg
from typing_extensions import override

from tests.chaos.network import Machine
from tests.databases import SETTINGS, Server

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


class RemoteServer(Server):
    """A server on a machine of the network."""

    def __init__(self, folder: Path, machine: Machine) -> None:
        super().__init__(folder)
        self.machine = machine

    @property
    def place(self) -> str:
        """Where it answers: the host and the port."""
        return f"{self.machine.address}:{self.port}"

    @override
    def url(self, database: str) -> str:
        return f"postgresql://postgres@{self.place}/{database}?connect_timeout=3"

    @override
    def start(self) -> None:
        data = self.folder / "data"
        if not data.exists():
            words = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
            self._finish("initdb", "-D", data, *words)
            with (data / "pg_hba.conf").open("a") as file:
                file.write(_EVERYBODY)
        settings = SETTINGS | _REPLICATED | {"port": str(self.port)}
        settings["unix_socket_directories"] = str(self.folder)
        options = (word for name, value in settings.items() for word in ("-c", f"{name}={value}"))
        self._process = self._run("postgres", "-D", data, *options)
        self._wait("SELECT 1")

    def follow(self, first: RemoteServer) -> None:
        """Begin as a copy of another server, which answers nobody any more before this has all."""
        self._finish(
            *("pg_basebackup", "-h", first.machine.address, "-p", first.port, "-U", "postgres"),
            *("-D", self.folder / "data", "-R", "-X", "stream", "-c", "fast"),
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
                assert time.monotonic() < end, self.log()
                time.sleep(0.05)
            else:
                return

    def _finish(self, *words: object) -> None:
        assert self._run(str(words[0]), *words[1:]).wait(120) == 0, self.log()

    @override
    def _run(self, program: str, *arguments: object) -> subprocess.Popen[bytes]:
        within = self.machine.enter(numbered=False)
        lower: list[str] = []
        if self._user:
            user, group = self._user["user"], self._user["group"]
            lower = [f"--reuid={user}", f"--regid={group}", "--clear-groups"]
        command = [*within, "setpriv", *lower, "--pdeathsig", "QUIT", str(self._programs / program)]
        options: dict[str, Any] = {"cwd": self.folder}
        with (self.folder / "log").open("a") as log:
            return subprocess.Popen(
                [*command, *map(str, arguments)], stdout=log, stderr=log, **options
            )


def url_of(*servers: RemoteServer) -> str:
    """The address of the store, on whichever of these writes."""
    places = ",".join(server.place for server in servers)
    return f"postgresql://postgres@{places}/{DATABASE}?target_session_attrs=read-write"
