"""The outline of a page: its elements, with texts as Runs read them."""

from __future__ import annotations

import time

from livedata.extraction.outline import LONGEST_TEXT, outline
from livedata.extraction.page import Page

CARD = """<main><h2>Lamp</h2><p class="price  a:b">9<b>,50</b></p>
<noscript>See the shop</noscript><script>let lamps = 2</script></main>"""


def test_each_element_has_the_text_that_a_run_reads() -> None:
    page = Page(CARD.encode(), "text/html; charset=utf-8", "https://shop.example/")
    read = [page.text(node) for node in page.tree.css("h2, p, b")]
    texts = [one.text for one in outline(CARD).elements if one.tag in {"h2", "p", "b"}]
    assert texts == read == ["Lamp", "9,50", ",50"]


def test_what_nobody_sees_is_no_text() -> None:
    found = outline(CARD)
    assert found.text == "Lamp 9 ,50"
    assert [one.text for one in found.elements if one.tag == "main"] == ["Lamp 9,50"]
    assert found.scripts == len("let lamps = 2")


def test_an_element_is_named_by_its_tag_and_plain_classes() -> None:
    [price] = [one for one in outline(CARD).elements if one.tag == "p"]
    assert price.selector == "p.price"
    assert [one.tag for one in price.above] == ["p", "main", "body", "html"]


def test_an_element_without_a_class_is_named_by_what_is_derived() -> None:
    table = "<table><tr><th>It's<th>Price<tr><td>Lamp<td>9<td class=x>y<tr><td>a<b>c</b></table>"
    names = [one.selector for one in outline(f"{table}<dl><dt>Beds<dd>2").elements]
    assert names[3:] == [
        *("table", "tbody", "tr[livedata-row='header']", "th", "th"),
        *("tr[livedata-row='data']", "td[livedata-index='1']", "td[livedata-header='Price']"),
        *("td.x", "tr[livedata-row='data']", "td[livedata-index='1']", "b"),
        *("dl", "dt", "dd[livedata-term='Beds']"),
    ]


def test_a_text_that_is_longer_than_a_cell_is_left_out() -> None:
    found = outline(f"<p>{'x' * LONGEST_TEXT}</p><div>{'x' * (LONGEST_TEXT + 1)}</div>")
    assert [one.text is None for one in found.elements if one.tag in {"p", "div"}] == [False, True]


def test_a_page_that_would_stall_the_parser_has_a_text_and_no_elements() -> None:
    found = outline("Lamps" + "<b>" * 20_000)
    assert (found.text, list(found.elements)) == ("Lamps", [])


def test_elements_in_each_other_cost_no_more_than_elements_in_a_row() -> None:
    started = time.process_time()
    outline("<div>" * 1_400 + "lamp " * 10_000)
    assert time.process_time() - started < 1
