"""The matcher compared with the parser's own engine, and the meaning of containers."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from livedata.extraction.matching import matcher
from livedata.extraction.page import Page
from livedata.extraction.selectors import parse

_TAGS = st.sampled_from(["div", "span", "b"])
_OPEN = st.builds(
    lambda tag, name, rel: f"<{tag} class={name} rel={rel}>",
    _TAGS,
    st.sampled_from(["x", "y", "X"]),
    st.sampled_from(["n", "N", "m"]),
)
_MARKUP = st.lists(_OPEN | _TAGS.map(lambda tag: f"</{tag}>"), max_size=25).map("".join)
_PART = st.sampled_from(["div", "span", "b", "*", ".x", ".y", "div.x", "[rel=n]", "[rel^=m]"])
_SELECTOR = st.builds(
    lambda first, rest: first + "".join(joint + part for joint, part in rest),
    _PART,
    st.lists(st.tuples(st.sampled_from([" ", " > "]), _PART), max_size=3),
)


def page(markup: str) -> Page:
    return Page(markup.encode(), "text/html; charset=utf-8", "http://site.test/")


@settings(max_examples=400, deadline=None)
@given(st.booleans(), st.sampled_from(["", "<!doctype html>"]), _MARKUP, _SELECTOR, _PART)
def test_it_agrees_with_the_parsers_own_engine(
    large: bool, doctype: str, markup: str, css: str, container: str
) -> None:
    if large:  # the classes of a large page are looked up
        markup += " " * matcher.LARGE
    read = page(doctype + markup)
    root = read.tree.root
    assert root is not None
    selector = parse(css)
    # lexbor's own CSS engine is slower on hostile selectors, but right on these small pages.
    truth = [node.mem_id for node in root.css(css)]
    assert [node.mem_id for node in read.select(selector)] == truth
    for node in read.select(parse(container)):
        # That engine also answers with the container itself, which ours leaves out.
        below = [match.mem_id for match in node.css(css) if match.mem_id != node.mem_id]
        first = read.first(selector, node)
        assert [match.mem_id for match in read.select(selector, node)] == below
        assert (first and first.mem_id) == (below[0] if below else None)


def test_elements_above_the_container_count_but_itself_is_never_found() -> None:
    read = page("<div class=list><div class=card><h2>a</h2></div></div><h2>b</h2>")
    card = read.select(parse(".card"))[0]
    heading = read.first(parse(".list .card h2"), card)
    assert heading is not None
    assert read.text(heading) == "a"
    assert read.first(parse(".card"), card) is None
    assert read.select(parse(".list > .card"), card) == []


def test_a_container_that_was_not_selected_is_searched_too() -> None:
    read = page("<ul><li>1<li>2</ul><ol><li>3</ol>")
    lists = read.tree.css("ul, ol")
    firsts = [read.first(parse("body li"), node) for node in lists]
    assert [read.text(node) for node in firsts if node] == ["1", "3"]


def test_another_selection_does_not_spoil_what_was_remembered() -> None:
    read = page("<ul><li><b>1</b></ul><ol><li><b>2</b></ol>")
    bold = parse("b")
    for container in ("ul", "ol", "li", "ul"):
        for node in read.select(parse(container)):
            first = read.first(bold, node)
            assert first is not None
            assert read.text(first) == read.text(node)


def test_a_path_from_the_browsers_inspector_matches() -> None:
    read = page("<table><tr><td>1<tr><td>2</table>")
    assert len(read.select(parse("table > tbody > tr"))) == 2
    assert read.select(parse("table > tr")) == []


def test_case_counts_as_it_does_in_a_browser() -> None:
    markup = "<A CLASS=Big REL=NEXT data-x=Y>x</A>"
    for css, quirks, standard in (
        ("a", 1, 1),
        (".big", 1, 0),
        (".Big", 1, 1),
        ("[rel=next]", 1, 1),
        ("[data-x=y]", 0, 0),
        ("[DATA-X=Y]", 1, 1),
    ):
        assert len(page(markup).select(parse(css))) == quirks, css
        assert len(page(f"<!doctype html>{markup}").select(parse(css))) == standard, css


def test_nothing_is_found_in_a_template_or_an_empty_page() -> None:
    read = page("<template><p class=x>a</p></template><p class=x>b")
    assert [read.text(node) for node in read.select(parse(".x"))] == ["b"]
    assert page("").first(parse("p")) is None


def test_classes_of_a_large_page_are_told_apart_as_on_a_small_one() -> None:
    for around in ("", "x" * matcher.LARGE):
        read = page(f"<!doctype html>{around}<p class='a a\tb\nc'><i class='b'></i><b class=a>")
        counts = {
            css: len(read.select(parse(css))) for css in (".a", ".a.b", "p.c.a", ".d", ".a i")
        }
        assert counts == {".a": 2, ".a.b": 1, "p.c.a": 1, ".d": 0, ".a i": 1}


def test_a_class_is_found_in_each_value_that_has_it_and_in_no_part_of_a_name() -> None:
    values = ["a", "ab a", "ba", " a\ta\n", "a-b", "b  a", "\u00e4 a", "\u00e4a", "A", ""]
    body = "".join(f"<i class='{value}'>{number}</i>" for number, value in enumerate(values * 2))
    for around in ("", "x" * matcher.LARGE):
        read = page(f"<!doctype html>{around}{body}")
        for css, places in {".a": [0, 1, 3, 5, 6], ".\u00e4": [6], ".a.b": [5], ".A": [8]}.items():
            texts = [read.text(node) for node in read.select(parse(css))]
            assert texts == [
                str(number) for number in places + [number + 10 for number in places]
            ], css
