"""Cancelling and giving back, and Runs beside each other."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Barrier, BrokenBarrierError
from typing import Any
from unittest import mock

import pytest

from livedata.extraction.page import Page
from livedata.model import ids
from livedata.model.run import Run
from livedata.rules.network.targets import TargetPolicy
from livedata.services import queries, runs
from livedata.services.commit import AcceptancePolicy
from livedata.services.runs import Queued
from spiders.crawl.settings import FetchConfig
from spiders.worker.executor import Executor
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.patience import AT_ONCE, LONG
from tests.runs.test_pagination_none import listing
from tests.runs.test_refusals import contents, read_failures, steps
from tests.site import Answer, Handler, Request, Site

pytestmark = pytest.mark.timed

NEXT = '<a class="next" href="/2">Next</a>'


class Work:
    """Several Runs in one executor, and what the sites may do to it meanwhile."""

    def __init__(self, crawling: Crawling, *sites: Site) -> None:
        self.crawling = crawling
        self.allow = ",".join(site.host for site in sites)
        fetching = FetchConfig(TargetPolicy.parse(self.allow), "livedata-tests", timeout=LONG)
        self.executor = Executor(
            crawling.store, crawling.engine, fetching, AcceptancePolicy(), lambda *_: None, 4
        )
        self.queue: list[Queued] = []
        self.stopped = 0.0

    def add(self, url: str, name: str = "shop") -> None:
        dataset = self.crawling.create({**shop_source(url), "name": name}, allow=self.allow)
        self.queue.append(runs.take_up(self.crawling.store, "local", dataset, name))

    def run(self) -> list[Run]:
        self.crawling.loop.run_until_complete(self.executor.execute(self.queue))
        assert self.executor.errors == {}
        return [queries.run(self.crawling.store, "local", queued.run) for queued in self.queue]

    def meets(self, stop: Callable[[], None]) -> Handler:
        """A page that is never answered, and at whose request `stop` is called."""

        def now() -> None:
            self.stopped = time.monotonic()
            stop()

        def handle(request: Request) -> None:
            self.crawling.loop.call_soon_threadsafe(now)
            request.wait()

        return handle


@pytest.mark.parametrize("page", ["/robots.txt", "/1", "/2"])
def test_cancel_during_a_slow_page_ends_the_run_at_once(
    crawling: Crawling, site: Site, page: str
) -> None:
    work = Work(crawling, site)
    work.add(site.at("/1"))
    site.page("/1", listing("a", NEXT))
    site.route(page, work.meets(work.executor.cancel))
    before = contents(crawling.store)
    [run] = work.run()
    assert time.monotonic() - work.stopped < AT_ONCE
    assert (run["status"], run["checks"]) == ("failed", [])
    assert run["rowDeltas"] == {"new": 0, "changed": 0, "gone": 0}
    assert "cancelled" in str(run["error"])
    assert crawling.story(run).stop["rule"] == "cancelled"
    assert contents(crawling.store) == before
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["cancelled"]
    assert [step["status"] for step in steps(crawling.store, run)].count("cancelled") == 2


def test_cancel_does_not_wait_for_a_crawl_delay(crawling: Crawling, site: Site) -> None:
    work = Work(crawling, site)
    work.add(site.at("/1"))

    def robots(_: Request) -> Answer:
        crawling.loop.call_soon_threadsafe(crawling.loop.call_later, 0.1, work.executor.cancel)
        return Answer(200, "User-agent: *\nCrawl-delay: 10", {"Content-Type": "text/plain"})

    site.route("/robots.txt", robots)
    began = time.monotonic()
    [run] = work.run()
    assert time.monotonic() - began < AT_ONCE
    assert crawling.story(run).stop["rule"] == "cancelled"
    assert site.paths == ["/robots.txt"]


def test_a_run_that_is_cancelled_before_it_began_asks_for_nothing(
    crawling: Crawling, site: Site
) -> None:
    work = Work(crawling, site)
    work.add(site.at("/1"))
    work.executor.cancel()
    work.run()
    assert site.paths == []


@pytest.mark.parametrize("page", ["/1", "/2"])
def test_a_run_that_is_given_back_is_queued_again_and_its_attempt_does_not_count(
    crawling: Crawling, site: Site, page: str
) -> None:
    work = Work(crawling, site)
    work.add(site.at("/1"))
    site.page("/1", listing("a", NEXT))
    site.page("/2", listing("b"))
    well = site._routes[page]
    site.route(page, work.meets(work.executor.give_back))
    before = contents(crawling.store)
    [run] = work.run()
    assert time.monotonic() - work.stopped < AT_ONCE
    assert (run["status"], run["completedAt"], run["error"]) == ("queued", None, None)
    assert contents(crawling.store) == before
    with crawling.store.reading() as reader:
        row = reader.row("SELECT attempt, lease_owner, lease_until FROM runs")
    assert row == (0, None, None)

    site.route(page, well)
    again = crawling.run(work.queue[0].dataset, allow=site.host)
    assert (again["id"], again["status"]) == (run["id"], "succeeded")
    assert again["rowDeltas"]["new"] == 2
    with crawling.store.reading() as reader:
        assert reader.rows("SELECT number FROM attempts") == [(1,)]


def test_two_runs_of_one_site_never_overlap(crawling: Crawling, site: Site) -> None:
    work = Work(crawling, site)
    for name in "ab":
        site.page(f"/{name}/1", listing("x", '<a class="next" href="2">Next</a>'))
        site.page(f"/{name}/2", listing("y"))
        work.add(site.at(f"/{name}/1"), name)
    done = work.run()
    assert [run["status"] for run in done] == ["succeeded", "succeeded"]
    first, second = sorted(done, key=lambda run: str(run["startedAt"]))
    assert str(first["completedAt"]) <= str(second["startedAt"])
    asked = [path[1] for path in site.paths if path != "/robots.txt"]
    assert asked in (["a", "a", "b", "b"], ["b", "b", "a", "a"])


def test_runs_of_two_sites_overlap(crawling: Crawling, site: Site) -> None:
    together = Barrier(2, timeout=LONG / 2)

    def page(_: Request) -> Answer:
        try:
            together.wait()
        except BrokenBarrierError:
            return Answer(500, "<p>The other site was not asked meanwhile.</p>")
        return Answer(200, listing("a"))

    with Site() as other:
        work = Work(crawling, site, other)
        for name, where in (("a", site), ("b", other)):
            where.route("/1", page)
            work.add(where.at("/1"), name)
        assert [run["status"] for run in work.run()] == ["succeeded", "succeeded"]


def test_what_fails_one_run_leaves_the_others_alone(crawling: Crawling, site: Site) -> None:
    with Site() as other:
        work = Work(crawling, site, other)
        site.route("/1", faults.status(500))
        other.page("/1", listing("a"))
        work.add(site.at("/1"), "a")
        work.add(other.at("/1"), "b")
        assert [run["status"] for run in work.run()] == ["failed", "succeeded"]


def test_cancel_while_a_large_page_is_read_ends_the_run_at_once(
    crawling: Crawling, site: Site
) -> None:
    """A loop that is busy with the page would hear nobody before it is read."""
    items = "".join(f'<li class="product" data-sku="S{n}"><h2>x</h2>' for n in range(20_000))
    site.page("/1", f"<!doctype html><ul>{items}</ul>")
    work = Work(crawling, site)
    fields = [{"name": "sku", "read": {"kind": "attribute", "attribute": "data-sku"}}]
    columns: list[dict[str, object]] = [{"name": "sku", "type": "string", "key": True}]
    for number in range(14):
        fields.append({"name": f"f{number}", "read": {"selector": f"i.c{number} b"}})
        columns.append({"name": f"f{number}", "type": "string"})
    declared = {**shop_source(site.at("/1"), fields=fields), "columns": columns}
    dataset = crawling.create(declared, allow=work.allow)
    work.queue.append(runs.take_up(crawling.store, "local", dataset, "shop"))

    def stop() -> None:
        """As soon as the page is parsed, which takes its items from it."""
        work.stopped = time.monotonic()
        work.executor.cancel()

    select = Page.select

    def selected(page: Page, *given: Any) -> Any:
        crawling.loop.call_soon_threadsafe(stop)
        return select(page, *given)

    with mock.patch.object(Page, "select", selected):
        [run] = work.run()
    assert time.monotonic() - work.stopped < AT_ONCE
    assert (run["status"], run["error"]) == ("failed", "The Run was cancelled.")


def read_elsewhere(crawling: Crawling, site: Site) -> tuple[ids.RunId, int]:
    """Another machine reads `site` until a moment, and is then lost: its Run, and the moment."""
    elsewhere = Work(crawling, site)
    elsewhere.add(site.at("/9"), "elsewhere")
    run, ends = elsewhere.queue[0].run, ids.now() + 4_000_000
    with crawling.store.writing() as writer:
        writer.execute(
            "UPDATE runs SET status = 'running', attempt = 3, turn = :site, "
            "lease_owner = 'elsewhere/1/1', lease_until = :ends WHERE id = :run",
            site=site.host,
            ends=ends,
            run=run,
        )
    return run, ends


def test_a_run_waits_for_the_site_while_another_process_reads_it(
    crawling: Crawling, site: Site
) -> None:
    """A lease of a process that lives on another machine: the executor waits until it is over."""
    site.page("/1", listing("a"))
    work = Work(crawling, site)
    work.add(site.at("/1"))
    ahead, ends = read_elsewhere(crawling, site)
    [run] = work.run()
    assert run["status"] == "succeeded"
    assert ids.parse_timestamp(str(run["startedAt"])) >= ends
    lost = queries.run(crawling.store, "local", ahead)
    assert (lost["status"], crawling.story(lost).stop["rule"]) == ("failed", "worker_lost")


def test_cancelling_ends_a_run_that_waits_for_its_turn_too(crawling: Crawling, site: Site) -> None:
    work = Work(crawling, site)
    site.route("/1", work.meets(work.executor.cancel))
    site.route("/2", work.meets(work.executor.cancel))
    work.add(site.at("/1"), "first")
    work.add(site.at("/2"), "second")
    ended = work.run()
    assert [run["status"] for run in ended] == ["failed", "failed"]
    assert {run["error"] for run in ended} == {"The Run was cancelled."}


def test_runs_that_wait_for_one_site_do_not_keep_others_from_theirs(
    crawling: Crawling, site: Site
) -> None:
    with Site() as other:
        meeting = Barrier(2)

        def met(_request: Request) -> Answer:
            meeting.wait(LONG / 2)
            return Answer(body=listing(("A1", "Lamp")).encode())

        site.route("/1", met)
        other.route("/1", met)
        site.page("/2", listing(("A1", "Lamp")))
        work = Work(crawling, site, other)
        work.add(site.at("/1"), "met here")
        for number in range(5):
            work.add(site.at("/2"), f"waits {number}")
        work.add(other.at("/1"), "met there")
        assert {run["status"] for run in work.run()} == {"succeeded"}
