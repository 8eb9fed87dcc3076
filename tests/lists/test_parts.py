"""What a person says of the columns of each list can be found on its page."""

from __future__ import annotations

import pytest

from livedata.extraction.page import Page
from tests.lists.gold import Gold, every_page
from tests.lists.parts import every_list_columns, part_values

SAID = every_list_columns()
Pages = list[tuple[Gold, Page]]


@pytest.fixture(scope="module")
def pages() -> Pages:
    """Each page of which something is said."""
    return [(gold, gold.page) for gold in every_page() if gold.name in SAID]


def test_a_person_names_parts_of_each_list() -> None:
    lists = {gold.name for gold in every_page() if gold.records}
    assert lists == set(SAID)


def test_each_part_is_in_records(pages: Pages) -> None:
    assert [
        (gold.name, part)
        for gold, page in pages
        for part in SAID[gold.name].parts
        if not any(part_values(gold, page, part))
    ] == []


def test_each_identifier_differs_in_all_records_that_have_it(pages: Pages) -> None:
    shared = []
    for gold, page in pages:
        for part in SAID[gold.name].identifiers:
            values = [value for value in part_values(gold, page, part) if value]
            if len(set(values)) < len(values):
                shared.append((gold.name, part))
    assert shared == []


def test_no_part_is_both_an_identifier_and_never_one() -> None:
    both = {name: set(said.identifiers) & set(said.never) for name, said in SAID.items()}
    assert {name: parts for name, parts in both.items() if parts} == {}


def test_a_list_has_an_identifier_parts_that_are_one_together_or_none_at_all() -> None:
    assert [
        name
        for name, said in SAID.items()
        if not (said.identifiers or said.together or said.keyless)
        or (said.identifiers and said.keyless)
    ] == []
