"""Writes a dataset as a plain SQLite file that Datasette and other tools open."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from livedata.model.dataset import Column
    from livedata.model.row import Change, Row, Scalar
    from livedata.services.snapshot import DatasetSnapshot

# SQLite has no booleans; NUMERIC keeps 12 a whole number and 9.5 a real one.
TYPES = {"string": "TEXT", "number": "NUMERIC", "date": "TEXT", "url": "TEXT", "boolean": "INTEGER"}
BEFORE = ("rowKey", "status", "presence")
AFTER = ("sourceUrl", "observedAt", "updatedAt")
# `before` and `after` have no type: the cells of all columns stand in them.
CHANGES = """
CREATE TABLE changes (
    sequence INTEGER NOT NULL,
    time TEXT NOT NULL,
    kind TEXT NOT NULL,
    rowKey TEXT NOT NULL REFERENCES rows,
    field TEXT,
    before,
    after
)
"""


def write_sqlite(
    snapshot: DatasetSnapshot, columns: Sequence[Column], output: Path, *, present: bool
) -> int:
    """Write tables ``rows`` and ``changes``; the file appears under its name when complete.

    Returns how many rows it has.
    """
    part = output.with_name(f"{output.name}.part")
    # What an export left that was killed; SQLite would go on writing to it.
    part.unlink(missing_ok=True)
    try:
        # The second `file` is one transaction for all rows: one each would wait for the disk.
        with closing(sqlite3.connect(part)) as file, file:
            keys = _write_rows(file, snapshot.rows, columns, present=present)
            _write_changes(file, snapshot.changes, columns, keys)
        part.replace(output)
        return len(keys)
    finally:
        part.unlink(missing_ok=True)


def column_names(columns: Sequence[Column]) -> list[str]:
    """Return the names of the columns of ``rows``, all different to SQLite, which ignores case.

    If a dataset has a column of the same name, ours begin with an underscore.
    """
    taken: set[str] = set()
    names = []
    for column in columns:
        name, number = column["name"], 1
        while name.lower() in taken:
            number += 1
            name = f"{column['name']}_{number}"
        taken.add(name.lower())
        names.append(name)
    ours = [f"_{name}" if name.lower() in taken else name for name in (*BEFORE, *AFTER)]
    return [*ours[: len(BEFORE)], *names, *ours[len(BEFORE) :]]


def _write_rows(
    file: sqlite3.Connection, rows: Iterator[Row], columns: Sequence[Column], *, present: bool
) -> dict[str, str]:
    """Write ``rows``; return row id -> key of those that are written."""
    kinds = [TYPES[column["type"]] for column in columns]
    types = ["TEXT PRIMARY KEY", "TEXT", "TEXT", *kinds, "TEXT", "TEXT", "TEXT"]
    names = map(_quoted, column_names(columns))
    columns_sql = ", ".join(f"{name} {kind}" for name, kind in zip(names, types, strict=True))
    file.execute(f"CREATE TABLE rows ({columns_sql})")
    places = ", ".join("?" * len(types))
    keys: dict[str, str] = {}
    for row in rows:
        if present and row["presence"] != "present":
            continue
        keys[row["id"]] = row["rowKey"]
        cells = [row["data"][column["id"]] for column in columns]
        before, after = [row[name] for name in BEFORE], [row[name] for name in AFTER]  # type: ignore[literal-required]  # names of it
        file.execute(f"INSERT INTO rows VALUES ({places})", [*before, *cells, *after])  # noqa: S608  (no input in it)
    return keys


def _write_changes(
    file: sqlite3.Connection,
    changes: Iterator[Change],
    columns: Sequence[Column],
    keys: dict[str, str],
) -> None:
    names = {column["id"]: column["name"] for column in columns}
    file.execute(CHANGES)
    for change in changes:
        key = keys.get(change["rowId"])
        # Without the rows that are gone, their history goes too: the key refers to a row.
        if key is not None:
            about = (change["sequence"], change["createdAt"], change["kind"], key)
            lines = [(*about, *cell) for cell in _cells(change, names)]
            file.executemany("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?)", lines)
    # An index over all lines at the end costs less than one that grows with them.
    file.execute("CREATE INDEX changes_of_a_row ON changes (rowKey, sequence)")
    file.execute("CREATE INDEX changes_in_order ON changes (sequence)")


def _cells(change: Change, names: dict[str, str]) -> Iterator[tuple[str | None, Scalar, Scalar]]:
    """Yield the name, the old and the new value of each cell that changed; one line if none did."""
    if not change["changedFieldIds"]:
        yield None, None, None
    before = change["before"] or {}
    for field in change["changedFieldIds"]:
        yield names[field], before.get(field), change["data"].get(field)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
