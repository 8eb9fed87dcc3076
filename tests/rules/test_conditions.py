"""Rules 16: what a clause says, what is wrong with one, and what is said where it is met."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from livedata.model.dataset import Column, ColumnType
from livedata.model.errors import Invalid
from livedata.model.row import Scalar
from livedata.rules.conditions.clauses import (
    CHANGE_OPERATORS,
    STATE_OPERATORS,
    WITHOUT_VALUE,
    Condition,
)
from livedata.rules.conditions.matching import Number, RevisionState, match_revision
from livedata.rules.conditions.parsing import parse_when, parse_where

TYPES: Final[Mapping[str, ColumnType]] = {
    "sku": "string",
    "title": "string",
    "price": "number",
    "stock": "number",
    "sold": "boolean",
    "due": "date",
    "link": "url",
}
COLUMNS: Final[list[Column]] = [
    {
        "id": f"id-{name}",
        "label": name,
        "ownership": "user",
        "name": name,
        "type": kind,
        "key": name == "sku",
    }
    for name, kind in TYPES.items()
]

WRONG: Final[Mapping[str, str]] = {
    "": "The clause '' is empty. Write for example: title contains tea",
    " \t": "is empty",
    "price < " + "9" * 500: "has 508 characters and may have 500",
    "prise < 20": "names 'prise', and there is no such column: is price meant? Write for example: "
    "price < 20",
    "Price < 20": "is price meant?",
    "weight < 20": "there is no such column: there is sku, title, price, stock, sold, due, link, "
    "rowKey. Write",
    "< 20": "names '< 20', and there is no such column",
    "20 > price": "names '20', and there is no such column",
    "price": "names price and does not say what is asked of it. Write for example: price < 20",
    "price == 20": "says '==', which is no operator: is '=' meant? Write for example: price = 20",
    "price => 20": "is '>=' meant?",
    "price =< 20": "is '<=' meant?",
    "price <> 20": "is '!=' meant?",
    "price >< 20": "says '><', which is no operator. Write",
    "title like tea": "is 'contains' meant? Write for example: title contains tea",
    "title containss tea": "is 'contains' meant?",
    "title matches t.a": "says 'matches', which is no operator. Write",
    "title starts tea": "is 'starts with' meant?",
    "title is tea": "is '=' meant?",
    "title is not tea": "is '!=' meant?",
    "price is null": "is 'is empty' meant? Write for example: price is empty",
    "price is empty now": "goes on with 'now' where it should end",
    "price below 20": "is '<' meant?",
    "price drops by 10%": "is 'falls' meant? Write for example: price falls",
    "title < tea": "says '<' of title, which is a text. Write for example: title contains tea",
    "link >= x": "of link, which is an address",
    "price contains 2": "says 'contains' of price, which is a number",
    "due starts with 2026": "of due, which is a date",
    "sold > false": "says '>' of sold, which is true or false. Write for example: sold = true",
    "price <": "names no value behind '<': for a cell without a value, say 'is empty'.",
    "title =": "names no value behind '='",
    'title = ""': "names no value behind '='",
    'title = "  "': "names no value behind '='",
    'title contains "': "has a value with a quotation mark that is not closed",
    'title = "tea': 'has a value with a quotation mark that is not closed: "tea.',
    "price < cheap": "compares price with 'cheap', which is no number",
    "price < 1,000": "compares price with '1,000', which is no number",
    "price < nan": "'nan', which is no number",
    "price < inf": "'inf', which is no number",
    "price < 1e999": "'1e999', which is no number",
    "price < \u0661": "which is no number",
    "price < 20 and stock > 1": "joins several clauses in '20 and stock > 1': give each of them by "
    "itself",
    "sold = yes": "compares sold with 'yes', which is neither true nor false",
    "due < tomorrow": "compares due with 'tomorrow', which is no ISO date. Write for example: "
    "due < 2026-03-01",
    "due = 2026-02-30": "which is no ISO date",
    "due = 20260301": "which is no ISO date",
    "title falls": "says 'falls' of title, which is a text. Write for example: title changes",
    "due rises": "says 'rises' of due, which is a date",
    "sold reaches a new low": "of sold, which is true or false",
    "rowKey changes": "says 'changes' of rowKey, and the key of a row never changes",
    "price falls 10": "'10' where it should end. Write for example: price falls by 10%",
    "price falls by": "says by '', which is no number above 0, nor such a percentage",
    "price falls by 0": "says by '0'",
    "price falls by -3": "says by '-3'",
    "price rises by ten%": "says by 'ten%'",
    "price changes by 3": "'by 3' where it should end. Write for example: price changes",
    "price reaches a low": "is 'reaches a new low' meant?",
    "row": "says '' of row, and a row is new, is gone or is back. Write for example: row is new",
    "row new": "says 'new' of row",
    "row is old": "says 'is old' of row",
}
OF_CHANGES: Final = ("price changes", "price falls by 3%", "row is new", "price reaches a new low")

BEFORE: Final[Mapping[str, Scalar]] = {"title": "Green tea", "price": 24.9, "stock": 3}
SAID: Final[Mapping[str, str]] = {
    "price < 20": "price fell below 20: 24.9 → 19.5",
    "price <= 19.50": "price fell to 19.50 or less: 24.9 → 19.5",
    "price changes": "price changed: 24.9 → 19.5",
    "price falls": "price fell: 24.9 → 19.5",
    "price falls by 10%": "price fell by 10% or more: 24.9 → 19.5",
    "price falls by 5.4": "price fell by 5.4 or more: 24.9 → 19.5",
    "price reaches a new low": "price reached a new low: 24.9 → 19.5",
    "stock > 3": "stock rose above 3: 3 → 4",
    "stock >= 4": "stock rose to 4 or more: 3 → 4",
    "stock = 4": "stock became 4: 3 → 4",
    "stock != 3": "stock is no longer 3: 3 → 4",
    'title contains "EARL"': 'title now contains "EARL": Green tea → Earl Grey',
    "title starts with earl": "title now starts with earl: Green tea → Earl Grey",
    "title ends with grey": "title now ends with grey: Green tea → Earl Grey",
    "sold is not empty": "sold is not empty: (empty) → true",
    "sold = true": "sold is true: (empty) → true",
}
AFTER: Final[Mapping[str, Scalar]] = {
    "title": "Earl Grey",
    "price": 19.5,
    "stock": 4,
    "sold": True,
}


def cells(by_name: Mapping[str, Scalar]) -> dict[str, Scalar]:
    return {f"id-{name}": value for name, value in by_name.items()}


def revision(**changed: Any) -> RevisionState:
    """A revision as conditions look at it, of one with names."""
    before = changed.get("before", BEFORE)
    return RevisionState(
        changed.get("kind", "updated"),
        changed.get("presence", "present"),
        changed.get("key", "A-1"),
        None if before is None else cells(before),
        cells(changed.get("after", AFTER)),
    )


def _always(_field: str, _number: Number, _low: bool) -> bool:
    return True


@pytest.mark.parametrize("clause", WRONG, ids=range(len(WRONG)))
def test_a_wrong_clause_is_told_in_one_sentence_with_one_that_is_right(clause: str) -> None:
    with pytest.raises(Invalid) as error:
        parse_when([clause], COLUMNS)
    assert WRONG[clause] in error.value.message
    assert error.value.message.count("\n") == 0
    example = error.value.message.rpartition("Write for example: ")[2]
    assert parse_when([example], COLUMNS).texts == [example]


@pytest.mark.parametrize(
    ("clause", "example"),
    [
        ("prise falls by 10%", "price falls by 10%"),
        ("prise < cheap", "price < 20"),
        ("price drops by 10%", "price falls by 10%"),
        ("price IS NOT 3", "price != 3"),
        ("price  is  nonempty", "price is not empty"),
        ("price = L-101", "price = 20"),
        ("price >= 1.000,50", "price >= 20"),
    ],
)
def test_the_example_is_the_clause_with_what_is_wrong_mended(clause: str, example: str) -> None:
    with pytest.raises(Invalid) as error:
        parse_when([clause], COLUMNS)
    assert error.value.message.endswith(f" Write for example: {example}")


def test_more_than_twenty_clauses_are_refused() -> None:
    assert len(parse_when(["price < 20"] * 20, COLUMNS).states) == 20
    with pytest.raises(Invalid, match="There are 21 clauses, and a condition has at most 20"):
        parse_when(["price < 20"] * 21, COLUMNS)


@pytest.mark.parametrize("clause", OF_CHANGES)
def test_where_compares_cells_as_they_are_alone(clause: str) -> None:
    with pytest.raises(
        Invalid, match=r"asks for a change, as notices and .* and here only cells as they are"
    ):
        parse_where(["stock > 1", clause], COLUMNS)


def test_a_form_may_offer_what_the_parser_takes() -> None:
    values = {"number": "20", "boolean": "true", "date": "2026-03-01"}
    for name, kind in TYPES.items():
        for operator in STATE_OPERATORS[kind]:
            value = "" if operator in WITHOUT_VALUE else f" {values.get(kind, 'tea')}"
            assert parse_where([f"{name} {operator}{value}"], COLUMNS).states
        for change in CHANGE_OPERATORS[kind]:
            assert parse_when([f"{name} {change}"], COLUMNS).changes


def test_spaces_around_an_operator_may_be_left_out_or_be_many() -> None:
    plain = parse_where(["price<20"], COLUMNS).states[0]
    wide = parse_where(["  price \t <   20 "], COLUMNS).states[0]
    assert (plain.operator, plain.value) == (wide.operator, wide.value)
    assert parse_when(["price  reaches a  new low"], COLUMNS).changes


def test_a_column_called_row_has_its_own_clauses() -> None:
    row: Column = {**COLUMNS[1], "id": "id-row", "name": "row"}
    condition = parse_when(["row is empty", "row is new", "row changes"], [row])
    assert [len(condition.states), len(condition.rows), len(condition.changes)] == [1, 1, 1]


@pytest.mark.parametrize("clause", SAID)
def test_a_match_names_the_clause_and_both_values(clause: str) -> None:
    matches = match_revision(parse_when([clause], COLUMNS), revision(), _always)
    assert matches is not None
    (match,) = matches
    assert (match.clause, match.sentence) == (clause, SAID[clause])
    assert (match.before, match.after) == (
        BEFORE.get(match.column or ""),
        AFTER[match.column or ""],
    )


def test_a_match_of_a_row_and_a_filter_says_what_is() -> None:
    condition = parse_when(["row is gone", "price < 20", "rowKey = A-1"], COLUMNS)
    gone = revision(kind="missing", presence="missing", before=AFTER)
    matches = match_revision(condition, gone, _always)
    assert [match.sentence for match in matches or ()] == [
        "the row is gone",
        "price is below 20: 19.5",
        "rowKey is A-1",
    ]


def test_the_page_of_conditions_shows_clauses_that_are_right() -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/conditions.md").read_text()
    clauses = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    columns: list[Column] = [*COLUMNS, {**COLUMNS[4], "name": "in_stock"}]
    assert len(clauses) >= 24
    assert parse_when(clauses[:14], columns).states
    assert parse_when(clauses[14:], columns).is_of_changes


def test_without_clauses_nothing_becomes_true() -> None:
    assert match_revision(Condition(), revision(), _always) is None
