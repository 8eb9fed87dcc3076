"""Stores with a long past, made in a minute: what thousands of Runs of the shop would have left.

    python -m benchmarks.history FOLDER [--changes 1000000] [--rows 100000] [--ledger 100000]

The product itself makes the first Run of each dataset, at a moment of long ago. Each later Run is
written behind its back, over the driver: one an hour, with the checks and facts of the first. Those
of ``history`` change 10 % of its 1000 rows; those of ``wide`` find 1000 new rows each, while the
1000 before are gone.
"""

from __future__ import annotations

import argparse
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path
from unittest import mock

import orjson

from benchmarks import shop
from benchmarks.past import CHANGED, ROWS, START, Line, Past
from benchmarks.stage import STORE
from benchmarks.within import ORIGIN, harvest_of, url_of
from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.requests import CreateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import accounts, attempts, datasets, runs
from livedata.services.audit import check
from livedata.services.commit import AcceptancePolicy
from livedata.store.database.store import Store

OWNER = "local"
CREDITS = 10_000_000
JUDGED = 10_000
"""How many changes a store has at most that is judged by ``livedata check`` once it is made."""

_ENTRY = (
    "INSERT INTO ledger (id, owner, kind, credits, balance_after, dataset_id, run_id, note, "
    "created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def build(path: Path, changes: int, rows: int = 0, ledger: int = 0) -> None:
    """A store at `path` whose dataset ``history`` has had so many changes after its first Run.

    With `rows`, a dataset ``wide`` has had so many of them; with `ledger`, the ledger of the owner
    has that many entries at least.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    wanted = {"history": changes // CHANGED, **({"wide": rows // ROWS - 1} if rows else {})}
    made = {name: _first_run(path, name) for name in wanted}
    with closing(sqlite3.connect(path, isolation_level=None)) as driver:
        driver.execute("PRAGMA synchronous=OFF")
        driver.execute("PRAGMA cache_size=-500000")
        for name, (dataset, run) in made.items():
            driver.execute("BEGIN")
            _go_on(
                Past(driver, dataset, run, _lines(driver, dataset)), wanted[name], name == "wide"
            )
            driver.execute("COMMIT")
        driver.execute("BEGIN")
        _keep_books(driver, ledger)
        driver.execute("COMMIT")
        driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if changes <= JUDGED:
        with closing(Store(url_of(path))) as store:
            assert not (problems := check(store).problems), problems[:5]


def _first_run(path: Path, name: str) -> tuple[bytes, bytes]:
    """The dataset and its first Run, by the product itself."""
    declared = shop.declaration(ORIGIN).replace('name = "shop"', f'name = "{name}"', 1)
    long_ago = mock.patch("time.time_ns", return_value=START * 1000)
    with closing(Store(url_of(path))) as store, long_ago:
        accounts.ensure_owner(store, OWNER, CREDITS)
        body = read(CreateDataset, tomllib.loads(declared))
        dataset = ids.raw_id(datasets.create(store, OWNER, body, TargetPolicy())["id"])
        run = ids.raw_id(runs.enqueue(store, OWNER, dataset)[0])
        attempt = attempts.begin(store, run)
        assert attempt is not None
        status = attempts.finish(store, attempt, harvest_of(attempt.recipe), AcceptancePolicy())
        assert status == "succeeded", status
    return dataset, run


def _lines(driver: sqlite3.Connection, dataset: bytes) -> list[Line]:
    rows = driver.execute(
        "SELECT id, data, item, revision_id, observation_id, first_run_id, updated_at FROM rows "
        "WHERE dataset_id = ? ORDER BY row_key",
        (dataset,),
    ).fetchall()
    return [
        Line(row[0], orjson.loads(row[1]), at // shop.PER_PAGE + 1, *row[2:])
        for at, row in enumerate(rows)
    ]


def _go_on(past: Past, count: int, wide: bool) -> None:
    """So many Runs more, each of changed rows, or of new ones instead of those before."""
    for number in range(1, count + 1):
        if not wide:
            past.next_run(past.change(), (), ())
            continue
        gone = past.lines[-ROWS:]
        new = [
            Line(past.id(), [f"W-{number:03}-{at:03}", *line.values[1:]], line.page, line.item)
            for at, line in enumerate(gone)
        ]
        past.lines += new
        past.next_run({}, new, gone)
    past.close()


def _keep_books(driver: sqlite3.Connection, entries: int) -> None:
    """Charge every later Run, and grant a credit at a time until there are enough entries."""
    (balance,) = driver.execute("SELECT balance FROM owners").fetchone()
    uncharged = driver.execute(
        "SELECT dataset_id, id, completed_at FROM runs "
        "WHERE id NOT IN (SELECT run_id FROM ledger WHERE run_id IS NOT NULL) ORDER BY completed_at"
    ).fetchall()
    (known,) = driver.execute("SELECT count(*) FROM ledger").fetchone()
    posted: list[tuple[object, ...]] = []
    for dataset, run, at in uncharged:
        balance -= shop.PAGES
        posted.append((OWNER, "charge", -shop.PAGES, balance, dataset, run, None, at))
    for number in range(entries - known - len(uncharged)):
        balance += 1
        at = START + number * 60 * 1_000_000
        posted.append((OWNER, "grant", 1, balance, None, None, "a credit", at))
    driver.executemany(_ENTRY, [(ids.new_id(), *entry) for entry in posted])
    driver.execute("UPDATE owners SET balance = ?", (balance,))


def main() -> None:
    """Make one store."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the store is made: a home of livedata")
    parser.add_argument("--changes", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--ledger", type=int, default=100_000)
    asked = parser.parse_args()
    build(asked.folder / STORE, asked.changes, asked.rows, asked.ledger)


if __name__ == "__main__":
    main()
