"""What partitions would change on PostgreSQL, and what keeps its queue swift without them.

python -m benchmarks.partitions [-n 60] [--runs 2000000] [--datasets 10000] [--partitions 24 104]

Runs of two years are filled in by plain SQL. Then copies of the database get partitioned tables in
the place of the plain ones: Runs, attempts and the ledger by time, revisions and observations by
dataset. Two guards are lost by that (one open Run of a dataset, one Run at a time that asks a
site), which is why this is a measurement and no option. It takes a quarter of an hour and 20 GB.
"""

from __future__ import annotations

import re
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any, Final

import psycopg
from msgspec.structs import replace
from psycopg import Connection
from typing_extensions import override

from benchmarks import scale, shop
from benchmarks.databases import POSTGRES
from benchmarks.stage import argument_parser
from benchmarks.within import ORIGIN, harvest_of
from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.ids import DatasetId, Micros, RunId
from livedata.model.recipe import Recipe
from livedata.model.requests import CreateDataset
from livedata.model.run import KEPT_FOR
from livedata.rules.network.targets import TargetPolicy
from livedata.services import attempts, datasets, runs
from livedata.services.commit import AcceptancePolicy
from livedata.store import attempts as stored_attempts
from livedata.store import queue
from livedata.store import runs as stored_runs
from livedata.store.database.store import Store
from tests.databases import SETTINGS, running_server

YEARS: Final = 2 * 365 * 24 * scale.HOUR
HASHED: Final = 16
"""Into so many parts revisions and observations are split, by dataset."""
SPLIT: Final = {
    "runs": ("RANGE", "id"),
    "attempts": ("RANGE", "run_id"),
    "ledger": ("RANGE", "id"),
    "revisions": ("HASH", "dataset_id"),
    "observations": ("HASH", "dataset_id"),
}
"""Table -> how it is split, by what; each after what it refers to."""
SAFE: Final = {"fsync": "on", "full_page_writes": "on"}
"""As a server has them by itself: what is written is counted."""
AT_A_TIME: Final = 100
LET_GO: Final = 60_000
PASSED: Final = (0, 100_000, 300_000)
"""After so many Runs that have passed the queue since a vacuum it is looked at.

One of each dataset comes at once, as at each full hour: where few wait, they leave nothing behind.
"""
ASKED: Final = {
    "a Run by its id": ("SELECT * FROM runs WHERE id = %s", "runs.id"),
    "the newest Run of a dataset": (
        "SELECT id FROM runs WHERE dataset_id = %s ORDER BY queued_at DESC, id DESC LIMIT 1",
        "runs.dataset_id",
    ),
    "what a Run was charged": ("SELECT credits FROM ledger WHERE run_id = %s", "runs.id"),
    "the attempts at a Run": ("SELECT started_at FROM attempts WHERE run_id = %s", "runs.id"),
    "an attempt by its id": ("SELECT started_at FROM attempts WHERE id = %s", "attempts.id"),
    "the last sequence of a dataset": (
        "SELECT max(sequence) FROM revisions WHERE dataset_id = %s",
        "runs.dataset_id",
    ),
    "a revision by its id": ("SELECT data FROM revisions WHERE id = %s", "revisions.id"),
    "the last revision of a row": (
        "SELECT max(sequence) FROM revisions WHERE row_id = %s",
        "revisions.row_id",
    ),
    "an observation by its id": (
        "SELECT source_url FROM observations WHERE id = %s",
        "observations.id",
    ),
}
"""What is asked as livedata does -> the statement, and of what it asks."""


