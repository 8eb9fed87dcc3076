"""Rules 9.4: where only some hosts may be read, nothing leads a Run to another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from livedata.model.run import Run
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.runs.test_refusals import read_failures
from tests.shop import shop, some_items
from tests.site import Site

pytestmark = pytest.mark.one_database

Lead = Callable[[Site, Site], None]


@pytest.fixture
def other() -> Iterator[Site]:
    with Site() as other:
        other.pages(shop(some_items(12)))
        yield other


def run_of(crawling: Crawling, site: Site, other: Site) -> Run:
    """A Run of the shop that may read its own host alone; both are hosts of the operator."""
    both = f"{site.host},{other.host}"
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=both)
    return crawling.run(dataset, allow=both, only=site.host)


def redirects(site: Site, other: Site) -> None:
    site.route("/page/2.html", faults.redirect(other.at("/page/2.html")))


def refreshes(site: Site, other: Site) -> None:
    site.route("/page/2.html", faults.meta_refresh(other.at("/page/2.html")))


def links_on(site: Site, other: Site) -> None:
    pages = shop(some_items(12))
    site.page(
        "/page/1.html", pages["/page/1.html"].replace("/page/2.html", other.at("/page/2.html"))
    )


@pytest.mark.parametrize("lead", [redirects, refreshes, links_on])
def test_what_leads_to_another_host_fails_and_asks_nothing_there(
    crawling: Crawling, site: Site, other: Site, lead: Lead
) -> None:
    site.pages(shop(some_items(12)))
    lead(site, other)
    run = run_of(crawling, site, other)
    assert run["status"] == "failed"
    assert f"{other.host} is none of the hosts that may be read" in str(run["error"])
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["unsafe_target"]
    assert crawling.remedies(run) == ["name_host"]
    assert not other.hits
