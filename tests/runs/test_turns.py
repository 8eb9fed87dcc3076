"""Sites are asked in turn, whoever asks: the Runs of a process do not add up on one site."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from livedata.model import ids
from livedata.services.audit.check import check_store
from spiders.throttle import SiteThrottle
from tests.cli.shell import Shell
from tests.crawling import Crawling, shop_source
from tests.patience import AT_ONCE, until
from tests.runs.test_cancel import Work, read_elsewhere
from tests.runs.test_pagination_none import listing
from tests.runs.test_refusals import gaps
from tests.site import Answer, Handler, Request, Site

pytestmark = pytest.mark.timed


class Asking:
    """Notes who is in, when they came in, and how many there were at once."""

    def __init__(self) -> None:
        self.turns = SiteThrottle()
        self.order: list[str] = []
        self.at: list[float] = []
        self.inside = self.most = 0

    async def ask(
        self, name: str, site: str = "s", pause: float = 0, at_once: int = 1, lasts: float = 0.02
    ) -> None:
        async with self.turns.turn(site, pause, at_once):
            self.order.append(name)
            self.at.append(time.monotonic())
            self.inside += 1
            self.most = max(self.most, self.inside)
            await asyncio.sleep(lasts)
            self.inside -= 1


Play = Callable[[Asking], Awaitable[object]]
Run = Callable[[Play], Asking]


@pytest.fixture
def run(reactor_loop: asyncio.AbstractEventLoop) -> Run:
    """Plays a scene with turns of its own."""

    def played(play: Play) -> Asking:
        asking = Asking()

        async def main() -> None:
            await play(asking)

        reactor_loop.run_until_complete(main())
        return asking

    return played


def test_one_asks_at_a_time_in_the_order_they_came(run: Run) -> None:
    asking = run(lambda a: asyncio.gather(*(a.ask(name) for name in "abcd")))
    assert (asking.order, asking.most) == (list("abcd"), 1)


def test_two_places_are_two_at_once_and_no_more(run: Run) -> None:
    assert run(lambda a: asyncio.gather(*(a.ask(n, at_once=2) for n in "abcdef"))).most == 2


def test_who_wants_the_site_alone_is_not_overtaken_for_ever(run: Run) -> None:
    async def play(a: Asking) -> None:
        many = [a.ask(name, at_once=2) for name in "abc"]
        await asyncio.gather(*many, a.ask("alone"), *(a.ask(n, at_once=2) for n in "de"))

    assert run(play).order == ["a", "b", "c", "alone", "d", "e"]


def test_other_sites_are_not_waited_for(run: Run) -> None:
    assert run(lambda a: asyncio.gather(a.ask("a", "s"), a.ask("b", "t"))).most == 2


@pytest.mark.parametrize("at_once", [1, 2])
def test_the_pause_lies_between_the_beginnings(run: Run, at_once: int) -> None:
    asking = run(lambda a: asyncio.gather(*(a.ask(n, pause=0.1, at_once=at_once) for n in "abc")))
    assert all(late - early > 0.095 for early, late in itertools.pairwise(asking.at))


def test_a_site_that_wants_rest_gets_it_from_those_who_wait_already(run: Run) -> None:
    async def play(a: Asking) -> None:
        waiting = asyncio.gather(*(a.ask(n, pause=0.05, at_once=2) for n in "ab"))
        await asyncio.sleep(0.01)
        a.turns.back_off("s", 0.3)
        await waiting

    asking = run(play)
    assert asking.at[1] - asking.at[0] > 0.28


def test_who_goes_away_while_waiting_leaves_no_gap(run: Run) -> None:
    async def play(a: Asking) -> None:
        first, second, third = (asyncio.ensure_future(a.ask(n, pause=0.05)) for n in "abc")
        await asyncio.sleep(0.01)
        second.cancel()
        await asyncio.gather(first, second, third, return_exceptions=True)
        resting = asyncio.ensure_future(a.ask("d", pause=60))
        await asyncio.sleep(0.01)
        resting.cancel()
        await asyncio.gather(resting, a.ask("e"), return_exceptions=True)

    assert run(play).order == ["a", "c", "e"]


def test_a_next_link_to_another_site_takes_that_sites_turn(crawling: Crawling, site: Site) -> None:
    """Two Runs of two sites that both lead to a third do not ask it at the same time."""
    overlaps = Overlaps()
    with Site() as other, Site() as third:
        for number, here in enumerate((site, other)):
            link = f'<a class="next" href="{third.at(f"/{number}")}">n</a>'
            here.page("/1", listing("a", link))
            third.route(f"/{number}", overlaps.page(listing("b")))
        work = Work(crawling, site, other, third)
        for number, here in enumerate((site, other)):
            work.add(here.at("/1"), f"shop {number}")
        assert [each["status"] for each in work.run()] == ["succeeded"] * 2
        assert overlaps.most == 1
        assert {f"/{number}" for number in (0, 1)} <= set(third.paths)


def test_a_next_link_waits_for_a_run_of_that_site_in_another_process(
    crawling: Crawling, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One on another machine, whose lease is over at last; meanwhile others may ask the first."""
    with Site() as other:
        monkeypatch.setattr("spiders.worker.executor.WAIT", 0.05)
        site.page("/1", listing("a", f'<a class="next" href="{other.at("/2")}">n</a>'))
        site.page("/3", listing("c"))
        answered: list[int] = []

        def second(_request: Request) -> Answer:
            answered.append(ids.now())
            return Answer(200, listing("b").encode())

        other.route("/2", second)
        work = Work(crawling, site, other)
        work.add(site.at("/1"), "leads there")
        work.add(site.at("/3"), "stays here")
        _, ends = read_elsewhere(crawling, other)
        leads, stays = work.run()
        assert [leads["status"], stays["status"]] == ["succeeded"] * 2
        assert answered[0] >= ends
        assert ids.parse_timestamp(str(stays["completedAt"])) < ends
        assert check_store(crawling.store).problems == []