class Filling(scale.Filling):
    """Fills a store with the history of Runs that came one after the other, with ids by time."""

    def __init__(self, driver: Any, datasets: int, count: int) -> None:
        super().__init__(driver, POSTGRES, datasets)
        self._of_history = count

    @override
    def fill(self) -> None:
        """Copy the dataset, and its Run with all that it wrote."""
        each, of_each = self._numbers(self._count), self._numbers(self._of_history)
        own = {"id": self._id("d", "n"), "name": "'dataset ' || (1000000 + n)", **self._schedule()}
        self._copy("datasets", each, **own)
        for table in ("bots", "recipes", "schemas"):
            self._copy(table, each, id=self._id(table[0], "n"), dataset_id=own["id"])
        dataset, row = self._id("d", f"n % {self._count}"), f"n % ({self._count} * 20)"
        moment = f"({self._now} - {YEARS} + n * {YEARS // self._of_history})"
        run = self._by_time(moment, 0)
        site = f"'site-' || (n % {scale.SITES}) || '.example'"
        times = dict.fromkeys(("queued_at", "started_at", "completed_at"), moment)
        # Some of the old ones have what is let go of, to see how long that takes.
        kept = f"n > {self._of_history} * {{}} OR n % 10 = 0"
        facts, steps = kept.format("7 / 8"), kept.format("23 / 24")
        of = {"dataset_id": dataset, "site": site, "turn": site}
        self._copy(
            "runs", of_each, id=run, **of, **times, facts=f"CASE WHEN {facts} THEN facts END"
        )
        times = dict.fromkeys(("started_at", "ended_at"), moment)
        steps = f"CASE WHEN {steps} THEN steps END"
        attempt = self._by_time(moment, 1)
        self._copy("attempts", of_each, id=attempt, run_id=run, **times, steps=steps)
        of = {"dataset_id": dataset, "run_id": run}
        left = {"created_at": moment, "balance_after": f"{self._of_history * 10} - n"}
        self._copy("ledger", of_each, id=self._by_time(moment, 2), **of, **left)
        written = {"row_id": self._id("w", row), "sequence": f"1000 + n / {self._count}"}
        revision = self._by_time(moment, 3)
        self._copy("revisions", of_each, id=revision, **of, **written, created_at=moment)
        seen = self._by_time(moment, 4)
        self._copy("observations", of_each, id=seen, **of, observed_at=moment)

    def pass_by(self, hour: int) -> None:
        """Let a Run of each dataset be queued at once, then begun and ended, some at a time."""
        moment = f"{self._now + hour * 1_000_000_000} + n"
        nulls = dict.fromkeys(("started_at", "completed_at", "facts", "stop", "turn"), "NULL")
        of = {"id": self._by_time(moment, 5), "dataset_id": self._id("d", "n")}
        waits = {"site": f"'site-' || n % {scale.SITES}", "status": "'queued'", **of}
        all_ = self._numbers(self._count)
        self._copy("runs", all_, **waits, **nulls, queued_at=moment)
        first = f"SELECT id FROM runs WHERE status = 'queued' ORDER BY queued_at LIMIT {AT_A_TIME}"
        for _ in range(0, self._count, AT_A_TIME):
            begun = "status = 'running', turn = site, started_at = queued_at"
            say(self._driver, f"UPDATE runs SET {begun} WHERE id IN ({first})")
            ended = "status = 'succeeded', facts = (SELECT facts FROM t_runs)"
            say(self._driver, f"UPDATE runs SET {ended} WHERE status = 'running'")

    def _by_time(self, moment: str, salt: int) -> str:
        """An id as those of Runs are: milliseconds before all else."""
        time_, number = f"to_hex(({moment}) / 1000)", f"to_hex(n * 8 + {salt})"
        return f"decode(lpad({time_}, 12, '0') || lpad({number}, 20, '0'), 'hex')"


def split(driver: Connection[Any], table: str, parts: int) -> None:
    """Put a partitioned table into the place of a plain one, with its rows and its keys."""
    how, key = SPLIT[table]
    constraints = driver.execute(
        "SELECT CAST(CAST(conrelid AS regclass) AS text), conname, contype = 'f', "
        "pg_get_constraintdef(oid) FROM pg_constraint WHERE conparentid = 0 "
        "AND contype IN ('p', 'u', 'f') AND CAST(%s AS regclass) IN (conrelid, confrelid) "
        "ORDER BY contype = 'f'",
        (table,),
    ).fetchall()
    indexes = driver.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s", (table,)
    ).fetchall()
    for owner, name, refers, _ in constraints:
        if refers:
            say(driver, f"ALTER TABLE {owner} DROP CONSTRAINT {name}")
    say(driver, f"ALTER TABLE {table} RENAME TO plain")
    like = "LIKE plain INCLUDING DEFAULTS INCLUDING IDENTITY"
    say(driver, f"CREATE TABLE {table} ({like}) PARTITION BY {how} ({key})")
    for number, bounds in enumerate(_bounds(how, parts)):
        say(driver, f"CREATE TABLE {table}_{number} PARTITION OF {table} {bounds}")
    say(driver, f"INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT * FROM plain ORDER BY {key}")
    say(driver, "DROP TABLE plain")
    # No unique key of a partitioned table is without that by which it is split.
    for owner, name, refers, whole in constraints:
        definition = whole if refers else _with(key, whole)
        say(driver, f"ALTER TABLE {owner} ADD CONSTRAINT {name} {definition}")
    for name, definition in indexes:
        if name not in {constraint for _, constraint, *_ in constraints}:
            say(driver, _with(key, definition) if "UNIQUE" in definition else definition)


