"""The attributes that livedata derives from the tree: what they say, on which elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livedata.extraction.cells import MAX_CELL
from livedata.extraction.matching import matcher
from livedata.extraction.matching.numbering import follows
from livedata.extraction.page import Page
from livedata.extraction.records import Extractor
from livedata.extraction.selectors import parse
from livedata.model.recipe import Read, Recipe, RecipeField
from tests.extraction import table_model

TABLE = """<!doctype html><table>
<thead><tr><th rowspan=2>Name<th colspan=2>Price <small>EUR</small><tr><th>Net<th>Gross</thead>
<tfoot><tr><th>Sum<td>3<td>4</tfoot>
<tbody><tr><th scope=row>Bulb<td>1<td>2<tr><th colspan=3>Old ones<tr><td>Lamp<td colspan=2>5</table>
"""
LIST = """<dl><dt>Beds<dd>2<dt>Price<dt>per <b>month</b><dd>900<dd>heated
<dl><dt>Within<dd>inner</dl><div><dt>Rooms<dd>3</div><div><dd>still</div></dl><dd>alone</dd>"""


def page(markup: str) -> Page:
    return Page(markup.encode(), "text/html; charset=utf-8", "http://site.test/")


def texts(markup: str, selector: str) -> list[str]:
    read = page(markup)
    return [read.text(node) for node in read.select(parse(selector))]


def values(read: Page, name: str, selector: str) -> list[str | None]:
    """The attribute on each element that a selector matches."""
    read.derive(name, parse(selector))
    return [read.attribute(node, name) for node in read.select(parse(selector))]


@pytest.mark.parametrize(
    ("markup", "selector", "expected"),
    [
        (TABLE, "td[livedata-header='Price EUR Net']", ["1"]),
        (TABLE, "td[livedata-header^='Price EUR Net']", ["3", "1", "5"]),
        (TABLE, "td[livedata-header$=Gross]", ["2"]),
        (TABLE, "th[livedata-header='Price EUR']", ["Net", "Gross"]),
        (TABLE, "th[livedata-header=Name]", ["Bulb"]),
        (TABLE, "th[livedata-header='Name Price EUR Net Gross']", ["Old ones"]),
        (TABLE, "td[livedata-header~=Old]", ["3", "4", "Lamp", "5"]),
        (TABLE, "tr[livedata-row=data]", ["Bulb 1 2", "Lamp 5"]),
        (TABLE, "tr[livedata-row=header] > th[livedata-index='2']", ["Price EUR", "Gross"]),
        (TABLE, "tr[livedata-row=footer] > td[livedata-index='1']", ["3"]),
        (TABLE, "tbody tr[livedata-row=data][livedata-index='3'] td", ["Lamp", "5"]),
        (LIST, "dd[livedata-term=Beds]", ["2"]),
        (LIST, "dd[livedata-term='per month']", ["900", "heated Within inner"]),
        (LIST, "dd[livedata-term=Rooms]", ["3", "still"]),
        (LIST, "dd[livedata-term=Within]", ["inner"]),
        (LIST, "dd[livedata-term]", ["2", "900", "heated Within inner", "inner", "3", "still"]),
        (TABLE, "tr[livedata-cells='2']", ["Name Price EUR", "Net Gross", "Lamp 5"]),
        (TABLE, "tr[livedata-has~=td]", ["Sum 3 4", "Bulb 1 2", "Lamp 5"]),
        (TABLE, "thead[livedata-has='small th tr'] tr[livedata-has=th]", ["Net Gross"]),
        (LIST, "dl > dd[livedata-has~=dl]", ["heated Within inner"]),
        (LIST, "dt[livedata-has=b]", ["per month"]),
        ("<p>a<b>1</b><i>2</i><b>3</b>", "b[livedata-index='2']", ["3"]),
        ("<p>a<b>1</b><i>2</i><b>3</b>", "p > [livedata-index='1']", ["1", "2"]),
        ("<p>a<b>1</b><i>2</i><b>3</b>", "[LIVEDATA-INDEX='2']", ["3"]),
        ("<h2>4.1. <b>A</b>b<h2>2 C", "h2[livedata-unnumbered='Ab']", ["4.1. Ab"]),
        ("<h2>4.1. A<h2>B<h3>2 B", "[livedata-unnumbered=B]", ["B", "2 B"]),
        ("<h2>4.1.<h2 livedata-unnumbered=A>", "h2[livedata-unnumbered='']", [""]),
        ("<dl><dt>1. A<dd>2. B<dd>C", "dd[livedata-unnumbered-term=A]", ["2. B", "C"]),
        ("<p livedata-index=2>a<p>b", "p[livedata-index='2']", ["b"]),
        ("<p livedata-own=1 livedata-header livedata-row=data>a", "[livedata-own]", []),
        ("<p livedata-own=1 livedata-header livedata-row=data>a", "p[livedata-header]", []),
        ("<p livedata-own=1 livedata-header livedata-row=data>a", "[livedata-row]", []),
    ],
)
def test_a_selector_names_what_is_derived(markup: str, selector: str, expected: list[str]) -> None:
    for around in ("", " " * matcher.LARGE):
        assert texts(markup + around, selector) == expected


HEADERS = {
    "<tr><td>a<td>b": [None, None],
    "<tr><th>A<th>B<tr><td>a<td>b<td>c": [None, None, "A", "B", None],
    "<tr><th>A<td>a<tr><th>B<td>b": [None, None, None, None],
    "<tr><th scope=col>A<td>a<tr><td>b<td>c": [None, None, "A", None],
    "<tr><th scope=row>A<th>B<tr><td>b<td>c": [None, None, None, "B"],
    "<tr><th scope=colgroup colspan=2>A<tr><td>b<td>c": [None, "A", "A"],
    "<tr><th>A<tr><td>a<tr><th>B<tr><td>b": [None, "A", None, "B"],
    "<tr><th>A<th>B<tr><td colspan=2>a": [None, None, "A B"],
    "<tr><th rowspan=2>A<th>B<tr><th>C<tr><td>a<td>b": [None, None, "B", "A", "B C"],
    "<tr><th><img><th> B <tr><td>a<td>b": [None, None, None, "B"],
    "<tr><th>A<br>B<tr><td>a": [None, "A B"],
    "<tr><th colspan=x rowspan=-1>A<tr><td>a": [None, "A"],
    "<tr><th colspan=0>A<th>B<tr><td>a<td>b": [None, None, "A", "B"],
    "<tr><th colspan='2px'>A<tr><td>a<td>b<td>c": [None, "A", "A", None],
    "<tr><th>A<th>B<tr><td rowspan=0>a<td>b<tr><td>c": [None, None, "A", "B", "B"],
    "<thead><tr><th rowspan=9>A<th>B<tbody><tr><td>a<td>b": [None, None, "A", "B"],
    "<tr><th>A<tr><td>a<table><tr><td>b</table>": [None, "A", None],
    "<tr><td>a<th rowspan=3 scope=col>A<tr><td colspan=2>b<tr><td>c<td>d": [
        None,
        None,
        "A",
        None,
        None,
    ],
    "<tr><td>a<td rowspan=2>b<tr><th colspan=2>A<tr><td>c": [None, None, None, None],
    # A slot of two cells shows neither; a cell shows again where it is alone.
    "<tr><td>a<td rowspan=2>b<tr><th colspan=2 scope=col>A<tr><td>c<td>d": [
        None,
        None,
        None,
        "A",
        None,
    ],
    "<tr><td>a<th rowspan=2 scope=col>A<tr><th colspan=2 rowspan=2 scope=col>B<tr><tr><td>c<td>d": [
        None,
        None,
        "A",
        "B",
        "A B",
    ],
    "<thead><tr><td>a<td rowspan=2>b<tr><th colspan=2 rowspan=2 scope=col>A<tbody><tr><td>c<td>d": [
        None,
        None,
        None,
        "A",
        "A",
    ],
    "<tr><td>a<td rowspan=3>b<tr><th colspan=2 rowspan=0 scope=col>A<tr><tr><td>c<td>d": [
        None,
        None,
        None,
        None,
        None,
    ],
    "<tr><th>A<th rowspan=3 scope=col>B<tr><td colspan=2>a<tr><td>b<tr><td>c<td>d": [
        None,
        None,
        "A B",
        "A",
        "A",
        "B",
    ],
    (
        "<tr><th colspan=3>A<tr><td>a<td>b<th rowspan=3 scope=col>B"
        "<tr><td>c<td colspan=2 rowspan=3>d<tr><th colspan=3 rowspan=2 scope=col>C"
        "<tr><tr><th colspan=3 scope=col>D"
    ): [None, "A", "A", "A", "A", "A B", "A B", "A B C"],
}


@pytest.mark.parametrize("rows", HEADERS)
def test_a_cell_has_the_headers_of_its_columns(rows: str) -> None:
    read = page(f"<!doctype html><table>{rows}</table>")
    read.derive("livedata-header", parse("td"))
    cells = read.tree.css("td, th")
    assert [read.attribute(cell, "livedata-header") for cell in cells] == HEADERS[rows]


_CELL = st.builds(
    lambda tag, across, down, scope, text: f"<{tag} {across} {down} {scope}>{text}</{tag}>",
    st.sampled_from(["td", "th"]),
    st.sampled_from(["", "", "colspan=2", "colspan=3", "colspan=0"]),
    st.sampled_from(["", "", "rowspan=2", "rowspan=3", "rowspan=0"]),
    st.sampled_from(["", "", "", "scope=col", "scope=row"]),
    st.sampled_from(["A", "B", "C D", ""]),
)
_ROW = st.lists(_CELL, max_size=4).map(lambda cells: f"<tr>{''.join(cells)}</tr>")
_GROUP = st.builds(
    lambda tag, rows: f"<{tag}>{''.join(rows)}</{tag}>",
    st.sampled_from(["thead", "tbody", "tbody", "tfoot"]),
    st.lists(_ROW, max_size=5),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_GROUP, max_size=3).map("".join))
def test_headers_are_those_that_each_cell_sees_by_the_table_model(groups: str) -> None:
    read = page(f"<!doctype html><table>{groups}</table>")
    read.derive("livedata-header", parse("td"))
    expected = table_model.headers(read.tree)
    for cell in read.tree.css("td, th"):
        assert read.attribute(cell, "livedata-header") == expected[cell.mem_id], cell.html


_TREE = st.lists(
    st.sampled_from(["<div>", "</div>", "<p>", "</p>", "<b>x</b>", "text", "<!-- -->"]), max_size=30
).map("".join)


@settings(max_examples=80, deadline=None)
@given(_TREE, st.sampled_from(["div", "p", "b", "*"]))
def test_siblings_of_one_tag_are_numbered_from_one(markup: str, selector: str) -> None:
    read = page(markup)
    numbered: Counter[tuple[int, str | None]] = Counter()
    nodes = read.select(parse(selector))
    for node, place in zip(nodes, values(read, "livedata-index", selector), strict=True):
        siblings = (node.parent.mem_id if node.parent else 0, node.tag)
        numbered[siblings] += 1
        assert place == str(numbered[siblings])
    again = read.select(parse(f"{selector}[livedata-index]"))
    assert [node.mem_id for node in again] == [node.mem_id for node in nodes]


@settings(max_examples=60, deadline=None)
@given(_TREE, st.integers(1, 4))
def test_an_index_below_a_container_is_that_of_its_own_children(markup: str, place: int) -> None:
    read = page(f"<main>{markup}</main>")
    selector = parse(f"div > b[livedata-index='{place}']")
    for container in read.select(parse("div")):
        own = [node for node in container.iter() if node.tag == "b"]
        match = read.first(selector, container)
        below = [node.mem_id for node in read.select(selector, container)]
        assert (match.mem_id if match else None) == (below[0] if below else None)
        if len(own) >= place:
            assert own[place - 1].mem_id in below


def test_each_row_is_header_footer_or_data() -> None:
    read = page(f"{TABLE}<table><tr><tr><td>1<tr><th>2<tfoot><tr><th>3</table>")
    assert values(read, "livedata-row", "tr") == [
        *("header", "header", "footer", "data", "header", "data"),
        *("data", "data", "header", "header"),
    ]


def test_a_field_reads_what_is_derived_of_its_element_or_of_the_item() -> None:
    reads = [
        Read("attribute", "td", "LIVEDATA-Header"),
        Read("attribute", None, "livedata-index"),
        Read("attribute", None, "livedata-row"),
        Read("attribute", None, "livedata-own"),
        Read("attribute", "td", "livedata-unnumbered"),
    ]
    fields = tuple(
        RecipeField(
            f"f{number}",
            f"f{number}",
            f"f{number}",
            number,
            type="string",
            required=False,
            read=read,
        )
        for number, read in enumerate(reads)
    )
    recipe = Recipe(
        *(1, "http://site.test/", "static", "tr", fields, ("f1",)),
        composite=False,
        pagination=None,
        max_pages=1,
        max_items=1000,
        minimum_items=0,
        proxy="never",
        ignore_robots=False,
    )
    table = "<table><tr livedata-own=x livedata-row=x><th>A<th>B<tr livedata-own=x><td>1. C<td>2"
    records, _ = Extractor(recipe).records(page(table))
    assert [record.values for record in records] == [
        [None, "1", "header", None, None],
        ["A", "2", "data", None, "C"],
    ]


TAGS = st.sampled_from(("div", "section", "b", "i", "x-one", "x-two"))
TREES = st.recursive(
    TAGS.map(lambda tag: f"<{tag}>.</{tag}>"),
    lambda inner: st.tuples(TAGS, st.lists(inner, max_size=4)).map(
        lambda made: f"<{made[0]}>{''.join(made[1])}</{made[0]}>"
    ),
    max_leaves=30,
)


@given(st.lists(TREES, max_size=3).map("".join), TAGS, TAGS)
@settings(max_examples=200, deadline=None)
def test_an_element_has_what_an_engine_finds_in_it(markup: str, outer: str, inner: str) -> None:
    read = page(markup)
    having = read.select(parse(f"{outer}[livedata-has~='{inner}']"))
    expected = [node for node in read.tree.css(outer) if len(node.css(inner)) > (outer == inner)]
    assert [node.mem_id for node in having] == [node.mem_id for node in expected]


def test_what_is_derived_for_one_tag_is_derived_for_another_later() -> None:
    read = page("<p>a</p><b>1</b><p>b</p><b>2</b>")
    for selector in ("p", "b", "*", "p"):
        css = parse(f"body > {selector}[livedata-index='2']")
        assert {read.text(node) for node in read.select(css)} == {
            *({"b"} if selector in "*p" else ()),
            *({"2"} if selector in "*b" else ()),
        }


def test_a_page_without_elements_derives_nothing() -> None:
    assert values(page(""), "livedata-index", "p") == []


NUMBERS = "1 12 999 1. 12) 1234. 01. 1.1 4.1. 4.1) 26.11 0.9 1.2.3.4 A.2 B.1.3. #1 №7 #4.1"
WHOLE = """
1|1.|4.1|4.1.|#1|A.2|Roads|Roads 1. A|2001: A Space Odyssey|1984 in music|1: Roads|A. Mailer
3D printing|7-Zip|1.Roads|1st of May|1/2 litre|1,000 words|1.000 words|1 000 words|01.02. Roads
3 % off|3 € off|20 - 30 years|3 + 4|12345.1 Roads|a.2 Roads|AB.2 Roads|1.2.3.4.5.6.7 Roads|1.. Roads
"""


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        *((f"{number} Roads", "Roads") for number in NUMBERS.split()),
        *((text, text) for line in WHOLE.strip().splitlines() for text in line.split("|")),
        ("# 1. Roads", "Roads"),
        ("1. 12 Monkeys", "12 Monkeys"),
        ("1. 2", "2"),
        ("3 “Roads”", "“Roads”"),
        ("3 (Roads)", "(Roads)"),
        ("3.\N{NO-BREAK SPACE}Roads", "Roads"),
        ("3 道", "道"),
        ("12 Monkeys", "Monkeys"),
        ("1.5 litres", "litres"),
    ],
)
def test_a_number_that_says_a_place_is_left_out_of_a_text(text: str, rest: str) -> None:
    assert values(page(f"<p>{text}</p>"), "livedata-unnumbered", "p") == [rest]
    terms = page(f"<dl><dt>{text}</dt><dd>x</dd></dl>")
    assert values(terms, "livedata-unnumbered-term", "dd") == [rest]


def test_what_is_too_long_for_a_cell_is_not_made_to_fit_by_leaving_out_its_number() -> None:
    for length in (MAX_CELL, MAX_CELL + 1):
        (value,) = values(page(f"<p>1. {'a' * (length - 3)}"), "livedata-unnumbered", "p")
        assert value is not None
        assert len(value) == (length - 3 if length == MAX_CELL else length)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ((1,), (2,), True),
        ((1, 1), (1, 2), True),
        ((1, 9), (2,), True),
        ((1, 9, 3), (2, 1), True),
        ((1,), (1, 1), True),
        ((65, 4), (66, 1), True),
        ((1,), (3,), False),
        ((2,), (1,), False),
        ((1, 1), (1, 3), False),
        ((1, 1), (1, 1), False),
    ],
)
def test_a_number_follows_another_one_if_it_is_one_more_where_they_differ(
    before: Sequence[int], after: Sequence[int], said: bool
) -> None:
    assert follows(before, after) is said
