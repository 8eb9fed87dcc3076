"""The least that a page of changes costs over HTTP: one plain table, its JSON written ready made.

    python -m benchmarks.spliced DB --port 8770    # GET /changes?after=&limit=

A route of Flask under waitress that puts stored JSON together: the values, the evidence and the
changed fields of each revision. It has no owners, no keys, no windows; it tells neither what stood
before a change nor what was observed.
"""

from __future__ import annotations

import argparse
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import orjson

from benchmarks.within import url_of
from livedata.services import feed
from livedata.store.database.store import Store

TABLE = "revisions"
_COLUMNS = "sequence, id, row_id, kind, changed, data, evidence, created_at"
_PAGE = f"SELECT {_COLUMNS} FROM {TABLE} WHERE sequence > ? ORDER BY sequence LIMIT ?"


def copy(path: Path, plain: Path, owner: str, dataset: bytes, last: int) -> int:
    """Write the `last` changes of a dataset to a plain table; the sequence before the first."""
    plain.unlink(missing_ok=True)
    with closing(Store(url_of(path))) as store, closing(sqlite3.connect(plain)) as table:
        table.execute("PRAGMA synchronous=OFF")
        table.execute(
            f"CREATE TABLE {TABLE} (sequence INTEGER PRIMARY KEY, id TEXT, row_id TEXT, "
            "kind TEXT, changed TEXT, data TEXT, evidence TEXT, created_at TEXT)"
        )
        start: int = feed.head(store, owner, dataset) - last
        after: int | None = start
        while after is not None:
            page = feed.changes(store, owner, dataset, after=after, limit=100)
            for change in page["data"]:
                written = (change["changedFieldIds"], change["data"], change["evidence"])
                table.execute(
                    f"INSERT INTO {TABLE} VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        *(change["sequence"], change["id"], change["rowId"], change["kind"]),
                        *(orjson.dumps(part).decode() for part in written),
                        change["createdAt"],
                    ),
                )
            after = page["nextAfter"]
        table.commit()
    return start


def body(table: sqlite3.Connection, after: int, limit: int) -> bytes:
    """A page of changes."""
    rows = table.execute(_PAGE, (after, limit)).fetchall()
    changes = ",".join(
        f'{{"sequence":{row[0]},"id":"{row[1]}","rowId":"{row[2]}","kind":"{row[3]}",'
        f'"changedFieldIds":{row[4]},"data":{row[5]},"evidence":{row[6]},"createdAt":"{row[7]}"}}'
        for row in rows
    )
    last = rows[-1][0] if len(rows) == limit else "null"
    return f'{{"data":[{changes}],"nextAfter":{last}}}'.encode()


def main() -> None:
    """Serve a plain table until the process is ended."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("db", type=Path)
    parser.add_argument("--port", type=int, default=8770)
    asked = parser.parse_args()

    import waitress
    from flask import Flask, Response, request

    app, kept = Flask("spliced"), threading.local()

    @app.get("/changes")
    def changes() -> Response:
        if not hasattr(kept, "table"):
            kept.table = sqlite3.connect(f"file:{asked.db}?mode=ro", uri=True)
        after, limit = (int(request.args[name]) for name in ("after", "limit"))
        return Response(body(kept.table, after, limit), mimetype="application/json")

    waitress.serve(app, host="127.0.0.1", port=asked.port, threads=8)


if __name__ == "__main__":
    main()
