"""What does not grow: questions that take at 100,000 datasets at most twice what they take at 100.

python -m benchmarks.scale [-n 9] [--datasets 100 10000 100000] [--small] [--on SQLite]

Each dataset has had 20 Runs, one an hour, and has 100 revisions; for the last questions 96 of 100
wait in the queue. Nothing is due. The stores are filled by plain SQL from one dataset that the
product has made, which takes ten minutes and 20 GB; with --small there are 100 and 2,000
datasets, and no commands, for a look of a minute. Ticks and claims may take 1.3 times as long, all
else twice. Printed too is what a dataset, row, Run and revision of the largest store take of disk.
"""

from __future__ import annotations

import gc
import json
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from msgspec.structs import replace

from benchmarks import shop
from benchmarks.asking import Client, free_port, serving
from benchmarks.databases import LEFT_OUT, POSTGRES, SQLITE, has_server
from benchmarks.pages import signed_in
from benchmarks.pair import environment
from benchmarks.serve import Api
from benchmarks.stage import STORE, argument_parser, program
from benchmarks.within import ORIGIN, harvest_of
from livedata.mcp.access import DatasetAccess
from livedata.mcp.tables import list_datasets
from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.ids import DatasetId, Micros, NoticeId, OwnerName, RunId
from livedata.model.recipe import Recipe
from livedata.model.requests import CreateDataset
from livedata.rules.declaration.cron import next_fire
from livedata.rules.declaration.notices import ChangeFilter
from livedata.rules.network.targets import TargetPolicy
from livedata.services import attempts, datasets, fires, queries, runs, scheduler
from livedata.services.audit.vitals import Watch
from livedata.services.commit import AcceptancePolicy
from livedata.services.notices import notifying, subscriptions
from livedata.store import notices, queue
from livedata.store.database.store import Store
from livedata.store.notices import Notice, Subscription
from livedata.store.tables import metadata
from tests.databases import running_server

OWNER: Final = OwnerName("local")
SIZES: Final = (100, 10_000, 100_000)
SMALL: Final = (100, 2_000)
RUNS: Final = 20
REVISIONS: Final = 100
ROWS: Final = 2
"""So many of each a dataset has."""
SITES: Final = 1_000
HOUR: Final = 3_600_000_000
STEADY, CLAIM = 2.0, 1.3
WALKED: Final = 100.0
"""Of what says how many wait, or which sites do: it walks an index of those, for 20 ms at most."""
LEAST: Final = 1.0
"""What takes fewer milliseconds counts as so many: below it a ratio says nothing."""
AT_ONCE: Final = 8
"""So many Runs a worker asks for."""
TAKES: Final[Mapping[str, tuple[int, tuple[str, ...]]]] = {
    "dataset": (1, ("datasets", "bots", "recipes", "schemas")),
    "row": (ROWS, ("rows",)),
    "Run": (RUNS, ("runs", "attempts", "ledger")),
    "revision": (REVISIONS, ("revisions", "revision_fields")),
}
"""What stands in which tables, and how many of it a dataset has."""


@dataclass(frozen=True)
class Question:
    """Something that is asked of a store, and how much longer it may take in a large one."""

    what: str
    ask: Callable[[], object]
    bound: float = STEADY


@dataclass(frozen=True)
class Filled:
    """A store of so many datasets, and the home of commands on it."""

    url: str
    home: Path
    count: int


@dataclass(frozen=True)
class Dialect:
    """How a database counts up to a number, and makes an id of one."""

    numbers: str
    key: str
    size: str
    """The bytes of a table with its indexes."""


DIALECTS: Final[Mapping[str, Dialect]] = {
    SQLITE: Dialect(
        "(WITH RECURSIVE counted(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM counted "
        "WHERE n < {last}) SELECT n FROM counted)",
        "CAST(printf('{letter}%015d', {number}) AS BLOB)",
        # By pages: the sum of their sizes is kept in 32 bits.
        "SELECT sum(pageno) * (SELECT page_size FROM pragma_page_size) "
        "FROM dbstat JOIN sqlite_master USING (name) "
        "WHERE aggregate = 1 AND tbl_name = '{table}'",
    ),
    POSTGRES: Dialect(
        "(SELECT generate_series(CAST(0 AS BIGINT), {last}) AS n)",
        "convert_to('{letter}' || lpad(CAST({number} AS text), 15, '0'), 'UTF8')",
        "SELECT pg_total_relation_size('{table}')",
    ),
}


