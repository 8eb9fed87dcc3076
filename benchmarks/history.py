"""Stores with a long past, made in a minute: what thousands of Runs of the shop would have left.

    python -m benchmarks.history FOLDER [--changes 1000000] [--rows 100000] [--ledger 100000]

The product itself makes the first Run of each dataset, at a moment of long ago. The later Runs, one
an hour, are written straight into the tables, with the checks and facts of the first. Each Run of
``history`` changes 10 % of its 1000 rows, if no others are asked for. Each Run of ``wide`` finds
1000 new rows, and the 1000 rows before them are gone.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path
from unittest import mock

import orjson

from benchmarks import shop
from benchmarks.past import A_TENTH, ROWS, START, Line, Past
from benchmarks.stage import STORE
from benchmarks.within import ORIGIN, harvest_of, url_of
from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.recipe import Recipe
from livedata.model.requests import CreateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import attempts, datasets, runs
from livedata.services.audit.check import check_store
from livedata.services.commit import AcceptancePolicy
from livedata.store.database.store import Store

OWNER = "local"
CREDITS = 10_000_000
CHECKED = 10_000
"""A store of at most so many changes is checked as by ``livedata check`` when it is made."""

_ENTRY = (
    "INSERT INTO ledger (id, owner, kind, credits, balance_after, dataset_id, run_id, note, "
    "created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def build(
    path: Path,
    changes: int,
    rows: int = 0,
    ledger: int = 0,
    moving: tuple[int, int] = A_TENTH,
    datasets: int = 1,
) -> None:
    """Write a store in which the dataset ``history`` has `changes` changes after its first Run.

    Each later Run changes `moving[0]` of the first `moving[1]` rows. With more `datasets` than one
    there are so many that share the changes, the others named ``history 2`` and so on.
    With `rows`, a dataset ``wide`` has had so many rows. With `ledger`, the owner's ledger has at
    least so many entries.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    names = ("history", *(f"history {number}" for number in range(2, datasets + 1)))
    wanted = dict.fromkeys(names, changes // datasets // moving[0])
    if rows:
        wanted["wide"] = rows // ROWS - 1
    first_runs = {name: _first_run(path, name) for name in wanted}
    with closing(sqlite3.connect(path, isolation_level=None)) as driver:
        # No syncs and a cache of 500 MB: a store that breaks is simply made again.
        driver.execute("PRAGMA synchronous=OFF")
        driver.execute("PRAGMA cache_size=-500000")
        for number, (name, (dataset, run)) in enumerate(first_runs.items(), 5):
            driver.execute("BEGIN")
            # Each has a chance of its own: the ids of all pasts have to differ.
            past = Past(
                *(driver, dataset, run, _lines(driver, dataset), moving), random.Random(number)
            )
            _go_on(past, wanted[name], name == "wide")
            driver.execute("COMMIT")
        driver.execute("BEGIN")
        _keep_books(driver, ledger)
        driver.execute("COMMIT")
        driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    # A check reads the whole store; a small one is written by the same code as a large one.
    if changes <= CHECKED:
        with closing(Store(url_of(path))) as store:
            assert not (problems := check_store(store).problems), problems[:5]


def _first_run(path: Path, name: str) -> tuple[ids.DatasetId, ids.RunId]:
    """Let the product create the dataset and execute its first Run; the ids of both."""
    declared = shop.declaration(ORIGIN).replace('name = "shop"', f'name = "{name}"', 1)
    long_ago = mock.patch("time.time_ns", return_value=START * 1000)
    with closing(Store(url_of(path))) as store, long_ago:
        body = read(CreateDataset, tomllib.loads(declared))
        created = datasets.create(store, OWNER, body, TargetPolicy(), first_credits=CREDITS)
        dataset = ids.DatasetId(ids.raw_id(created["id"]))
        run = ids.RunId(ids.raw_id(runs.enqueue(store, OWNER, dataset)[0]))
        attempt = attempts.begin(store, run)
        assert attempt is not None
        assert isinstance(attempt.recipe, Recipe)
        status = attempts.finish(store, attempt, harvest_of(attempt.recipe), AcceptancePolicy())
        assert status == "succeeded", status
    return dataset, run


def _lines(driver: sqlite3.Connection, dataset: ids.DatasetId) -> list[Line]:
    records = driver.execute(
        "SELECT id, data, item, revision_id, observation_id, first_run_id, updated_at FROM rows "
        "WHERE dataset_id = ? ORDER BY row_key",
        (dataset,),
    ).fetchall()
    return [
        Line(record[0], orjson.loads(record[1]), index // shop.PER_PAGE + 1, *record[2:])
        for index, record in enumerate(records)
    ]


def _go_on(past: Past, count: int, wide: bool) -> None:
    """Add `count` Runs, each with changed rows or, if `wide`, with new rows in place of the old."""
    for number in range(1, count + 1):
        if not wide:
            past.next_run(past.change(), (), ())
            continue
        gone = past.lines[-ROWS:]
        new = [
            Line(past.id(), [f"W-{number:03}-{index:03}", *line.values[1:]], line.page, line.item)
            for index, line in enumerate(gone)
        ]
        past.lines += new
        past.next_run({}, new, gone)
    past.close()


def _keep_books(driver: sqlite3.Connection, entries: int) -> None:
    """Charge every later Run, and grant single credits until there are enough entries."""
    (balance,) = driver.execute("SELECT balance FROM owners").fetchone()
    uncharged = driver.execute(
        "SELECT dataset_id, id, completed_at FROM runs "
        "WHERE id NOT IN (SELECT run_id FROM ledger WHERE run_id IS NOT NULL) ORDER BY completed_at"
    ).fetchall()
    (count,) = driver.execute("SELECT count(*) FROM ledger").fetchone()
    posted: list[tuple[object, ...]] = []
    for dataset, run, moment in uncharged:
        balance -= shop.PAGES
        posted.append((OWNER, "charge", -shop.PAGES, balance, dataset, run, None, moment))
    for number in range(entries - count - len(uncharged)):
        balance += 1
        moment = START + number * 60 * 1_000_000
        posted.append((OWNER, "grant", 1, balance, None, None, "a credit", moment))
    driver.executemany(_ENTRY, [(ids.new_id(), *entry) for entry in posted])
    driver.execute("UPDATE owners SET balance = ?", (balance,))


def main() -> None:
    """Build a store."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the store is made: a home of livedata")
    parser.add_argument("--changes", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--ledger", type=int, default=100_000)
    options = parser.parse_args()
    build(options.folder / STORE, options.changes, options.rows, options.ledger)


if __name__ == "__main__":
    main()
