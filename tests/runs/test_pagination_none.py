"""A single page: what is on it is the whole list."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from livedata.model.ids import RunId, raw_id
from livedata.model.run import Run
from livedata.services import diagnostics
from tests.crawling import Crawling, shop_source
from tests.shop import Item, row
from tests.site import Site

pytestmark = pytest.mark.one_database

SINGLE = {"kind": "none"}


def listing(skus: Iterable[str], tail: str = "", *, head: str = "") -> str:
    """A page that lists these items, with `tail` below them."""
    rows = "".join(row(Item(sku, f"Thing {sku}", "£1.00")) for sku in skus)
    return f"<!doctype html><html><head>{head}</head><body><ul>{rows}</ul>{tail}</body></html>"


def failed_checks(run: Run) -> list[str]:
    """The Checks that a Run has failed."""
    return [check["checkId"] for check in run["checks"] if not check["passed"]]


def test_the_page_is_the_whole_list_and_its_next_link_is_not_followed(
    crawling: Crawling, site: Site
) -> None:
    site.page("/", listing("abc", '<a class="next" href="/2">Next</a>'))
    dataset = crawling.create(shop_source(site.at("/"), pagination=SINGLE), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 3)
    assert site.paths == ["/robots.txt", "/"]
    assert crawling.story(run).stop["rule"] == "natural_end"


def test_the_addresses_of_steps_are_uris(crawling: Crawling, site: Site) -> None:
    site.page("/%C3%A4", listing("abc"))
    dataset = crawling.create(shop_source(site.at("/ä"), pagination=SINGLE), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert run["status"] == "succeeded"
    steps = diagnostics.trace(crawling.store, "local", RunId(raw_id(run["id"])))["steps"]
    addresses = {step["sourceUrl"] for step in steps if "sourceUrl" in step}
    assert addresses == {site.at("/%C3%A4")}


def test_exactly_max_items_are_complete(crawling: Crawling, site: Site) -> None:
    site.page("/", listing("abc"))
    source = shop_source(site.at("/"), pagination=SINGLE, maxItems=3)
    run = crawling.run(crawling.create(source, allow=site.host), allow=site.host)
    assert run["status"] == "succeeded", run["error"]


def test_more_than_max_items_are_held_and_the_limit_is_named(
    crawling: Crawling, site: Site
) -> None:
    site.page("/", listing("abc"))
    source = shop_source(site.at("/"), pagination=SINGLE, maxItems=2)
    run = crawling.run(crawling.create(source, allow=site.host), allow=site.host)
    assert (run["status"], failed_checks(run)) == ("held", ["coverage"])
    assert "maxItems = 2" in str(run["error"])
    assert crawling.story(run).stop["rule"] == "max_items"


def test_max_items_counts_an_item_that_is_shown_twice_once(crawling: Crawling, site: Site) -> None:
    site.page("/", listing("abab"))
    source = shop_source(site.at("/"), pagination=SINGLE, maxItems=2)
    run = crawling.run(crawling.create(source, allow=site.host), allow=site.host)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2)


def test_an_empty_page_is_an_empty_table_where_minimum_items_is_0(
    crawling: Crawling, site: Site
) -> None:
    site.page("/", listing(""))
    source = shop_source(site.at("/"), pagination=SINGLE, minimumItems=0)
    run = crawling.run(crawling.create(source, allow=site.host), allow=site.host)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 0)
    assert crawling.story(run).charged == 1


def test_an_empty_page_fails_where_minimum_items_is_not_0(crawling: Crawling, site: Site) -> None:
    site.page("/", listing("", head="<title>Nobody here</title>"))
    source = shop_source(site.at("/"), pagination=SINGLE)
    run = crawling.run(crawling.create(source, allow=site.host), allow=site.host)
    assert (run["status"], failed_checks(run)) == ("failed", ["extraction", "minimum-items"])
    assert "Nobody here" in str(run["error"])