class Filling:
    """Fills a store that has one dataset of one Run with copies of both, by plain SQL."""

    def __init__(self, driver: Any, where: str, count: int) -> None:
        self._driver, self._dialect, self._count = driver, DIALECTS[where], count
        self._now = ids.now()

    def fill(self) -> None:
        """Copy the dataset, its rows and its Run."""
        each, of_each = self._numbers(self._count), self._numbers(self._count * RUNS)
        rows, revisions = (self._numbers(self._count * some) for some in (ROWS, REVISIONS))
        dataset, run = self._id("d", "n"), self._id("r", "n")
        of_run, of_row = self._id("d", f"n / {RUNS}"), self._id("d", f"n / {ROWS}")
        last = f"({self._now} - {HOUR} + n / {RUNS} % 3000 * 1000000)"
        moment = f"({last} - (n % {RUNS}) * {HOUR})"
        newest = f"n % {RUNS} = 0"
        site = f"'site-' || (n / {RUNS} % {SITES}) || '.example'"
        own = {"id": dataset, "name": "'dataset ' || (1000000 + n)", **self._schedule()}
        counts = {"head": str(REVISIONS), "row_count": str(ROWS)}
        moved = {**counts, "rows_updated_at": f"{self._now} - {HOUR} - n"}
        self._copy("datasets", each, **own, **moved, created_at=f"{self._now} - 40 * {HOUR} + n")
        for table in ("bots", "recipes", "schemas"):
            self._copy(table, each, id=self._id(table[0], "n"), dataset_id=dataset)
        times = {"queued_at": moment, "started_at": moment, "completed_at": f"{moment} + 5000000"}
        deltas = {"new_rows": "0", "changed_rows": "n % 3", "gone_rows": "0"}
        of = {"dataset_id": of_run, "site": site, "turn": site}
        # The facts of Runs that are not the last two were let go of.
        facts = f"CASE WHEN n % {RUNS} < 2 THEN t.facts END"
        # One in 50 was not accepted, and of three datasets that was the last one.
        refused = f"n % 50 = 7 OR n < {3 * RUNS} AND {newest}"
        end = {
            "status": f"CASE WHEN {refused} THEN 'failed' ELSE t.status END",
            "followed": f"CASE WHEN ({refused}) AND NOT ({newest}) THEN TRUE END",
        }
        self._copy("runs", of_each, id=run, **of, **times, **deltas, **end, facts=facts)
        kept = {
            "started_at": moment,
            "ended_at": moment,
            "steps": f"CASE WHEN {newest} THEN t.steps END",
        }
        self._copy("attempts", of_each, id=self._id("a", "n"), run_id=run, **kept)
        # The first entry of a ledger is a grant.
        self._driver.execute(
            "CREATE TEMP TABLE t_ledger AS SELECT * FROM ledger WHERE run_id IS NOT NULL"
        )
        charge = {"dataset_id": of_run, "run_id": run, "created_at": f"{moment} + 5000000"}
        left = f"1000000000 - {self._count * RUNS} + n"
        self._copy("ledger", of_each, id=self._id("l", "n"), balance_after=left, **charge)
        seen = {
            name: self._id("r", f"n / {ROWS} * {RUNS}") for name in ("first_run_id", "last_run_id")
        }
        newest_of_row = self._id("v", f"n / {ROWS} * {REVISIONS} + {REVISIONS - ROWS} + n % {ROWS}")
        named = {"row_key": f"'row ' || (n % {ROWS})", "revision_id": newest_of_row}
        named |= {"dataset_id": of_row, "updated_at": f"{self._now} - {HOUR}"}
        self._copy("rows", rows, id=self._id("w", "n"), **named, **seen)
        self._revise(revisions)

    def _revise(self, numbers: str) -> None:
        """Create each row, and then change one field of them in turn, each hour."""
        place = f"n % {REVISIONS}"
        creates = f"{place} < {ROWS}"
        row = self._id("w", f"n / {REVISIONS} * {ROWS} + n % {ROWS}")
        before = f"CASE WHEN {creates} THEN NULL ELSE {self._id('v', f'n - {ROWS}')} END"
        of = {"dataset_id": self._id("d", f"n / {REVISIONS}"), "sequence": f"1 + {place}"}
        age = f"({REVISIONS} - {place}) / {ROWS} * {HOUR}"
        changes = {
            "kind": f"CASE WHEN {creates} THEN 'created' ELSE 'updated' END",
            "changed": f"CASE WHEN {creates} THEN t.changed ELSE 2 END",
            "created_at": f"{self._now} - {HOUR} - {age}",
            "run_id": self._id("r", f"n / {REVISIONS} * {RUNS}"),
        }
        of_row = {"id": self._id("v", "n"), "row_id": row, "previous_id": before}
        self._copy("revisions", numbers, **of, **of_row, **changes)
        self._copy("revision_fields", numbers, **of, position="1")

    def sizes(self) -> Iterator[tuple[str, float]]:
        """What each thing is, and the bytes that one of it takes."""
        for what, (of_dataset, tables) in TAKES.items():
            asked = (self._dialect.size.format(table=table) for table in tables)
            taken = sum(self._driver.execute(size).fetchone()[0] for size in asked)
            yield what, taken / (self._count * of_dataset)

    def queue(self) -> None:
        """Queue a Run of 96 in 100 datasets."""
        some = f"(SELECT n FROM {self._numbers(self._count)} e WHERE n % 100 < 96)"
        waits = {"id": self._id("q", "n"), "dataset_id": self._id("d", "n")}
        nulls = dict.fromkeys(("started_at", "completed_at", "facts", "stop", "turn"), "NULL")
        site = f"'site-' || (n % {SITES}) || '.example'"
        moment = f"{self._now} - 60000000 + n"
        self._copy("runs", some, **waits, **nulls, status="'queued'", site=site, queued_at=moment)

    def _schedule(self) -> Mapping[str, str]:
        """An hourly schedule would be due meanwhile: these fire in half a year, minute by minute.

        A draft with a schedule is in each tenth.
        """
        now = ids.to_datetime(self._now)
        day = now + timedelta(days=180)
        # From now, as a scheduler reckons: one that finds another moment there writes it anew.
        first = ids.microseconds(next_fire(f"0 3 {day.day} {day.month} *", now, "UTC"))
        return {
            "schedule": f"(n % 60) || ' 3 {day.day} {day.month} *'",
            "status": "CASE WHEN n % 10 = 9 THEN 'draft' ELSE 'active' END",
            "next_run_at": f"CASE WHEN n % 10 = 9 THEN NULL ELSE {first} + n % 60 * 60000000 END",
            "next_run_zone": "'UTC'",
        }

    def _numbers(self, count: int) -> str:
        return self._dialect.numbers.format(last=count - 1)

    def _id(self, letter: str, number: str) -> str:
        return self._dialect.key.format(letter=letter, number=number)

    def _copy(self, table: str, numbers: str, **new: str) -> None:
        """Copy the first row of a table for each number, with other values by expressions."""
        self._driver.execute(
            f"CREATE TEMP TABLE IF NOT EXISTS t_{table} AS SELECT * FROM {table} LIMIT 1"
        )
        names = [
            each.name for each in metadata.tables[table].columns if not each.info.get("only_on")
        ]
        assert new.keys() <= {*names}, new.keys() - {*names}
        values = ", ".join(new.get(name, f"t.{name}") for name in names)
        self._driver.execute(
            f"INSERT INTO {table} ({', '.join(names)}) SELECT {values} "
            f"FROM t_{table} t CROSS JOIN {numbers} counted"
        )


