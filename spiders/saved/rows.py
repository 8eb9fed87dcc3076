"""The rows that saved pages gave, in files of JSON, and how a source reads the same pages now."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec
from msgspec import Struct

from livedata.messages.strict_json import Unreadable, parse_json
from livedata.model.dataset import CollectedType
from livedata.model.errors import Invalid
from livedata.model.row import Scalar
from livedata.rules.changes.checks import Outcome

S = TypeVar("S", bound=msgspec.Struct)

AGAIN = "save the pages anew: livedata preview SOURCE --save DIR"
"""What helps if a folder is of no use."""

ROWS: Final = "rows.json"

Kind = Literal["new", "changed", "gone"]
KINDS: Final[tuple[Kind, ...]] = ("new", "changed", "gone")

Row = dict[str, Scalar]


def read_json(path: Path, shape: type[S]) -> S:
    """What a file says. Raises Invalid for one that cannot be read."""
    try:
        return msgspec.convert(parse_json(path.read_bytes()), shape)
    except Unreadable as error:
        why = error.message
    except msgspec.ValidationError as error:
        why = str(error)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
    raise Invalid(f"{path} cannot be read ({why}); restore it, or {AGAIN}.")


def write_json(path: Path, value: Any) -> None:
    """Write a file of which people read the differences: each value has a line of its own."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


class SavedRows(Struct, frozen=True):
    """What a reading gave: how it ended, its columns with their types, and its rows by key."""

    outcome: Outcome
    key: list[str]
    columns: dict[str, CollectedType]
    rows: dict[str, Row]

    def filled(self, column: str) -> int:
        """In how many rows a column has a value."""
        return sum(row.get(column) is not None for row in self.rows.values())


class RowDifference(Struct, frozen=True):
    """A row that is not as it was saved; `cells` has each column's value then and now."""

    kind: Kind
    row: str
    cells: dict[str, tuple[Scalar, Scalar]]


class Differences(Struct, frozen=True):
    """What a source reads otherwise than when its pages were saved.

    `columns` has the type that each column had and has, None for no column; the cells of such
    columns are not compared, but `filled` counts those with a value.
    """

    rows: list[RowDifference]
    unchanged: int
    columns: dict[str, tuple[CollectedType | None, CollectedType | None]]
    filled: dict[str, tuple[int, int]]
    key: tuple[list[str], list[str]] | None
    outcome: tuple[Outcome, Outcome] | None

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return bool(self.rows or self.columns or self.key or self.outcome)

    def count(self, kind: Kind) -> int:
        """How many rows are of a kind."""
        return sum(change.kind == kind for change in self.rows)


def read_rows(folder: Path) -> SavedRows:
    """The rows of a folder. Raises Invalid if they cannot be read."""
    return read_json(folder / ROWS, SavedRows)


def write_rows(file: Path, rows: SavedRows) -> None:
    """Write the rows into a file."""
    write_json(file, rows)


def differences(before: SavedRows, after: SavedRows) -> Differences:
    """Compare the rows that were saved with those that are read now."""
    columns = {
        name: (before.columns.get(name), after.columns.get(name))
        for name in {**before.columns, **after.columns}
        if before.columns.get(name) != after.columns.get(name)
    }
    alike = [name for name in after.columns if name not in columns]
    both = [key for key in after.rows if key in before.rows]
    changed = [
        RowDifference("changed", key, cells)
        for key in both
        if (cells := _changed(before.rows[key], after.rows[key], alike))
    ]
    new = [
        RowDifference("new", key, {name: (None, value) for name, value in row.items()})
        for key, row in after.rows.items()
        if key not in before.rows
    ]
    gone = [RowDifference("gone", key, {}) for key in before.rows if key not in after.rows]
    return Differences(
        rows=[*new, *changed, *gone],
        unchanged=len(both) - len(changed),
        columns=columns,
        filled={name: (before.filled(name), after.filled(name)) for name in columns},
        key=None if before.key == after.key else (before.key, after.key),
        outcome=None if before.outcome == after.outcome else (before.outcome, after.outcome),
    )


def _changed(before: Row, after: Row, columns: list[str]) -> dict[str, tuple[Scalar, Scalar]]:
    values = {name: (before.get(name), after.get(name)) for name in columns}
    return {name: pair for name, pair in values.items() if pair[0] != pair[1]}
