"""Hand edits: read what a person types, override or reset cells of one row (rules 5.11 to 5.15).

And which of them another table takes over (rules 4.14).
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from livedata.extraction.cells import MAX_CELL
from livedata.model.dataset import Column
from livedata.model.errors import Detail, Invalid
from livedata.model.row import MAX_NUMBER, Scalar
from livedata.rules.changes.compare import Cells, CurrentRow, source_value

EDITS_LEFT: Final = "finding.edits_left"
"""What is odd in the Run at which a table takes over less than there was."""
Placed = Mapping[str, tuple[int, Column]]
"""The columns of a table by name, each with its position."""

# Bounded, because int() of very many digits is slow, and refused by Python after 4,300 of them.
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,30}")


def check(values: Collection[str], resets: Collection[str]) -> None:
    """Raise Invalid for an edit that no row could take: of nothing, or of a field in two ways."""
    if not values and not resets:
        raise Invalid("Give values or resetFieldIds: an edit of nothing is not one.")
    _raise(
        [
            Detail(f"values.{field}", "is both set and reset; choose one")
            for field in values
            if field in resets
        ]
    )


def edit(
    cells: Cells,
    columns: Mapping[str, tuple[int, Column]],
    values: Mapping[str, Scalar],
    resets: Collection[str],
) -> tuple[Cells, frozenset[int]]:
    """The cells after an edit, and the positions that it names.

    `columns` maps a field id to its position and column. Raises Invalid with a detail for each
    field that is unknown, part of the identity, of another type, or reset without an override.
    """
    by_field = {field: column for field, (_, column) in columns.items()}
    _raise([*value_problems(by_field, values), *_reset_problems(cells, columns, resets)])
    width = max(position for position, _ in columns.values()) + 1
    shown = cells.values + [None] * (width - len(cells.values))
    reasons, overrides = dict(cells.reasons), dict(cells.overrides)
    for field, value in values.items():
        position, column = columns[field]
        # Only the first edit of a cell covers the source's value; later ones cover an edit.
        if column["ownership"] == "collected" and position not in overrides:
            overrides[position] = source_value(shown[position], reasons.pop(position, None))
        shown[position] = value
    for field in resets:
        position = columns[field][0]
        covered = overrides.pop(position)
        shown[position] = covered["value"]
        if "reason" in covered:
            reasons[position] = covered["reason"]
    # An edit names its cells even if their values stay the same: they are edited by hand now.
    named = frozenset(columns[field][0] for field in (*values, *resets))
    return Cells(shown, reasons, overrides), named


def _raise(problems: Sequence[Detail]) -> None:
    if problems:
        raise Invalid(f"{problems[0].path} {problems[0].message}.", tuple(problems))


def value_problems(columns: Mapping[str, Column], values: Mapping[str, Scalar]) -> list[Detail]:
    """A detail for each value that the cell of its field cannot have; `columns` are by field."""
    problems = []
    for field, value in values.items():
        if field not in columns:
            problem: str | None = "is not a field of this dataset"
        elif columns[field]["key"]:
            problem = f"is the identity field {columns[field]['name']}, which is read-only"
        else:
            problem = _value_problem(value, columns[field]["type"])
        if problem:
            problems.append(Detail(f"values.{field}", problem))
    return problems


def _reset_problems(
    cells: Cells, columns: Mapping[str, tuple[int, Column]], resets: Collection[str]
) -> list[Detail]:
    return [
        Detail(
            f"resetFieldIds[{index}]",
            "is not overridden, so there is nothing to reset"
            if field in columns
            else "is not a field of this dataset",
        )
        for index, field in enumerate(resets)
        if field not in columns or columns[field][0] not in cells.overrides
    ]


def _value_problem(value: Scalar, kind: str) -> str | None:
    """Why a column of type `kind` cannot hold `value`, or None if it can."""
    if value is None:
        return None
    if isinstance(value, str) and len(value) > MAX_CELL:
        return f"is longer than {MAX_CELL} characters"
    # Cut, because the value is repeated and may have 32,768 characters.
    return None if _FITS[kind](value) else f"must be {_MEANT[kind]}, not {value!r}"[:300]


def _is_number(value: Scalar) -> bool:
    # To Python True is an int.
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and abs(value) <= MAX_NUMBER


# fromisoformat also takes forms that are not meant here, such as 20260131 and 2026-W05-6.
_DATE = re.compile(r"\d{4}-\d\d-\d\d(T.*)?", re.ASCII)


def _is_date(value: Scalar) -> bool:
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return False
    try:
        datetime.fromisoformat(value) if "T" in value else date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_url(value: Scalar) -> bool:
    # urlsplit removes tabs and newlines without a word.
    if not isinstance(value, str) or re.search(r"[\s\x00-\x1f]", value):
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


_FITS: dict[str, Callable[[Scalar], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "date": _is_date,
    "url": _is_url,
}
_MEANT = {
    "string": "a string",
    "number": "a number of at most 2^53",
    "boolean": "true or false",
    "date": "an ISO date such as 2026-01-31 or 2026-01-31T08:00:00Z",
    "url": "an absolute http or https address",
}


def parse_value(column: Column, text: str) -> Scalar:
    """Read `text` as a value of the column's type; an empty text is null."""
    if not text:
        return None
    if column["type"] == "number":
        return _number(column["name"], text)
    if column["type"] == "boolean":
        if text.lower() not in {"true", "false"}:
            raise Invalid(f"{column['name']} must be true or false, not {text!r}.")
        return text.lower() == "true"
    # A date or an address is a string here: the rules of edits judge it.
    return text


