"""Two machines and a server that all fail, while datasets are due: what ends, and how often.

python -m tests.unattended          # 300 datasets on 100 sites; exit code 1 if anything is wrong
python -m tests.unattended 24 8     # so many datasets on so many sites

Three schedulers and four crawl workers under two supervisors, which take each other for another
machine. Every three seconds a crawl worker is killed; once the server is stopped as if it crashed,
for three seconds; once all connections end on which calls are heard.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock

import click

from livedata.messages.templates import plural
from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.errors import StoreUnavailable
from livedata.model.requests import CreateDataset, UpdateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets
from livedata.services.audit.check import check_store
from livedata.store.database.store import Store
from tests.crawling import shop_source
from tests.databases import Server, running_server
from tests.made import meet_owner
from tests.shop import Item, page
from tests.site import Answer, Request, Site

LIMIT = 300.0
"""The seconds in which every Run must have ended."""
KILLS = 3.0
AWAY = 3.0
"""The seconds between two kills, and those for which the server is away."""
PAGES = 3
ANSWERING = 0.05
"""The seconds that a page takes."""
PAUSE = Event()
"""Never set: what is waited for here is time."""
ROOT = Path(__file__).parents[1]
OPEN = "status IN ('queued', 'running')"
WRONG: Mapping[str, str] = {
    "Runs are still open": f"SELECT count(*) FROM runs WHERE {OPEN}",
    "datasets had no Run, or more than one": "SELECT count(*) FROM datasets d WHERE "
    "(SELECT count(*) FROM runs r WHERE r.dataset_id = d.id) <> 1",
    "fires were skipped": "SELECT count(*) FROM skipped_fires",
    "fires are still due": "SELECT count(*) FROM datasets WHERE next_run_at <= 1000000",
    "accepted Runs were not charged once": "SELECT count(*) FROM runs r WHERE "
    "status = 'succeeded' AND (SELECT count(*) FROM ledger l WHERE l.run_id = r.id) <> 1",
    "other Runs were charged": "SELECT count(*) FROM runs r WHERE status <> 'succeeded' "
    "AND EXISTS (SELECT 1 FROM ledger l WHERE l.run_id = r.id)",
}
"""What may not be, and how many of it there are."""
_DEAFEN = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND query LIKE 'SELECT numbackends %'
"""
# What tells machines apart is read by Python before anything else.
MACHINE = "import os, platform\nplatform.node = lambda: os.environ['TESTS_MACHINE']\n"
SCHEDULER = (
    "import sys, time\n"
    "from livedata.store.database.store import Store\n"
    "from livedata.worker.schedules import Schedules\n"
    "Schedules(Store(sys.argv[1]), 'UTC').start()\n"
    "time.sleep(3600)\n"
)


