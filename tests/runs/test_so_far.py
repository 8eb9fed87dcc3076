"""What others know of a Run in progress: how many pages and items it has read so far."""

from __future__ import annotations

import time

import pytest

from livedata.services import queries
from livedata.services.run_report import all_figures
from livedata.store.shown_runs import Progress
from spiders.worker import executor
from tests.crawling import Crawling, shop_source
from tests.patience import LONG
from tests.runs.test_pagination_none import listing
from tests.site import Answer, Request, Site

pytestmark = pytest.mark.timed

NEXT = '<a class="next" href="/2">Next</a>'


def test_a_run_in_progress_tells_others_what_it_has_read(
    crawling: Crawling, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "NOTED", 0.05)
    told: list[Progress | None] = []

    def second_page(_request: Request) -> Answer:
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline:
            listed = queries.runs(crawling.store, "local", dataset, 1)
            so_far = all_figures(crawling.store, listed)[listed[0]["id"]].so_far
            if so_far is not None and so_far.pages:
                told.append(so_far)
                break
            time.sleep(0.05)
        return Answer(200, listing("C"))

    site.page("/", listing("AB", NEXT))
    site.route("/2", second_page)
    pagination = {"kind": "next-link", "selector": "a.next"}
    dataset = crawling.create(shop_source(site.at("/"), pagination=pagination), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert told == [Progress(1, 2)]
    # What it did is told by the Run itself once it is over.
    assert (run["rowDeltas"]["new"], all_figures(crawling.store, [run])) == (3, {})
