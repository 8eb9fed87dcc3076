"""Text that a person does not see is not read, as far as the page itself hides it."""

from __future__ import annotations

import time

import pytest

from livedata.extraction.page import Page
from livedata.extraction.records import Extractor
from livedata.extraction.selectors import parse
from livedata.extraction.text import plain
from livedata.extraction.work import PAGE_LIMIT, TooMuchWork
from tests.extraction.test_work import recipe


def page(body: str, *styles: str) -> Page:
    """A page with the body, and with the style elements in its head."""
    markup = f"<!doctype html><head>{''.join(styles)}</head><body>{body}"
    return Page(markup.encode(), "text/html; charset=utf-8", "http://site.test/")


def seen(body: str, css: str = "") -> str:
    """What is read of a body, in both ways in which a Run reads texts."""
    read = page(f"<main>{body}</main>", f"<style>{css}</style>" if css else "")
    main = read.select(parse("main"))[0]
    text = read.text(main)
    assert plain(read.marked_text(main, "main")) == text
    return text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("a<b hidden>x</b>c", "ac"),
        ("a<b HIDDEN=until-found>x</b>c", "ac"),
        ("a<p hidden>x<i>y</i></p>c", "ac"),
        ("a<b style='display:none'>x</b>c", "ac"),
        ("a<b style='DISPLAY : None ; color:red'>x</b>c", "ac"),
        ("a<b style='color:red;display:none!important'>x</b>c", "ac"),
        ("a<b style='display:none;display:inline'>x</b>c", "axc"),
        ("a<b style='display:none !important;display:inline'>x</b>c", "ac"),
        ("a<b style='display:none !ie'>x</b>c", "axc"),
        ("a<b style='/*display:none*/color:red'>x</b>c", "axc"),
        ("a<b style='--display:none'>x</b>c", "axc"),
        ("a<b style='background:url(x;display:none)'>x</b>c", "axc"),
        ("a<b style='quotes:\";display:none;\"'>x</b>c", "axc"),
        ("a<b hidden style='display:inline'>x</b>c", "axc"),
        ("a<b style='visibility:hidden'>x</b>c", "a c"),  # it takes its place
        ("5<b style='visibility:hidden'> </b>6", "56"),
        ("a<b style='visibility:collapse'>x</b>c", "a c"),
        ("a<b style='visibility:hidden'>x<i>y</i><u style='visibility:visible'>z</u></b>c", "a zc"),
        ("a<b style='visibility:hidden'>x<i style='visibility:inherit'>y</i></b>c", "a c"),
        ("a<b style='display:none'>x<u style='visibility:visible;display:block'>z</u></b>c", "ac"),
        ("a<p style='visibility:hidden'>x</p>c", "a c"),
        ("<td><span style='display:none'>0005</span>5 km", "5 km"),
        # Whom it is hidden from is a program that reads aloud; a person sees it.
        ("<span aria-hidden=true>$12</span>", "$12"),
        ("a<b style='opacity:0;font-size:0'>x</b>c", "axc"),
    ],
)
def test_text_below_an_element_that_hides_itself_is_not_read(body: str, text: str) -> None:
    assert seen(body) == text