def _with(key: str, definition: str) -> str:
    """A key over columns, with another one in it."""
    match = re.search(r"\(([^)]*)\)", definition)
    assert match is not None
    if key in match[1].split(", "):
        return definition
    return definition.replace(match[0], f"({match[1]}, {key})", 1)


def _bounds(how: str, parts: int) -> Iterator[str]:
    """What the partitions have of a table: as much time each, or as many datasets."""
    if how == "HASH":
        for rest in range(HASHED):
            yield f"FOR VALUES WITH (MODULUS {HASHED}, REMAINDER {rest})"
        return
    step = YEARS // 1000 // parts + 1
    # Some are ahead of time.
    starts = [(ids.now() - YEARS) // 1000 + step * each for each in range(parts + 4)]
    for low, high in pairwise(start.to_bytes(6).hex() for start in starts):
        yield f"FOR VALUES FROM ('\\x{low}') TO ('\\x{high}')"
    yield "DEFAULT"


def say(driver: Connection[Any], sql: str) -> None:
    """Say a statement that is made of our own names."""
    driver.execute(sql)


def written(driver: Connection[Any]) -> int:
    """The bytes that the server has written to its log since it was made."""
    sql = "SELECT CAST(pg_current_wal_insert_lsn() - '0/0' AS bigint)"
    row: tuple[int] | None = driver.execute(sql).fetchone()
    assert row is not None
    return row[0]


def timed(act: Callable[[], Any], into: list[float]) -> Any:
    """What is answered; its milliseconds are noted."""
    began = time.perf_counter()
    answer = act()
    into.append((time.perf_counter() - began) * 1000)
    return answer


def whole_runs(url: str, n: int) -> None:
    """Print what Runs take from the queue to their end that find nothing changed."""
    steps: tuple[list[float], list[float], list[float]] = ([], [], [])
    shop_ = tomllib.loads(shop.declaration(ORIGIN))
    with closing(Store(url)) as store, psycopg.connect(url, autocommit=True) as driver:
        made = []
        for number in range(n):
            body = read(CreateDataset, {**shop_, "name": f"measured {number}"})
            created = datasets.create(store, scale.OWNER, body, TargetPolicy())
            made.append(DatasetId(ids.raw_id(created["id"])))
        for dataset in made:
            one_run(store, dataset, ([], [], []))
        before = written(driver)
        for _ in range(2):  # by the second the server has its plans
            for step in steps:
                step.clear()
            for dataset in made:
                one_run(store, dataset, steps)
        kilobytes = (written(driver) - before) / 2 / n / 1000
    times = "".join(f"{median(step):>10.2f}" for step in steps)
    print(f"a Run: queued, begun, ended (ms), and log (kB){times}{kilobytes:>10.1f}")


def one_run(store: Store, dataset: DatasetId, into: tuple[list[float], ...]) -> None:
    """Execute a Run of a dataset, whose page is read already."""
    queued, begun, ended = into
    run = timed(lambda: runs.enqueue(store, scale.OWNER, dataset)[0], queued)
    attempt = timed(lambda: attempts.begin(store, RunId(ids.raw_id(run))), begun)
    assert isinstance(attempt.recipe, Recipe)
    harvest = harvest_of(attempt.recipe)
    page = replace(harvest, pages=harvest.pages[:1], attempts=1)
    status = timed(lambda: attempts.finish(store, attempt, page, AcceptancePolicy()), ended)
    assert status == "succeeded", status


def questions(url: str) -> None:
    """Print what each question takes: to be planned, and to be asked once more."""
    with psycopg.connect(url, autocommit=True) as driver:
        say(driver, "SET max_parallel_workers_per_gather = 0; SET jit = off")  # as livedata does
        for what, (sql, of) in ASKED.items():
            table, column = of.split(".")
            some = f"SELECT {column} FROM {table} TABLESAMPLE SYSTEM (1) LIMIT 300"
            asked = driver.execute(some).fetchall()
            plan = driver.execute(f"EXPLAIN (SUMMARY, FORMAT JSON) {sql}", asked[0]).fetchone()
            assert plan is not None
            times: list[float] = []
            for value in asked:
                timed(partial(driver.execute, sql, value, prepare=True), times)
            planned = plan[0][0]["Planning Time"]
            print(f"{what:<46}{planned:>10.2f}{median(times[len(times) // 10 :]):>10.2f}")


def let_go(url: str) -> None:
    """Print how soon what is old goes: the steps of attempts, and facts of Runs."""
    with closing(Store(url)) as store, psycopg.connect(url, autocommit=True) as driver:
        old = Micros(ids.now() - KEPT_FOR)
        facts = driver.execute(
            "SELECT id FROM runs WHERE facts IS NOT NULL AND status = 'succeeded' "
            "ORDER BY dataset_id LIMIT %s",
            (LET_GO,),
        ).fetchall()

        def steps(_start: int) -> None:
            with store.writing() as writer:
                stored_attempts.OLD_STEPS.forget(writer, old, AT_A_TIME)

        def facts_of(start: int) -> None:
            with store.writing() as writer:
                batch = facts[start : start + AT_A_TIME]
                stored_runs.forget_facts(writer, [RunId(run) for (run,) in batch])

        for what, forget in (("steps", steps), ("facts", facts_of)):
            say(driver, "CHECKPOINT")
            began, before = time.perf_counter(), written(driver)
            for start in range(0, LET_GO, AT_A_TIME):
                forget(start)
            a_second = LET_GO / (time.perf_counter() - began)
            each = (written(driver) - before) / LET_GO
            print(
                f"{what + ' let go of: a second, bytes of log':<46}{a_second:>10.0f}{each:>10.0f}"
            )
        for table in ("attempts", "runs"):
            times: list[float] = []
            timed(partial(say, driver, f"VACUUM (INDEX_CLEANUP ON) {table}"), times)
            print(f"{'vacuum of ' + table + ', ms':<46}{times[0]:>10.0f}")


def passed(url: str, count: int) -> None:
    """Print what a look at the queue takes while what has passed it is not vacuumed."""
    passed_by = 0
    with closing(Store(url)) as store, psycopg.connect(url, autocommit=True) as driver:
        filling = Filling(driver, count, 0)
        for target in PASSED:
            while passed_by < target:
                filling.pass_by(passed_by // count)
                passed_by += count
            times: list[float] = []
            for _ in range(7):
                timed(partial(look, store), times)
            print(f"{f'what is queued, {target:,} Runs later':<46}{median(times):>10.2f}")
        times = []
        timed(lambda: say(driver, "VACUUM (INDEX_CLEANUP ON) runs"), times)
        timed(partial(look, store), times)
        print(f"{'vacuum of runs, and a look then':<46}{times[0]:>10.0f}{times[1]:>10.2f}")


def look(store: Store) -> None:
    """Ask what is queued, and since when."""
    with store.reading() as reader:
        queue.waiting_since(reader)


def sizes(driver: Connection[Any]) -> None:
    """Print what a Run takes of each table, and of its indexes, in bytes."""
    for table in SPLIT:
        row = driver.execute(
            "SELECT count(*), pg_table_size(%(table)s), pg_indexes_size(%(table)s) "
            f"FROM {table}".encode(),
            {"table": table},
        ).fetchone()
        assert row is not None
        rows, data, indexes = row
        print(f"{'bytes of a row of ' + table:<46}{data / rows:>10.0f}{indexes / rows:>10.0f}")


def main() -> None:
    """Measure plain tables, and partitioned ones."""
    parser = argument_parser(__doc__, 60)
    parser.add_argument("--runs", type=int, default=2_000_000, metavar="N")
    parser.add_argument("--datasets", type=int, default=10_000, metavar="N")
    parser.add_argument("--partitions", type=int, nargs="+", default=(24, 104), metavar="N")
    options = parser.parse_args()
    SETTINGS.update(SAFE)
    with running_server() as server:
        plain = server.create()
        with closing(Store(server.url(plain))) as store:
            scale.first_run(store)
        with scale.connected(server.url(plain)) as driver:
            Filling(driver, options.datasets, options.runs).fill()
        with psycopg.connect(server.url(plain)) as driver:
            sizes(driver)
        for parts in (0, *options.partitions):
            print(f"\n{f'{parts} partitions' if parts else 'plain tables'}")
            url = server.url(server.create(f"TEMPLATE {plain}"))
            with psycopg.connect(url) as driver:
                for table in SPLIT if parts else ():
                    split(driver, table, parts)
                driver.commit()
                driver.autocommit = True
                say(driver, "VACUUM ANALYZE")
            whole_runs(url, options.n)
            questions(url)
            if not parts:
                let_go(url)
                passed(url, options.datasets)


if __name__ == "__main__":
    main()
