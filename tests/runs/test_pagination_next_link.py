"""Each page links to the next: where such a list ends, and where it only seems to."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from livedata.messages.render import sentence
from livedata.model import ids
from livedata.model.run import Run
from livedata.services import explanation
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.runs.test_pagination_none import failed_checks, listing
from tests.runs.test_refusals import read_failures
from tests.site import Site

pytestmark = pytest.mark.one_database


def link(href: str, attributes: str = "") -> str:
    return f'<p><a class="next" href="{href}" {attributes}>Next</a></p>'


def run_list(crawling: Crawling, site: Site, pages: Mapping[str, str], **changes: object) -> Run:
    """One Run over these pages, from the first of them."""
    site.pages(pages)
    source = shop_source(site.at(next(iter(pages))), **changes)
    return crawling.run(crawling.create(source, allow=site.host), allow=site.host)


def test_pages_are_followed_until_one_has_no_next_link(crawling: Crawling, site: Site) -> None:
    pages = {"/1": listing("ab", link("/2")), "/2": listing("cd", link("/3")), "/3": listing("e")}
    run = run_list(crawling, site, pages)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 5)
    assert site.paths == ["/robots.txt", "/1", "/2", "/3"]
    assert crawling.story(run).charged == 3


def test_of_several_next_links_the_first_is_followed(crawling: Crawling, site: Site) -> None:
    pages = {"/1": listing("a", link("/2") + link("/wrong")), "/2": listing("b")}
    assert run_list(crawling, site, pages)["status"] == "succeeded"
    assert "/wrong" not in site.paths


@pytest.mark.parametrize(
    ("parent", "marks"),
    [
        ("", "disabled"),
        ("", 'aria-disabled="true"'),
        ("", 'class="next disabled"'),
        ("", 'class="next is-Disabled"'),
        ("", 'class="next btn--inactive"'),
        ("disabled", ""),
        ('aria-disabled="true"', ""),
        ('class="page-item disabled"', ""),
        ('class="inactive"', ""),
    ],
)
def test_a_disabled_link_without_an_address_is_the_natural_end(
    crawling: Crawling, site: Site, parent: str, marks: str
) -> None:
    site.page("/1", listing("a", '<a data-next="1" href="/2">Next</a>'))
    pagination = {"kind": "next-link", "selector": "a[data-next]"}
    source = shop_source(site.at("/1"), pagination=pagination)
    dataset = crawling.create(source, allow=site.host)
    for href in ("", 'href=""', 'href="#"', 'href="#top"', 'href="javascript:f()"'):
        link = f'<p {parent}><a {marks} data-next="1" {href}>Next</a></p>'
        site.page("/2", listing("b", link))
        run = crawling.run(dataset, allow=site.host)
        assert run["status"] == "succeeded", (href, run["error"])


@pytest.mark.parametrize(
    "marks", ['data-x="disabled"', 'aria-disabled="false"', 'title="inactive"', 'id="disabled"']
)
def test_other_marks_do_not_make_a_link_without_an_address_the_end(
    crawling: Crawling, site: Site, marks: str
) -> None:
    run = run_list(crawling, site, {"/1": listing("a", link("#", marks))})
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage"])


def test_a_mark_two_levels_up_does_not_make_the_end(crawling: Crawling, site: Site) -> None:
    tail = f'<div class="disabled">{link("#")}</div>'
    run = run_list(crawling, site, {"/1": listing("a", tail)})
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage"])


@pytest.mark.parametrize("href", ["", "#", "#page=2", "javascript:next()", " JavaScript:next()"])
def test_a_link_that_works_by_clicks_only_fails_coverage_and_a_selector_is_proposed(
    crawling: Crawling, site: Site, href: str
) -> None:
    run = run_list(crawling, site, {"/1": listing("a", link("/2")), "/2": listing("b", link(href))})
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage"])
    assert "a.next[href*='page=']" in str(run["error"])
    assert site.at("/2") in str(run["error"])
    assert run["rowDeltas"]["new"] == 0


@pytest.mark.parametrize("href", ["mailto:a@b.c", "tel:1", "ftp://127.0.0.1/2", "file:///2"])
@pytest.mark.parametrize("marked", ["", "disabled"])
def test_a_link_that_leaves_the_web_is_an_unsafe_target(
    crawling: Crawling, site: Site, href: str, marked: str
) -> None:
    pages = {"/1": listing("a", link("/2")), "/2": listing("b", link(href, marked))}
    run = run_list(crawling, site, pages)
    assert run["status"] == "failed"
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["unsafe_target"]
    assert "must begin with http:// or https://" in str(run["error"])
    assert href in str(run["error"])


def test_a_link_without_any_href_works_by_clicks_only(crawling: Crawling, site: Site) -> None:
    run = run_list(crawling, site, {"/1": listing("a", '<a class="next">Next</a>')})
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage"])
    assert "clicks" in str(run["error"])


def test_a_link_marked_disabled_that_has_an_address_is_followed(
    crawling: Crawling, site: Site
) -> None:
    pages = {"/1": listing("a", link("/2", "disabled")), "/2": listing("b")}
    run = run_list(crawling, site, pages)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2)


@pytest.mark.parametrize("href", ["/2?x=1&y=2", "?y=2&x=1", "#", "?x=1&y=2#top"])
def test_a_link_from_a_later_page_to_itself_is_the_natural_end(
    crawling: Crawling, site: Site, href: str
) -> None:
    second = "/2?x=1&amp;y=2"
    tail = link(href) if href != "#" else link(second + "#")
    pages = {"/1": listing("a", link(second)), "/2?x=1&y=2": listing("b", tail)}
    run = run_list(crawling, site, pages)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2)
    assert len(site.paths) == 3


def test_a_link_to_the_address_that_led_here_by_a_redirect_is_the_natural_end(
    crawling: Crawling, site: Site
) -> None:
    site.route("/last", faults.redirect("/2"))
    pages = {"/1": listing("a", link("/last")), "/2": listing("b", link("/last"))}
    run = run_list(crawling, site, pages)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2)


def test_a_link_from_the_first_page_to_itself_is_a_circle(crawling: Crawling, site: Site) -> None:
    run = run_list(crawling, site, {"/1": listing("a", link("/1"))})
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage"])
    assert "circle" in str(run["error"])


@pytest.mark.parametrize("back", ["/1", "/2", "/1#top"])
def test_a_link_to_another_page_already_read_is_a_circle(
    crawling: Crawling, site: Site, back: str
) -> None:
    pages = {
        "/1": listing("a", link("/2")),
        "/2": listing("b", link("/3")),
        "/3": listing("c", link(back)),
    }
    run = run_list(crawling, site, pages)
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage"])
    assert f"leads back to page {back[1]}" in str(run["error"])
    assert len(site.paths) == 4


def test_a_page_that_repeats_the_records_of_the_page_before_fails_coverage(
    crawling: Crawling, site: Site
) -> None:
    run = run_list(crawling, site, {"/1": listing("ab", link("/2")), "/2": listing("ab")})
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage"])
    assert f"Page 2 ({site.at('/2')}) has the same 2 records" in str(run["error"])


def test_the_same_records_in_another_order_are_no_repetition(
    crawling: Crawling, site: Site
) -> None:
    run = run_list(crawling, site, {"/1": listing("ab", link("/2")), "/2": listing("ba")})
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2)


def test_items_that_slid_to_the_next_page_meanwhile_are_no_repetition(
    crawling: Crawling, site: Site
) -> None:
    run = run_list(crawling, site, {"/1": listing("abc", link("/2")), "/2": listing("cde")})
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 5)


@pytest.mark.parametrize("tail", ["", link("/3")])
@pytest.mark.parametrize("minimum", [0, 1])
def test_an_empty_page_after_the_first_is_a_soft_error_and_not_an_end(
    crawling: Crawling, site: Site, tail: str, minimum: int
) -> None:
    pages = {"/1": listing("a", link("/2")), "/2": listing("", tail), "/3": listing("b")}
    run = run_list(crawling, site, pages, minimumItems=minimum)
    assert (run["status"], failed_checks(run)) == ("failed", ["extraction"])
    assert site.at("/2") in str(run["error"])


def test_an_empty_first_page_with_a_next_link_is_well_where_minimum_items_is_0(
    crawling: Crawling, site: Site
) -> None:
    pages = {"/1": listing("", link("/2")), "/2": listing("a")}
    run = run_list(crawling, site, pages, minimumItems=0)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 1)


@pytest.mark.parametrize("status", [404, 410])
def test_a_next_page_that_is_not_there_fails(crawling: Crawling, site: Site, status: int) -> None:
    site.route("/2", faults.status(status))
    run = run_list(crawling, site, {"/1": listing("a", link("/2"))})
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage"])
    assert crawling.story(run).stop["rule"] == "page_failed"


@pytest.mark.parametrize("known", ["/1", "/2"])
def test_a_redirect_to_a_page_already_read_fails_coverage(
    crawling: Crawling, site: Site, known: str
) -> None:
    site.route("/3", faults.redirect(known))
    pages = {"/1": listing("a", link("/2")), "/2": listing("b", link("/3"))}
    run = run_list(crawling, site, pages)
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage"])


def test_exactly_max_pages_with_the_natural_end_are_complete(
    crawling: Crawling, site: Site
) -> None:
    pages = {"/1": listing("a", link("/2")), "/2": listing("b")}
    run = run_list(crawling, site, pages, maxPages=2)
    assert run["status"] == "succeeded", run["error"]


def test_max_pages_before_the_natural_end_is_held(crawling: Crawling, site: Site) -> None:
    pages = {"/1": listing("a", link("/2")), "/2": listing("b", link("/3")), "/3": listing("c")}
    run = run_list(crawling, site, pages, maxPages=2)
    assert (run["status"], failed_checks(run)) == ("held", ["coverage"])
    assert "maxPages = 2" in str(run["error"])
    assert crawling.story(run).stop["rule"] == "max_pages"
    assert "/3" not in site.paths


def test_a_list_without_end_is_bounded_by_max_pages(crawling: Crawling, site: Site) -> None:
    for number in range(1, 9):
        query = "&amp;".join(["q=1"] * number)
        site.page(
            "/?" + "&".join(["q=1"] * number), listing(str(number), link(f"?{query}&amp;q=1"))
        )
    source = shop_source(site.at("/?q=1"), maxPages=5)
    run = crawling.run(crawling.create(source, allow=site.host), allow=site.host)
    assert run["status"] == "held"
    assert len(site.paths) == 6


def test_exactly_max_items_with_the_natural_end_are_complete(
    crawling: Crawling, site: Site
) -> None:
    pages = {"/1": listing("ab", link("/2")), "/2": listing("bc")}
    run = run_list(crawling, site, pages, maxItems=3)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 3)


def test_max_items_before_the_natural_end_is_held_and_reading_stops(
    crawling: Crawling, site: Site
) -> None:
    pages = {"/1": listing("ab", link("/2")), "/2": listing("cd", link("/3")), "/3": listing("e")}
    run = run_list(crawling, site, pages, maxItems=3)
    assert (run["status"], failed_checks(run)) == ("held", ["coverage"])
    assert "/3" not in site.paths


def test_another_failed_check_makes_failed_of_what_a_limit_would_have_held(
    crawling: Crawling, site: Site
) -> None:
    pages = {"/1": listing("a", link("/2")), "/2": listing("b", link("/3"))}
    run = run_list(crawling, site, pages, maxPages=2, minimumItems=3)
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage", "minimum-items"])
    assert "2 of at least 3" in str(run["error"])


def test_a_click_only_link_fails_even_where_max_items_are_passed(
    crawling: Crawling, site: Site
) -> None:
    run = run_list(crawling, site, {"/1": listing("abc", link("#"))}, maxItems=2)
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage"])
    assert "clicks" in str(run["error"])


@pytest.mark.parametrize(
    ("head", "href", "leads"),
    [
        ("", "2", "/shop/2"),
        ("", "../2", "/2"),
        ("", "?page=2", "/shop/1?page=2"),
        ("", " /2\n", "/2"),
        ('<base href="/other/">', "2", "/other/2"),
        ('<base href="deep/">', "2", "/shop/deep/2"),
        ('<base href="/a/"><base href="/b/">', "2", "/a/2"),
        ('<base target="_top"><base href="/b/">', "2", "/b/2"),
    ],
)
def test_links_are_relative_to_the_page_and_its_base(
    crawling: Crawling, site: Site, head: str, href: str, leads: str
) -> None:
    pages = {"/shop/1": listing("a", link(href), head=head), leads: listing("b")}
    run = run_list(crawling, site, pages)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2)
    assert site.paths[-1] == leads


def test_links_after_a_redirect_are_relative_to_where_it_led(
    crawling: Crawling, site: Site
) -> None:
    site.route("/", faults.redirect("/new/1"))
    pages = {"/new/1": listing("a", link("2")), "/new/2": listing("b")}
    site.pages(pages)
    dataset = crawling.create(shop_source(site.at("/")), allow=site.host)
    assert crawling.run(dataset, allow=site.host)["rowDeltas"]["new"] == 2


def test_a_link_to_another_allowed_host_is_followed_and_its_robots_are_asked(
    crawling: Crawling, site: Site
) -> None:
    with Site() as other:
        other.page("/2", listing("b"))
        site.page("/1", listing("a", link(other.at("/2"))))
        allow = f"{site.host},{other.host}"
        run = crawling.run(crawling.create(shop_source(site.at("/1")), allow=allow), allow=allow)
        assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2)
        assert other.paths == ["/robots.txt", "/2"]


@pytest.mark.parametrize("href", ["http://shop.example:99999/", "http://shop.example:80a/"])
def test_a_next_link_with_an_impossible_address_cannot_be_followed(
    crawling: Crawling, site: Site, href: str
) -> None:
    site.page("/1", listing(["A1"], f'<a class="next" href="{href}">Next</a>'))
    run = crawling.run(
        crawling.create(shop_source(site.at("/1")), allow=site.host), allow=site.host
    )
    assert failed_checks(run) == ["coverage"]
    assert "has no address to follow" in str(run["error"])


def test_what_an_address_holds_changes_no_sentence(crawling: Crawling, site: Site) -> None:
    site.pages({"/1": listing("ab", link("http://127.0.0.1:1/a: b; c d"))})
    dataset = crawling.create(shop_source(site.at("/1")), allow=f"{site.host},127.0.0.1:1")
    run = crawling.run(dataset, allow=f"{site.host},127.0.0.1:1")
    assert run["error"] == (
        "Page 2 (http://127.0.0.1:1/a: b; c d) could not be read: nothing answers at "
        "127.0.0.1:1 (connection refused); check the address, or run it again later."
    )
    explained = explanation.explanation(crawling.store, "local", ids.RunId(ids.raw_id(run["id"])))
    [cause] = explained.causes
    assert sentence(cause) == "Nothing answers at 127.0.0.1:1 (connection refused)."
