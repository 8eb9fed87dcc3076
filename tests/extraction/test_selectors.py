"""Selectors that are supported, and the part and place that errors of the others name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livedata.extraction.matching.css import to_css
from livedata.extraction.selectors import (
    AttributeTest,
    BadSelector,
    Compound,
    Selector,
    SelectorStep,
    parse,
)


def _compound(
    tag: str | None = None,
    ids: tuple[str, ...] = (),
    classes: tuple[str, ...] = (),
    attributes: tuple[AttributeTest, ...] = (),
) -> Compound:
    return Compound(tag, ids, classes, attributes)


GOOD = [
    ("a", _compound("a")),
    ("*", _compound()),
    (" LI ", _compound("li")),
    ("#Main.Big.tall", _compound(None, ("Main",), ("Big", "tall"))),
    (".--x", _compound(classes=("--x",))),
    (r".w-1\/2", _compound(classes=("w-1/2",))),
    (r".\31 a", _compound(classes=("1a",))),
    (".prix-élevé", _compound(classes=("prix-élevé",))),
    ("[HREF]", _compound(attributes=(AttributeTest("href", "", ""),))),
    ("a[rel=Next]", _compound("a", attributes=(AttributeTest("rel", "=", "Next"),))),
    ("[ a ~= 'x' ]", _compound(attributes=(AttributeTest("a", "~=", "x"),))),
    ("[a|=x]", _compound(attributes=(AttributeTest("a", "|=", "x"),))),
    ('[a^="/*"]', _compound(attributes=(AttributeTest("a", "^=", "/*"),))),
    ('[a$=":not(b), c > d"]', _compound(attributes=(AttributeTest("a", "$=", ":not(b), c > d"),))),
    (r'[a*="\22 q\"]"]', _compound(attributes=(AttributeTest("a", "*=", '"q"]'),))),
]

BAD = [
    ("", "", None),
    (" \n", " \n", None),
    ("a, b", ",", 1),
    ("a:first-child", ":first-child", 1),
    ("p a::text", "::text", 3),
    ("a:not(.b)", ":not", 1),
    ("a + b", "+", 2),
    ("a~b", "~", 1),
    ("> a", ">", 0),
    ("~ a", "~", 0),
    ("a >", "", 3),
    ("a > > b", ">", 4),
    ("svg|a", "|", 3),
    ("*|a", "|", 1),
    ("|a", "|", 0),
    ("[x|y]", "|", 2),
    ("[|y]", "|", 1),
    ("[*|y]", "*", 1),
    ('b [a="b" i]', "i", 9),
    ("[a=b S]", "S", 5),
    ("[a!=b]", "!=", 2),
    ("a /* b */", "/*", 2),
    ("a\x00b", "\x00", 1),
    ("[a='\x00']", "\x00", 4),
    ("[a='\ud800']", "\ud800", 4),
    ("a*", "*", 1),
    ("a/b", "/", 1),
    (".1a", ".1", 0),
    ("a ..b", "..", 2),
    ("#", "#", 0),
    ("p [a", "[a", 2),
    ("[a=1]", "[a=1]", 0),
    ("[a='b]", "[a='b]", 0),
    ("[]", "[]", 0),
    ("a{b", "{", 1),
    ("1", "1", 0),
    ("a" * 501, "a", 500),
]


@pytest.mark.parametrize(("text", "compound"), GOOD)
def test_one_element_is_read_as_written(text: str, compound: Compound) -> None:
    assert parse(text) == Selector(text, (SelectorStep(compound, child=False),))


def test_combinators_become_steps() -> None:
    assert [(step.compound.tag, step.child) for step in parse("ul>li  a >\tb\nc").steps] == [
        ("ul", False),
        ("li", True),
        ("a", False),
        ("b", True),
        ("c", False),
    ]


@pytest.mark.parametrize(("text", "part", "position"), BAD)
def test_what_is_not_supported_is_named_with_its_place(
    text: str, part: str, position: int | None
) -> None:
    with pytest.raises(BadSelector) as caught:
        parse(text)
    assert (caught.value.part, caught.value.position) == (part, position)
    message = str(caught.value)
    assert "tags, classes, IDs, attributes, descendant and child combinators" in message
    assert position is None or f"position {position}" in message


BY_PLACE = "for number 2 of the siblings of one tag"
INSTEAD = [
    (
        "td:nth-child(2)",
        f"for the cell below a header, or td[livedata-index='2'] {BY_PLACE}; supported: ",
    ),
    (
        "td:nth-of-type(3)",
        "at position 2; write td[livedata-header='Price'] for the cell below a header, or ",
    ),
    ("ul > li.a:nth-of-type( 2 ) b", f"; write li.a[livedata-index='2'] {BY_PLACE}; "),
    ("li:first-child", "write li[livedata-index='1'] for number 1 of"),
    ("LI:FIRST-OF-TYPE", "write LI[livedata-index='1'] for number 1 of"),
    ("li:nth-child(odd)", "write li[livedata-index='2'] for the second of"),
    ("li:last-child", "write li[livedata-index='2'] for the second of"),
    (".a > :nth-child(2)", f"write [livedata-index='2'] {BY_PLACE}; "),
    ("p[title='a b']:nth-child(2)", f"write [livedata-index='2'] {BY_PLACE}; "),
    ("tr:nth-child(2)", f"write tr[livedata-index='2'] {BY_PLACE}; "),
    ("tr:has(td)", "write tr[livedata-row='data'] for the rows that are neither header nor"),
    ("table tr:not(:first-child)", "write tr[livedata-row='data'] for"),
    ("tr:nth-child(n+2)", "write tr[livedata-row='data'] for"),
    ("td:has(a)", "write td[livedata-has~='a'] for those with an element a in them; supported"),
    ("tr.x:has( IMG )", "write tr.x[livedata-has~='img'] for those with an element img in"),
    ("td:has(> a)", "write td[livedata-header='Price'] for the cell below a header, or td["),
    ("dt:contains('Beds') + dd", "write dd[livedata-term='Price'] for what stands behind a term"),
    ("dt.beds + dd", "write dd[livedata-term='Price'] for what stands behind a term; supported"),
    ("td + td", "write td[livedata-index='2'] for the second of the siblings of one tag; "),
    ("li:has(a)", "write li[livedata-has~='a'] for those with an element a in them; supported"),
    ("li:has(.price)", None),
    ("a:hover", None),
    ("h2 + p", None),
    ("p::text", None),
]


@pytest.mark.parametrize(("text", "instead"), INSTEAD)
def test_what_says_where_an_element_stands_is_answered_with_what_does_the_same(
    text: str, instead: str | None
) -> None:
    with pytest.raises(BadSelector) as caught:
        parse(text)
    message = str(caught.value)
    if instead is None:
        assert "write" not in message
        return
    assert instead in message
    # What is proposed can be pasted as it stands, also between double quotes.
    for proposed in re.findall(r"(?:write|or) (\S+\[\S+\]|\[\S+\])", message):
        assert '"' not in proposed
        parse(proposed)


def test_five_hundred_characters_are_not_too_many() -> None:
    assert len(parse("a " * 249 + "aa").steps) == 250


_WORDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=8
)


@given(
    st.builds(
        Compound,
        st.none(),
        st.tuples(_WORDS),
        st.tuples(_WORDS),
        st.tuples(
            st.builds(AttributeTest, _WORDS.map(lambda w: "x" + w.lower()), st.just("="), _WORDS)
        ),
    )
)
def test_written_as_css_it_is_read_as_the_same(compound: Compound) -> None:
    name = compound.attributes[0].name
    if name.isascii():
        assert parse(to_css(compound)).steps[0].compound == compound


@given(st.text(max_size=40))
def test_any_text_is_read_or_rejected_with_a_part_of_it(text: str) -> None:
    problem: BadSelector | None = None
    try:
        parse(text)
    except BadSelector as error:
        problem = error
    if problem is not None and problem.position is not None:
        assert text[problem.position :].startswith(problem.part)
