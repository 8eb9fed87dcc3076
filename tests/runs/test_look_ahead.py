"""Numbered pages are read ahead of time: quicker, and otherwise nothing is different."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from threading import Barrier
from typing import Any

import pytest

from livedata.model.run import Run
from spiders.worker.executor import Executor
from tests import faults
from tests.crawling import Crawling
from tests.patience import AT_ONCE, LONG
from tests.runs.test_pagination_none import failed_checks, listing
from tests.runs.test_pagination_url_pattern import END, numbered
from tests.runs.test_refusals import read_failures, steps
from tests.runs.test_turns import Overlaps
from tests.site import Answer, Forbidden, Handler, Request, Site

pytestmark = pytest.mark.one_database


def put(site: Site, last: int, delays: Mapping[int, float] | None = None) -> None:
    """Pages 1 to `last` of two items each, each after its delay; there is nothing after them."""
    for number in range(1, last + 1):
        body = listing((f"{number}a", f"{number}b"), END if number == last else "")
        site.route(f"/list?page={number}", after((delays or {}).get(number, 0), body))


def after(seconds: float, body: str, *, status: int = 200) -> Handler:
    def handle(request: Request) -> Answer:
        request.wait(seconds)
        return Answer(status, body)

    return handle


def run_ahead(crawling: Crawling, site: Site, window: int = 2, **more: Any) -> Run:
    name = f"shop {len(crawling.pages)} {window} {time.monotonic_ns()}"
    dataset = crawling.create({**numbered(site), "name": name}, allow=site.host)
    return crawling.run(dataset, allow=site.host, how={"look_ahead": window}, **more)


def read_steps(crawling: Crawling, run: Run) -> list[tuple[str, str]]:
    """The number of each page that was begun, and what its step says."""
    read = [step for step in steps(crawling.store, run) if step["phase"] == "read"]
    return [(step["sourceUrl"].rpartition("=")[2], step["status"]) for step in read]


@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_timing_the_rows_and_their_order_are_the_same(
    crawling: Crawling, site: Site, seed: int
) -> None:
    chance = random.Random(seed)
    last = chance.randrange(3, 9)
    expected = [f"{number}{letter}" for number in range(1, last + 1) for letter in "ab"]
    for window in (1, 2, 3, 4):
        put(site, last, {number: chance.choice((0, 0.01, 0.05)) for number in range(1, last + 1)})
        crawling.pages.clear()
        run = run_ahead(crawling, site, window)
        assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2 * last)
        assert [page.number for page in crawling.pages] == list(range(1, last + 1))
        assert [record.key for page in crawling.pages for record in page.records] == expected
        assert crawling.story(run).charged == last


BEYOND: dict[str, Handler] = {
    "500": faults.status(500),
    "403": faults.status(403),
    "a challenge": faults.challenge(),
    "reset": faults.reset(),
    "never": faults.never(),
    "the last page again": faults.redirect("/list?page=3"),
    "rows that clash": faults.fixed(body=listing(("1a", "1a"))),
    "asked too often": faults.retry_after(25, 99),
}


@pytest.mark.parametrize("name", BEYOND)
def test_what_lies_past_the_end_cannot_fail_the_run_nor_cost_anything(
    crawling: Crawling, site: Site, name: str
) -> None:
    put(site, 3, {3: 0.1})
    site.route("/list?page=4", BEYOND[name])
    started = time.monotonic()
    run = run_ahead(crawling, site)
    assert time.monotonic() - started < AT_ONCE
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 6)
    assert crawling.story(run).charged == 3
    begun = [("1", "succeeded"), ("2", "succeeded"), ("3", "succeeded"), ("4", "cancelled")]
    assert read_steps(crawling, run) == begun
    assert read_failures(crawling.store, run) == []


def test_a_private_place_past_the_end_is_not_reached_either(crawling: Crawling, site: Site) -> None:
    put(site, 2, {2: 0.1})
    with Forbidden() as forbidden:
        site.route("/list?page=3", faults.redirect(forbidden.url))
        assert run_ahead(crawling, site)["status"] == "succeeded"
        assert forbidden.hits == 0


def test_the_first_page_is_read_alone(crawling: Crawling, site: Site) -> None:
    put(site, 1, {1: 0.2})
    assert run_ahead(crawling, site, 4)["status"] == "succeeded"
    assert site.paths == ["/robots.txt", "/list?page=1"]


@pytest.mark.parametrize("window", [1, 2, 3, 4])
def test_no_more_requests_than_the_window_are_under_way(
    crawling: Crawling, site: Site, window: int
) -> None:
    overlaps = Overlaps(wanted=window)
    site.page("/list?page=1", listing("1"))  # it is read alone
    for number in range(2, 9):
        end = END if number == 8 else ""
        site.route(f"/list?page={number}", overlaps.page(listing(str(number), end)))
    assert run_ahead(crawling, site, window)["status"] == "succeeded"
    assert overlaps.most == window
    assert len(site.paths) - 1 - 8 < window


def test_a_crawl_delay_makes_it_one_after_the_other(crawling: Crawling, site: Site) -> None:
    rules = "User-agent: *\nCrawl-delay: 0.05"
    site.page("/robots.txt", rules, content_type="text/plain")
    put(site, 4, {3: 0.2})
    run = run_ahead(crawling, site, 4)
    assert run["status"] == "succeeded"
    assert site.paths == ["/robots.txt", *(f"/list?page={number}" for number in range(1, 5))]


def test_after_a_429_it_is_one_after_the_other(crawling: Crawling, site: Site) -> None:
    put(site, 5, {4: 0.2, 5: 0.2})
    answers = iter([Answer(429, "Later"), Answer(200, listing("2"))])
    site.route("/list?page=2", lambda _: next(answers))
    run = run_ahead(crawling, site, 2)
    assert run["status"] == "succeeded"
    assert "/list?page=6" not in site.paths


def test_nothing_is_read_beyond_max_pages(crawling: Crawling, site: Site) -> None:
    put(site, 9, {3: 0.1})
    dataset = crawling.create(numbered(site, maxPages=3), allow=site.host)
    run = crawling.run(dataset, allow=site.host, how={"look_ahead": 4})
    assert (run["status"], failed_checks(run)) == ("held", ["coverage"])
    assert "/list?page=4" not in site.paths


def test_the_first_page_that_fails_is_the_one_that_is_told(crawling: Crawling, site: Site) -> None:
    put(site, 5)
    site.route("/list?page=3", after(0.2, "gone", status=404))
    site.route("/list?page=4", faults.status(403))
    run = run_ahead(crawling, site, 2)
    assert run["status"] == "failed"
    assert [failure[:2] for failure in read_failures(crawling.store, run)] == [("http_error", 404)]
    assert read_steps(crawling, run)[-1] == ("4", "cancelled")


def test_an_end_marker_on_a_404_ends_it_whatever_is_under_way(
    crawling: Crawling, site: Site
) -> None:
    put(site, 2)
    site.page("/list?page=2", listing("2"))
    site.page("/list?page=3", listing("", END), status=404)
    site.route("/list?page=4", faults.never())
    run = run_ahead(crawling, site)
    assert (run["status"], crawling.story(run).charged) == ("succeeded", 2)


def test_cancelling_ends_all_that_is_under_way(crawling: Crawling, site: Site) -> None:
    put(site, 2)
    asked = Barrier(2)
    executors: list[Executor] = []
    cancelled_at = 0.0

    def cancel() -> None:
        nonlocal cancelled_at
        if executors:  # the first page is taken
            cancelled_at = time.monotonic()
            executors[0].cancel()
        else:
            crawling.loop.call_later(0.02, cancel)

    def never(request: Request) -> None:
        if asked.wait(LONG) == 0:
            crawling.loop.call_soon_threadsafe(cancel)
        request.wait()

    site.route("/list?page=2", never)
    site.route("/list?page=3", never)
    run = run_ahead(crawling, site, during=executors.append)
    assert time.monotonic() - cancelled_at < AT_ONCE
    assert run["status"] == "failed"
    assert [status for _, status in read_steps(crawling, run)] == [
        "succeeded",
        "cancelled",
        "cancelled",
    ]


def test_one_by_one_asks_for_nothing_after_a_page_that_ends_the_run(
    crawling: Crawling, site: Site
) -> None:
    put(site, 4)
    site.page("/list?page=2", listing(("1a", "1b")))
    assert run_ahead(crawling, site, 1)["status"] == "failed"
    assert "/list?page=3" not in site.paths
