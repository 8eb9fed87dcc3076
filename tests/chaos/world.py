"""Machines that work, servers that have the store, and sites that are read each minute."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.errors import StoreUnavailable
from livedata.model.requests import CreateDataset, UpdateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets
from livedata.services.notices import subscriptions
from livedata.store.database.store import Store
from livedata.store.notices import Subscription
from tests.chaos.judge import Story, is_over, read_store
from tests.chaos.network import Machine, Network
from tests.chaos.servers import DATABASE, RemoteServer, url_of
from tests.chaos.site import Sites
from tests.crawling import shop_source
from tests.made import meet_owner

ROOT = Path(__file__).parents[2]
AT_ONCE = 8
DRAIN = 240.0
"""The seconds in which everything must have ended, once no fire comes any more."""
PAUSE = Event()
"""Never set: what is waited for here is time."""


@dataclass
class World:
    """All that there is in a chaos run."""

    home: Path
    network: Network
    servers: Sequence[RemoteServer]
    machines: Sequence[Machine]
    sites: Sites
    store: Store
    made: list[ids.DatasetId] = field(default_factory=list)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    patience: float = 60.0
    """The seconds for which a fault waits at most until the machine that it meets is busy."""
    story: Story = field(default_factory=lambda: Story((), 0, 0))

    def fill(self, count: int) -> None:
        """Make datasets, which are drafts."""
        meet_owner(self.store, "local", 1_000_000)
        targets = TargetPolicy.parse(self.sites.allow)
        hook = Subscription("hook", "webhook", self.sites.hook, ("changes",), None, 2, None)
        subscriptions.add(self.store, "local", hook)
        for number in range(count):
            name = f"d{number}"
            url = self.sites.put(name, number)
            body = read(CreateDataset, {**shop_source(url), "name": name})
            made = datasets.create(self.store, "local", body, targets)
            self.made.append(ids.DatasetId(ids.raw_id(made["id"])))
        self.story.datasets = [f"d{number}" for number in range(count)]

    def activate(self) -> None:
        """Let every dataset be due now, and then each minute."""
        self._change({"status": "active", "schedule": "* * * * *"})
        self.story.began = -(-time.time() // 60) * 60
        with self.store.writing() as writer:
            writer.execute("UPDATE datasets SET next_run_at = :now", now=writer.now())

    def end(self) -> None:
        """Let no fire come any more, and wait until all has ended."""
        until(lambda: time.time() > self.story.began and not self._due() and not _is_near_a_fire())
        self._change({"status": "paused"})
        self.story.ended = time.time()
        until(self._is_over)
        self.story.asked, self.story.delivered = self.sites.asked, self.sites.delivered
        self.story.check = self._check()

    def start_worker(self, machine: Machine) -> None:
        """Start a supervisor on a machine; it ends with the machine."""
        home = self.home / machine.name
        home.mkdir(exist_ok=True)
        words = (sys.executable, "-m", "livedata", "worker", "--crawlers", "1")
        with (self.home / f"{machine.name}.log").open("ab") as log:
            command = [*machine.enter(), *words]
            process = subprocess.Popen(command, env=self._environ(home), stdout=log, stderr=log)
        self.started.append(process)

    def reap(self) -> None:
        """Wait for what was started, after its machine has ended."""
        for process in self.started:
            # Who has entered a machine may have stopped itself as the machine was frozen.
            process.kill()
            process.wait()

    def in_progress(self, machine: Machine) -> int:
        """How many Runs a machine is executing."""
        with self.store.reading() as reader:
            running = reader.rows("SELECT lease_owner FROM runs WHERE status = 'running'")
        return sum(holder.startswith(f"{machine.name}+") for (holder,) in running)

    def _due(self) -> bool:
        with self.store.reading() as reader:
            due = "SELECT count(*) FROM datasets WHERE next_run_at <= :now"
            return bool(reader.value(due, now=reader.now()))

    def _is_over(self) -> bool:
        read_store(self.store, self.story)
        return is_over(self.story)

    def _change(self, change: dict[str, object]) -> None:
        for dataset in self.made:
            datasets.update(self.store, "local", dataset, read(UpdateDataset, change))

    def _check(self) -> str:
        words = [sys.executable, "-m", "livedata", "check"]
        environ = self._environ(self.home)
        done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr if done.returncode else ""

    def _environ(self, home: Path) -> dict[str, str]:
        return {
            **os.environ,
            "LIVEDATA_HOME": str(home),
            "LIVEDATA_DATABASE_URL": self.store.url,
            "LIVEDATA_ALLOW_HOSTS": self.sites.allow,
            "LIVEDATA_AT_ONCE": str(AT_ONCE),
            "PYTHONPATH": str(ROOT),
        }


@contextmanager
def world(host_count: int, *, failover: bool, logs: Path | None = None) -> Iterator[World]:
    """Two machines, a server, and another one for a failover; what they say is in `logs`."""
    with ExitStack() as stack:
        home = logs or Path(stack.enter_context(TemporaryDirectory()))
        home.mkdir(exist_ok=True)
        network = stack.enter_context(Network())
        sites = stack.enter_context(Sites(network, host_count))
        names = ("primary", "standby") if failover else ("primary",)
        servers = [stack.enter_context(_server(network.machine(name))) for name in names]
        servers[0].start()
        servers[0].ask(f"CREATE DATABASE {DATABASE}")
        if failover:
            servers[1].follow(servers[0])
        store = stack.enter_context(closing(Store(url_of(*servers))))
        machines = [network.machine(name) for name in ("one", "two")]
        made = World(home, network, servers, machines, sites, store)
        try:
            yield made
        finally:
            for machine in machines:
                machine.die()
            made.reap()


@contextmanager
def _server(machine: Machine) -> Iterator[RemoteServer]:
    with TemporaryDirectory(prefix="livedata-pg-", ignore_cleanup_errors=True) as folder:
        server = RemoteServer(Path(folder), machine)
        try:
            yield server
        finally:
            server.stop()


def _is_near_a_fire() -> bool:
    return not 1 <= time.time() % 60 < 50


def until(holds: Callable[[], bool], seconds: float = DRAIN) -> bool:
    """Wait until something holds, but no longer than so; whether it does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(StoreUnavailable):
            if holds():
                return True
        PAUSE.wait(0.1)
    return False
