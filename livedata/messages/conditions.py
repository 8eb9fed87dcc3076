"""What is said of conditions: of a clause that is wrong, and of one that a revision meets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from livedata.messages.templates import Words, fill
from livedata.model.errors import Invalid
from livedata.model.problem import Param, Problem

_SHOWN: Final = 60
WRONG: Final[Mapping[str, Words]] = {
    "empty": "is empty",
    "long": "has {length} characters and may have {most}",
    "column": "names {word!r}, and there is no such column: there is {columns}",
    "near": "names {word!r}, and there is no such column: is {near} meant?",
    "joined": "joins several clauses in {word!r}: give each of them by itself",
    "no_operator": "names {word} and does not say what is asked of it",
    "operator": "says {word!r}, which is no operator",
    "near_operator": "says {word!r}, which is no operator: is {near!r} meant?",
    "type": "says {word!r} of {column}, which is {type}",
    "value": "names no value behind {word!r}: for a cell without a value, say 'is empty'",
    "number": "compares {column} with {word!r}, which is no number",
    "boolean": "compares {column} with {word!r}, which is neither true nor false",
    "date": "compares {column} with {word!r}, which is no ISO date",
    "quote": "has a value with a quotation mark that is not closed: {word}",
    "behind": "goes on with {word!r} where it should end",
    "by": "says by {word!r}, which is no number above 0, nor such a percentage",
    "key_changes": "says {word!r} of rowKey, and the key of a row never changes",
    "row": "says {word!r} of row, and a row is new, is gone or is back",
    "state_only": "asks for a change, as notices and lists of changes take it, and here only cells "
    "as they are can be compared",
}
"""What is wrong with a clause -> how its sentence goes on."""
_MET: Final[Mapping[str, str]] = {
    "<": "fell below {value}",
    "<=": "fell to {value} or less",
    ">": "rose above {value}",
    ">=": "rose to {value} or more",
    "=": "became {value}",
    "!=": "is no longer {value}",
    "contains": "now contains {value}",
    "starts with": "now starts with {value}",
    "ends with": "now ends with {value}",
    "is empty": "became empty",
    "is not empty": "is no longer empty",
}
_HOLDS: Final[Mapping[str, str]] = {
    "<": "is below {value}",
    "<=": "is {value} or less",
    ">": "is above {value}",
    ">=": "is {value} or more",
    "=": "is {value}",
    "!=": "is not {value}",
    "contains": "contains {value}",
    "starts with": "starts with {value}",
    "ends with": "ends with {value}",
    "is empty": "is empty",
    "is not empty": "is not empty",
}
_DATES: Final[Mapping[str, str]] = {
    "<": "is before {value}",
    "<=": "is {value} or earlier",
    ">": "is after {value}",
    ">=": "is {value} or later",
}
"""What is said of dates instead."""
_CHANGED: Final[Mapping[str, str]] = {
    "changes": "changed",
    "falls": "fell",
    "rises": "rose",
    "reaches a new low": "reached a new low",
    "reaches a new high": "reached a new high",
}
_ROWS: Final[Mapping[str, str]] = {
    "new": "the row is new",
    "gone": "the row is gone",
    "back": "the row is back",
}


def wrong_clause(clause: str, code: str, example: str, **params: Param) -> Invalid:
    """The error of a clause: what is wrong with it, and one that is right."""
    shown = clause if len(clause) <= _SHOWN else f"{clause[:_SHOWN]}…"
    fault = fill(WRONG, Problem(code, params))
    end = "" if fault.endswith("?") else "."
    return Invalid(f"The clause {shown!r} {fault}{end} Write for example: {example}")


def too_many_clauses(count: int, most: int) -> Invalid:
    """The error of a condition of too many clauses."""
    return Invalid(f"There are {count} clauses, and a condition has at most {most}.")


def in_words(kind: str, operator: str, value: str) -> str:
    """What an operator asks of a cell of a type, as a reader says it."""
    words = (_DATES if kind == "date" else {}).get(operator) or _HOLDS[operator]
    return words.format(value=value)


def state_met(column: str, operator: str, value: str, *, is_met_now: bool) -> str:
    """What is said of a cell that meets a clause, and did not before if `is_met_now`."""
    words = (_MET if is_met_now else _HOLDS)[operator]
    return f"{column} {words.format(value=value)}"


def change_met(column: str, operator: str, by: str) -> str:
    """What is said of a cell that has changed as a clause asks."""
    return f"{column} {_CHANGED[operator]}{f' by {by} or more' if by else ''}"


def row_met(event: str) -> str:
    """What is said of a row of which a clause says what it is."""
    return _ROWS[event]
