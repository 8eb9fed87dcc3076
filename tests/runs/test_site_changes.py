"""Real list pages, changed as sites change: no row is lost in silence, and the cause is named.

After each change either the rows are right, or the Run is not accepted and its sentence names what
it is about, or the Run says what looks odd.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from livedata.model import ids
from livedata.model.diagnosis.explanation import cause_code
from livedata.services import explanation, queries
from tests.crawling import Crawling
from tests.listings import LISTINGS, Listing, ListPage
from tests.site import Site
from tests.site_changes import CHANGES, Relation, SiteChange

pytestmark = [pytest.mark.one_database, pytest.mark.slow]

CELLS = [
    pytest.param(listing, change, id=f"{listing.name}: {name}")
    for listing in LISTINGS
    for name, change in CHANGES.items()
    if change.fits(listing)
]
Rows = Mapping[str, Mapping[str, Any]]
WRONG_CAUSE = {
    # All of its pages have a login in their head, and little else without items.
    "questions: a next page without items",
}
"""The cells whose first cause is not the right one."""


def test_the_table_is_large_and_its_causes_are_right() -> None:
    assert len(CHANGES) >= 25
    assert len(LISTINGS) >= 8
    assert len(WRONG_CAUSE) <= 0.05 * len(CELLS)


@pytest.mark.parametrize(("listing", "change"), CELLS)
def test_no_change_is_silent(
    crawling: Crawling,
    site: Site,
    listing: Listing,
    change: SiteChange,
    request: pytest.FixtureRequest,
) -> None:
    pages = listing.pages()
    pagination = numbered(site, pages) if change.numbered else {}
    serve(site, pages)
    declared = listing.declared(site.at("/list?page=1"), **pagination)
    dataset = crawling.create(declared, allow=site.host)
    assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
    before = rows(crawling, dataset)
    change.edit(listing, pages)
    serve(site, pages)
    site.page("/sale", pages[0].markup)
    for path, handler in change.answers.items():
        site.route(path, handler)

    run = crawling.run(dataset, allow=site.host)

    names = named(listing)
    assert run["status"] == change.status, run["error"]
    if run["status"] == "succeeded":
        odd = "odd" if crawling.story(run).facts.get("odd") else None
        assert change.rows in {related(before, rows(crawling, dataset)), odd}
    else:
        assert rows(crawling, dataset) == before
        assert change.says.format(**names) in (run["error"] or "")
    explained = explanation.explanation(crawling.store, "local", ids.RunId(ids.raw_id(run["id"])))
    first = cause_code(explained.causes[0]) if explained.causes else ""
    # The name of the database stands before that of the cell.
    wrong = request.node.callspec.id.endswith(tuple(WRONG_CAUSE))
    assert (first == change.cause.format(**names)) is not wrong, first


def numbered(site: Site, pages: list[ListPage]) -> dict[str, object]:
    """The pagination by numbers, with an end marker on the last page."""
    pages[-1].shell = pages[-1].shell.replace("</body>", '<p class="end">The end</p></body>')
    pattern = site.at("/list?page={page}")
    return {
        "pagination": {
            "kind": "url-pattern",
            "pattern": pattern,
            "startPage": 1,
            "endSelector": ".end",
        }
    }


def serve(site: Site, pages: list[ListPage]) -> None:
    """Put the pages of a list on the site."""
    for number, page in enumerate(pages, 1):
        site.page(f"/list?page={number}", page.markup)


def rows(crawling: Crawling, dataset: ids.DatasetId) -> Rows:
    """The cells of each row that is present, by its key."""
    every = queries.every_row(crawling.store, "local", dataset)
    return {row["rowKey"]: row["data"] for row in every if row["presence"] == "present"}


def related(before: Rows, now: Rows) -> Relation | None:
    """What the rows have to do with those before."""
    if now == before:
        return "same"
    if now.items() < before.items():
        return "fewer"
    if now.items() > before.items():
        return "more"
    return "rewritten" if now.keys() == before.keys() else None


def named(listing: Listing) -> dict[str, str]:
    """What the expectations of a change may name."""
    return {
        name: getattr(listing, name)
        for name in ("key", "title", "extra", "price", "image", "items", "following")
    }
