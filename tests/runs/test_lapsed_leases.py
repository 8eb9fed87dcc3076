"""An attempt whose lease is over asks nothing more, although no store can say so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from threading import Event, Thread

import pytest

from livedata.model.errors import LostLease
from livedata.store import queue
from spiders.worker import executor, running
from spiders.worker.running import Ending, clock
from tests.browser.scripted import single
from tests.crawling import Crawling, shop_source
from tests.databases import Server
from tests.makers import FIRST, dataset, makers_page, read_makers, scripted
from tests.patience import until
from tests.runs.test_pagination_none import listing
from tests.servers.model import Asked, ModelServer, Scripted
from tests.site import Answer, Request, Site

LEASE, MARGIN = 6.0, 1.0
POLLING = "<script>setInterval(() => fetch('/poll?' + Math.random()), 50)</script>"


@pytest.fixture(autouse=True)
def _short_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "LEASE", int(LEASE * 1e6))
    monkeypatch.setattr(running, "MARGIN", MARGIN)
    monkeypatch.setattr(running, "HEARTBEAT", 1.0)
    monkeypatch.setattr(executor, "NOTED", 0.2)


class Away:
    """A store that stands still from a call of `begin` on, until well after the lease."""

    def __init__(self, crawling: Crawling, postgres: Callable[[], Server]) -> None:
        self._crawling = crawling
        self._postgres = postgres
        self.end = 0.0
        self._begun, self._still = Event(), Event()
        self._thread = Thread(target=self._stand_still)
        self._thread.start()

    def begin(self) -> None:
        """Stand still from now on."""
        self._begun.set()
        self._still.wait()

    def over(self) -> None:
        """Wait until it answers again."""
        self._begun.set()
        self._thread.join()

    def _stand_still(self) -> None:
        self._begun.wait()
        store = self._crawling.store
        with store.reading() as reader:
            until_, origin = reader.row("SELECT lease_until, lease_origin FROM runs") or (0, 0)
        # By the clock of this machine, which the site has too.
        self.end = (until_ - origin) / 1e6
        with self._postgres().frozen() if store.remote else store.writing():
            self._still.set()
            # A renewal that was under way may have made it longer.
            time.sleep(max(0.0, self.end + 2.5 - time.monotonic()))


@pytest.fixture
def away(crawling: Crawling, request: pytest.FixtureRequest) -> Iterator[Away]:
    made = Away(crawling, lambda: request.getfixturevalue("postgres"))
    yield made
    made.over()


def test_a_run_asks_its_site_nothing_after_its_lease(
    crawling: Crawling, site: Site, away: Away
) -> None:
    def page(request: Request) -> Answer:
        number = int(request.path[1:])
        if number == 4:
            away.begin()
        request.wait(0.3)
        return Answer(
            200, listing([f"k{number}"], f'<a class="next" href="/{number + 1}">Next</a>')
        )

    for number in range(1, 51):
        site.route(f"/{number}", page)
    made = crawling.create(shop_source(site.at("/1"), maxPages=50), allow=site.host)
    with pytest.raises(LostLease, match="could not be reached until the lease"):
        crawling.run(made, allow=site.host)
    away.over()
    asked = [hit.at for hit in site.hits]
    assert away.end - LEASE / 2 < max(asked) < away.end
    assert runs(crawling) == [("queued", 0)]


@pytest.mark.slow
def test_a_page_in_a_browser_asks_its_site_nothing_after_the_lease(
    crawling: Crawling, site: Site, away: Away
) -> None:
    def page(_request: Request) -> Answer:
        away.begin()
        return Answer(200, listing([], POLLING))

    site.route("/", page)
    site.page("/poll", "more")
    made = crawling.create(single(site.at("/")), allow=site.host)
    with pytest.raises(LostLease, match="could not be reached until the lease"):
        crawling.run(made, allow=site.host)
    away.over()
    asked = [hit.at for hit in site.hits]
    assert away.end - LEASE / 2 < max(asked) < away.end
    assert runs(crawling) == [("queued", 0)]


@pytest.mark.slow
def test_research_asks_no_model_and_no_site_after_the_lease(
    crawling: Crawling, site: Site, away: Away
) -> None:
    asked: list[float] = []

    def answer(question: Asked) -> Scripted:
        asked.append(time.monotonic())
        away.begin()
        return read_makers(question)

    site.page("/makers", makers_page(FIRST))
    with ModelServer(answer) as model:
        crawling.research = scripted(model.base_url)
        made = dataset(crawling.store, site.at("/makers"))
        with pytest.raises(LostLease, match="could not be reached until the lease"):
            crawling.run(made, allow=site.host)
        away.over()
    assert max([*asked, *(hit.at for hit in site.hits)]) < away.end
    assert runs(crawling) == [("queued", 0)]


@pytest.mark.one_database
def test_a_process_that_stood_still_past_its_lease_begins_no_request(
    crawling: Crawling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "MARGIN", LEASE - 0.2)

    async def looked() -> tuple[bool, bool]:
        ending = Ending(clock())
        before = ending.is_set()
        # No turn of the loop in between, as for a process that was suspended.
        time.sleep(0.2)  # noqa: ASYNC251  (on purpose)
        after = ending.is_set()
        ending.stop_watching()
        return before, after

    assert crawling.loop.run_until_complete(looked()) == (False, True)


def runs(crawling: Crawling) -> list[tuple[object, ...]]:
    """(status, attempts used) of each Run, once nothing holds it."""

    def seen() -> list[tuple[object, ...]]:
        with crawling.store.reading() as reader:
            return reader.rows("SELECT status, attempt FROM runs")

    until(lambda: all(status != "running" for status, _ in seen()))
    return seen()
