"""Writes a dataset as a plain SQLite file that Datasette and other tools open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livedata.cli.output.whole_file import whole_file
from livedata.store.database.export_file import ExportFile, export_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from livedata.model.dataset import Column
    from livedata.model.row import Change, Row, Scalar
    from livedata.services.snapshot import TableSnapshot

BEFORE = ("rowKey", "status", "presence")
AFTER = ("sourceUrl", "observedAt", "updatedAt")


def write_sqlite(snapshot: TableSnapshot, output: Path, *, present: bool) -> int:
    """Write tables ``rows`` and ``changes``; the file appears under its name when complete.

    Returns how many rows it has.
    """
    with whole_file(output) as part, export_file(part) as file:
        keys = _write_rows(file, snapshot.rows, snapshot.columns, present=present)
        _write_changes(file, snapshot.changes, snapshot.ever, keys)
    return len(keys)


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
    file: ExportFile, rows: Iterator[Row], columns: Sequence[Column], *, present: bool
) -> dict[str, str]:
    """Write ``rows``; return row id -> key of those that are written."""
    types = ["key", "string", "string", *(column["type"] for column in columns), *["string"] * 3]
    file.create_rows(zip(column_names(columns), types, strict=True))
    keys: dict[str, str] = {}
    for row in rows:
        if present and row["presence"] != "present":
            continue
        keys[row["id"]] = row["rowKey"]
        cells = [row["data"][column["id"]] for column in columns]
        before, after = [row[name] for name in BEFORE], [row[name] for name in AFTER]  # type: ignore[literal-required]  # names of it
        file.add_row([*before, *cells, *after])
    return keys


def _write_changes(
    file: ExportFile,
    changes: Iterator[Change],
    columns: Sequence[Column],
    keys: dict[str, str],
) -> None:
    names = {column["id"]: column["name"] for column in columns}
    file.create_changes()
    for change in changes:
        key = keys.get(change["rowId"])
        # Without the rows that are gone, their history goes too: the key refers to a row.
        if key is not None:
            about = (change["sequence"], change["createdAt"], change["kind"], key)
            file.add_changes((*about, *cell) for cell in _cells(change, names))
    file.index_changes()


def _cells(change: Change, names: dict[str, str]) -> Iterator[tuple[str | None, Scalar, Scalar]]:
    """Yield the name, the old and the new value of each cell that changed; one line if none did."""
    if not change["changedFieldIds"]:
        yield None, None, None
    before = change["before"] or {}
    for field in change["changedFieldIds"]:
        yield names[field], before.get(field), change["data"].get(field)
