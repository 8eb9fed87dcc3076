"""A second opinion on conditions: slow, without a parser, and of nothing that livedata imports.

A clause is cut at the first operator that stands in it, and each is asked in plain steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Final

SIGNS: Final = ("<=", ">=", "!=", "<", ">", "=")
WORDS: Final = (
    *(" is not empty", " is empty", " contains ", " starts with ", " ends with "),
    *(" reaches a new low", " reaches a new high", " changes", " falls", " rises"),
)
OF_CHANGES: Final = frozenset(WORDS[5:])


def witness(clauses: Sequence[str], types: Mapping[str, str], revision: Mapping[str, Any]) -> bool:
    """Whether a revision meets all clauses together."""
    if revision["kind"] == "baseline":
        return False
    rows = [clause for clause in clauses if clause.startswith("row is ")]
    parts = [_cut(clause) for clause in clauses if clause not in rows]
    states = [part for part in parts if part[1] not in OF_CHANGES]
    changes = [part for part in parts if part[1] in OF_CHANGES]
    if revision["presence"] == "missing" and "row is gone" not in rows:
        return False
    became = {"created": "row is new", "missing": "row is gone", "returned": "row is back"}
    event = became.get(revision["kind"])
    if any(row != event for row in rows):
        return False
    now = all(_state(part, types, revision, revision["after"]) for part in states)
    if rows or changes:
        return now and all(_change(part, revision) for part in changes)
    if revision["before"] is None or event == "row is back":
        return now
    before = all(_state(part, types, revision, revision["before"]) for part in states)
    return now and not before


def _cut(clause: str) -> tuple[str, str, str]:
    name = clause.split(" ", 1)[0].split("<")[0].split(">")[0].split("=")[0].split("!")[0]
    rest = " " + clause[len(name) :].strip()
    for operator in WORDS:
        if rest.startswith(operator):
            return name, operator, _bare(rest[len(operator) :])
    for sign in SIGNS:
        if rest.strip().startswith(sign):
            return name, sign, _bare(rest.strip()[len(sign) :])
    raise AssertionError(clause)


def _bare(value: str) -> str:
    value = value.strip()
    return value[1:-1] if value[:1] == '"' else value


def _state(
    part: tuple[str, str, str],
    types: Mapping[str, str],
    revision: Mapping[str, Any],
    cells: Mapping[str, Any],
) -> bool:
    name, operator, wanted = part
    kind = "string" if name == "rowKey" else types[name]
    cell = revision["key"] if name == "rowKey" else cells.get(name)
    if isinstance(cell, str) and not cell.split():
        cell = None
    if operator == " is empty":
        return cell is None
    if operator == " is not empty":
        return cell is not None
    if cell is None:
        return operator == "!="
    if operator in {" contains ", " starts with ", " ends with "}:
        text, part_of = " ".join(cell.split()).casefold(), _spaced(wanted).casefold()
        if operator == " contains ":
            return text.find(part_of) >= 0
        whole = text[: len(part_of)] if operator == " starts with " else text[-len(part_of) :]
        return bool(whole == part_of)
    left, right = _order(kind, cell), _order(kind, wanted)
    comparisons: dict[str, bool] = {
        "=": left == right,
        "!=": left != right,
        "<": left < right,
        "<=": left < right or left == right,
        ">": left > right,
        ">=": left > right or left == right,
    }
    return comparisons[operator]


def _spaced(wanted: str) -> str:
    while "  " in wanted:
        wanted = wanted.replace("  ", " ")
    return wanted


def _order(kind: str, value: Any) -> Any:
    if kind == "number":
        return Fraction(str(value))
    if kind == "boolean":
        return str(value).lower()
    if kind == "date":
        moment = datetime.fromisoformat(value)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return " ".join(value.split())


def _change(part: tuple[str, str, str], revision: Mapping[str, Any]) -> bool:
    name, operator, wanted = part
    if revision["before"] is None:
        return False
    old, new = revision["before"].get(name), revision["after"].get(name)
    if operator == " changes":
        return bool(old != new)
    if new is None or old == new:
        return False
    if operator in {" reaches a new low", " reaches a new high"}:
        known = [
            Fraction(str(each)) for each in revision["shown"].get(name, ()) if each is not None
        ]
        value = Fraction(str(new))
        if operator == " reaches a new low":
            return bool(known) and all(value < each for each in known)
        return bool(known) and all(value > each for each in known)
    if old is None:
        return False
    by = Fraction(str(new)) - Fraction(str(old))
    by = -by if operator == " falls" else by
    if not wanted:
        return by > 0
    least = wanted.removeprefix("by").strip()
    if least.endswith("%"):
        share = Fraction(least[:-1].strip()) / 100
        return Fraction(str(old)) > 0 and by >= share * Fraction(str(old)) and by > 0
    return by >= Fraction(least)
