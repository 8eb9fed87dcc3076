"""Stores with a long past, made in a minute: what thousands of Runs of the shop would have left.

    python -m benchmarks.history FOLDER [--changes 1000000] [--rows 100000] [--ledger 100000]

The product itself makes the first Run of each dataset, at a moment of long ago. Each later Run is
written behind its back, over the driver: one an hour, with the checks and facts of the first. Those
of ``history`` change 10 % of its 1000 rows; those of ``wide`` find 1000 new rows each, while the
1000 before are gone.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import orjson

from benchmarks import shop
from benchmarks.stage import STORE
from benchmarks.within import ORIGIN, harvest_of, url_of
from livedata.model.reading import read
from livedata.model.requests import CreateDataset
from livedata.model.row import Scalar
from livedata.rules.targets import Targets
from livedata.services import accounts, attempts, datasets, runs
from livedata.services.acceptance import Policy
from livedata.services.check import check
from livedata.store import ids
from livedata.store.engine import Store

OWNER = "local"
ROWS = 1000
CHANGED = 100
START = 1_600_000_000_000_000
HOUR = 3600 * 1_000_000
CREDITS = 10_000_000
JUDGED = 10_000
"""How many changes a store has at most that is judged by ``livedata check`` once it is made."""

RARE, SPARSE, DENSE = "title", "reviews", "price"
_CHANCES = {RARE: 0.001, SPARSE: 0.2}
_FORMATS = {"price": ".2f", "rating": ".1f"}

_RUN = (
    "INSERT INTO runs (id, dataset_id, recipe_version, site, status, attempt, fence, alone, checks, "
    "new_rows, changed_rows, gone_rows, stop, facts, queued_at, started_at, completed_at) "
    "SELECT ?, dataset_id, recipe_version, site, status, attempt, fence, alone, checks, "
    "?, ?, ?, stop, facts, ?, ?, ? FROM runs WHERE id = ?"
)
_ATTEMPT = (
    "INSERT INTO attempts (id, run_id, number, started_at, ended_at, steps) "
    "SELECT ?, ?, number, ?, ?, steps FROM attempts WHERE run_id = ?"
)
_OBSERVATION = (
    "INSERT INTO observations (id, dataset_id, run_id, source_url, observed_at, digest, entries) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_REVISION = (
    "INSERT INTO revisions (id, dataset_id, row_id, sequence, schema_version, previous_id, origin, "
    "kind, changed, data, presence, observation_id, item, run_id, created_at) "
    "VALUES (?, ?, ?, ?, 1, ?, 'collection', ?, ?, ?, ?, ?, ?, ?, ?)"
)
_FIELD = "INSERT INTO revision_fields (dataset_id, position, sequence) VALUES (?, ?, ?)"
_ROW = (
    "INSERT INTO rows (id, dataset_id, row_key, data, presence, status, revision_id, "
    "observation_id, item, first_run_id, last_run_id, source_url, observed_at, updated_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_ENTRY = (
    "INSERT INTO ledger (id, owner, kind, credits, balance_after, dataset_id, run_id, note, "
    "created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(slots=True)
class Line:
    """A row as its last revision left it; `page` and `item` are where it stands in the shop."""

    id: bytes
    values: list[Scalar]
    page: int
    item: int
    revision: bytes | None = None
    observation: bytes | None = None
    first_run: bytes = b""
    last_run: bytes = b""
    seen_at: int = 0
    updated_at: int = 0
    status: str = "unchanged"

    @property
    def presence(self) -> str:
        """Whether the source still has it."""
        return "missing" if self.status == "gone" else "present"

    def texts(self) -> dict[str, str]:
        """Position -> the text that its value was read from."""
        return {
            str(at): format(value, _FORMATS.get(name, ""))
            for at, (name, value) in enumerate(zip(shop.FIELDS, self.values, strict=True))
        }


@dataclass
class Past:
    """What has happened to a dataset so far, and the store that it is written to."""

    driver: sqlite3.Connection
    dataset: bytes
    first: bytes
    lines: list[Line]
    chance: random.Random = field(default_factory=lambda: random.Random(5))
    head: int = ROWS
    at: int = START

    def __post_init__(self) -> None:
        self.run = self.first

    def id(self) -> bytes:
        """A UUIDv7 of the moment."""
        raw = bytearray((self.at // 1000).to_bytes(6, "big") + self.chance.randbytes(10))
        raw[6] = raw[6] & 0x0F | 0x70
        raw[8] = raw[8] & 0x3F | 0x80
        return bytes(raw)

    def seen_at(self, line: Line) -> int:
        """When the Run of the moment read the page of a row."""
        return self.at - (shop.PAGES + 1 - line.page) * 1_000_000

    def next_run(self, changed: dict[int, int], new: Sequence[Line], gone: Sequence[Line]) -> None:
        """A Run: masks by the index of changed rows, rows never seen before, and rows not found."""
        before, self.at = self.run, self.at + HOUR
        self.run = self.id()
        began = (self.at - 100_000_000, self.at - 90_000_000, self.at)
        counts = (len(new), len(changed), len(gone))
        self.driver.execute(_RUN, (self.run, *counts, *began, self.first))
        self.driver.execute(_ATTEMPT, (self.id(), self.run, *began[1:], self.first))
        touched = [(self.lines[at], mask, "updated", "changed") for at, mask in changed.items()]
        touched += [(line, (1 << len(shop.FIELDS)) - 1, "created", "new") for line in new]
        seen = self._observe([line for line, *_ in touched])
        revisions, fields = [], []
        for line, mask, kind, status in (
            *touched,
            *((line, 0, "missing", "gone") for line in gone),
        ):
            self.head += 1
            if status == "gone":
                line.last_run, line.seen_at = before, self.seen_at(line) - HOUR
            else:
                line.observation = seen[line.page]
            if status == "new":
                line.first_run = self.run
            line.status, line.updated_at = status, self.at
            revisions.append(self._revision(line, kind, mask))
            fields += [
                (self.dataset, at, self.head) for at in range(mask.bit_length()) if mask >> at & 1
            ]
        self.driver.executemany(_REVISION, revisions)
        self.driver.executemany(_FIELD, fields)

    def _revision(self, line: Line, kind: str, mask: int) -> tuple[object, ...]:
        revision, previous = self.id(), line.revision
        line.revision = revision
        data = orjson.dumps(line.values).decode()
        evidence = (line.presence, line.observation, line.item)
        change = (revision, self.dataset, line.id, self.head, previous, kind, mask)
        return (*change, data, *evidence, self.run, self.at)

    def _observe(self, lines: Iterable[Line]) -> dict[int, bytes]:
        pages: dict[int, dict[str, dict[str, str]]] = defaultdict(dict)
        times: dict[int, int] = {}
        for line in lines:
            pages[line.page][str(line.item)] = line.texts()
            times[line.page] = self.seen_at(line)
        found = {page: self.id() for page in pages}
        observations = [
            (
                *(key, self.dataset, self.run, f"{ORIGIN}{shop.path(page)}", times[page]),
                *(self.chance.randbytes(32), orjson.dumps(pages[page]).decode()),
            )
            for page, key in found.items()
        ]
        self.driver.executemany(_OBSERVATION, observations)
        return found

    def change(self) -> dict[int, int]:
        """Move a tenth of the prices, and of those some other cells; index -> mask."""
        masks = {}
        for at in sorted(self.chance.sample(range(ROWS), CHANGED)):
            line, moved = self.lines[at], {DENSE}
            moved |= {name for name, share in _CHANCES.items() if self.chance.random() < share}
            for name in moved:
                place = shop.FIELDS.index(name)
                line.values[place] = self._other(name, line.values[place])
            masks[at] = sum(1 << shop.FIELDS.index(name) for name in moved)
        return masks

    def _other(self, name: str, value: Scalar) -> Scalar:
        found = value
        while found == value:
            number = self.chance.randrange(100_000)
            found = {RARE: f"Tool No. {number}", SPARSE: number, DENSE: number / 100 + 1}[name]
        return found

    def close(self) -> None:
        """Write the rows as they stand now, and what the dataset counts."""
        for line in self.lines:
            if line.status != "gone":
                line.last_run = self.run
                line.seen_at = self.seen_at(line)
                line.status = line.status if line.updated_at == self.at else "unchanged"
        self.driver.execute("DELETE FROM rows WHERE dataset_id = ?", (self.dataset,))
        self.driver.executemany(_ROW, map(self._row, self.lines))
        present = sum(line.status != "gone" for line in self.lines)
        self.driver.execute(
            "UPDATE datasets SET head = ?, row_count = ?, rows_updated_at = ? WHERE id = ?",
            (self.head, present, self.at, self.dataset),
        )

    def _row(self, line: Line) -> tuple[object, ...]:
        known = (line.id, self.dataset, line.values[0], orjson.dumps(line.values).decode())
        state = (line.presence, line.status, line.revision, line.observation, line.item)
        url = f"{ORIGIN}{shop.path(line.page)}"
        seen = (line.first_run, line.last_run, url, line.seen_at, line.updated_at)
        return (*known, *state, *seen)


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
        dataset = ids.raw_id(datasets.create(store, OWNER, body, Targets())["id"])
        run = ids.raw_id(runs.enqueue(store, OWNER, dataset)[0])
        attempt = attempts.begin(store, run)
        assert attempt is not None
        status = attempts.finish(store, attempt, harvest_of(attempt.recipe), Policy())
        assert status == "succeeded", status
    return dataset, run


def _lines(driver: sqlite3.Connection, dataset: bytes) -> list[Line]:
    rows = driver.execute(
        "SELECT id, data, item, revision_id, observation_id, first_run_id, updated_at FROM rows "
        "WHERE dataset_id = ? ORDER BY row_key",
        (dataset,),
    ).fetchall()
    return [
        Line(row[0], orjson.loads(row[1]), at // shop.PER_PAGE + 1, *row[2:6], updated_at=row[6])
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