def test_runs_of_two_processes_that_lead_to_each_others_site_both_end(
    crawling: Crawling, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No site is asked by two at once, and nobody waits for one who waits."""
    with Site() as other:
        allow = f"{site.host},{other.host}"
        shell, asked = Shell(tmp_path), []
        for here, there, name in ((site, other, "one"), (other, site, "two")):
            asked.append(overlaps := Overlaps())
            link = f'<a class="next" href="{there.at("/b")}">n</a>'
            here.route("/a", overlaps.page(listing("a", link)))
            back = f'<a class="next" href="{there.at("/c")}">n</a>'
            here.route("/b", overlaps.page(listing("b", back)))
            here.route("/c", overlaps.page(listing("c")))
            crawling.create({**shop_source(here.at("/a")), "name": name}, allow=allow)
        monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", allow)
        started = [shell.start("run", name) for name in ("one", "two")]
        errors = [process.communicate(timeout=60)[1].decode() for process in started]
        assert [process.returncode for process in started] == [0, 0], errors
        assert [overlaps.most for overlaps in asked] == [1, 1]


def test_runs_that_wait_for_another_site_keep_nobody_from_theirs(
    crawling: Crawling, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as are executed at once, and one more, whose site nobody else wants."""
    monkeypatch.setattr("spiders.worker.executor.WAIT", 0.05)
    with Site() as busy, Site() as free, ExitStack() as stack:
        firsts = [stack.enter_context(Site()) for _ in range(4)]
        work = Work(crawling, busy, free, *firsts)
        for number, first in enumerate(firsts):
            first.page("/1", listing("a", f'<a class="next" href="{busy.at("/2")}">n</a>'))
            work.add(first.at("/1"), f"leads there {number}")
        busy.page("/2", listing("b"))
        free.page("/1", listing("c"))
        work.add(free.at("/1"), "free")
        _, ends = read_elsewhere(crawling, busy)
        ended = work.run()
        assert {run["status"] for run in ended} == {"succeeded"}
        assert ids.parse_timestamp(str(ended[-1]["completedAt"])) < ends


class Overlaps:
    """Pages that take a while; counts how many were asked for at once.

    Each waits for as many as are `wanted` at once, but not for ever.
    """

    def __init__(self, wanted: int = 1) -> None:
        self.wanted = wanted
        self.now = self.most = 0

    def page(self, body: str) -> Handler:
        def handle(request: Request) -> Answer:
            self.now += 1
            self.most = max(self.most, self.now)
            request.wait(0.15)
            with suppress(AssertionError):
                until(lambda: self.most >= self.wanted, AT_ONCE)
            self.now -= 1
            return Answer(200, body)

        return handle


def test_the_crawl_delay_of_another_site_is_kept_there(crawling: Crawling, site: Site) -> None:
    with Site() as other:
        other.page("/robots.txt", "User-agent: *\nCrawl-delay: 2", content_type="text/plain")
        site.page("/1", listing("a", f'<a class="next" href="{other.at("/2")}">n</a>'))
        other.page("/2", listing("b", f'<a class="next" href="{other.at("/3")}">n</a>'))
        other.page("/3", listing("c"))
        allow = f"{site.host},{other.host}"
        dataset = crawling.create(shop_source(site.at("/1")), allow=allow)
        assert crawling.run(dataset, allow=allow)["status"] == "succeeded"
        # Measured where the requests arrive: on a busy machine the first may be late.
        assert all(gap > 1 for gap in gaps(other)), gaps(other)
        assert crawling.engine.throttle.crawl_delay(other.host) == 2
        assert crawling.engine.throttle.crawl_delay(site.host) == 0


def test_a_redirect_to_another_site_keeps_no_turn_of_the_first(
    crawling: Crawling, site: Site
) -> None:
    """Two Runs that are each sent to the other's site do not wait for each other for ever."""
    with Site() as other:
        for here, there in ((site, other), (other, site)):
            here.page("/list", listing("a"))
            here.route("/1", sent_on(there.at("/list")))
        work = Work(crawling, site, other)
        work.add(site.at("/1"), "one")
        work.add(other.at("/1"), "two")
        assert [each["status"] for each in work.run()] == ["succeeded"] * 2


def sent_on(url: str) -> Handler:
    def handle(request: Request) -> Answer:
        request.wait(0.1)
        return Answer(302, b"", {"Location": url})

    return handle