@pytest.mark.parametrize(
    ("css", "text"),
    [
        (".x{display:none}", "ac"),
        ("b{display:none}", "ac"),
        ("#i{display:none}", "ac"),
        ("b.x#i.y{display:none}", "ac"),
        ("p, .x ,q{color:red;Display:NONE}", "ac"),
        (".x{visibility:hidden}", "a c"),
        (".x{display:none", "ac"),
        ("<!-- .x{display:none} -->", "ac"),
        ("@charset 'utf-8'; @import url(x.css); .x{display:none}", "ac"),
        ("@media screen{.x{display:none}}", "ac"),
        ("@media screen, print{.x{display:none}}", "ac"),
        (r".\78 {display:none}", "ac"),
        ("[hidden], .x{display:none}", "ac"),
        (".z{display:none}", "axc"),
        ("b.z, .x.z, u.x{display:none}", "axc"),
        # A rule that may hold elsewhere, or of something else.
        ("@media print{.x{display:none}}", "axc"),
        ("@media (max-width:99999px){.x{display:none}}", "axc"),
        ("@supports (display:grid){.x{display:none}}", "axc"),
        ("@layer a{.x{display:none}}", "axc"),
        ("@keyframes x{from{display:none}}", "axc"),
        ("main .x{display:none}", "axc"),
        ("main > .x{display:none}", "axc"),
        (".x:hover{display:none}", "axc"),
        (".x::before{display:none}", "axc"),
        (".x:not(.y){display:none}", "axc"),
        (".x[id]{display:none}", "axc"),
        (".q{.x{display:none}}", "axc"),
        # What a browser passes over.
        (".x, ::-unknown{display:none}", "axc"),
        (".x, 5{display:none}", "axc"),
        ("} .x{display:none}", "axc"),
        ("; .x{display:none}", "axc"),
        ("/* .x{display:none}", "axc"),
        ("--y:{.x{display:none}}", "axc"),
        (".x{content:'}'; color:red} /*'*/", "axc"),
        # What comes later, or counts more, shows again.
        (".x{display:none} .y{display:block}", "axc"),
        (".y{display:block} .x{display:none}", "ac"),
        (".x{display:none} b{display:inline}", "ac"),
        (".x.y{display:none} .x{display:block}", "ac"),
        (".x{display:none} .x.x{display:block} .x{display:none}", "axc"),
        ("#i{display:none} .x{display:inline!important}", "axc"),
        (".x{display:none!important} #i{display:block}", "ac"),
        # A rule that may hold shows.
        (".x{display:none} @media (min-width:1px){.y{display:block}}", "axc"),
        (r".x{display:none} @media (min-width:1px){.md\:block{display:block}}", "axc"),
        (".x{display:none} main .x{display:block}", "axc"),
        (".x{display:none} main > *{display:block}", "axc"),
        (".x{display:none} .q{.x{display:block}}", "axc"),
        (".x{display:none} .q{@media screen{& .x{display:block}}}", "axc"),
        (".x{display:none} @media print{.x{display:block}}", "ac"),
        (".x{display:none} .x:hover{display:block}", "ac"),
        (".x{display:none} main .z{display:block}", "ac"),
        (".x{visibility:hidden} main *{visibility:visible}", "axc"),
    ],
)
def test_a_rule_of_the_page_hides_what_it_surely_hides(css: str, text: str) -> None:
    assert seen("a<b class='x y md:block' id=i>x</b>c", css) == text


@pytest.mark.parametrize(
    ("head", "text"),
    [
        ("<style media=print>.x{display:none}</style>", "axc"),
        ("<style media='(min-width:9px)'>.x{display:none}</style>", "axc"),
        ("<style media=screen>.x{display:none}</style>", "ac"),
        ("<style type='text/less'>.x{display:none}</style>", "axc"),
        ("<style title=other>.x{display:none}</style>", "axc"),
        ("<noscript><style>.x{display:none}</style></noscript>", "axc"),
        ("<style>.x{display:none}</style><noscript><style>.x{display:block}</style>", "axc"),
        ("<template><style>.x{display:none}</style></template>", "axc"),
        ("<style>.x{display:none}</style><style>.x{display:block}</style>", "axc"),
        ("<style>.x{display:block}</style><style>.x{display:none}</style>", "ac"),
        ("<link rel=stylesheet href=x.css>", "axc"),
    ],
)
def test_which_sheets_of_a_page_count(head: str, text: str) -> None:
    read = page("<main>a<b class=x>x</b>c</main>", head)
    assert read.text(read.select(parse("main"))[0]) == text


def test_an_attribute_counts_against_the_sheets_of_a_page_as_in_a_browser() -> None:
    css = ".x{display:none} .s{display:block} .i{display:none!important}"
    assert seen("<b class=x style='display:block'>x</b>", css) == "x"
    assert seen("<b class=i style='display:block'>x</b>", css) == ""
    assert seen("<b class=s hidden>x</b>", css) == "x"
    assert seen("<b class=s style='display:none'>x</b>", css) == ""


def test_classes_are_compared_in_any_case_only_in_a_page_without_a_doctype() -> None:
    markup = "<style>.x{display:none}</style><main>a<b class=X>x</b>c</main>"
    for doctype, text in (("", "ac"), ("<!doctype html>", "axc")):
        read = Page(f"{doctype}{markup}".encode(), "text/html", "http://site.test/")
        assert read.text(read.select(parse("main"))[0]) == text


