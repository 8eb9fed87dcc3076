"""Whether rows and revisions meet a condition, and what is said of those that do (rules 16)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final, TypeGuard

from msgspec import Struct

from livedata.messages import conditions
from livedata.model.dataset import NUMERIC, ColumnType
from livedata.model.row import Presence, RevisionKind, Scalar
from livedata.rules.conditions.clauses import (
    WITHIN_TEXTS,
    ChangeClause,
    Comparable,
    Condition,
    RowEvent,
    Shown,
    StateClause,
)
from livedata.rules.conditions.parsing import read_moment

Number = int | float
Outdoes = Callable[[str, Number, bool], bool]
"""Whether a number is lower than all that a row has shown in a field before, or higher than all.

Asked by the id of the field, the number, and whether it is to be lower. False if none was shown.
"""
_EVENTS: Final[Mapping[RevisionKind, RowEvent]] = {
    "created": "new",
    "missing": "gone",
    "returned": "back",
}
_TESTS: Final[Mapping[str, Callable[[Comparable, Comparable], bool]]] = {
    "=": lambda cell, value: cell == value,
    "<": lambda cell, value: cell < value,  # type: ignore[operator]  # both are of one type
    "<=": lambda cell, value: cell <= value,  # type: ignore[operator]
    ">": lambda cell, value: cell > value,  # type: ignore[operator]
    ">=": lambda cell, value: cell >= value,  # type: ignore[operator]
}
_TEXTS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "contains": lambda cell, value: value in cell,
    "starts with": str.startswith,
    "ends with": str.endswith,
}


class RevisionState(Struct, frozen=True):
    """A revision as a condition looks at it: what it is, and the shown cells around it.

    `before` is None for the first revision of a row.
    """

    kind: RevisionKind
    presence: Presence
    key: str
    before: Shown | None
    after: Shown


class ClauseMatch(Struct, frozen=True):
    """A clause that a revision meets: its text, the sentence, and both values of its cell.

    `column` is None where the clause is about the row.
    """

    clause: str
    sentence: str
    column: str | None
    before: Scalar = None
    after: Scalar = None


def holds(states: Sequence[StateClause], key: str, cells: Shown) -> bool:
    """Whether the cells of a row, or its key, meet all of these clauses."""
    return all(_holds(clause, key, cells) for clause in states)


def match_revision(
    condition: Condition, revision: RevisionState, outdoes: Outdoes
) -> list[ClauseMatch] | None:
    """How a revision meets a condition, clause by clause; None if it does not.

    `outdoes` is only asked where a clause is about the lowest or highest value, and last.
    """
    event = _EVENTS.get(revision.kind)
    if revision.kind == "baseline":
        return None
    if condition.rows and any(clause.event != event for clause in condition.rows):
        return None
    # Of a row that is gone, or of an edit of one, nothing is said but that it is gone.
    if revision.presence == "missing" and not condition.rows:
        return None
    if condition.states and not holds(condition.states, revision.key, revision.after):
        return None
    if not condition.is_of_changes and not _becomes_true(condition, revision, event):
        return None
    for change in condition.changes:
        if not _has_changed(change, revision, outdoes):
            return None
    return list(_matches(condition, revision))


def _becomes_true(condition: Condition, revision: RevisionState, event: RowEvent | None) -> bool:
    if event in {"new", "back"} or revision.before is None:
        return True
    return not holds(condition.states, revision.key, revision.before)


def _holds(clause: StateClause, key: str, cells: Shown) -> bool:
    cell = key if clause.field is None else cells.get(clause.field)
    value = as_compared(clause.type, cell)
    operator, wanted = clause.operator, clause.value
    if operator in {"is empty", "is not empty"}:
        return (value is None) == (operator == "is empty")
    if operator == "!=":
        return value != wanted
    if value is None or wanted is None:
        return False
    if operator in WITHIN_TEXTS:
        return _TEXTS[operator](str(value).casefold(), str(wanted))
    return _TESTS[operator](value, wanted)


def as_compared(kind: ColumnType, cell: Scalar) -> Comparable | None:
    """A cell as its type compares; None if there is nothing in it.

    What is no value of the type, such as a text in a column that was one once, is nothing too.
    """
    if cell is None:
        return None
    if kind in NUMERIC:
        return as_decimal(cell)
    match kind:
        case "boolean":
            return int(cell) if isinstance(cell, bool) else None
        case "date":
            return read_moment(cell) if isinstance(cell, str) else None
        case _:
            return (" ".join(cell.split()) or None) if isinstance(cell, str) else None


def as_decimal(cell: Scalar) -> Decimal | None:
    """A number in the decimals that are shown; None if a cell is none."""
    return Decimal(repr(cell)) if _is_number(cell) else None


def _is_number(cell: Scalar) -> TypeGuard[Number]:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _has_changed(clause: ChangeClause, revision: RevisionState, outdoes: Outdoes) -> bool:
    if revision.before is None:
        return False
    before, after = revision.before.get(clause.field), revision.after.get(clause.field)
    if before == after or clause.operator == "changes":
        return before != after
    if clause.operator in {"falls", "rises"}:
        old, new = as_decimal(before), as_decimal(after)
        if old is None or new is None:
            return False
        return _differs_enough(clause, old, new - old if clause.operator == "rises" else old - new)
    low = clause.operator == "reaches a new low"
    # What stood before was shown too.
    if _exceeds(after, before) if low else _exceeds(before, after):
        return False
    return _is_number(after) and outdoes(clause.field, after, low)


def _exceeds(cell: Scalar, other: Scalar) -> bool:
    """Whether a number is higher than another, in the decimals that are shown."""
    # Numbers of one type have the order of their decimals, which take longer to make.
    if isinstance(cell, float) and isinstance(other, float):
        return cell > other
    if type(cell) is int and type(other) is int:
        return cell > other
    number, lower = as_decimal(cell), as_decimal(other)
    return number is not None and lower is not None and number > lower


class ShownNumbers:
    """The lowest and the highest number that a row has shown in a field, as far as it was read.

    What was read is one stretch of its history: from the sequence `since`, which is 0 if nothing
    is older, through the sequence `through`. At first it is empty, and ends before `before`.
    """

    def __init__(self, before: int = 1) -> None:
        self.since = before
        self.through = before - 1
        self._low: Number | None = None
        self._high: Number | None = None

    def add(self, values: Iterable[Scalar]) -> None:
        """Take values that were shown; what is no number says nothing."""
        floats, integers = [], []
        for value in values:
            if isinstance(value, float):
                floats.append(value)
            elif _is_number(value):
                integers.append(value)
        for numbers in filter(None, (floats, integers)):
            low, high = min(numbers), max(numbers)
            if self._low is None or _exceeds(self._low, low):
                self._low = low
            if self._high is None or _exceeds(high, self._high):
                self._high = high

    def are_outdone(self, number: Number, *, low: bool) -> bool:
        """Whether a number is lower than all of them, or higher than all."""
        return _exceeds(self._low, number) if low else _exceeds(number, self._high)

    def are_reached(self, number: Number, *, low: bool) -> bool:
        """Whether one of them is as low as a number, or as high: then no later one matters."""
        return self._low is not None and not self.are_outdone(number, low=low)


def _differs_enough(clause: ChangeClause, old: Decimal, difference: Decimal) -> bool:
    if difference <= 0:
        return False
    if clause.by is None:
        return True
    if clause.in_percent:
        return old > 0 and difference * 100 >= clause.by * old
    return difference >= clause.by


def _matches(condition: Condition, revision: RevisionState) -> Iterator[ClauseMatch]:
    for row in condition.rows:
        yield ClauseMatch(row.text, conditions.row_met(row.event), None)
    for change in condition.changes:
        before, after = _values(change.field, revision)
        by = "" if change.by is None else f"{change.by:f}{'%' if change.in_percent else ''}"
        told = conditions.change_met(change.column, change.operator, by)
        sentence = f"{told}: {_said(before)} → {_said(after)}"
        yield ClauseMatch(change.text, sentence, change.column, before, after)
    for state in condition.states:
        yield _state_match(state, revision, is_filter=condition.is_of_changes)


def _state_match(clause: StateClause, revision: RevisionState, *, is_filter: bool) -> ClauseMatch:
    before, after = _values(clause.field, revision)
    is_met_now = (
        not is_filter
        and revision.before is not None
        and not _holds(clause, revision.key, revision.before)
    )
    # What was empty has not fallen.
    words = clause.operator, clause.written
    told = conditions.state_met(clause.column, *words, is_met_now=is_met_now and before is not None)
    if is_met_now:
        told = f"{told}: {_said(before)} → {_said(after)}"
    elif clause.field is not None:
        told = f"{told}: {_said(after)}"
    return ClauseMatch(clause.text, told, clause.column, before, after)


def _values(field: str | None, revision: RevisionState) -> tuple[Scalar, Scalar]:
    if field is None:
        return revision.key, revision.key
    return (revision.before or {}).get(field), revision.after.get(field)


def _said(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "(empty)" if value is None else str(value)