def _number(name: str, text: str) -> int | float:
    try:
        number = int(text) if _WHOLE.fullmatch(text) else float(text)
    except ValueError:
        raise Invalid(f"{name} must be a number such as 12 or 9.50, not {text!r}.") from None
    if not abs(number) <= MAX_NUMBER:  # NaN is not smaller than anything
        raise Invalid(f"{name} must be a number of at most 2^53 ({MAX_NUMBER}), not {text[:40]!r}.")
    return int(number) if isinstance(number, float) and number.is_integer() else number


class RowTakeOver(Struct, frozen=True):
    """A row that takes over the hand edits of one of another table: their values by field."""

    edited: CurrentRow
    row: CurrentRow
    values: Mapping[str, Scalar]


class TableTakeOver(Struct, frozen=True):
    """What a table takes over of the hand edits of another one, and what it does not.

    `unmatched` are the keys of edited rows for which it has no row, or more than one; `unfit` the
    names of columns with a value that no cell of it can have.
    """

    rows: Sequence[RowTakeOver]
    unmatched: Sequence[str]
    unfit: Sequence[str]


def shared_columns(of_old: Placed, of_new: Placed) -> list[str]:
    """The names of the columns that both tables collect with one type."""
    return [
        name
        for name, (_, column) in of_old.items()
        if name in of_new and _says_the_same(column, of_new[name][1])
    ]


def _says_the_same(old: Column, new: Column) -> bool:
    return old["type"] == new["type"] and old["ownership"] == new["ownership"] == "collected"


def hand_edits(row: CurrentRow, columns: Placed) -> dict[str, Scalar]:
    """The cells of a row that a person has filled or cleared, by the name of the column."""
    return {
        name: row.cells.value(position)
        for name, (position, column) in columns.items()
        if position in row.cells.overrides
        or (column["ownership"] == "user" and row.cells.value(position) is not None)
    }


def take_over(
    old: Iterable[CurrentRow], new: Iterable[CurrentRow], of_old: Placed, of_new: Placed
) -> TableTakeOver:
    """Which hand edits of the `old` rows belong to which of the `new` ones.

    Two rows are the same if the source says the same of both, in all that both tables collect, and
    of no other: their keys need not be equal.
    """
    shared = shared_columns(of_old, of_new)
    places = [of_old[name][0] for name in shared]
    old = sorted(old, key=lambda row: row.id)
    originals = _by_source(old, places)
    others = _by_source(new, [of_new[name][0] for name in shared])
    rows: list[RowTakeOver] = []
    unmatched: list[str] = []
    unfit: dict[str, None] = {}
    for row in old:
        edited = hand_edits(row, of_old)
        if not edited:
            continue
        said = _source_of(row, places)
        same = None if _only(originals[said]) is not row else _only(others.get(said, []))
        # Of a row of which the source says nothing, nothing is the same.
        if same is None or all(value is None for value in said):
            unmatched.append(row.key)
            continue
        values = _fitting(edited, of_old, of_new)
        unfit |= dict.fromkeys(edited.keys() - values.keys())
        if values:
            by_field = {of_new[name][1]["id"]: value for name, value in values.items()}
            rows.append(RowTakeOver(row, same, by_field))
    return TableTakeOver(rows, unmatched, [name for name in of_old if name in unfit])


def _by_source(
    rows: Iterable[CurrentRow], places: Sequence[int]
) -> dict[tuple[Scalar, ...], list[CurrentRow]]:
    by_source: defaultdict[tuple[Scalar, ...], list[CurrentRow]] = defaultdict(list)
    for row in rows:
        by_source[_source_of(row, places)].append(row)
    return dict(by_source)


def _source_of(row: CurrentRow, places: Sequence[int]) -> tuple[Scalar, ...]:
    """What the source says at these places, also under hand edits."""
    return tuple(row.cells.source(place)[0] for place in places)


def _only(rows: Sequence[CurrentRow]) -> CurrentRow | None:
    """The one of these rows that is there; the only one if none is there any more."""
    there = [row for row in rows if row.presence == "present"] or rows
    return there[0] if len(there) == 1 else None


def _fitting(edited: Mapping[str, Scalar], of_old: Placed, of_new: Placed) -> dict[str, Scalar]:
    """Those of the values, by the name of their column, that a cell of the other table can have."""
    columns = {name: column for name, (_, column) in of_new.items()}
    return {
        name: value
        for name, value in edited.items()
        if not value_problems(columns, {name: value})
        # What a person noted beside the source is not what the source is to say.
        and (columns[name]["ownership"] == "user" or of_old[name][1]["ownership"] == "collected")
    }