@pytest.mark.parametrize("outer", ["hidden", "style='display:none'", "style='visibility:hidden'"])
def test_an_element_that_a_selector_names_is_read_whatever_hides_it(outer: str) -> None:
    body = f"<section {outer}><ul {outer}><li {outer}>a<b {outer}>x</b>c</ul></section>"
    read = page(body)
    assert read.text(read.select(parse("li"))[0]).replace(" ", "") == "ac"
    assert read.text(read.select(parse("b"))[0]) == "x"
    assert read.text(read.select(parse("section"))[0]) == ""


def test_records_in_a_hidden_tab_are_read() -> None:
    body = "<ul style='display:none'>" + "<li><p>a</p><i hidden>x</i>" * 3
    records, _ = Extractor(recipe(1)).records(page(body))
    assert [record.values for record in records] == [["a"]] * 3


@pytest.mark.parametrize(
    "body",
    [
        "<ul><li>a<i hidden>b<u>c</u></i>d<p style='visibility:hidden'>e<b class=s>f</b>g</p>",
        "<div class=x><div class=x>a<p>b</p></div>c<p class=v>d<i>e</i><u class=s>f</u></p></div>",
        "<section style='visibility:hidden'>a<div class=s>b<i class=v>c</i></div>d</section>",
    ],
)
def test_texts_are_the_same_however_many_are_read(body: str) -> None:
    css = "<style>.x{display:none} .v{visibility:hidden} .s{visibility:visible}</style>"
    read = page(f"<main>{body}</main>", css)
    every = read.select(parse("main *"))
    alone = [read.text(node) for node in every]
    for node in every * 20_000:
        read.marked_text(node, "main *")
        if read.work.done > 100_000:
            break
    assert [plain(read.marked_text(node, "main *")) for node in every] == alone


def test_a_header_names_a_cell_without_what_is_hidden_in_it() -> None:
    table = "<table><tr><th>Price<i hidden> (sort)</i><tr><td>5</table>"
    read = page(table)
    assert len(read.select(parse("td[livedata-header=Price]"))) == 1


def test_a_page_that_hides_nothing_asks_for_no_rule() -> None:
    read = page("<p>a<b>c</b>" * 1_000, "<style>p{color:red}</style>")
    before = read.work.done
    assert read.hidden.gone == set()
    assert read.work.done - before < 1_500


SOON = 0.7  # seconds of CPU
HOSTILE = {
    "rules": "".join(f".a{number}{{display:none}}" for number in range(25_000)),
    "one rule of many": f"{'.x,' * 150_000}.x{{display:none}}",
    "many blocks of many": f"{'.x,' * 50_000}.x{{{'@media x{display:none}' * 15_000}}}",
    "rules of one class": "".join(f".x.a{number}{{display:none}}" for number in range(9_000)),
    "blocks": "a{" * 200_000 + "display:none",
    "brackets": f"a{'(' * 400_000}{{display:none}}",
    "escapes": f".{chr(92)}{'a' * 6} " * 50_000 + "{display:none}",
    "comments": "/*" * 200_000 + "display:none",
    "strings": "'\\'" * 100_000 + "display:none",
    "addresses": "url(" * 100_000 + "display:none",
    "semicolons": "a{" + ";" * 400_000 + "display:none}",
    "spaces": f"a{{display:{' ' * 400_000}none}}",
    "marks": f"a{{display:none{'!' * 400_000}}}",
    "media": f"@media {'screen,' * 60_000}{{a{{display:none}}}}",
    "a large sheet": f".x{{display:none}}{' ' * 5_000_000}",
}


@pytest.mark.timed
@pytest.mark.parametrize("css", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_sheet_takes_bounded_work(css: str) -> None:
    classes = " ".join(f"a{number}" for number in range(200))
    body = f"<main><b class='x {classes}'>x</b>{f'<p class=x>{classes}' * 500}</main>"
    read = page(body, f"<style>{css}</style>")
    before, began = read.work.done, time.process_time()
    read.text(read.select(parse("main"))[0])
    assert read.work.done - before < 300_000
    assert time.process_time() - began < SOON


@pytest.mark.timed
@pytest.mark.parametrize("unit", ["<b hidden>x</b>", "<b style='display:none'>x</b>"])
def test_many_elements_that_hide_themselves_take_counted_work(unit: str) -> None:
    read = page(f"<main>{unit * 60_000}</main>")
    try:
        assert read.text(read.select(parse("main"))[0]) == ""
    except TooMuchWork:
        pytest.fail("a page that is not too large is read")
    assert 4 * 60_000 < read.work.done < PAGE_LIMIT
