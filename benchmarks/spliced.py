"""The least that a page of changes costs over HTTP: plain tables, their JSON written ready made.

    python -m benchmarks.spliced DB --port 8770    # GET /changes?after=&limit=

A route of Flask under waitress that puts stored JSON together. It answers what livedata answers:
each revision with the values before it, and the observations with their texts. It has no owners,
no keys, no windows and no schemas.
"""

from __future__ import annotations

import argparse
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from benchmarks.within import url_of
from livedata.model.ids import DatasetId
from livedata.services import feed
from livedata.store.database.store import Store

TABLE = "revisions"
_PARTS = (
    "changedFieldIds",
    "data",
    "evidence",
    "missingReasons",
    "overrides",
    "before",
    "beforeOverrides",
)
_PLAIN = (
    "id",
    "datasetId",
    "rowId",
    "schemaVersion",
    "previousRevisionId",
    "origin",
    "kind",
    "presence",
    "createdAt",
    "runId",
    "actorId",
    "requestId",
    "requestHash",
)
_SCHEMA = f"""
CREATE TABLE {TABLE} (
  sequence INTEGER PRIMARY KEY, plain TEXT, {", ".join(f"{part} TEXT" for part in _PARTS)}
);
CREATE TABLE observations (id TEXT PRIMARY KEY, head TEXT);
CREATE TABLE entries (
  sequence INTEGER, observation TEXT, texts TEXT, PRIMARY KEY (sequence, observation)
) WITHOUT ROWID;
"""
_PAGE = (
    f"SELECT sequence, plain, {', '.join(_PARTS)} FROM {TABLE} "
    "WHERE sequence > ? ORDER BY sequence LIMIT ?"
)
_ENTRIES = (
    "SELECT e.observation, o.head, e.texts FROM entries e JOIN observations o "
    "ON o.id = e.observation WHERE e.sequence > ? AND e.sequence <= ? ORDER BY e.sequence"
)


def copy(path: Path, plain: Path, owner: str, dataset: DatasetId, last: int) -> int:
    """Write the `last` changes of a dataset to plain tables; the sequence before the first."""
    plain.unlink(missing_ok=True)
    with closing(Store(url_of(path))) as store, closing(sqlite3.connect(plain)) as tables:
        tables.execute("PRAGMA synchronous=OFF")
        tables.executescript(_SCHEMA)
        start: int = feed.head(store, owner, dataset) - last
        after: int | None = start
        while after is not None:
            page = feed.changes(store, owner, dataset, after=after, limit=100)
            _copy_page(tables, orjson.loads(orjson.dumps(page)))
            after = page["nextAfter"]
        tables.commit()
    return start


def _copy_page(tables: sqlite3.Connection, page: Mapping[str, Any]) -> None:
    observations = {observation["id"]: observation for observation in page["observations"]}
    for observation in observations.values():
        head = _text({name: value for name, value in observation.items() if name != "entries"})
        tables.execute(
            "INSERT OR IGNORE INTO observations VALUES (?, ?)", (observation["id"], head[:-1])
        )
    for change in page["data"]:
        plain = _text({name: change[name] for name in _PLAIN})[1:-1]
        parts = [_text(change[part]) if part in change else None for part in _PARTS]
        tables.execute(
            f"INSERT INTO {TABLE} VALUES (?, ?{', ?' * len(_PARTS)})",
            (change["sequence"], plain, *parts),
        )
        for observation_id, wanted in _referred(change).items():
            entries = [
                entry for entry in observations[observation_id]["entries"] if entry["id"] in wanted
            ]
            tables.execute(
                "INSERT INTO entries VALUES (?, ?, ?)",
                (change["sequence"], observation_id, _text(entries)[1:-1]),
            )


def _referred(change: Mapping[str, Any]) -> Mapping[str, set[str]]:
    """The entries that a change refers to, by observation."""
    entries: dict[str, set[str]] = {}
    overrides = (*change["overrides"].values(), *change.get("beforeOverrides", {}).values())
    lists = (*change["evidence"].values(), *(override["evidence"] for override in overrides))
    for ref in (ref for refs in lists for ref in refs):
        entries.setdefault(ref["observationId"], set()).add(ref["entryId"])
    return entries


def _text(value: object) -> str:
    return orjson.dumps(value).decode()


def body(tables: sqlite3.Connection, after: int, limit: int) -> bytes:
    """A page of changes."""
    rows = tables.execute(_PAGE, (after, limit)).fetchall()
    last = rows[-1][0] if rows else after
    changes = ",".join(_change(row) for row in rows)
    observations = ",".join(_observations(tables, after, last))
    following = last if len(rows) == limit else "null"
    return (
        f'{{"data":[{changes}],"schemas":[],"observations":[{observations}],'
        f'"through":{last},"nextAfter":{following}}}'
    ).encode()


def _change(row: tuple[Any, ...]) -> str:
    before = "" if row[8] is None else f',"beforeOverrides":{row[8]}'
    return (
        f'{{"sequence":{row[0]},{row[1]},"changedFieldIds":{row[2]},"data":{row[3]},'
        f'"evidence":{row[4]},"missingReasons":{row[5]},"overrides":{row[6]},'
        f'"before":{row[7]}{before}}}'
    )


def _observations(tables: sqlite3.Connection, after: int, last: int) -> Iterator[str]:
    heads: dict[str, str] = {}
    texts: dict[str, list[str]] = {}
    for observation, head, entries in tables.execute(_ENTRIES, (after, last)):
        heads[observation] = head
        texts.setdefault(observation, []).append(entries)
    for observation, entries in texts.items():
        yield f'{heads[observation]},"entries":[{",".join(entries)}]}}'


def main() -> None:
    """Serve plain tables until the process is ended."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("db", type=Path)
    parser.add_argument("--port", type=int, default=8770)
    asked = parser.parse_args()

    import waitress
    from flask import Flask, Response, request

    app, kept = Flask("spliced"), threading.local()

    @app.get("/changes")
    def changes() -> Response:
        if not hasattr(kept, "tables"):
            kept.tables = sqlite3.connect(f"file:{asked.db}?mode=ro", uri=True)
        after, limit = (int(request.args[name]) for name in ("after", "limit"))
        return Response(body(kept.tables, after, limit), mimetype="application/json")

    waitress.serve(app, host="127.0.0.1", port=asked.port, threads=8)


if __name__ == "__main__":
    main()
