"""The past of a dataset of the shop: later Runs, as the product would have written them.

They are written straight into the tables, with the checks and facts of the first Run.
"""

from __future__ import annotations

import random
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import orjson

from benchmarks import shop
from benchmarks.within import ORIGIN
from livedata.model.row import Scalar

ROWS = 1000
A_TENTH = (100, ROWS)
START = 1_600_000_000_000_000
HOUR = 3600 * 1_000_000

RARE, SPARSE, DENSE = "title", "reviews", "price"
_CHANCES = {RARE: 0.001, SPARSE: 0.2}
_FORMATS = {"price": ".2f", "rating": ".1f"}

Moved = tuple[int, str | None]
"""The mask of the positions that changed, and the JSON of their values before."""
_ALL: Moved = ((1 << len(shop.FIELDS)) - 1, None)

_RUN = (
    "INSERT INTO runs (id, dataset_id, recipe_version, site, status, attempt, fence, alone, "
    "checks, new_rows, changed_rows, gone_rows, stop, facts, queued_at, started_at, completed_at) "
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
    "kind, changed, was, data, presence, observation_id, item, run_id, created_at) "
    "VALUES (?, ?, ?, ?, 1, ?, 'collection', ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_FIELD = "INSERT INTO revision_fields (dataset_id, position, sequence) VALUES (?, ?, ?)"
_ROW = (
    "INSERT INTO rows (id, dataset_id, row_key, data, presence, status, revision_id, "
    "observation_id, item, first_run_id, last_run_id, source_url, observed_at, updated_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(slots=True)
class Line:
    """A row as its last revision left it; `page` and `item` are its place in the shop."""

    id: bytes
    values: list[Scalar]
    page: int
    item: int
    revision: bytes | None = None
    observation: bytes | None = None
    first_run: bytes = b""
    updated_at: int = 0
    last_run: bytes = b""
    seen_at: int = 0
    status: str = "unchanged"

    @property
    def presence(self) -> str:
        """Whether the source still has the row, in the words of the store."""
        return "missing" if self.status == "gone" else "present"

    def texts(self) -> dict[str, str]:
        """The text from which each value was read, by position."""
        return {
            str(position): format(value, _FORMATS.get(name, ""))
            for position, (name, value) in enumerate(zip(shop.FIELDS, self.values, strict=True))
        }


@dataclass
class Past:
    """A writer of later Runs, each of which changes `moving[0]` of the first `moving[1]` rows.

    `moment` is that of the last Run, `head` its last sequence.
    """

    driver: sqlite3.Connection
    dataset: bytes
    first: bytes
    lines: list[Line]
    moving: tuple[int, int] = A_TENTH
    chance: random.Random = field(default_factory=lambda: random.Random(5))
    head: int = ROWS
    moment: int = START

    def __post_init__(self) -> None:
        self.run = self.first

    def id(self) -> bytes:
        """A new UUIDv7 of the moment."""
        # ids.new_id() would hold the time of today.
        raw = bytearray((self.moment // 1000).to_bytes(6, "big") + self.chance.randbytes(10))
        raw[6] = raw[6] & 0x0F | 0x70
        raw[8] = raw[8] & 0x3F | 0x80
        return bytes(raw)

    def seen_at(self, line: Line) -> int:
        """The moment at which this Run read the page of a row."""
        # A page a second; the last one is read a second before the Run ends.
        return self.moment - (shop.PAGES + 1 - line.page) * 1_000_000

    def next_run(
        self, changed: dict[int, Moved], new: Sequence[Line], gone: Sequence[Line]
    ) -> None:
        """Write a Run: what changed, by index of the row; rows that are new; rows that are gone."""
        before, self.moment = self.run, self.moment + HOUR
        self.run = self.id()
        began = (self.moment - 100_000_000, self.moment - 90_000_000, self.moment)
        counts = (len(new), len(changed), len(gone))
        self.driver.execute(_RUN, (self.run, *counts, *began, self.first))
        self.driver.execute(_ATTEMPT, (self.id(), self.run, *began[1:], self.first))
        touched = [
            (self.lines[index], moved, "updated", "changed") for index, moved in changed.items()
        ]
        touched += [(line, _ALL, "created", "new") for line in new]
        # Rows that are gone have no evidence in this Run: they keep the one that they had.
        seen = self._observe([line for line, *_ in touched])
        revisions, fields = [], []
        for line, moved, kind, status in (
            *touched,
            *((line, (0, "[]"), "missing", "gone") for line in gone),
        ):
            self.head += 1
            if status == "gone":
                line.last_run, line.seen_at = before, self.seen_at(line) - HOUR
            else:
                line.observation = seen[line.page]
            if status == "new":
                line.first_run = self.run
            line.status, line.updated_at = status, self.moment
            revisions.append(self._revision(line, kind, moved))
            mask = moved[0]
            fields += [
                (self.dataset, position, self.head)
                for position in range(mask.bit_length())
                if mask >> position & 1
            ]
        self.driver.executemany(_REVISION, revisions)
        self.driver.executemany(_FIELD, fields)

    def _revision(self, line: Line, kind: str, moved: Moved) -> tuple[object, ...]:
        revision, previous = self.id(), line.revision
        line.revision = revision
        data = orjson.dumps(line.values).decode()
        evidence = (line.presence, line.observation, line.item)
        change = (revision, self.dataset, line.id, self.head, previous, kind, *moved)
        return (*change, data, *evidence, self.run, self.moment)

    def _observe(self, lines: Iterable[Line]) -> dict[int, bytes]:
        pages: dict[int, dict[str, dict[str, str]]] = defaultdict(dict)
        times: dict[int, int] = {}
        for line in lines:
            pages[line.page][str(line.item)] = line.texts()
            times[line.page] = self.seen_at(line)
        keys = {page: self.id() for page in pages}
        observations = [
            (
                *(key, self.dataset, self.run, f"{ORIGIN}{shop.path(page)}", times[page]),
                *(self.chance.randbytes(32), orjson.dumps(pages[page]).decode()),
            )
            for page, key in keys.items()
        ]
        self.driver.executemany(_OBSERVATION, observations)
        return keys

    def change(self) -> dict[int, Moved]:
        """Change the prices of a Run, and some other cells of these rows; by index of the row."""
        changed: dict[int, Moved] = {}
        for index in sorted(self.chance.sample(range(self.moving[1]), self.moving[0])):
            line, moved = self.lines[index], {DENSE}
            moved |= {name for name, share in _CHANCES.items() if self.chance.random() < share}
            previous = []
            for position in sorted(shop.FIELDS.index(name) for name in moved):
                previous.append(line.values[position])
                line.values[position] = self._other(shop.FIELDS[position], line.values[position])
            mask = sum(1 << shop.FIELDS.index(name) for name in moved)
            changed[index] = (mask, orjson.dumps(previous).decode())
        return changed

    def _other(self, name: str, value: Scalar) -> Scalar:
        other = value
        # Chance may give the value that is there already, which would be no change.
        while other == value:
            number = self.chance.randrange(100_000)
            others: dict[str, Scalar] = {
                RARE: f"Tool No. {number}",
                SPARSE: number,
                DENSE: round(number / 100 + 1, 2),
            }
            other = others[name]
        return other

    def close(self) -> None:
        """Write the rows as they are now, and the counts of the dataset."""
        # Once at the end: the rows do not show their past, so Runs before need not touch them.
        for line in self.lines:
            if line.status != "gone":
                line.last_run = self.run
                line.seen_at = self.seen_at(line)
                line.status = line.status if line.updated_at == self.moment else "unchanged"
        self.driver.execute("DELETE FROM rows WHERE dataset_id = ?", (self.dataset,))
        self.driver.executemany(_ROW, map(self._row, self.lines))
        present = sum(line.status != "gone" for line in self.lines)
        self.driver.execute(
            "UPDATE datasets SET head = ?, row_count = ?, rows_updated_at = ? WHERE id = ?",
            (self.head, present, self.moment, self.dataset),
        )

    def _row(self, line: Line) -> tuple[object, ...]:
        identity = (line.id, self.dataset, line.values[0], orjson.dumps(line.values).decode())
        state = (line.presence, line.status, line.revision, line.observation, line.item)
        url = f"{ORIGIN}{shop.path(line.page)}"
        seen = (line.first_run, line.last_run, url, line.seen_at, line.updated_at)
        return (*identity, *state, *seen)
