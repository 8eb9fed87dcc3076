"""How good a researched table is: rules 14.14."""

from __future__ import annotations

import pytest

from livedata.rules.research.scoring import Scored, TableRow, score

GOLD = {
    "Acme Ltd": {"City": ["Lyon"], "Founded": ["1999"]},
    "Bolt": {"City": ["Oslo", "Kristiania"], "Founded": []},
}
ACME = TableRow(["Acme"], {"City": "Lyon", "Founded": "1999"})
BOLT = TableRow(["BOLT"], {"City": "kristiania", "Founded": None})
ALL = Scored(1.0, 1.0, 1.0)


def test_a_table_that_is_right_has_full_marks_whatever_its_case_and_legal_forms() -> None:
    result = score(GOLD, [ACME, BOLT], "company")
    assert (result.entities, result.rows, result.items) == (ALL, ALL, ALL)


@pytest.mark.parametrize(
    ("rows", "entities", "whole", "items"),
    [
        pytest.param([ACME], (1, 1 / 2), (1, 1 / 2), (1, 2 / 3), id="a row is missed"),
        pytest.param(
            [ACME, BOLT, TableRow(["Dyn"], {"City": "Rome", "Founded": None})],
            *((2 / 3, 1), (2 / 3, 1), (3 / 4, 1)),
            id="a row too many",
        ),
        pytest.param(
            [ACME, ACME, BOLT], (2 / 3, 1), (2 / 3, 1), (3 / 5, 1), id="a row that is there twice"
        ),
        pytest.param(
            [TableRow(["Acme"], {"City": "Paris", "Founded": "1999"}), BOLT],
            *((1, 1), (1 / 2, 1 / 2), (2 / 3, 2 / 3)),
            id="a wrong value",
        ),
        pytest.param(
            [ACME, TableRow(["Bolt"], {"City": "Oslo", "Founded": "2001"})],
            *((1, 1), (1 / 2, 1 / 2), (3 / 4, 1)),
            id="a value for a cell that is empty",
        ),
        pytest.param(
            [ACME, TableRow(["Bolt"], {"City": None, "Founded": None})],
            *((1, 1), (1 / 2, 1 / 2), (1, 2 / 3)),
            id="a value that is missing",
        ),
        pytest.param(
            [ACME, TableRow(["Unknown", "Bolt AS"], {"City": "Oslo", "Founded": None})],
            *((1, 1), (1, 1), (1, 1)),
            id="a row that goes by another of its names",
        ),
        pytest.param([], (1, 0), (1, 0), (1, 0), id="nothing"),
    ],
)
def test_what_is_wrong_costs_precision_and_what_is_missed_recall(
    rows: list[TableRow],
    entities: tuple[float, float],
    whole: tuple[float, float],
    items: tuple[float, float],
) -> None:
    result = score(GOLD, rows, "company")
    shares = [
        (each.precision, each.recall) for each in (result.entities, result.rows, result.items)
    ]
    assert shares == [pytest.approx(each) for each in (entities, whole, items)]
