"""The page that stopped a Run: kept as it was read, for 30 days, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from livedata.model import ids
from livedata.model.diagnosis.explanation import FailedPage
from livedata.model.errors import NotFound
from livedata.model.harvest import LONGEST_MARKUP, PageSnapshot, StopReason
from livedata.services import datasets, diagnostics, explanation
from livedata.services.commit import AcceptancePolicy
from livedata.services.retention import forget_old
from tests import made
from tests.crawling import Crawling, shop_source
from tests.made import LOOPS
from tests.services.table import A, B, Table, pages_of
from tests.shop import shop, some_items
from tests.site import Site

pytestmark = pytest.mark.one_database

MANY = [{"sku": f"S{number}"} for number in range(30)]


def kept(crawling: Crawling, site: Site, body: str) -> FailedPage:
    """The page that is kept of a Run that reads `body`."""
    site.page("/list", body)
    dataset = crawling.create(shop_source(site.at("/list")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert run["status"] == "failed"
    index = diagnostics.artifact_index(crawling.store, "local", ids.RunId(ids.raw_id(run["id"])))
    assert index["artifacts"] == []
    return explanation.failed_page(crawling.store, "local", ids.RunId(ids.raw_id(run["id"])))


def stopped(table: Table, rule: str = "check_failed") -> ids.RunId:
    """A Run that was stopped at its only page."""
    attempt = table.begin()
    harvest = pages_of(attempt.recipe, [A], ending=StopReason(rule, LOOPS))  # type: ignore[arg-type]
    table.finish(attempt, replace(harvest, seen=[seen()]))
    return attempt.run


def seen(screenshot: bytes | None = None) -> PageSnapshot:
    return PageSnapshot(1, made.URL, made.URL, 200, "Shop", b"<p>Shop", False, None, screenshot)  # noqa: FBT003


def test_a_short_page_is_kept_whole(crawling: Crawling, site: Site) -> None:
    body = "<!doctype html><title>Café</title><p>Nothing to see.</p>"
    page = kept(crawling, site, body)
    assert (page.markup, page.cut, page.title, page.number) == (body, False, "Café", 1)
    assert page.counts == {"items": 0, "matched": [0] * 4, "filled": [0] * 4, "links": 0}


@pytest.mark.parametrize("filler", ["x", "é", "€", "😀"])
@pytest.mark.parametrize("shift", range(4))
def test_a_long_page_is_cut_between_characters(
    crawling: Crawling, site: Site, filler: str, shift: int
) -> None:
    body = "y" * shift + filler * LONGEST_MARKUP + "z"
    page = kept(crawling, site, body)
    assert page.cut
    assert body.startswith(page.markup)
    assert 0 <= LONGEST_MARKUP - len(page.markup.encode()) < 4


def test_a_page_of_exactly_the_limit_is_not_cut(crawling: Crawling, site: Site) -> None:
    body = "é" * (LONGEST_MARKUP // 2)
    page = kept(crawling, site, body)
    assert (page.markup, page.cut) == (body, False)


def test_it_is_the_page_that_the_check_points_at(crawling: Crawling, site: Site) -> None:
    pages = shop(some_items(12))
    site.pages({**pages, "/page/2.html": pages["/page/2.html"].replace('"S0006"', '""')})
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    page = explanation.failed_page(crawling.store, "local", ids.RunId(ids.raw_id(run["id"])))
    assert (page.number, page.final_url) == (2, site.at("/page/2.html"))
    assert page.counts is not None
    assert (page.counts["matched"][0], page.counts["filled"][0]) == (5, 4)


def test_a_screenshot_is_kept_beside_it(table: Table) -> None:
    attempt = table.begin()
    harvest = pages_of(attempt.recipe, [A], ending=StopReason("check_failed", LOOPS))
    table.finish(attempt, replace(harvest, seen=[seen(b"\x89PNG")]))
    assert explanation.failed_page(table.store, "local", attempt.run).screenshot == b"\x89PNG"


def test_an_accepted_run_keeps_none(table: Table) -> None:
    attempt = table.begin()
    table.finish(attempt, replace(pages_of(attempt.recipe, [A]), seen=[seen()]))
    with pytest.raises(NotFound, match="No page of this Run is kept"):
        explanation.failed_page(table.store, "local", attempt.run)


def test_a_cancelled_run_keeps_none(table: Table) -> None:
    assert stopped(table, rule="cancelled")
    assert table.dump()["failed_pages"] == []


def test_after_30_days_it_is_not_shown_and_the_housekeeping_forgets_it(
    table: Table, clock: Callable[[int], None]
) -> None:
    run = stopped(table)
    assert explanation.failed_page(table.store, "local", run).markup == "<p>Shop"
    clock(31 * 86_400)
    with pytest.raises(NotFound):
        explanation.failed_page(table.store, "local", run)
    assert len(table.dump()["failed_pages"]) == 1
    table.take(A, B)
    forget_old(table.store)
    assert table.dump()["failed_pages"] == []
    assert [steps for *_, steps, _pages, _items in table.dump()["attempts"]].count(None) == 1


def test_it_goes_with_its_dataset(table: Table) -> None:
    stopped(table)
    datasets.remove(table.store, "local", table.id)
    assert table.dump()["failed_pages"] == []


def test_it_goes_when_a_held_output_is_accepted(table: Table) -> None:
    from livedata.services import runs

    table.take(*MANY)
    attempt = table.begin()
    harvest = replace(pages_of(attempt.recipe, MANY[:5]), seen=[seen()])
    assert table.finish(attempt, harvest, AcceptancePolicy())["status"] == "held"
    assert len(table.dump()["failed_pages"]) == 1
    runs.accept(table.store, "local", attempt.run)
    assert table.dump()["failed_pages"] == []


def test_a_page_of_someone_else_is_not_found(table: Table) -> None:
    run = stopped(table)
    with pytest.raises(NotFound, match="There is no such Run"):
        explanation.failed_page(table.store, "bob", run)
    with pytest.raises(NotFound):
        explanation.explanation(table.store, "bob", run)
