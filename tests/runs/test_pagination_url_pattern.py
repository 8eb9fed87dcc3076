"""Numbered pages: the one on which endSelector matches is the last."""

from __future__ import annotations

from typing import Any

import pytest

from livedata.model.run import Run
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.runs.test_pagination_none import failed_checks, listing
from tests.site import Answer, Handler, Request, Site

pytestmark = pytest.mark.one_database

END = '<p class="end">That is all.</p>'


def numbered(site: Site, start: int = 1, **changes: Any) -> dict[str, Any]:
    pattern = site.at("/list?page={page}")
    pagination = {
        "kind": "url-pattern",
        "pattern": pattern,
        "startPage": start,
        "endSelector": ".end",
    }
    url = pattern.replace("{page}", str(start))
    return shop_source(url, pagination=pagination, **changes)


def run_numbered(crawling: Crawling, site: Site, *pages: str, **changes: Any) -> Run:
    """One Run over these pages, numbered from 1."""
    for number, page in enumerate(pages, 1):
        site.page(f"/list?page={number}", page)
    dataset = crawling.create(numbered(site, **changes), allow=site.host)
    return crawling.run(dataset, allow=site.host)


def clamping(last: int) -> Handler:
    """A server that answers every page past the last with the last."""

    def handle(request: Request) -> Answer:
        number = min(int(request.query["page"]), last)
        return Answer(200, listing([f"{number}a", f"{number}b"]))

    return handle


def test_pages_are_read_up_to_the_end_marker_whose_items_count(
    crawling: Crawling, site: Site
) -> None:
    pages = [listing("ab"), listing("c"), listing("d", END), listing("x"), listing("y")]
    run = run_numbered(crawling, site, *pages)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 4)
    assert crawling.story(run).charged == 3
    assert "/list?page=5" not in site.paths


@pytest.mark.parametrize("start", [0, 7, 1_000_000])
def test_counting_begins_at_start_page(crawling: Crawling, site: Site, start: int) -> None:
    site.page(f"/list?page={start}", listing("a"))
    site.page(f"/list?page={start + 1}", listing("b", END))
    dataset = crawling.create(numbered(site, start), allow=site.host)
    assert crawling.run(dataset, allow=site.host)["rowDeltas"]["new"] == 2


def test_the_first_page_can_be_the_last(crawling: Crawling, site: Site) -> None:
    run = run_numbered(crawling, site, listing("a", END))
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 1)


def test_a_last_page_may_be_empty(crawling: Crawling, site: Site) -> None:
    run = run_numbered(crawling, site, listing("ab"), listing("", END))
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2)
    assert crawling.story(run).charged == 2


@pytest.mark.parametrize("minimum", [0, 1])
def test_an_empty_first_page_with_the_marker_is_judged_by_minimum_items(
    crawling: Crawling, site: Site, minimum: int
) -> None:
    run = run_numbered(crawling, site, listing("", END), minimumItems=minimum)
    assert failed_checks(run) == ([] if minimum == 0 else ["minimum-items"])
    assert run["status"] == ("succeeded" if minimum == 0 else "failed")


def test_an_empty_page_without_the_marker_is_a_soft_error(crawling: Crawling, site: Site) -> None:
    pages = [listing("a"), listing(""), listing("b", END)]
    run = run_numbered(crawling, site, *pages, minimumItems=0)
    assert (run["status"], failed_checks(run)) == ("failed", ["extraction"])
    assert site.at("/list?page=2") in str(run["error"])


@pytest.mark.parametrize("status", [404, 410])
def test_an_end_page_answered_404_or_410_is_the_end_and_free(
    crawling: Crawling, site: Site, status: int
) -> None:
    site.page("/list?page=3", listing("", END), status=status)
    run = run_numbered(crawling, site, listing("a"), listing("b"))
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2)
    assert crawling.story(run).charged == 2


def test_an_end_page_answered_404_counts_toward_max_pages(crawling: Crawling, site: Site) -> None:
    site.page("/list?page=3", listing("", END), status=404)
    run = run_numbered(crawling, site, listing("a"), listing("b"), maxPages=2)
    assert (run["status"], failed_checks(run)) == ("held", ["coverage"])
    assert "/list?page=3" not in site.paths


@pytest.mark.parametrize("status", [404, 410])
def test_404_on_the_first_page_fails_even_with_the_marker(
    crawling: Crawling, site: Site, status: int
) -> None:
    site.page("/list?page=1", listing("a", END), status=status)
    run = run_numbered(crawling, site, minimumItems=0)
    assert run["status"] == "failed"
    assert f"status {status}" in str(run["error"])


@pytest.mark.parametrize(("status", "tail"), [(404, ""), (410, ""), (500, END), (403, END)])
def test_other_error_pages_are_no_end(
    crawling: Crawling, site: Site, status: int, tail: str
) -> None:
    site.page("/list?page=2", listing("", tail), status=status)
    run = run_numbered(crawling, site, listing("a"))
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage"])
    assert f"status {status}" in str(run["error"])


def test_a_server_that_answers_every_later_page_with_the_last_fails_coverage(
    crawling: Crawling, site: Site
) -> None:
    site.route("/list", clamping(2))
    run = run_numbered(crawling, site)
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage"])
    assert "Page 3" in str(run["error"])
    assert "/list?page=6" not in site.paths


@pytest.mark.parametrize("known", [1, 2])
def test_a_page_that_redirects_to_one_already_read_fails_coverage(
    crawling: Crawling, site: Site, known: int
) -> None:
    site.route("/list?page=3", faults.redirect(f"/list?page={known}"))
    run = run_numbered(crawling, site, listing("a"), listing("b"))
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage"])


def test_a_last_page_that_redirects_to_one_already_read_fails_coverage_too(
    crawling: Crawling, site: Site
) -> None:
    answers = iter([listing("a"), listing("", END)])
    site.route("/home", lambda _: Answer(200, next(answers)))
    for number in (1, 2):
        site.route(f"/list?page={number}", faults.redirect("/home"))
    run = run_numbered(crawling, site)
    assert (run["status"], failed_checks(run)[0]) == ("failed", "coverage")


def test_exactly_max_pages_with_the_marker_are_complete(crawling: Crawling, site: Site) -> None:
    run = run_numbered(crawling, site, listing("a"), listing("b", END), maxPages=2)
    assert run["status"] == "succeeded", run["error"]


def test_max_pages_before_the_marker_is_held(crawling: Crawling, site: Site) -> None:
    run = run_numbered(crawling, site, listing("a"), listing("b"), listing("c", END), maxPages=2)
    assert (run["status"], failed_checks(run)) == ("held", ["coverage"])
    assert crawling.story(run).stop["rule"] == "max_pages"


@pytest.mark.parametrize(("most", "status"), [(3, "succeeded"), (2, "held")])
def test_max_items_counts_distinct_rows(
    crawling: Crawling, site: Site, most: int, status: str
) -> None:
    run = run_numbered(crawling, site, listing("ab"), listing("bc", END), maxItems=most)
    assert run["status"] == status
    assert failed_checks(run) == ([] if status == "succeeded" else ["coverage"])


def test_a_next_link_on_the_page_is_not_looked_at(crawling: Crawling, site: Site) -> None:
    run = run_numbered(crawling, site, listing("a", f'<a class="next" href="/x">n</a>{END}'))
    assert run["status"] == "succeeded"
    assert "/x" not in site.paths
