"""Which elements of a page are taken for its records, and the selector that names them."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from livedata.extraction.lists.page_lists import find_lists
from livedata.extraction.lists.proposal import propose
from livedata.extraction.page import Page
from livedata.extraction.work import TooMuchWork
from tests.extraction.lists.pages import (
    NAMES,
    URL,
    cards,
    lists_of,
    page_of,
    proposed,
    table_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROWS = "".join(f"<tr><td>{name}<td>{n}.5<td>B{n * 7}" for n, name in enumerate(NAMES))


def hashed(number: int, name: str) -> str:
    return (
        f'<div class="css-1x2y3z card"><a class="css-9q8w7e" href="/p/{number}x">{name}</a>'
        f'<i class="css-4r5t6y">{number}.20 USD</i></div>'
    )


def block(number: int, name: str) -> str:
    return f'<div class="tile"><h3>{name}</h3><p>About the {name}, number {number * 11}</p></div>'


LISTS: Mapping[str, tuple[str, str, int]] = {
    "cards": (f"<ul>{cards()}</ul>", "li.product", 12),
    "cards with adverts and headings between": (
        f"<ul>{cards(between='<li class=advert>Great offers</li><li><h4>More</h4></li>')}</ul>",
        "li.product",
        12,
    ),
    "cards wrapped in rows": (
        "".join(
            f'<div class="row">{"".join(block(n + step, NAMES[n + step]) for step in range(3))}'
            "</div>"
            for n in range(0, 12, 3)
        ),
        "div.tile",
        12,
    ),
    "cards of parts that stand side by side": (
        "".join(
            f"<div class=hit><div><img src=/{n}.png></div><div><a href=/p/{n}>{name}</a></div>"
            f"<div><b>{n} €</b><i>{n * 2} €</i></div></div>"
            for n, name in enumerate(NAMES)
        ),
        "div.hit",
        12,
    ),
    "tables of properties": (
        "".join(
            f"<table class=thing><tr><th>Name<td>{name}<tr><th>Size<td>{n * 3} cm</table>"
            for n, name in enumerate(NAMES)
        ),
        "table.thing",
        12,
    ),
    "rows of linked cells": (
        "<table>"
        + "".join(
            f'<tr class=line><td class=a><a href="/e/{n}">{name} of a long kind</a>'
            f"<td><p>About {name}, in some more words<td><i>{n} Dec</i>"
            for n, name in enumerate(NAMES)
        )
        + "</table>",
        "tr.line",
        12,
    ),
    "a short table below a menu that nothing names": (
        f"<div><ul>{''.join(f'<li><a href=/{name}>{name}s</a>' for name in NAMES[:5])}</ul></div>"
        "<table><tr><th>Name<th>Price<th>Stock"
        + "".join(f"<tr><td>{name}<td>{n}.50 €<td>{n * 3} left" for n, name in enumerate(NAMES[:3]))
        + "</table>",
        'tr[livedata-row="data"]',
        3,
    ),
    "entries between paragraphs": (
        "".join(
            f"<h3>{name}</h3><p>About the {name}, number {n}, in a sentence of many words.</p>"
            f"<p>It is made of steel, weighs {n * 7} g and lasts for {n} years or longer.</p>"
            for n, name in enumerate(NAMES)
        )
        + f"<ul>{cards()}</ul>",
        "li.product",
        12,
    ),
    "generated classes beside one that lasts": (cards(make=hashed), "div.card", 12),
    "a table with a header row": (
        f"<table><tr><th>Name<th>Price<th>Code{ROWS}</table>",
        'tr[livedata-row="data"]',
        12,
    ),
    "a table without one": (f"<table>{ROWS}</table>", 'tr[livedata-cells="3"]', 12),
    "descriptions of terms": (
        f"<dl>{''.join(f'<dt>{name}<dd>All about the {name}, at length' for name in NAMES)}</dl>",
        "dd",
        12,
    ),
    "entries with lists of their own": (
        "<ul class=list>"
        + "".join(
            f'<li class=entry><a href="/e/{name}">{name}</a><p>It has {n} parts and costs {n * 3}'
            f"<ul><li>red<li>blue</ul></li>"
            for n, name in enumerate(NAMES)
        )
        + "</ul>",
        "li.entry",
        12,
    ),
    "classes that number and count": (
        "".join(
            f'<article class="post-{n} {"odd" if n % 2 else "even"} status-publish">'
            f'<h2><a href="/{name}">{name}</a></h2><p>{name} is thing number {n}</article>'
            for n, name in enumerate(NAMES)
        ),
        "article",
        12,
    ),
    "in any script": (
        "".join(f"<li class=商品><b>製品{n * 7}</b><i>{n * 100}円</i></li>" for n in range(9)),
        "li.商品",
        9,
    ),
}


@pytest.mark.parametrize("case", LISTS)
def test_the_first_list_is_the_one_that_a_person_means(case: str) -> None:
    body, selector, count = LISTS[case]
    proposal = proposed(body)
    assert (proposal.selector, len(proposal.rows)) == (selector, count)


def test_a_heading_within_a_table_is_left_out_if_a_selector_does_it() -> None:
    rows = ROWS.replace("<tr>", "<tr class=data>")
    proposal = proposed(f"<table><tr><td>All of them{rows}</table>")
    assert (proposal.selector, len(proposal.rows)) == ("tr.data", 12)


LINKS = "".join(f"<tr><td><a href=/{name}>{name}</a><td>{name} in words" for name in NAMES)


@pytest.mark.parametrize(
    ("body", "selector"),
    [
        (
            f"<tr><td colspan=3>Old ones{ROWS}".join(("", "<tr><td colspan=3>New ones")),
            'tr[livedata-cells="3"]',
        ),
        # Each row has a second one that speaks of it.
        (LINKS.replace("words", "words<tr><td colspan=2>Told"), 'tr[livedata-cells="2"]'),
        (
            "".join(
                f"<tr><td>{row}<tr><td><hr><td>" if number % 4 == 3 else f"<tr><td>{row}"
                for number, row in enumerate(LINKS.split("<tr><td>")[1:])
            ),
            'tr[livedata-has~="a"]',
        ),
    ],
)
def test_headings_between_the_rows_of_a_table_are_left_out(body: str, selector: str) -> None:
    proposal = proposed(f"<table>{body}</table>")
    assert (proposal.selector, proposal.count) == (selector, len(NAMES))


def test_what_stands_in_another_table_is_left_out() -> None:
    rows = ROWS * 20
    within = "".join(f"<tr><td colspan=3>Part {number}{rows}" for number in range(3))
    top = "<table><tr><td>Back<td>Contents<td>Forward</table>"
    proposal = proposed(f"{top}<table id=all><tr><th>Name<th>Price<th>Code{within}</table>")
    assert (proposal.selector, proposal.count) == (
        '#all tr[livedata-row="data"][livedata-cells="3"]',
        720,
    )


def test_a_selector_matches_the_records_and_nothing_else_of_the_page() -> None:
    lists = lists_of(f"<ul>{cards()}</ul>")
    for seen in lists.seen:
        matches = lists.survey.page.tree.css(seen.selector)
        assert [node.mem_id for node in matches] == [
            lists.survey.nodes[number].mem_id for number in seen.members
        ]


def test_a_given_text_picks_the_list_that_holds_it() -> None:
    assert lists_of(f"<ul>{cards()}</ul>").seen[0].selector == "li.product"
    menu = lists_of(f"<ul>{cards()}</ul>", "about us").seen[0]
    assert menu.count == 4


def test_texts_of_two_records_are_in_no_one_record() -> None:
    assert [seen.count for seen in lists_of(f"<ul>{cards()}</ul>", "Whisk", "Mug").seen] == []


@pytest.mark.parametrize(
    "body", ["", "<p>Only a text.</p>", "<h1>A</h1><p>One.<p>Two.", "<form><input><input></form>"]
)
def test_where_nothing_repeats_there_is_no_list(body: str) -> None:
    page = Page(f"<!doctype html>{body}".encode(), "text/html", URL)
    assert find_lists(page).seen == []


HOSTILE: Mapping[str, Callable[[], str]] = {
    "many records": lambda: "".join(
        f'<div class="r x{n % 7}"><a href=/p{n}>T {n}</a><p class=d>text {n}</p><b>{n}</b>'
        f"<span class=a>x{n}</span><i>q</i><u>{n * 7}</u></div>"
        for n in range(9_000)
    ),
    "many links": lambda: "".join(f"<a href=/p{n}>{n}</a>" for n in range(60_000)),
    "deep ones": lambda: "".join("<div>" * 190 + f"t{n}" + "</div>" * 190 for n in range(300)),
    "no two alike": lambda: "".join(
        f'<div class="a{n} b{n} c{n}"><p class="e{n}">t{n}</p></div>' for n in range(30_000)
    ),
    "one long table": lambda: table_of(20_000, 3),
    "one wide table": lambda: table_of(120, 500),
    "one parent": lambda: f"<ul>{''.join(f'<li>{n} x' for n in range(60_000))}</ul>",
    "thousands of classes": lambda: "".join(
        f'<div class="k{n % 5000} m{n % 4999}"><a href=/{n}>t{n}</a><b class="z{n % 5000}">'
        f"{n}</b></div>"
        for n in range(20_000)
    ),
    "links that all say next": lambda: (
        "".join(f"<li class=i><b>n{n}</b><i>{n}</i></li>" for n in range(50))
        + "".join(f'<a class="next n{n}" href="?page={n}">next</a>' for n in range(4_900))
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", HOSTILE)
def test_no_page_takes_longer_than_its_elements_warrant(case: str) -> None:
    """60,000 elements: half of what a page may have, in the time that a fast machine doubles."""
    page = page_of(HOSTILE[case]())
    begun = time.process_time()
    lists = find_lists(page)
    assert lists.seen or case == "deep ones"
    if lists.seen:
        with suppress(TooMuchWork):
            propose(lists, lists.seen[0])
    assert time.process_time() - begun < 4


def test_what_stands_elsewhere_is_no_record_of_a_bare_list() -> None:
    words = "".join(f"<li>word{number}" for number in range(40))
    menu = "<nav class=top><ul><li><a href=/a>Home</a><li><a href=/b>About us</a></ul></nav>"
    assert proposed(f"{menu}<div class=columns><ul>{words}</ul></div>").count == 40


def test_a_list_and_its_links_are_shown_once() -> None:
    steps = "".join(f"<div class=step><b>{number}</b> Step {number}</div>" for number in range(9))
    lists = lists_of(f"<ul>{cards()}</ul><section>{steps}</section>")
    assert [seen.count for seen in lists.seen][:2] == [12, 9]


def test_the_texts_of_descriptions_stand_for_what_knows_their_terms() -> None:
    terms = "".join(f"<dt>{name}<dd><p>All about the {name}.</p>" for name in NAMES)
    proposal = proposed(f"<dl>{terms}</dl>")
    assert proposal.selector == "dd"
    assert "term" in [column.name for column in proposal.columns]
