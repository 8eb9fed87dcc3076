"""What a condition is made of: clauses over cells, over how they change, and over rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final, Literal

from msgspec import Struct

from livedata.model.dataset import CELL_TYPES, NUMERIC, ColumnType
from livedata.model.row import Scalar

ROW_KEY: Final = "rowKey"
"""What a clause calls the key of a row."""
MOST_CLAUSES: Final = 20
LONGEST_CLAUSE: Final = 500
"""In characters."""

Comparison = Literal["=", "!=", "<", "<=", ">", ">="]
StateOperator = Literal[
    Comparison, "contains", "starts with", "ends with", "is empty", "is not empty"
]
ChangeOperator = Literal["changes", "falls", "rises", "reaches a new low", "reaches a new high"]
Operator = StateOperator | ChangeOperator
RowEvent = Literal["new", "gone", "back"]

Comparable = Decimal | int | str
"""What cells and values are compared as."""
WITHOUT_VALUE: Final[frozenset[StateOperator]] = frozenset({"is empty", "is not empty"})
WITHIN_TEXTS: Final[frozenset[StateOperator]] = frozenset({"contains", "starts with", "ends with"})
"""What is asked of a part of a text, whatever its case."""
_EQUAL: Final[Sequence[StateOperator]] = ("=", "!=")
_COMPARES: Final[Mapping[str, Sequence[StateOperator]]] = {
    "as text": (*_EQUAL, "contains", "starts with", "ends with"),
    "by order": (*_EQUAL, "<", "<=", ">", ">="),
    "for being equal": _EQUAL,
}
STATE_OPERATORS: Final[Mapping[ColumnType, Sequence[StateOperator]]] = {
    name: (*_COMPARES[kind.compares], "is empty", "is not empty")
    for name, kind in CELL_TYPES.items()
}
"""The type of a column -> the operators that compare its cells, as a form offers them."""
_NUMBERS: Final[Sequence[ChangeOperator]] = (
    *("falls", "rises", "reaches a new low", "reaches a new high"),
)
CHANGE_OPERATORS: Final[Mapping[ColumnType, Sequence[ChangeOperator]]] = {
    name: ("changes", *(_NUMBERS if name in NUMERIC else ())) for name in CELL_TYPES
}
"""The type of a column -> the operators that compare its cells with what stood before."""


class StateClause(Struct, frozen=True):
    """A comparison of a shown cell, or of the key of a row.

    `field` is the id of the column, None for the key. `value` is a number, a moment in
    microseconds, 1 or 0 for true or false, a text as it is compared, or None where the operator
    takes none; `written` is how it was given.
    """

    text: str
    column: str
    field: str | None
    type: ColumnType
    operator: StateOperator
    value: Comparable | None
    written: str = ""


class ChangeClause(Struct, frozen=True):
    """A comparison of a shown cell with what stood there before.

    `by` is the least difference, and in percent of what stood before if `in_percent`.
    """

    text: str
    column: str
    field: str
    operator: ChangeOperator
    by: Decimal | None = None
    in_percent: bool = False


class RowClause(Struct, frozen=True):
    """What became of a row."""

    text: str
    event: RowEvent


Clause = StateClause | ChangeClause | RowClause


class Condition(Struct, frozen=True):
    """Clauses that must hold together."""

    states: Sequence[StateClause] = ()
    changes: Sequence[ChangeClause] = ()
    rows: Sequence[RowClause] = ()

    @property
    def texts(self) -> list[str]:
        """Its clauses as they were written."""
        clauses: list[Clause] = [*self.states, *self.changes, *self.rows]
        return [clause.text for clause in clauses]

    @property
    def asks_for_key(self) -> bool:
        """Whether a clause compares the key of a row."""
        return any(clause.field is None for clause in self.states)

    @property
    def is_of_changes(self) -> bool:
        """Whether only some revisions can meet it, by what they do."""
        return bool(self.changes or self.rows)


Shown = Mapping[str, Scalar]
"""The shown cells of a row: field id -> value."""
