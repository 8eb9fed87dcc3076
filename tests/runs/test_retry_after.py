"""Retry-After: a site that asks for a little time gets it, and the Run goes on."""

from __future__ import annotations

import itertools
import time
from email.utils import formatdate

import pytest
from scrapy.http import Response

from spiders.fetch.heads import asked_to_wait, asks_too_long
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.patience import AT_ONCE
from tests.runs.test_cancel import Work
from tests.runs.test_pagination_none import listing
from tests.runs.test_refusals import NEXT, gaps, read_failures
from tests.site import Answer, Handler, Site

pytestmark = pytest.mark.one_database


def later(code: int, wait: str, *, times: int = 1, then: str = "") -> Handler:
    """So many answers that ask for time, then the page."""
    calls = itertools.count()
    refusal = Answer(code, "<p>Later", {"Retry-After": wait})
    good = Answer(200, then or listing("a"))
    return lambda _: refusal if next(calls) < times else good


def asked(status: int, said: str | None) -> float | None:
    headers = {} if said is None else {"Retry-After": said}
    return asked_to_wait(Response("http://shop.example/", status=status, headers=headers))


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("0", 0), ("1", 1), ("30", 30), (" 7 ", 7), (None, None), ("", None), ("soon", None),
     ("-1", None), ("1.5", None), ("٣", None), ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
     ("Sun, 99 Nov 1994 08:49:37 GMT", None)],
)  # fmt: skip
@pytest.mark.parametrize("status", [429, 503])
def test_it_is_seconds_or_a_date(status: int, said: str | None, seconds: float | None) -> None:
    assert asked(status, said) == seconds


def test_a_date_to_come_is_waited_for() -> None:
    wait = asked(429, formatdate(time.time() + 20, usegmt=True))
    assert wait is not None
    assert 18 < wait <= 20


@pytest.mark.parametrize("status", [200, 301, 403, 500])
def test_with_other_answers_it_means_nothing(status: int) -> None:
    assert asked(status, "5") is None


@pytest.mark.parametrize(("said", "more"), [("30", False), ("31", True), ("9" * 400, True)])
def test_more_than_thirty_seconds_are_too_long(said: str, more: bool) -> None:
    response = Response("http://shop.example/", status=429, headers={"Retry-After": said})
    assert asks_too_long(response) is more


@pytest.mark.parametrize("code", [429, 503])
@pytest.mark.parametrize("path", ["/1", "/robots.txt"])
def test_two_seconds_are_waited_and_the_run_succeeds(
    crawling: Crawling, site: Site, code: int, path: str
) -> None:
    site.page("/1", listing("a"))
    site.route(path, later(code, "2", then="" if path == "/1" else "User-agent: x"))
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    run = crawling.run(dataset, allow=site.host, timeout=1.5)
    assert run["status"] == "succeeded", run["error"]
    assert site.paths.count(path) == 2
    assert max(gaps(site)) > 1


def test_rules_that_come_at_the_second_asking_are_obeyed(crawling: Crawling, site: Site) -> None:
    site.page("/1", listing("a"))
    site.route("/robots.txt", later(429, "1", then="User-agent: *\nDisallow: /"))
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["robots_disallowed"]
    assert "/1" not in site.paths


@pytest.mark.parametrize(
    ("code", "status", "reason"), [(429, "blocked", "rate_limited"), (503, "failed", "http_error")]
)
def test_above_the_limit_the_answer_stands_at_once(
    crawling: Crawling, site: Site, code: int, status: str, reason: str
) -> None:
    site.route("/1", later(code, "31"))
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert (run["status"], read_failures(crawling.store, run)[0][0]) == (status, reason)
    assert site.paths == ["/robots.txt", "/1"]


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [(429, "blocked", "rate_limited"), (503, "failed", "robots_disallowed")],
)
def test_robots_txt_that_is_to_be_asked_for_much_later_is_not_passed_over(
    crawling: Crawling, site: Site, code: int, status: str, reason: str
) -> None:
    site.page("/1", listing("a"))
    site.route("/robots.txt", faults.fixed(code, headers={"Retry-After": "999"}))
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert (run["status"], read_failures(crawling.store, run)[0][0]) == (status, reason)
    assert "/1" not in site.paths


def test_a_site_that_never_has_enough_is_asked_twice(crawling: Crawling, site: Site) -> None:
    site.route("/1", later(429, "0", times=99))
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    assert crawling.run(dataset, allow=site.host)["status"] == "blocked"
    assert site.paths == ["/robots.txt", "/1", "/1"]


def test_a_later_page_is_waited_for_too(crawling: Crawling, site: Site) -> None:
    site.page("/1", listing("a", NEXT))
    site.route("/2", later(429, "1", then=listing("b")))
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2)


def test_waiting_ends_at_once_when_the_run_is_cancelled(crawling: Crawling, site: Site) -> None:
    work = Work(crawling, site)
    cancelled_at = 0.0

    def cancel() -> None:
        nonlocal cancelled_at
        cancelled_at = time.monotonic()
        work.executor.cancel()

    def refuse(_: object) -> Answer:
        crawling.loop.call_soon_threadsafe(crawling.loop.call_later, 0.3, cancel)
        return Answer(429, "Later", {"Retry-After": "25"})

    site.route("/1", refuse)
    work.add(site.at("/1"))
    [run] = work.run()
    assert time.monotonic() - cancelled_at < AT_ONCE
    assert run["status"] == "failed"
    assert read_failures(crawling.store, run) == [("cancelled", None, None)]
    assert site.paths.count("/1") == 1
