"""The main job, whole: a site that changes, and what its table becomes."""

from __future__ import annotations

from tests.crawling import Crawling, shop_source
from tests.shop import shop, some_items
from tests.site import Site


def test_a_first_run_takes_over_every_item_of_every_page(crawling: Crawling, site: Site) -> None:
    site.pages(shop(some_items(12)))
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert run["status"] == "succeeded", run["error"]
    assert run["rowDeltas"] == {"new": 12, "changed": 0, "gone": 0}
    assert crawling.story(run).charged == 3


def test_a_page_without_items_fails_extraction_and_names_the_page(
    crawling: Crawling, site: Site
) -> None:
    site.pages(shop(some_items(12)))
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    site.page("/page/2.html", "<html><body>Back soon</body></html>")
    run = crawling.run(dataset, allow=site.host)
    assert run["status"] == "failed"
    assert site.at("/page/2.html") in str(run["error"])
