"""The least cost of the work within a Run: the same work, written by hand for one table.

This code has no hand edits, no Checks, no credits and no declared selectors. livedata, which has
them, is measured against it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import uuid
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from parsel import Selector

Items = Sequence[Sequence[Mapping[str, object]]]
"""The items of each page, by the name of their fields."""

_TABLES = """
CREATE TABLE rows (
  id TEXT PRIMARY KEY, dataset TEXT NOT NULL, key TEXT NOT NULL, data TEXT NOT NULL,
  hash BLOB NOT NULL, revision TEXT NOT NULL, presence TEXT NOT NULL, status TEXT NOT NULL,
  first_run TEXT NOT NULL, last_run TEXT NOT NULL, url TEXT NOT NULL, observed_at TEXT NOT NULL,
  updated_at TEXT NOT NULL, UNIQUE (dataset, key));
CREATE INDEX rows_updated ON rows (dataset, updated_at, id);
CREATE TABLE revisions (
  id TEXT PRIMARY KEY, dataset TEXT NOT NULL, sequence INTEGER NOT NULL, row TEXT NOT NULL,
  previous TEXT, kind TEXT NOT NULL, changed TEXT NOT NULL, data TEXT NOT NULL,
  evidence TEXT NOT NULL, presence TEXT NOT NULL, run TEXT, created_at TEXT NOT NULL,
  UNIQUE (dataset, sequence));
CREATE INDEX revisions_row ON revisions (row, sequence);
CREATE TABLE observations (
  id TEXT PRIMARY KEY, dataset TEXT NOT NULL, run TEXT NOT NULL, url TEXT NOT NULL,
  observed_at TEXT NOT NULL, digest TEXT NOT NULL, entries TEXT NOT NULL);
"""

_DATASET = str(uuid.uuid4())
_AT = "2026-01-02T03:04:05.678901Z"
_TABLE_NAMES = ("observations", "rows", "revisions", "revision_fields")


def plain_store(path: Path) -> sqlite3.Connection:
    """A new store of plain tables."""
    path.unlink(missing_ok=True)
    # The promises of livedata's own store: readers do not wait, every commit is synced.
    store = sqlite3.connect(path, isolation_level=None)
    store.execute("PRAGMA journal_mode=WAL")
    store.execute("PRAGMA synchronous=FULL")
    store.executescript(_TABLES)
    return store


def write_new(store: sqlite3.Connection, items: Items) -> None:
    """Write every item as a new row, with its first revision and its evidence."""
    run = str(uuid.uuid4())
    rows: list[tuple[object, ...]] = []
    revisions: list[tuple[object, ...]] = []
    observations: list[tuple[object, ...]] = []
    for number, on_page in enumerate(items, 1):
        url = f"http://127.0.0.1/list/{number}.html"
        for item in on_page:
            row, revision, seen = (str(uuid.uuid4()) for _ in range(3))
            data = json.dumps(item)
            digest = hashlib.sha256(data.encode())
            evidence = {name: [{"observation": seen, "entry": name}] for name in item}
            entries = [{"id": name, "excerpt": str(value)} for name, value in item.items()]
            state = (row, _DATASET, item["sku"], data, digest.digest(), revision, "present", "new")
            rows.append((*state, run, run, url, _AT, _AT))
            change = (revision, _DATASET, len(revisions) + 1, row, None, "created")
            values = (json.dumps(list(item)), data, json.dumps(evidence))
            revisions.append((*change, *values, "present", run, _AT))
            observed = (seen, _DATASET, run, url, _AT, digest.hexdigest(), json.dumps(entries))
            observations.append(observed)
    # The lock only now: other writers do not wait for the work above.
    store.execute("BEGIN IMMEDIATE")
    tables = (("rows", rows), ("revisions", revisions), ("observations", observations))
    for table, lines in tables:
        places = ", ".join("?" * len(lines[0]))
        store.executemany(f"INSERT INTO {table} VALUES ({places})", lines)
    store.execute("COMMIT")


def see_again(store: sqlite3.Connection, items: Items) -> None:
    """Find that no row has changed, by a hash of each, and write that in one update."""
    store.execute("BEGIN IMMEDIATE")
    hashes = dict(store.execute("SELECT key, hash FROM rows WHERE dataset = ?", (_DATASET,)))
    changed = [
        item
        for on_page in items
        for item in on_page
        if hashes[item["sku"]] != hashlib.sha256(json.dumps(item).encode()).digest()
    ]
    assert not changed
    store.execute(
        "UPDATE rows SET last_run = ?, status = 'unchanged', observed_at = ? WHERE dataset = ?",
        (str(uuid.uuid4()), _AT, _DATASET),
    )
    store.execute("COMMIT")


Copy = Mapping[str, Sequence[Sequence[object]]]


def copy_of(path: Path) -> Copy:
    """All rows of the tables in which livedata keeps rows and their history."""
    with closing(sqlite3.connect(path)) as store:
        return {name: store.execute(f"SELECT * FROM {name}").fetchall() for name in _TABLE_NAMES}


def write_copy(path: Path, copy: Copy) -> None:
    """Write rows that are ready into livedata's own empty tables: the cost of SQLite alone."""
    with closing(sqlite3.connect(path, isolation_level=None)) as store:
        store.execute("PRAGMA synchronous=FULL")
        store.execute("BEGIN IMMEDIATE")
        for table, rows in copy.items():
            places = ", ".join("?" * len(rows[0]))
            store.executemany(f"INSERT INTO {table} VALUES ({places})", rows)
        store.execute("COMMIT")


def read_page(body: bytes) -> tuple[list[dict[str, str | None]], str | None]:
    """The items and the next link of a page of the shop, by parsel's ``.css()``."""
    page = Selector(text=body.decode())
    items = [
        {
            "sku": tile.attrib.get("data-sku"),
            "title": tile.css(".tile__name a::text").get(),
            "brand": tile.css("p.tile__brand::text").get(),
            "price": tile.css(".tile__price > .now::attr(data-amount)").get(),
            "rating": tile.css(".tile__stars .value::text").get(),
            "reviews": tile.css(".tile__stars .count::text").get(),
            "stock": tile.css("p.availability::text").get(),
            "link": tile.css("a.tile__image::attr(href)").get(),
        }
        for tile in page.css("article.tile")
    ]
    return items, page.css("a.pages__next::attr(href)").get()
