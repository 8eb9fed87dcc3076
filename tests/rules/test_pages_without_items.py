"""A page without items: which kind it is, which rows stand on it, and which part of it is kept."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import pytest

from livedata.model.harvest import LONGEST_MARKUP
from livedata.model.row import Scalar
from livedata.rules.diagnosis.page_kind import (
    RowTexts,
    count_rows,
    judge_page,
    rows_of_page,
    shows_rows,
)
from livedata.rules.diagnosis.page_snapshot import excerpt

LONG = "A long text about the house and all that is in it. " * 80
LOGIN = "<form><input name=u><input type=password name=p></form>"

KINDS = {
    "<h1>Shop</h1><p>1000 results</p>": None,
    "<p>1,000 results</p>": None,
    "<p>1.000 results</p>": None,
    "<p>1\N{NO-BREAK SPACE}000 results</p>": None,
    "<p>20 items</p>": None,
    "<p>0 results</p>": "no_results",
    "<p>Showing 0 items</p>": "no_results",
    "<p>No products were found.</p>": "no_results",
    "<p>You have no items in your shopping cart.</p>": None,
    "<p>0 items in your basket</p>": None,
    LOGIN: "login",
    f"{LOGIN}<p>{LONG}": None,
    f"<title>Log in</title>{LOGIN}<p>{LONG}": "login",
    f"{LOGIN}<p>This form is protected by reCAPTCHA.</p>": "login",
    "<title>Just a moment...</title>": "challenge",
    "<h1>Access denied</h1><p>You don't have permission to see this.</p>": "refused",
    "<p>We and our partners use cookies.</p><button>Accept all</button>": "consent",
    f"<p>{LONG}</p><p>We use cookies.</p>": None,
    "<div id=app></div><script src=/app.js></script>": "scripted",
    f"<div id=app></div><script src=/app.js></script><p>{LONG}": None,
}


@pytest.mark.parametrize("body", KINDS)
def test_the_words_of_a_page_tell_its_kind(body: str) -> None:
    title = "Log in" if "<title>Log in" in body else None
    title = "Just a moment..." if "<title>Just" in body else title
    judged = judge_page(f"<!doctype html><body>{body}", 1, title, [])
    assert judged["kind"] == KINDS[body]


ROWS: Mapping[str, Sequence[Scalar]] = {
    "S1": ["S1", "Oak chair & table", "https://shop.example/items/chair.html", 12],
    "S2": ["S2", "Wool blanket", "https://shop.example/items/blanket.html", 45],
    "S3": ["S3", "Copper kettle", "https://shop.example/items/kettle.html", 45],
}
KNOWN = rows_of_page(ROWS, [], 1)


@pytest.mark.parametrize(
    ("markup", "shown", "scripted"),
    [
        ("<p>Oak chair &amp; table</p><p>Wool blanket</p>", 2, 0),
        ("<p>Oak <em>chair</em> &amp; table</p>", 1, 0),
        ("<p>\n  Wool\n  blanket </p>", 1, 0),
        ("<p>Woollen blankets</p>", 0, 0),
        ("<a href='../items/chair.html'>See</a><a href=\"/items/blanket.html\">See</a>", 2, 0),
        ("<head><title>Wool blanket</title></head><body>", 0, 0),
        ("<!-- <p>Wool blanket</p> -->", 0, 0),
        ('<script>[{"name":"Wool blanket"},{"url":"\\/items\\/kettle.html"}]</script>', 0, 2),
        ('<script>["Oak chair \\u0026 table"]</script><p>Wool blanket</p>', 1, 1),
        ('<script>{"colour":"","name":"Wool blanket"}</script>', 0, 1),
        (f'<script>{{"about":"{LONG * 2}","name":"Wool blanket"}}</script>', 0, 1),
        ('<script>\'"\', "Wool\n"Wool blanket"</script>', 0, 1),
    ],
)
def test_rows_are_known_by_texts_that_only_they_have(
    markup: str, shown: int, scripted: int
) -> None:
    assert count_rows(KNOWN, markup) == (shown, scripted)


def test_a_text_that_several_rows_have_tells_of_none() -> None:
    rows = rows_of_page({"a": ["Books", "Emma"], "b": ["Books", "Ulysses"]}, [], 1)
    assert count_rows(rows, "<p>Books</p>") == (0, 0)


def test_the_rows_of_a_page_are_those_that_were_read_there() -> None:
    assert rows_of_page(ROWS, [2, 1, 2], 1) == [KNOWN[1]]
    # Since then a row came or went, so the pages do not fit any more.
    assert rows_of_page(ROWS, [2, 1], 1) == KNOWN


@pytest.mark.parametrize(
    ("shown", "known", "settled"), [(1, 2, False), (2, 8, True), (2, 9, False)]
)
def test_a_quarter_of_the_rows_and_two_at_least_settle_it(
    shown: int, known: int, settled: bool
) -> None:
    texts: list[RowTexts] = [frozenset({f"Lamp {number}"}) for number in range(known)]
    markup = "".join(f"<p>Lamp {number}</p>" for number in range(shown))
    assert shows_rows(judge_page(markup, 1, None, texts)) is settled


HEAD = f"<html><head><style>{'.a{color:red}' * 6_000}</style></head>"
ITEMS = "".join(f"<li><b>Lamp {number}</b></li>" for number in range(20))
NAMES = frozenset(f"Lamp {number}" for number in range(20))
FILL = "<p>Much ado about nothing.</p>" * 3_000


def test_the_part_with_the_rows_is_kept() -> None:
    page = f"{HEAD}<body><p>Lamp 3</p>{FILL}<ul>{ITEMS}</ul>{FILL}</body></html>"
    part = excerpt(page, NAMES)
    assert ITEMS in part
    assert part.startswith("<")
    assert len(part.encode()) <= LONGEST_MARKUP


def test_a_page_without_rows_is_kept_from_its_body() -> None:
    page = f"{HEAD}<body><p>Welcome.</p>{FILL}{FILL}</body></html>"
    assert excerpt(page, NAMES).startswith("<body><p>Welcome.</p>")
    assert excerpt(page, frozenset()).startswith("<body><p>Welcome.</p>")


HOSTILE = ["no a ", "<a ", "<script>", "<template", "<!--", "<head ", "&#1", "&", '="', "/a" * 40]


@pytest.mark.timed
@pytest.mark.parametrize("part", HOSTILE)
def test_a_hostile_page_is_judged_soon(part: str) -> None:
    page = part * (5 * 2**20 // len(part))
    started = time.process_time()
    judge_page(page, 1, None, KNOWN)
    excerpt(page, NAMES)
    assert time.process_time() - started < 5


ADDRESSES = "".join(f"<p>/{number:x}" for number in range(300_000))
HOSTILE_PAGES = {
    "open strings": "<script>" + '\\"' * 1_000_000,
    "addresses": ADDRESSES,
    "addresses without tags": ADDRESSES.replace("<p", ""),
    "addresses of one name": "<p>x" + "".join(f">/{number:x}/Lamp-1" for number in range(200_000)),
    "addresses in scripts": "<script>" + "".join(f'"/{number:x}"' for number in range(250_000)),
    "markup in scripts": "<script>" + f'"{ADDRESSES[:4000]}"' * 500,
    "a known text": "<p>Lamp 2" * 200_000 + ">Lamp 3" * 500_000,
}


@pytest.mark.timed
@pytest.mark.parametrize("name", HOSTILE_PAGES)
def test_a_page_full_of_pieces_is_judged_soon(name: str) -> None:
    page = HOSTILE_PAGES[name]
    texts = frozenset({"Lamp-1", "Lamp 2", "Lamp 3", "never there"})
    started = time.process_time()
    judge_page(page, 1, None, [frozenset({text}) for text in texts])
    judged = time.process_time()
    excerpt(page, texts)
    assert judged - started < 3
    assert time.process_time() - judged < 3
