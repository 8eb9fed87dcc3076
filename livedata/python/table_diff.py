"""What became of a table between two moments, of its rows at both (rules 15.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from livedata.formats.table_layout import ABOUT
from livedata.model.row import Scalar
from livedata.python.source import TableRows
from livedata.services.moments import CellDiff, DiffKind, RowDiff

_KEY: Final = ABOUT.index("rowKey")
_PRESENCE: Final = ABOUT.index("presence")


def diff_rows(then: TableRows, now: TableRows) -> list[RowDiff]:
    """The rows that differ, in the order of `now`; both must have the rows that are gone."""
    names = dict.fromkeys([*now.names[len(ABOUT) :], *then.names[len(ABOUT) :]])
    before = {row[_KEY]: (row[_PRESENCE], _cells(then, row)) for row in then.values}
    differences: list[RowDiff] = []
    for row in now.values:
        presence, cells = before.get(row[_KEY], (None, {}))
        after = _cells(now, row)
        changed = {
            name: CellDiff(before=cells.get(name), after=after.get(name))
            for name in names
            if cells.get(name) != after.get(name)
        }
        kind = _kind(presence, row[_PRESENCE])
        if kind is not None and (changed or kind != "changed"):
            differences.append({"kind": kind, "row": str(row[_KEY]), "changed": changed})
    return differences


def _cells(table: TableRows, row: Sequence[Scalar]) -> Mapping[str, Scalar]:
    return dict(zip(table.names[len(ABOUT) :], row[len(ABOUT) :], strict=True))


def _kind(before: Scalar, after: Scalar) -> DiffKind | None:
    """What became of a row by its presence; None before is a row that was not known."""
    if before is None:
        return "new" if after == "present" else None
    if before == after:
        return "changed"
    return "back" if after == "present" else "gone"