def first_run(store: Store) -> None:
    """Let the product create the dataset that is copied, with a Run of one page, and a notice."""
    body = read(CreateDataset, tomllib.loads(shop.declaration(ORIGIN)))
    created = datasets.create(store, OWNER, body, TargetPolicy(), first_credits=1_000_000_000)
    run = runs.enqueue(store, OWNER, DatasetId(ids.raw_id(created["id"])))[0]
    attempt = attempts.begin(store, RunId(ids.raw_id(run)))
    assert attempt is not None
    assert isinstance(attempt.recipe, Recipe)
    harvest = harvest_of(attempt.recipe)
    page = replace(harvest, pages=harvest.pages[:1], attempts=1)
    status = attempts.finish(store, attempt, page, AcceptancePolicy())
    assert status == "succeeded", status
    day = Micros(24 * HOUR)
    told = ("silence", "webhook", "https://hooks.example/", ["silent"], None, 1, day)
    notice = Notice(
        *told, id=NoticeId(ids.new_id()), owner=OWNER, secret=None, created_at=Micros(1)
    )
    with store.writing() as writer:
        notices.add(writer, notice)
        # Without a schedule it would be due whenever somebody asks.
        writer.execute("UPDATE datasets SET status = 'paused'")


def without_queue(store: Store) -> Iterator[Question]:
    """What is asked of a store by its own processes, while no Run waits."""
    watch = Watch(store)
    access = DatasetAccess.of(store, OWNER, "UTC", ())
    yield Question("a look of a scheduler", lambda: scheduler.due(store), CLAIM)
    yield Question("a tick", lambda: [*scheduler.tick(store, "UTC")], CLAIM)
    yield Question("what a scheduler does at its start", lambda: scheduler.replan(store, "UTC"))
    yield Question("who is silent", lambda: notifying.tell_silence(store))
    yield Question("which fires are late", lambda: fires.late_fires(store))
    yield Question("the due Runs of an owner", lambda: scheduler.claim_due(store, OWNER))
    yield Question("metrics", watch.look)
    yield Question("the newest datasets", lambda: queries.datasets(store, OWNER, 21))
    dataset, run = (ids.format_uuid(f"{letter}{7:015}".encode()) for letter in "dr")
    yield Question("a dataset by its id", lambda: queries.find_dataset(store, OWNER, dataset))
    yield Question("a Run by its id", lambda: queries.find_run(store, OWNER, run))
    told = ("prices", "webhook", "https://hooks.example/", ("changes",), None, 1, None)
    wish = Subscription(*told, ChangeFilter(columns=("price",)))
    yield Question("whether a notice fits", lambda: subscriptions.check(store, OWNER, wish))
    yield Question("datasets for an agent", lambda: list_datasets(access, cursor=None))


