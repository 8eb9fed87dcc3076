"""Selectors that are suggested from where known values are on a page."""

from __future__ import annotations

import time

import pytest
from msgspec.structs import replace

from livedata.extraction.outline import outline
from livedata.model.row import Scalar
from livedata.rules.explanation.places import LIMIT, KnownValues, Places
from livedata.rules.explanation.suggest_selectors import (
    suggest_field_selectors,
    suggest_item_selector,
)

CARDS = "".join(
    f"<section class=card><div><a class=more href='/lamps/{at}.html'>"
    f"<b>Lamp {at}</b></a></div><i class=cost>{at}.50</i></section>"
    for at in range(3)
)


def known(
    *values: Scalar, kind: str = "string", attribute: str | None = None, name: str = "name"
) -> KnownValues:
    return KnownValues(name, kind, attribute, values)


LAMPS = known("Lamp 0", "Lamp 1", "Lamp 7")
LINKS = known("https://shop.example/lamps/0.html", "https://a.example/lamps/2.html", attribute="x")
COSTS = known(0.5, 1.5, 2.5, kind="number")


@pytest.mark.parametrize(
    ("field", "selector", "attribute", "hits"),
    [
        (LAMPS, "b", None, 2),
        (LINKS, "a.more", "href", 2),
        (COSTS, "i.cost", None, 3),
    ],
)
def test_the_inmost_element_is_suggested_for_a_field(
    field: KnownValues, selector: str, attribute: str | None, hits: int
) -> None:
    (suggestion,) = suggest_field_selectors(Places(outline(CARDS)), [field])
    assert (suggestion["selector"], suggestion["found"]) == (selector, hits)
    assert suggestion.get("attribute") == attribute


def test_a_cell_without_a_class_is_suggested_by_its_header() -> None:
    rows = "".join(f"<tr><td>Lamp {at}<td>{at}.50" for at in range(3))
    places = Places(outline(f"<table><tr><th>Name<th>Cost{rows}</table>"))
    suggested = suggest_field_selectors(places, [LAMPS, COSTS])
    assert [one["selector"] for one in suggested] == [
        "td[livedata-header='Name']",
        "td[livedata-header='Cost']",
    ]
    items = suggest_item_selector(places, [LAMPS])
    assert items is not None
    assert items["selector"] == "tr[livedata-row='data']"
    assert suggest_field_selectors(places, [known("Cost", attribute="title")]) == []


def test_nothing_is_suggested_for_values_that_are_not_there() -> None:
    assert suggest_field_selectors(Places(outline(CARDS)), [known("EUR")]) == []


def test_the_outermost_element_of_one_row_is_suggested_for_the_items() -> None:
    assert suggest_item_selector(Places(outline(CARDS)), [COSTS, LAMPS]) == {
        "target": "itemSelector",
        "selector": "section.card",
        "found": 2,
        "known": 3,
    }


def test_two_values_of_one_element_share_it() -> None:
    page = "<ul><li data-a=Oak data-b=Elm>x<li data-a=Ash>y</ul>"
    field = known("Oak", "Elm", "Ash", attribute="data-a")
    suggestion = suggest_item_selector(Places(outline(page)), [field])
    assert suggestion is not None
    assert (suggestion["selector"], suggestion["found"]) == ("li", 3)


PIECE = 64 * 1024
WORDS = [f"{at:x}z" for at in range(8_000)]
LETTERS = "<p>5" + "<i>\u0e01" * 440 + "</i>" * 440
HOSTILE = {
    "one value everywhere": ("<p>abc" * 9_000, known("abc", "xyz")),
    "many values": ("".join(f"<p>{word}" for word in WORDS)[:PIECE], known(*WORDS)),
    "values below many elements": (
        "<div>" * 2_000 + "".join(f"<p>{word}" for word in WORDS[:400]),
        known(*WORDS),
    ),
    "many values of one element": (
        f"<p class='{'a ' * 15_000}' " + " ".join(f"a{at}={at:x}z" for at in range(3_000)),
        known(*WORDS, attribute="a1"),
    ),
    "texts like numbers": (LETTERS * 24, known(1, 2, kind="number")),
}


@pytest.mark.timed
@pytest.mark.parametrize("name", HOSTILE)
def test_selectors_for_a_hostile_page_are_suggested_soon(name: str) -> None:
    markup, field = HOSTILE[name]
    page = outline(f"<!doctype html>{markup}")
    started = time.process_time()
    for _ in range(5):
        suggest_field_selectors(Places(page), [field])
        suggest_item_selector(Places(page), [field])
    assert time.process_time() - started < 3


@pytest.mark.timed
@pytest.mark.parametrize("name", HOSTILE)
def test_fifty_fields_are_looked_for_on_a_hostile_page_within_half_a_second(name: str) -> None:
    markup, field = HOSTILE[name]
    page = outline(f"<!doctype html>{markup}")
    rows = field.values[:1_000]
    fields = [replace(field, name=f"field {number}", values=rows) for number in range(50)]
    for suggest in (suggest_field_selectors, suggest_item_selector):
        started = time.process_time()
        suggest(Places(page), fields)
        assert time.process_time() - started < 0.5


def test_a_page_that_has_a_value_everywhere_is_looked_at_for_the_first_fields_only() -> None:
    page = outline("<!doctype html>" + "<p>abc" * 9_000)
    fields = [known("abc", name=f"field {number}") for number in range(50)]
    suggestions = suggest_field_selectors(Places(page), fields)
    assert [suggestion["target"] for suggestion in suggestions] == [
        f"field {number}" for number in range(LIMIT // 9_000)
    ]
