"""Places at which another part stands in some records are no columns."""

from __future__ import annotations

import re

import pytest

from tests.extraction.lists.pages import NAMES, listed, proposed, values

SHIFTED = {
    "a date before it": (
        "<div>Until {at} May</div>",
        "<div>by Author {at}</div><div>{n} comments</div>",
    ),
    "a mark before it": ("<li>New!</li>", "<li>{n} €</li><li>{n} rooms</li>"),
}


@pytest.mark.parametrize("case", SHIFTED)
def test_a_place_at_which_another_part_stands_in_some_records_is_no_column(case: str) -> None:
    before, parts = SHIFTED[case]
    records = [
        f"<h3>{name}</h3><ul>{(before if number % 3 == 0 else '') + parts}</ul>".format(
            at=number, n=number * 7
        )
        for number, name in enumerate(NAMES)
    ]
    proposal = listed(*records)
    assert proposal.shifted
    for column in proposal.columns:
        said = {re.sub(r"\d+", "0", str(value)) for value in values(proposal, column.name)}
        assert len(said) == 1 or column.name == "title", (column.name, said)
    alike = [
        f"<h3>{name}</h3><ul>{parts.format(at=number, n=number * 7)}</ul>"
        for number, name in enumerate(NAMES)
    ]
    assert len(listed(*alike).columns) == 3
    assert not listed(*alike).shifted


def test_equal_parts_of_which_some_records_have_more_stay_columns() -> None:
    records = []
    for number, name in enumerate(NAMES):
        tags = "".join(f"<li>tag {number * n % 5}</li>" for n in range(2, 4 + number % 2))
        records.append(f"<h3>{name}</h3><ul>{tags}</ul>")
    assert len(listed(*records).columns) == 3


def test_a_place_at_which_some_records_have_their_link_is_no_column_of_texts() -> None:
    """The second paragraph is what a record says, but its "Read more" where that is missing."""
    proposal = listed(
        *(
            f"<h3><a href=/{name}>{name}</a></h3><p>Number {number} of them</p>"
            + ("" if number % 4 == 1 else f"<p>{name} in a word or two, as it is sold</p>")
            + f"<p><a href=/{name}>Read more of {name[:2]}</a></p>"
            for number, name in enumerate(NAMES)
        )
    )
    assert not [
        column.name
        for number, column in enumerate(proposal.columns)
        if {str(row.values[number]).startswith("Read more") for row in proposal.rows}
        == {True, False}
    ]
    assert proposal.shifted


def test_a_place_at_which_the_page_names_another_part_in_some_record_is_no_column() -> None:
    """A row more in one record of three puts each after it one place on; their labels say so."""
    records = (
        ("Broth", "kitchen, hall", "core", ""),
        ("Stew", "kitchen, hall", "core", ""),
        ("Soup", "hall", "extra", "<tr><th>Default:<td>soup 16"),
    )
    tables = "".join(
        f"<table class=dish><tr><th>Says:<td>How {name} is made{default}<tr><th>Where:<td>{where}"
        f"<tr><th>Status:<td>{status}<tr><th>Module:<td>mod_{name.lower()}</table>"
        for name, where, status, default in records
    )
    proposal = proposed(tables)
    read = [column.selector for column in proposal.columns]
    places = [f'tr[livedata-index="{place}"] > td' for place in (2, 3, 4)]
    assert sorted(proposal.shifted) == places
    assert not set(places) & set(read)


def test_one_part_that_the_page_calls_by_two_names_stays_a_column() -> None:
    tables = "".join(
        f"<table class=dish><tr><th>Says:<td>How {name} is made<tr>"
        f"<th>{'Price' if number % 3 else 'Price from'}:<td>{number + 3} €</table>"
        for number, name in enumerate(NAMES)
    )
    proposal = proposed(tables)
    assert not proposal.shifted
    assert len(proposal.columns) == 2


def test_a_place_is_no_column_if_its_part_stands_before_it_in_records_that_lack_the_place() -> None:
    """The last cell is the fourth with a cost before it, and else the third."""
    records = [
        f"<h3>{name}</h3><table><tr><td>License: {'Trial' if number % 3 else 'Free'}"
        f"{f'<td>Cost: {number} €' if number % 3 else ''}<td>Size: {number * 7} MB"
        f"<td>Download ({number}): <a href=/get/{number}>{name} now</a></table>"
        for number, name in enumerate(NAMES)
    ]
    places = {f'td[livedata-index="{place}"]' for place in (2, 3, 4)}
    proposal = listed(*records)
    assert places == {*proposal.shifted}
    assert not places & {column.selector for column in proposal.columns}
    assert "a" in {column.selector for column in proposal.columns}
