"""The text of a page for a model: a row a line, its links beside it, and bounded work."""

from __future__ import annotations

import time
import unicodedata

import pytest

from livedata.extraction import page_lines as limits
from livedata.extraction.page import Page
from livedata.extraction.page_lines import PageLines, page_lines
from livedata.extraction.work import PAGE_LIMIT


def lines(markup: str) -> PageLines:
    return page_lines(Page(markup.encode(), "text/html; charset=utf-8", "http://site.test/list/"))


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<table><tr><th>Name<th>Year<tr><td>Acme<td>1999</table>", "Name\tYear\nAcme\t1999"),
        ("<table><tr><td><p>Acme</p><p>Ltd</p><td>a<br>b</table>", "Acme Ltd\ta b"),
        ("<table><tr><td>Acme<td><td>1999<td></table>", "Acme\t\t1999"),
        ("<table><tr><th>A<th>B<tr><td><td>late</table>", "A\tB\n\tlate"),
        ("<table><tr><td><td><tr><td>late</table>", "late"),
        ("<table><tr><td><pre>a\nb</pre></table>", "a b"),
        ("<ul><li>one<ul><li>in it</ul><li>two</ul>", "one\nin it\ntwo"),
        ("<dl><dt>Name<dd>Acme<dt>Year<dd>1999</dl>", "Name\nAcme\nYear\n1999"),
        ("<h1>Makers</h1><p>All of\n them.</p><p>Here.", "Makers\n\nAll of them.\n\nHere."),
        ("<div><div><div>one</div></div></div><div>two</div>", "one\ntwo"),
        ("A<b>c</b>me <i> Ltd</i>&nbsp; of<br>Ulm", "Acme Ltd of\nUlm"),
        ("<pre>a   b\n\n\n\n  c\n</pre>d", "a b\n\nc\n\nd"),
        ("e<b>\u0301</b>te\u0301 <i>1\u03a9</i>\u2126", "\xe9t\xe9 1\u03a9\u03a9"),
        ("<div hidden>tab</div><noscript>no</noscript>", "tab\nno"),
    ],
)
def test_a_page_has_its_rows_items_and_blocks_in_lines(markup: str, text: str) -> None:
    assert lines(markup) == PageLines(text, [], cut=False)


def test_a_cell_that_lays_out_the_page_is_no_cell_of_a_row() -> None:
    inner = "<h2>Makers</h2><table><tr><td>Acme<td>1999</table>after"
    assert lines(f"<table><tr><td>side<td>{inner}</table>").text == (
        "side\n\nMakers\n\nAcme\t1999\n\nafter"
    )


@pytest.mark.parametrize(
    "left_out",
    [
        "<nav>x</nav>",
        "<footer>x</footer>",
        "<div role=navigation>x</div>",
        "<div role=ContentInfo><p>x</div>",
        "<script>x</script>",
        "<style>x</style>",
        "<template>x</template>",
        "<select><option>x</select>",
        "<textarea>x</textarea>",
        "<svg><title>x</title></svg>",
        "<iframe>x</iframe>",
        "<!-- x -->",
    ],
)
def test_what_leads_elsewhere_or_is_never_shown_is_left_out(left_out: str) -> None:
    assert lines(f"<head><title>x</title></head>{left_out}<p>Acme").text == "Acme"


def test_links_are_absolute_unique_and_without_what_is_left_out() -> None:
    markup = """<nav><a href=/home>home</a></nav><a href="../acme#top"><img></a>
    <a href="/acme">Acme <b>Ltd</b></a> <a href="//other.test">Other</a> <a href="/acme">more</a>
    <a href="mailto:a@b.test">mail</a> <a name=x>none</a> <a href="http://[">broken</a>
    <a href="javascript:alert(1)">script</a> <a href="ftp://site.test/">files</a>"""
    assert lines(markup).links == [
        ("Acme Ltd", "http://site.test/acme"),
        ("Other", "http://other.test"),
    ]


def test_no_more_links_are_kept_than_a_model_is_shown() -> None:
    lines_of_page = lines("".join(f"<a href='/{number}'>{'x' * 200}</a>" for number in range(300)))
    assert len(lines_of_page.links) == limits.MOST_LINKS
    assert {len(text) for text, _ in lines_of_page.links} == {limits.LONGEST_LINK_TEXT}
    assert not lines_of_page.cut


def test_a_page_that_is_too_long_is_cut_at_the_end_of_a_line() -> None:
    lines_of_page = lines("<p>Acme</p>" * 100_000)
    assert lines_of_page.cut
    assert limits.LONGEST - 10 < len(lines_of_page.text) <= limits.LONGEST
    assert set(lines_of_page.text.split("\n")) == {"Acme", ""}
    assert lines_of_page.text.endswith("Acme")


def test_a_page_that_is_one_long_line_is_cut_within() -> None:
    lines_of_page = lines("<p>" + "\u5de5" * 600_000)
    assert (lines_of_page.cut, len(lines_of_page.text)) == (True, limits.LONGEST)


HOSTILE = {
    "divs in each other": "<div>" * 9_000 + "x",
    "tables in each other": "<table><tr><td>" * 2_000 + "<h1>x",
    "many empty elements": "<i></i>" * 60_000,
    "many links": "<a href='?a=b&c'>x</a>" * 30_000,
    "long links": f"<a href='?{'x/../' * 300}'>x</a>" * 500,
    "links in each other": "<svg>" + "<a href='/x'>x" * 5_000,
    "one long word": "x" * 4_000_000,
    "one long space": " " * 4_000_000,
    "many short words": "x " * 2_000_000,
    "marks in wrong order": "a" + "\u0315\u0300\u05ae" * 1_000_000,
    "headings in cells": "<table><tr><td>" + "<h1></h1>" * 50_000,
}


@pytest.mark.timed
@pytest.mark.parametrize("markup", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_page_takes_counted_work_and_little_time(markup: str) -> None:
    page = Page(markup.encode(), "text/html; charset=utf-8", "http://site.test/")
    before = time.thread_time()
    read = page_lines(page)
    # Less than 0.6 s each; marks that are put in order all at once take minutes.
    assert time.thread_time() - before < 3
    assert page.work.done <= PAGE_LIMIT
    assert len(read.text) <= limits.LONGEST


def test_letters_are_composed_however_long_the_text_is() -> None:
    text = "cafe\u0301 " * 3_000
    assert lines(text).text == unicodedata.normalize("NFC", text).strip()