@dataclass
class Sites:
    """One web server under many names; it notes who asks each of them, and from when until when."""

    site: Site
    asked: dict[str, list[tuple[float, float, str]]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def put(self, dataset: str) -> None:
        """Put the pages of a dataset on every site."""
        for number in range(1, PAGES + 1):
            items = [
                Item(f"S{index}", f"Thing {index}", "1")
                for index in range(number * 5, number * 5 + 5)
            ]
            following = f"/{dataset}/{number + 1}" if number < PAGES else None
            body = page(number, items, following, end=number == PAGES)
            self.site.route(f"/{dataset}/{number}", Answering(self, dataset, body))

    def note(self, name: str, began: float, dataset: str) -> None:
        """Note a request that has been answered."""
        with self._lock:
            self.asked.setdefault(name, []).append((began, time.monotonic(), dataset))

    def overlaps(self) -> list[str]:
        """The sites that two datasets asked at the same time."""
        wrong = []
        for name, asked in self.asked.items():
            last_end, last = 0.0, ""
            for began, end, dataset in sorted(asked):
                if began < last_end and dataset != last:
                    wrong.append(f"{name}: {last} and {dataset} at once")
                last_end, last = max(end, last_end), dataset
        return wrong


@dataclass(frozen=True)
class Answering:
    """A page that takes a moment."""

    sites: Sites
    dataset: str
    body: str

    def __call__(self, request: Request) -> Answer | None:
        """The page, if who asked for it still lives."""
        began = time.monotonic()
        request.wait(ANSWERING)
        if request.raw.is_left():
            return None
        self.sites.note(request.headers["host"], began, self.dataset)
        return Answer(200, self.body)


@dataclass
class Seen:
    """What came of it."""

    seconds: float = 0.0
    kills: int = 0
    outages: int = 0
    deafened: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    attempts: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """What a person wants to know."""
        yield (
            f"{self.seconds:.0f} s, {plural(self.kills, 'crawl worker')} killed, the server "
            f"stopped {plural(self.outages, 'time')}, {plural(self.deafened, 'listener')} cut off"
        )
        yield "Runs: " + ", ".join(f"{count} {status}" for status, count in self.ends.items())
        yield "attempts: " + ", ".join(
            f"{count} took {number}" for number, count in sorted(self.attempts.items())
        )
        yield from self.wrong or ["each Run ended once and was charged once, no fire was lost"]


def play(count: int, site_count: int, kill_every: float = KILLS) -> Seen:
    """Let `count` datasets on so many sites be due, and everything fail."""
    seen = Seen()
    with ExitStack() as stack:
        server = stack.enter_context(running_server())
        home = Path(stack.enter_context(TemporaryDirectory()))
        sites = Sites(stack.enter_context(Site(("0.0.0.0", 0))))
        store = stack.enter_context(closing(Store(server.url(server.create()))))
        allow = _make_due(store, sites, count, site_count)
        supervisors = [
            stack.enter_context(_machine(home, store.url, allow, name)) for name in ("one", "two")
        ]
        stack.enter_context(_process(home, "three", "-c", SCHEDULER, store.url))
        began = time.monotonic()
        _spoil(server, store, supervisors, count, kill_every, seen)
        seen.seconds = time.monotonic() - began
        _judge(store, sites, count, seen)
    return seen


def _make_due(store: Store, sites: Sites, count: int, site_count: int) -> str:
    """Make the datasets, all of which are due; the hosts that they read."""
    port = sites.site.host.rpartition(":")[2]
    hosts = [f"127.0.1.{number}:{port}" for number in range(1, site_count + 1)]
    allow = ",".join(hosts)
    meet_owner(store, "local", 1_000_000)
    for number in range(count):
        name = f"d{number}"
        sites.put(name)
        url = f"http://{hosts[number % site_count]}/{name}/1"
        body = read(CreateDataset, {**shop_source(url), "name": name})
        made = datasets.create(store, "local", body, TargetPolicy.parse(allow))
        active = read(UpdateDataset, {"status": "active", "schedule": "0 6 1 1 *"})
        datasets.update(store, "local", ids.DatasetId(ids.raw_id(made["id"])), active)
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET next_run_at = 1000000")
    return allow


@contextmanager
def _machine(home: Path, url: str, allow: str, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """A supervisor of two crawl workers on a machine of its own."""
    folder = home / name
    folder.mkdir()
    (folder / "config.toml").write_text(f'database_url = "{url}"\nallow_hosts = "{allow}"\n')
    words = ("-m", "livedata", "worker", "--crawlers", "2")
    with _process(home, name, *words) as process:
        yield process


@contextmanager
def _process(home: Path, name: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    (home / "sitecustomize.py").write_text(MACHINE)
    environ = {
        **os.environ,
        "LIVEDATA_HOME": str(home / name),
        "PYTHONPATH": os.pathsep.join((str(home), str(ROOT))),
        "TESTS_MACHINE": name,
    }
    with (home / "log").open("ab") as log:
        process = subprocess.Popen([sys.executable, *words], env=environ, stdout=log, stderr=log)
    try:
        yield process
    finally:
        # Killed, it would leave crawl workers that are just starting, and they write into `home`.
        process.terminate()
        try:
            process.wait(LIMIT)
        finally:
            process.kill()


def _spoil(
    server: Server,
    store: Store,
    supervisors: Sequence[subprocess.Popen[bytes]],
    count: int,
    kill_every: float,
    seen: Seen,
) -> None:
    """Kill, stop and wipe until every dataset has had its Run."""
    began, next_kill = time.monotonic(), time.monotonic() + kill_every
    while (ended := _ended(store)) < count and time.monotonic() - began < LIMIT:
        if time.monotonic() >= next_kill:
            seen.kills += _kill_one(supervisors)
            next_kill = time.monotonic() + kill_every
        if ended > count / 4 and not seen.outages:
            seen.outages += 1
            server.stop()
            PAUSE.wait(AWAY)
            server.start()
        if ended > count / 2 and not seen.deafened:
            with suppress(StoreUnavailable), store.reading() as reader:
                seen.deafened = len(reader.rows(_DEAFEN))
        PAUSE.wait(0.1)


def _kill_one(supervisors: Sequence[subprocess.Popen[bytes]]) -> int:
    """Kill a crawl worker, if there is one; how many that were."""
    pids = [
        int(pid)
        for supervisor in supervisors
        for children in Path(f"/proc/{supervisor.pid}/task").glob("*/children")
        for pid in children.read_text().split()
    ]
    if pids:
        os.kill(random.choice(pids), signal.SIGKILL)
    return len(pids[:1])


def _ended(store: Store) -> int:
    """How many Runs have ended."""
    try:
        with store.reading() as reader:
            ended: int = reader.value(f"SELECT count(*) FROM runs WHERE NOT {OPEN}")
    except StoreUnavailable:
        return 0
    return ended


def _judge(store: Store, sites: Sites, count: int, seen: Seen) -> None:
    """Note how the Runs ended, and what is wrong."""
    with store.reading() as reader:
        seen.ends.update(status for (status,) in reader.rows("SELECT status FROM runs"))
        seen.attempts.update(number for (number,) in reader.rows("SELECT attempt FROM runs"))
        for what, sql in WRONG.items():
            if number := reader.value(sql):
                seen.wrong.append(f"{number} {what}")
        runs = reader.value("SELECT count(*) FROM runs")
    if runs != count:
        seen.wrong.append(f"{runs} Runs of {count} datasets")
    seen.wrong += sites.overlaps()
    seen.wrong += check_store(store).problems


def main(words: Sequence[str]) -> bool:
    """Print what was seen; whether anything is wrong."""
    count, site_count = map(int, words or ("300", "100"))
    seen = play(count, site_count)
    for line in seen.lines():
        click.echo(line)
    return bool(seen.wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
