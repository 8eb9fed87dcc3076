"""Pages made to stall a parser or a matcher: they are read or rejected within a second or two."""

from __future__ import annotations

import contextlib
import time
import tracemalloc

import pytest

from livedata.extraction.page import Page, PageTooComplex, decode
from livedata.extraction.selectors import parse
from livedata.extraction.work import TooMuchWork

pytestmark = pytest.mark.timed

SIZE = 5 << 20
MANY = 120_000
SOON = 1.5  # seconds of CPU; without the budget these pages take minutes


def page(markup: str) -> Page:
    return Page(markup.encode(), "text/html; charset=utf-8", "http://site.test/")


def full(unit: str) -> str:
    return unit * (SIZE // len(unit))


BEHIND = "<div>" * 40_000 + "<p>" * 40_000

# Each is small for a download, but makes a parser or its tree grow out of proportion.
REJECTED = {
    "div": full("<div>"),
    "too many elements": full("<p>x"),
    "balanced": "<div>" * 100_000 + "x" + "</div>" * 100_000,
    "bold": full("<b>"),
    "font": full("<font color=red>"),
    "fonts": "".join(f"<font size={i}>" for i in range(200_000)),
    "reopened fonts": "<p>" + "".join(f"<font size={i}>" for i in range(2000)) + "<p>x" * 20_000,
    "links around blocks": full("<a><div>"),
    "adoption": full("<b><div></b>"),
    "lists": full("<ul><li>"),
    "cells": full("<table><td>"),
    "ends of nothing": full("<div></y>"),
    "ends behind cells": full("<div><div><div><table><td></div></div></div>"),
    "options": "<select>" + full("<option>"),
    "style in svg": full("<svg><style><div>"),
    "attributes": "<p " + " ".join(f"a{i}=1" for i in range(500_000)) + ">",
    "hidden attributes": "<p " + " ".join(f'a{i}=">"' for i in range(400_000)) + ">",
    "attributes of many tags": full("<p a b c d e f g h>"),
    "comments": full("<!-->x"),
    "elements between quotes": '="' + full("<p>"),
    "attributes of many bodies": "".join(f"<body a{i}=1>" for i in range(100_000)),
    "quotes in values": '<i a=b=">' + full("<div>"),
    "ends within values": '<div a="x></div>">' * 60_000,
    "ends within values of values": '<div a=b"c d="e></div>">' * 60_000,
    "ends within comments": "<div>x<!-- </div> -->" * 60_000,
    "ends within scripts": "<div>x<script></div></script>" * 50_000,
    "ends within titles": "<div>x<textarea></div></textarea>" * 50_000,
    "ends of nothing in lines": "<span>" * 1400 + "</x>" * 1_300_000,
    "ends that open": "x" + full("</p>"),
    "ends that are comments": full("</1>"),
    "cells in svg": "<svg>" + "<td>" * 20_000 + "</x>" * 20_000,
    "a name with a vertical tab": "<br\x0b>" * 30_000 + "<hr>" * 30_000,
    "a name with a sign of Kelvin": "<lin\u212a>" * 30_000 + "<hr>" * 30_000,
    "no xmp": "<xmp\x0b>" + BEHIND,
    "no end of a script": "<script><!--<script></script><xmp>--></script>" + BEHIND,
    "style in a font of svg": "<svg><font><style>" + BEHIND,
    "style in mathml": "<math><annotation-xml><style>" + BEHIND,
    "cdata": "<svg><![CDATA[></svg><xmp>]]></svg>" + BEHIND,
    "out of svg by an end": "<svg></p>" + "<article/>" * 40_000 + "<p>" * 40_000,
    "short attributes": "<p " + " ".join(map(chr, range(0x4E00, 0x4E00 + 20_000))) + ">x",
    "attributes of many elements": ("<p " + " ".join(f"a{i}" for i in range(11_000)) + ">") * 20,
    "reopened attributes": f"<p><b {' '.join(f'a{i}' for i in range(200))}>x" + "<p>x" * 60_000,
    "leaves between": "<div><p>x<b>y</b><section><p>z</section>" * 40_000,
}

# Ordinary pages that look like the ones above: the budget must let them pass.
READ = {
    "paragraphs": ("<p>thirty-four characters of a text" * MANY, "p", MANY),
    "items": ("<ul>" + "<li>thirty-four characters of a text" * MANY, "ul > li", MANY),
    "cells": ("<table>" + "<td>thirty-four characters of a text" * MANY, "tr > td", MANY),
    "terms": ("<dl>" + "<dt>x<dd>y" * (MANY // 2), "dl > dd", MANY // 2),
    "old fonts": ("<p><font color=red><b>x</font>" * 2000, "font", 2000),
    "script": ("<script>" + full('"<div>"') + "</script><p>x", "p", 1),
    "comment": ("<!--" + full("<div>") + "--><p>x", "p", 1),
    "attribute": ('<p a="' + full("<div>") + '">x', "p", 1),
    "attributes": ("<p a b c d e f g h>x" * 30_000, "p", 30_000),
    "remarks": ("<p>x<!-- -->y" * 90_000, "p", 90_000),
    "blocks": ("<div><p>x</div>" * 50_000, "div > p", 50_000),
    "icons": ("<svg>" + '<path d="M1"/>' * 50_000, "svg > path", 50_000),
    "three thousand deep": ("<div>" * 3000 + "<p>x", "div div > p", 1),
    "stray ends": ("</div></b></p><i>x</i>" * 20_000, "i", 20_000),
}


@pytest.mark.parametrize("name", REJECTED)
def test_markup_that_would_stall_the_parser_is_rejected(name: str) -> None:
    began = time.process_time()
    with pytest.raises(PageTooComplex):
        page(REJECTED[name])
    assert time.process_time() - began < SOON


@pytest.mark.parametrize("name", READ)
def test_large_or_sloppy_pages_are_read_whole(name: str) -> None:
    markup, css, count = READ[name]
    began = time.process_time()
    assert len(page(markup).select(parse(css))) == count
    assert time.process_time() - began < SOON


@pytest.mark.parametrize(
    ("css", "count"),
    [
        ("div div div div div div div div", 1993),
        (".nope div div div div div", 0),
        (" ".join(["div"] * 120), 1881),
        (" > ".join(["div"] * 80), 1921),
        ("* * * * * * * * * * * * .nope", 0),
    ],
)
def test_selector_bombs_are_soon_answered(css: str, count: int) -> None:
    read = page("<div>" * 2000 + "<p>x")
    began = time.process_time()
    assert len(read.select(parse(css))) == count
    assert time.process_time() - began < 2


def test_nested_containers_do_not_multiply_the_work() -> None:
    # 2,000 containers around 20,000 elements: a search for each would visit 40 million.
    read = page("<div>" * 2000 + "<i>x</i>" * 20_000)
    fields = [parse(css) for css in ("i", "div i", ".nope", "div > i", "b")]
    began = time.process_time()
    firsts = [[read.first(css, node) for css in fields] for node in read.select(parse("div"))]
    assert [[node is not None for node in row] for row in firsts] == [
        [True, True, False, True, False]
    ] * 2000
    assert time.process_time() - began < 2


def test_text_of_a_deep_page_is_read() -> None:
    read = page("<div>" * 3000 + "x" + "</div>" * 3000)
    assert read.text(read.select(parse("body"))[0]) == "x"


@pytest.mark.parametrize(
    ("charset", "unit"),
    [
        ("gb18030", b"\xff"),
        ("windows-1252", b"\x81a"),
        ("windows-1255", b"\xff"),
        ("utf-16", b"\xd8\x00"),
        ("punycode", b"a-"),
    ],
)
def test_no_charset_is_slow(charset: str, unit: bytes) -> None:
    began = time.process_time()
    for _ in range(6):
        decode(unit * (SIZE // len(unit)), f"text/html; charset={charset}")
    assert time.process_time() - began < 2 * SOON


CLASSED = {
    "one element of many classes": f"<p class='{' '.join(f'{n:x}' for n in range(700_000))}'>x",
    "an element of one long class": f"<p class='{'A1' * 2_400_000}'>x",
    "many elements of the same classes": "".join(
        f"<p class='{' '.join(map(chr, range(192, 692)))} {n}'>x" for n in range(4_000)
    ),
}


@pytest.mark.parametrize("name", CLASSED)
def test_the_classes_of_a_page_take_little_room(name: str) -> None:
    read = page(CLASSED[name])
    tracemalloc.start()
    try:
        for css in (".\\33 1", ".\\33 2.\\33 3", "p.\u00c0.\u00c1", ".a1"):
            read.select(parse(css))
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


CELLS = 45_000
DERIVED = {
    "many cells": (f"<table><tr><th>A{'<tr><td>x<td>y' * (CELLS // 3)}", True),
    "many columns": (f"<table><tr>{'<th>A' * (CELLS // 3)}<tr>{'<td>x' * (CELLS // 3)}", True),
    "cells of many columns": ("<table><tr><th>A" + "<tr><td colspan=1000000000>x" * 20_000, False),
    "cells of many rows": ("<table>" + "<tr><td rowspan=1000000000>x" * 20_000, False),
    "cells that are pushed aside": (
        f"<table><tr>{'<td rowspan=0 colspan=1000>x' * 20}{'<tr><td>x' * 20_000}",
        False,
    ),
    "rows of headers": ("<table>" + "<tr><th>A" * 20_000, False),
    "rows of headers of many widths": (
        "<table>"
        + "".join(f"<tr><th colspan={number % 900}>A<tr><td>x" for number in range(20_000)),
        False,
    ),
    "a long header": (f"<table><tr><th>{'A' * 30_000}{'<tr><td>x' * 20_000}", False),
    "nested tables": ("<table><tr><th>A<tr><td>" * 600 + "<p>x" * 30_000, True),
    "nested headers": ("<table><tr><th>A" * 300 + "<p>x" * 6_000, False),
    "a long term": (f"<dl><dt>{'A' * 30_000}{'<dd>x' * 20_000}", False),
    "terms deep in a list": ("<dl>" + "<i>" * 300 + "<dt>A<dd>x" * 3_000, False),
    "terms without a list": ("<div>" * 300 + "<dt>A<dd>x" * 3_000, False),
    "attributes of the page's own": ("<p livedata-index=1 livedata-row=x>x" * 20_000, True),
}


ASKED = {
    "livedata-header": "td",
    "livedata-term": "dd",
    "livedata-row": "tr",
    "livedata-cells": "tr",
}


@pytest.mark.parametrize("name", DERIVED)
def test_deriving_attributes_is_soon_done_or_over_the_budget(name: str) -> None:
    markup, is_read = DERIVED[name]
    read = page(markup)
    began = time.process_time()
    answered = 0
    with contextlib.suppress(TooMuchWork):
        for attribute, tag in ASKED.items():
            read.select(parse(f"{tag}[{attribute}]"))
            answered += 1
    assert (answered == len(ASKED)) is is_read
    assert time.process_time() - began < SOON


HAVING = {
    "many elements": ("<p><b>x</b></p>" * 9_000, True),
    "elements deep in each other": ("<div>" * 60 + "<p><b><i>x</i></b></p>" * 9_000, True),
    "tags of many names in each other": (
        "".join(f"<x-{number}>" for number in range(120))
        + "".join(f"<y-{number}>x</y-{number}>" for number in range(20_000)),
        False,
    ),
}


@pytest.mark.parametrize("name", HAVING)
def test_telling_what_elements_have_in_them_is_soon_done_or_over_the_budget(name: str) -> None:
    markup, is_read = HAVING[name]
    read = page(markup)
    began = time.process_time()
    try:
        result = len(read.select(parse("[livedata-has~=b]"))) > 9_000
    except TooMuchWork:
        result = False
    assert result is is_read
    assert time.process_time() - began < SOON


NUMBERED = {
    "many texts": ("<p>1. x" * 30_000, True),
    "a text without an end": (f"<p>{'1. x ' * 800_000}", True),
    "numbers without an end": (f"<p>{'1.1' * 1_000_000}" + "<p>1.1.1.1.1.1.1." * 20_000, True),
    "texts within each other": ("<div>1. x" * 300 + "<p>1. x" * 20_000, False),
    "a long term": (f"<dl><dt>1. {'A' * 30_000}{'<dd>x' * 20_000}", False),
}


@pytest.mark.parametrize("name", NUMBERED)
def test_leaving_out_numbers_is_soon_done_or_over_the_budget(name: str) -> None:
    markup, is_read = NUMBERED[name]
    read = page(markup)
    began = time.process_time()
    answered = 0
    with contextlib.suppress(TooMuchWork):
        for css in ("[livedata-unnumbered]", "dd[livedata-unnumbered-term]"):
            read.select(parse(css))
            answered += 1
    assert (answered == 2) is is_read
    assert time.process_time() - began < SOON
