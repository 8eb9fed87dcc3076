"""Which links lead to the next page of a list, as far as the first page shows."""

from __future__ import annotations

import pytest

from livedata.extraction.lists.page_lists import find_lists
from livedata.extraction.lists.paging import NumberedPages
from livedata.extraction.lists.proposal import ProposedList, propose
from livedata.extraction.page import Page
from tests.extraction.lists.pages import cards


def after(links: str, url: str = "https://shop.example/list", head: str = "") -> ProposedList:
    """What is proposed of a list with these links below it."""
    markup = f"<!doctype html><head>{head}</head><ul>{cards()}</ul>{links}"
    lists = find_lists(Page(markup.encode(), "text/html; charset=utf-8", url))
    return propose(lists, lists.seen[0])


@pytest.mark.parametrize(
    ("link", "selector"),
    [
        ('<a class="next" href="/list?page=2">Next</a>', "a.next"),
        ('<a rel="next" href="/list?page=2">2</a>', 'a[rel~="next"]'),
        ('<p class="pager"><b>1</b><a href="/list/page/2">→</a></p>', "p.pager > a"),
        ('<a href="/list?p=1" class="on">1</a><a title="Weiter" href="/list?p=2">&gt;</a>',
         'a[title="Weiter"]'),
        ('<div id="more"><a href="/list?start=20">次へ</a></div>', "#more > a"),
        ('<li class="next"><a href="/list?offset=20">Suivant</a></li>', "li.next > a"),
    ],
)  # fmt: skip
def test_a_link_that_says_next_is_proposed(link: str, selector: str) -> None:
    assert [each.selector for each in after(link).following][:1] == [selector]


@pytest.mark.parametrize(
    "link",
    [
        '<a rel="next" href="/guide/chapter-two.html">Next chapter: Tools</a>',
        '<a href="/list?page=1">Previous</a>',
        '<a href="https://other.example/list?page=2">Next</a>',
        '<a href="javascript:next()">Next</a>',
        '<a href="#">Next</a>',
        # What is no address at all, though it begins like one.
        '<a class="next" href="http://[x]/list?page=2">Next</a>',
        '<a href="//[x]/list?page=2#top">2</a><a href="http://a:b/list?page=3">3</a>',
        "",
    ],
)
def test_other_links_are_not(link: str) -> None:
    assert not after(link).following


@pytest.mark.parametrize(
    ("here", "link"),
    [
        ("/p1.html", '<a rel="next" href="/p2.html">next</a>'),
        ("/shop/", '<p class="more"><a href="/shop/page2.html">Next</a></p>'),
        ("/index.html", '<a class="on" href="/page-2.html">Next page</a>'),
        ("/list/1.php", '<a id="on" href="/list/2.php">Next</a>'),
    ],
)
def test_pages_that_are_numbered_files_are_pages_of_one_list(here: str, link: str) -> None:
    assert len(after(link, f"https://shop.example{here}").following) == 1


def test_the_head_may_name_the_next_page() -> None:
    proposal = after("", head='<link rel="next" href="/list?page=2">')
    assert [each.selector for each in proposal.following] == ['link[rel="next"]']


def test_a_link_within_a_record_leads_to_no_page() -> None:
    markup = "".join(
        f'<li class=item><h2>{n}x</h2><p>Text {n * 3}</p><a class="next" href="/list?page={n}">'
        "More</a></li>"
        for n in range(2, 9)
    )
    lists = find_lists(Page(markup.encode(), "text/html", "https://shop.example/list"))
    assert propose(lists, lists.seen[0]).following == []


def test_numbered_pages_have_a_pattern() -> None:
    links = "".join(f'<a href="/list?page={number}">{number}</a>' for number in range(2, 8))
    pattern = "https://shop.example/list?page={page}"
    assert after(links).numbered == NumberedPages(pattern, 1, 7)


def test_pages_that_count_from_0_have_a_pattern_too() -> None:
    links = "".join(f'<a href="/list?page={number - 1}">{number}</a>' for number in range(2, 6))
    assert after(links).numbered == NumberedPages("https://shop.example/list?page={page}", 0, 4)


def test_a_head_that_names_what_is_no_address_names_no_next_page() -> None:
    assert not after("", head='<link rel=next href="http://[x]/list?page=2">').following


def test_pages_that_are_numbered_have_a_pattern_though_their_addresses_say_more() -> None:
    """The first page leaves out how it is sorted; the links of its pager say it."""
    here = "https://shop.example/deals/"
    links = "".join(
        f'<a href="?order=new&limit=48&page={number}">{number}</a>' for number in range(1, 5)
    )
    pattern = f"{here}?order=new&limit=48&page={{page}}"
    assert after(links, here).numbered == NumberedPages(pattern, 1, 4)


def test_a_link_that_says_next_may_say_more_than_the_page() -> None:
    link = '<b class="pages"><a rel="next" href="?order=new&page=2">2</a></b>'
    assert len(after(link, "https://shop.example/deals/").following) == 1


@pytest.mark.parametrize(
    "href", ["?stars={}", "/other?page={}", "https://other.example/list?page={}"]
)
def test_numbers_that_lead_to_no_page_of_the_list_have_no_pattern(href: str) -> None:
    links = "".join(f'<a href="{href.format(number)}">{number}</a>' for number in range(1, 6))
    assert after(links).numbered is None


@pytest.mark.parametrize(
    ("link", "is_told"),
    [
        ('<a rel="next" class="btn next" href="https://www.shop.example/list?page=2">›</a>', True),
        ('<a rel="next" class="btn next" href="https://other.example/">›</a>', True),
        ('<a rel="next" href="https://other.example/stock">2</a>', True),
        ('<a href="https://other.example/stock">Next page</a>', True),
        ('<a class="next" href="//other.example/stock?p=2">Suivant</a>', True),
        ('<a rel="next" class="btn next" href="/list?page=2">›</a>', False),
        ('<a class="more" href="https://other.example/stock">Read more</a>', False),
        ('<a href="https://other.example/stock">More</a>', False),
        ('<a href="https://other.example/stock">»</a>', False),
        ('<a rel="next" href="https://other.example/list">›</a>', False),
        ('<a rel="next" href="mailto:next@other.example">Next</a>', False),
    ],
)
def test_a_next_page_on_another_host_is_told(link: str, is_told: bool) -> None:
    assert bool(after(link).elsewhere) is is_told


@pytest.mark.parametrize("href", ["https://other.example/stock", "/list?page=2"])
def test_a_next_page_on_another_host_that_the_head_names_is_told(href: str) -> None:
    proposal = after("", head=f'<link rel="next" href="{href}">')
    assert proposal.elsewhere == (href if "other" in href else "")