def with_queue(store: Store) -> Iterator[Question]:
    """The same while nearly each dataset has a Run that waits."""
    watch = Watch(store)
    yield Question("a tick, many waiting", lambda: [*scheduler.tick(store, "UTC")], CLAIM)
    yield Question("a claim, many waiting", lambda: runs.waiting(store, AT_ONCE), CLAIM)
    yield Question("whether a Run waits for a site", lambda: _call_next(store), CLAIM)
    yield Question("metrics, many waiting", watch.look, WALKED)


class _Undone(Exception):
    """Raised to undo what a transaction has written."""


def _call_next(store: Store) -> None:
    with suppress(_Undone), store.writing() as writer:
        queue.call_next(writer, "site-7.example")
        # A server hears of what is written with the next question.
        writer.value("SELECT 1")
        raise _Undone


PAGES: Final = ("/", "/changes", "/usage", "/notices", "/search", "/search?q=tool", "/keys")
ANSWERS: Final = ("/v1/datasets", "/v1/usage")
COMMANDS: Final = (("run",), ("doctor",), ("usage", "--json"), ("dataset", "list"))


def of_server(home: Path, client: Client) -> Iterator[Question]:
    """What a server answers, to programs and to browsers."""
    browser = signed_in(Api(client, {}, {}, 0), home)
    for path in ANSWERS:
        yield Question(f"GET {path}", client.asking(path))
    for path in PAGES:
        yield Question(f"the page {path}", browser.asking(path))


def of_commands(home: Path) -> Iterator[Question]:
    """Commands as whole processes."""
    for words in COMMANDS:
        yield Question(f"livedata {' '.join(words)}", partial(_run, words, home))


def _run(words: Sequence[str], home: Path) -> None:
    env = environment() | {"LIVEDATA_HOME": str(home)}
    # What needs a person makes another exit code.
    subprocess.run((program("livedata"), *words), env=env, capture_output=True, check=False)


@contextmanager
def serving_home(home: Path) -> Iterator[Client]:
    """A client of ``livedata serve`` over the store of a home, with a key."""
    port, env = free_port(), {"LIVEDATA_HOME": str(home)}
    command = (program("livedata"), "key", "create", "--json")
    created = subprocess.run(command, env=environment() | env, capture_output=True, check=True)
    client = Client(port, {"Authorization": f"Bearer {json.loads(created.stdout)['key']}"})
    served = (program("livedata"), "serve", "--no-worker", "--port", str(port))
    with serving(served, port, home / "serve.log", env, "/healthz"):
        yield client


def measure(stores: Sequence[Filled], where: str, n: int, *, is_quick: bool) -> bool:
    """Measure every question to stores that are filled; whether any is over its bound."""
    with ExitStack() as stack:
        opened = [stack.enter_context(closing(Store(each.url))) for each in stores]
        clients = [stack.enter_context(serving_home(each.home)) for each in stores]
        groups = [
            [
                *without_queue(store),
                *of_server(each.home, client),
                *(() if is_quick else of_commands(each.home)),
            ]
            for each, store, client in zip(stores, opened, clients, strict=True)
        ]
        over = report(where, stores, groups, n)
        with connected(stores[-1].url) as driver:
            sizes = Filling(driver, where, stores[-1].count).sizes()
            print("On the disk:", ", ".join(f"a {what} {size:,.0f} bytes" for what, size in sizes))
        for each in stores:
            with connected(each.url) as driver:
                Filling(driver, where, each.count).queue()
        return report(where, stores, [[*with_queue(store)] for store in opened], n) or over


