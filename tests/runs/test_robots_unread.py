"""robots.txt that cannot be fetched: nothing is read, and the reason is the true one."""

from __future__ import annotations

import time

import pytest

from tests import faults
from tests.crawling import Crawling, shop_source
from tests.patience import LONG
from tests.runs.test_refusals import read_failures
from tests.shop import shop, some_items
from tests.site import Handler, Site

pytestmark = pytest.mark.one_database

UNREAD = [
    (faults.reset(), "connection_reset"),
    (faults.never(), "timeout"),
    (faults.bad_gzip(), "invalid_content"),
    (faults.redirect_loop(), "limit_exceeded"),
]


@pytest.mark.parametrize(("answer", "reason"), UNREAD)
def test_no_page_is_read_and_the_failure_says_why(
    crawling: Crawling, site: Site, answer: Handler, reason: str
) -> None:
    site.pages(shop(some_items(3)))
    site.route("/robots.txt", answer)
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    run = crawling.run(dataset, allow=site.host, timeout=1 if reason == "timeout" else LONG)
    assert run["status"] == "failed"
    assert [failure for failure, _, _ in read_failures(crawling.store, run)] == [reason]
    assert "/page/1.html" not in site.paths


def test_one_reset_of_robots_txt_is_asked_again(crawling: Crawling, site: Site) -> None:
    site.pages(shop(some_items(3)))
    site.route("/robots.txt", faults.flaky(1, then=b"User-agent: *\nDisallow: /private"))
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
    assert site.paths.count("/robots.txt") == 2


@pytest.mark.parametrize("rules", [20_000, 200_000])
def test_of_a_huge_robots_txt_the_first_512_kib_are_obeyed_and_the_rest_costs_nothing(
    crawling: Crawling, site: Site, rules: int
) -> None:
    site.pages(shop(some_items(3)))
    disallowed = "Disallow: /page\n" if rules == 20_000 else ""
    text = f"User-agent: *\n{disallowed}" + "Disallow: /other/part\n" * rules
    site.page("/robots.txt", text, content_type="text/plain")
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    started = time.process_time()
    run = crawling.run(dataset, allow=site.host)
    assert time.process_time() - started < 0.6
    assert run["status"] == ("failed" if disallowed else "succeeded"), run["error"]
