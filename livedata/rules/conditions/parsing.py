"""Reads conditions as people write them: clauses such as ``price < 20``, ``price falls by 10%``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Final, NoReturn, cast

from msgspec import Struct

from livedata.messages.conditions import too_many_clauses, wrong_clause
from livedata.messages.request import nearest
from livedata.messages.templates import few
from livedata.model.dataset import CELL_TYPES, NUMERIC, Column, ColumnType
from livedata.model.errors import Invalid
from livedata.model.ids import microseconds
from livedata.model.problem import Param
from livedata.rules.conditions.clauses import (
    CHANGE_OPERATORS,
    LONGEST_CLAUSE,
    MOST_CLAUSES,
    ROW_KEY,
    STATE_OPERATORS,
    WITHIN_TEXTS,
    WITHOUT_VALUE,
    ChangeClause,
    ChangeOperator,
    Clause,
    Comparable,
    Condition,
    RowClause,
    RowEvent,
    StateClause,
    StateOperator,
)

_SUBJECT: Final = re.compile(r"[^\s=!<>]+")
_SIGNS: Final = re.compile(r"[=!<>]+")
_WORD: Final = re.compile(r"\S+")
_STATES: Final[Sequence[StateOperator]] = (
    *("<=", ">=", "!=", "=", "<", ">"),
    *("contains", "starts with", "ends with", "is not empty", "is empty"),
)
_CHANGES: Final[Sequence[ChangeOperator]] = (
    *("changes", "falls", "rises", "reaches a new low", "reaches a new high"),
)
_EVENTS: Final[Sequence[RowEvent]] = ("new", "gone", "back")
_OFTEN_MEANT: Final[Mapping[str, StateOperator | ChangeOperator]] = {
    "==": "=",
    "=>": ">=",
    "=<": "<=",
    "<>": "!=",
    "is": "=",
    "equals": "=",
    "above": ">",
    "below": "<",
    "under": "<",
    "over": ">",
    "like": "contains",
    "has": "contains",
    "includes": "contains",
    "starts": "starts with",
    "begins": "starts with",
    "ends": "ends with",
    "fell": "falls",
    "drops": "falls",
    "decreases": "falls",
    "rose": "rises",
    "increases": "rises",
    "changed": "changes",
    "reaches": "reaches a new low",
    "is null": "is empty",
    "is none": "is empty",
    "is blank": "is empty",
    "is nonempty": "is not empty",
    "is non-empty": "is not empty",
    "is set": "is not empty",
    "is not": "!=",
}
_JOINED: Final = re.compile(r"\s(and|or|AND|OR|&&)\s|,\s")
_SHOWN: Final = 8
"""So many columns are named where there is none of that name."""
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?", re.ASCII)
# Not so long that a difference of two would have to be rounded.
_NUMBER: Final = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,2})?", re.ASCII)


class _Subject(Struct, frozen=True):
    """What a clause is about: a column, or the key of a row without `field`."""

    name: str
    field: str | None
    type: ColumnType

    @property
    def example(self) -> str:
        return f"{self.name} {CELL_TYPES[self.type].example}"

    def example_of(self, operator: StateOperator | ChangeOperator) -> str:
        """A clause with an operator, if that fits the column."""
        if operator in CHANGE_OPERATORS[self.type] or operator in WITHOUT_VALUE:
            return f"{self.name} {operator}"
        _, _, value = CELL_TYPES[self.type].example.partition(" ")
        fits = operator in STATE_OPERATORS[self.type]
        return f"{self.name} {operator} {value}" if fits else self.example


class _Clause(Struct, frozen=True):
    """A clause that is read: its text, its subject, what stands behind that, and its operator."""

    text: str
    subject: _Subject
    rest: str
    operator: StateOperator | None = None

    def fail(self, code: str, example: str = "", **params: Param) -> NoReturn:
        subject, operator = self.subject, self.operator
        known = subject.example if operator is None else subject.example_of(operator)
        raise wrong_clause(self.text, code, example or known, **params)


def parse_where(texts: Sequence[str], columns: Sequence[Column]) -> Condition:
    """A condition on the cells of a row as they are.

    Raises Invalid for a clause that is wrong, with one sentence.
    """
    condition = parse_when(texts, columns)
    if condition.is_of_changes:
        of_changes: list[Clause] = [*condition.changes, *condition.rows]
        raise wrong_clause(of_changes[0].text, "state_only", example_clause(columns))
    return condition


def write_clause(name: str, operator: str, value: str) -> str:
    """The clause that compares a column, or the key, with a value: the edges of a text count."""
    # What is quoted already would lose its quotation marks.
    is_quoted = value != value.strip() or value.startswith('"')
    written = f'"{value}"' if is_quoted else value
    return f"{name} {operator} {written}".strip()


def parse_when(texts: Sequence[str], columns: Sequence[Column]) -> Condition:
    """A condition on revisions: clauses on cells, on what has changed, and on rows.

    Raises Invalid for a clause that is wrong, with one sentence.
    """
    if len(texts) > MOST_CLAUSES:
        raise too_many_clauses(len(texts), MOST_CLAUSES)
    clauses = [_clause(text, columns) for text in texts]
    return Condition(
        [clause for clause in clauses if isinstance(clause, StateClause)],
        [clause for clause in clauses if isinstance(clause, ChangeClause)],
        [clause for clause in clauses if isinstance(clause, RowClause)],
    )


def _clause(given: str, columns: Sequence[Column]) -> Clause:
    text, example = given.strip(), example_clause(columns)
    if not text:
        raise wrong_clause(given, "empty", example)
    if len(text) > LONGEST_CLAUSE:
        raise wrong_clause(text, "long", example, length=len(text), most=LONGEST_CLAUSE)
    match = _SUBJECT.match(text)
    name = match[0] if match else ""
    rest = text[len(name) :].strip()
    subject = _subject(name, columns)
    # A column may be called row too: such a clause is about it unless it reads as an event.
    if name == "row" and (subject is None or rest.removeprefix("is").strip() in _EVENTS):
        return _row_clause(text, rest)
    if subject is None:
        raise _no_column(text, name or text, columns)
    return _of_column(_Clause(text, subject, rest))


def _no_column(text: str, word: str, columns: Sequence[Column]) -> Invalid:
    names = [*(column["name"] for column in columns), ROW_KEY]
    near = nearest(word, names)
    if near is None:
        shown = few(names, _SHOWN)
        return wrong_clause(text, "column", example_clause(columns), word=word, columns=shown)
    meant = _subject(near, columns)
    example = example_clause(columns) if meant is None else meant.example
    mended = text.replace(word, near, 1)
    if _is_right(lambda: _clause(mended, columns)):
        example = mended
    return wrong_clause(text, "near", example, word=word, near=near)


def _is_right(read: Callable[[], object]) -> bool:
    try:
        read()
    except Invalid:
        return False
    return True


def example_clause(columns: Sequence[Column]) -> str:
    """A clause that is right for the first of these columns that is no key."""
    others = [column for column in columns if not column["key"]] or columns
    return (
        f"{others[0]['name']} {CELL_TYPES[others[0]['type']].example}" if others else "rowKey = A-1"
    )


def _subject(name: str, columns: Sequence[Column]) -> _Subject | None:
    for column in columns:
        if column["name"] == name:
            return _Subject(name, column["id"], column["type"])
    return _Subject(name, None, "string") if name == ROW_KEY else None


def _row_clause(text: str, rest: str) -> RowClause:
    word, _, event = rest.partition(" ")
    event = event.strip()
    if word != "is" or event not in _EVENTS:
        raise wrong_clause(text, "row", "row is new", word=rest)
    return RowClause(text, cast("RowEvent", event))


def _of_column(clause: _Clause) -> StateClause | ChangeClause:
    if not clause.rest:
        clause.fail("no_operator", word=clause.subject.name)
    for change in _CHANGES:
        rest = _behind(clause.rest, change)
        if rest is not None:
            return _change_clause(clause, change, rest)
    for state in _STATES:
        rest = _behind(clause.rest, state)
        if rest is not None:
            return _state_clause(clause, state, rest)
    raise _no_operator(clause)


def _no_operator(clause: _Clause) -> Invalid:
    match = _SIGNS.match(clause.rest) or _WORD.match(clause.rest)
    word = match[0] if match else clause.rest
    two = " ".join(clause.rest.split()[:2])
    if two.lower() in _OFTEN_MEANT:
        word = two
    near = _OFTEN_MEANT.get(word.lower()) or _near(word)
    subject = clause.subject
    if near is None:
        return wrong_clause(clause.text, "operator", subject.example, word=word)
    rest = f"{near} {' '.join(clause.rest.split()).removeprefix(word).strip()}".strip()
    mended = _Clause(f"{subject.name} {rest}", subject, rest)
    is_right = _is_right(lambda: _of_column(mended))
    example = mended.text if is_right else subject.example_of(near)
    return wrong_clause(clause.text, "near_operator", example, word=word, near=near)


def _near(word: str) -> StateOperator | ChangeOperator | None:
    operators = [*_STATES, *_CHANGES]
    near = nearest(word, operators)
    return next((operator for operator in operators if operator == near), None)


def _behind(rest: str, operator: str) -> str | None:
    """What stands behind an operator; None if this one is not there."""
    if _SIGNS.fullmatch(operator):
        match = _SIGNS.match(rest)
        return rest[len(operator) :].strip() if match and match[0] == operator else None
    words = operator.split()
    given = rest.split(maxsplit=len(words))
    if given[: len(words)] != words:
        return None
    return given[len(words)].strip() if len(given) > len(words) else ""


def _state_clause(clause: _Clause, operator: StateOperator, rest: str) -> StateClause:
    subject = clause.subject
    if operator not in STATE_OPERATORS[subject.type]:
        clause.fail(
            "type", word=operator, column=subject.name, type=CELL_TYPES[subject.type].called
        )
    if operator in WITHOUT_VALUE:
        if rest:
            clause.fail("behind", word=rest)
        return StateClause(clause.text, subject.name, subject.field, subject.type, operator, None)
    clause = _Clause(clause.text, subject, clause.rest, operator)
    given = _unquoted(clause, rest)
    read = _READ.get(subject.type)
    value = _text(given, operator) if read is None else read(clause, given)
    if value == "":
        clause.fail("value", word=operator)
    return StateClause(
        clause.text, subject.name, subject.field, subject.type, operator, value, rest
    )


def _unquoted(clause: _Clause, rest: str) -> str:
    """A value without the quotation marks that keep its edges."""
    if not rest.startswith('"'):
        return rest
    if len(rest) == 1 or not rest.endswith('"'):
        clause.fail("quote", word=rest)
    return rest[1:-1]


def _text(given: str, operator: StateOperator) -> str:
    """A text as cells are compared with it: a whole one, or a part of which the edges count."""
    inner = " ".join(given.split())
    if operator not in WITHIN_TEXTS:
        return inner
    start, end = (" " if edge.isspace() else "" for edge in (given[:1], given[-1:]))
    # Of blanks alone one is left to look for: an empty text would stand in every cell.
    return f"{start}{inner}{end}".casefold() if inner else given[:1]


def _number(clause: _Clause, given: str) -> Decimal | str:
    if given and not _NUMBER.fullmatch(given):
        code = "joined" if _JOINED.search(given) else "number"
        clause.fail(code, column=clause.subject.name, word=given)
    return Decimal(given) if given else ""


def _boolean(clause: _Clause, given: str) -> int | str:
    if given not in {"true", "false", ""}:
        clause.fail("boolean", column=clause.subject.name, word=given)
    return int(given == "true") if given else ""


def _moment(clause: _Clause, given: str) -> int | str:
    if not given:
        return ""
    moment = read_moment(given)
    if moment is None:
        clause.fail("date", column=clause.subject.name, word=given)
    return moment


_READ: Final[Mapping[ColumnType, Callable[[_Clause, str], Comparable]]] = {
    **dict.fromkeys(NUMERIC, _number),
    "boolean": _boolean,
    "date": _moment,
}
"""How a value is read that is no text."""


def read_moment(text: str) -> int | None:
    """The instant of an ISO date or date-time, in microseconds; None if it is none.

    A day is its midnight in UTC, and so is a time without a zone in UTC.
    """
    if not _DATE.fullmatch(text):
        return None
    try:
        if len(text) == len("2026-03-01"):
            return microseconds(datetime.combine(date.fromisoformat(text), time(), UTC))
        moment = datetime.fromisoformat(text)
        return microseconds(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def _change_clause(clause: _Clause, operator: ChangeOperator, rest: str) -> ChangeClause:
    subject = clause.subject
    if subject.field is None:
        clause.fail("key_changes", word=operator)
    if operator not in CHANGE_OPERATORS[subject.type]:
        kind = CELL_TYPES[subject.type].called
        example = f"{subject.name} changes"
        clause.fail("type", example, word=operator, column=subject.name, type=kind)
    if not rest:
        return ChangeClause(clause.text, subject.name, subject.field, operator)
    if operator not in {"falls", "rises"}:
        clause.fail("behind", f"{subject.name} {operator}", word=rest)
    example = f"{subject.name} {operator} by 10%"
    word, _, given = rest.partition(" ")
    if word != "by":
        clause.fail("behind", example, word=rest)
    number = given.strip().removesuffix("%").strip()
    by = Decimal(number) if _NUMBER.fullmatch(number) else Decimal(0)
    if by <= 0:
        clause.fail("by", example, word=given.strip())
    in_percent = given.strip().endswith("%")
    return ChangeClause(clause.text, subject.name, subject.field, operator, by, in_percent)