def filled(url: str, home: Path, where: str, count: int) -> Filled:
    """Fill an empty store as it is some hours after its last Run."""
    home.mkdir(parents=True)
    (home / "config.toml").write_text(f'database_url = "{url}"\n')
    with closing(Store(url)) as store:
        first_run(store)
        with connected(url) as driver:
            Filling(driver, where, count).fill()
        notifying.tell_silence(store)
    with connected(url):
        pass  # what was noted since is counted too
    return Filled(url, home, count)


def in_turn(questions: Sequence[Question], n: int) -> tuple[list[float], float]:
    """The medians of the milliseconds of a question to each store, and how the last one stands.

    That is the median of the ratios to the first: the speed of a machine drifts.
    """
    measured: list[list[float]] = []
    began = time.perf_counter()
    while len(measured) <= n and (len(measured) < 4 or time.perf_counter() - began < 30):
        measured.append([timed(each) for each in questions])
    # The first time fills the caches.
    ratio = median(max(each[-1], LEAST) / max(each[0], LEAST) for each in measured[1:])
    return [median(each) for each in zip(*measured[1:], strict=True)], ratio


def timed(question: Question) -> float:
    """The milliseconds of a question."""
    gc.collect()
    start = time.perf_counter()
    question.ask()
    return (time.perf_counter() - start) * 1000


@contextmanager
def connected(url: str) -> Iterator[Any]:
    """A connection to a store that writes all of the block at once, and then counts its rows."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as file:
            file.execute("PRAGMA synchronous=OFF")
            file.execute("PRAGMA cache_size=-500000")
            file.execute("BEGIN")
            yield file
            file.execute("COMMIT")
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return
    import psycopg

    with psycopg.connect(url) as server:
        # Rows refer to each other in circles.
        server.execute("SET session_replication_role = replica")
        yield server
        server.commit()
        server.autocommit = True
        server.execute("VACUUM ANALYZE")  # as its autovacuum does
        # What was written would else be flushed while something is measured.
        server.execute("CHECKPOINT")


def report(
    where: str, stores: Sequence[Filled], groups: Sequence[Sequence[Question]], n: int
) -> bool:
    """Print a table of all sizes; whether any question is over its bound."""
    sizes = "".join(f"{each.count:>12,}" for each in stores)
    print(f"\n{f'{where}, in milliseconds':<40}{sizes}{'ratio':>10}{'bound':>8}")
    over = False
    for questions in zip(*groups, strict=True):
        times, ratio = in_turn(questions, n)
        what, bound = questions[0].what, questions[0].bound
        over |= ratio > bound
        line = "".join(f"{each:>12.1f}" for each in times)
        print(f"{what:<40}{line}{ratio:>10.2f}{bound:>8.1f}{'  over' if ratio > bound else ''}")
        sys.stdout.flush()
    return over


def main() -> None:
    """Measure, and exit with 1 if a figure is over its bound."""
    parser = argument_parser(__doc__, 9)
    parser.add_argument("--datasets", type=int, nargs="+", default=SIZES, metavar="N")
    parser.add_argument("--small", action="store_true", help="a quick look, at small sizes")
    parser.add_argument("--on", choices=(SQLITE, POSTGRES), help="one of the two databases")
    options = parser.parse_args()
    sizes, over = (SMALL if options.small else options.datasets), False
    if options.on != POSTGRES:
        with TemporaryDirectory(prefix="livedata-benchmarks-") as folder:
            homes = [(Path(folder) / SQLITE / str(size), size) for size in sizes]
            stores = [
                filled(f"sqlite:///{home / STORE}", home, SQLITE, size) for home, size in homes
            ]
            over |= measure(stores, SQLITE, options.n, is_quick=options.small)
    if options.on == SQLITE:
        sys.exit(over)
    if not has_server():
        print(f"{POSTGRES}: {LEFT_OUT}")
        sys.exit(over)
    with TemporaryDirectory(prefix="livedata-benchmarks-") as folder, running_server() as server:
        stores = [
            filled(server.url(server.create()), Path(folder) / str(size), POSTGRES, size)
            for size in sizes
        ]
        over |= measure(stores, POSTGRES, options.n, is_quick=options.small)
    sys.exit(over)


if __name__ == "__main__":
    main()
