"""Research reads pages as politely and as guarded as any Run, and as text."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from collections.abc import Awaitable, Callable
from typing import NoReturn

import pytest

from livedata.model.errors import LostLease
from livedata.model.research.answers import PageText, Unread
from livedata.model.research.outcome import ResearchOutcome
from livedata.research.ports import Ports, RunOver
from spiders.crawl.engine import CrawlEngine
from tests.researching import NOTHING, QUESTION, Researching
from tests.site import Answer, Request, Site

pytestmark = pytest.mark.one_database
Act = Callable[[Ports], Awaitable[object]]
MAKERS = (
    "<title> Makers of\n lamps </title><h1>Makers</h1>"
    '<table><tr><td><a href="acme#top">Acme</a><td>1999</table>'
)


@pytest.fixture
def researching(engine: CrawlEngine, site: Site) -> Researching:
    return Researching(engine, site.host)


def text_of(answer: PageText | Unread) -> str:
    assert isinstance(answer, PageText), answer
    return answer.text


def test_a_page_is_its_text_its_links_and_where_it_was_found(
    researching: Researching, site: Site
) -> None:
    site.page("/old", "", status=301, headers={"Location": "/lamps/makers"})
    site.page("/lamps/makers", MAKERS)
    [page] = researching.read(site.at("/old"))
    assert isinstance(page, PageText)
    assert page.at > 0
    assert page == PageText(
        url=site.at("/old"),
        final_url=site.at("/lamps/makers"),
        status=200,
        title="Makers of lamps",
        text="Makers\n\nAcme\t1999",
        links=[("Acme", site.at("/lamps/acme"))],
        digest=hashlib.sha256(MAKERS.encode()).hexdigest(),
        at=page.at,
    )
    assert site.paths == ["/robots.txt", "/old", "/lamps/makers"]


def test_awkward_pages_are_read_like_any(researching: Researching, site: Site) -> None:
    site.page("/latin", "<p>Caf\xe9".encode("latin-1"), content_type="text/html; charset=latin1")
    packed = {"Content-Encoding": "gzip"}
    site.page("/packed", gzip.compress(b"<p>Packed"), headers=packed)
    site.page("/refresh", "<meta http-equiv=refresh content='0; url=/packed'>")
    site.page("/long", "<p>Acme</p>" * 100_000)
    latin, packed_page, refreshed, long = researching.read(
        *map(site.at, ("/latin", "/packed", "/refresh", "/long"))
    )
    assert [text_of(page) for page in (latin, packed_page, refreshed)] == [
        "Caf\xe9",
        "Packed",
        "Packed",
    ]
    assert isinstance(long, PageText)
    assert long.cut


UNREAD = {
    "/forbidden": (Answer(403), "forbidden", 403),
    "/often": (Answer(429), "rate_limited", 429),
    "/gone": (Answer(410), "http_error", 410),
    "/down": (Answer(503), "http_error", 503),
    "/picture": (Answer(200, b"\x89PNG", {"Content-Type": "image/png"}), "invalid_content", 200),
    "/empty": (Answer(200, ""), "empty_body", 200),
    "/no-text": (Answer(200, "<nav>Home</nav>"), "empty_body", 200),
    "/private": (Answer(302, "", {"Location": "http://10.0.0.1/"}), "unsafe_target", None),
    "/file": (Answer(302, "", {"Location": "file:///etc/passwd"}), "unsafe_target", 302),
    "/secret/x": (Answer(200, "<p>x"), "robots_disallowed", None),
}


def test_a_page_that_cannot_be_read_says_why_and_others_follow(
    researching: Researching, site: Site
) -> None:
    site.page("/robots.txt", "User-agent: *\nDisallow: /secret/", content_type="text/plain")
    for path, (answer, _, _) in UNREAD.items():
        site.route(path, lambda _, answer=answer: answer)  # type: ignore[misc]
    site.page("/makers", MAKERS)
    *answers, last = researching.read(*map(site.at, [*UNREAD, "/makers"]))
    told = [isinstance(each, Unread) and (each.url, each.reason, each.status) for each in answers]
    assert told == [(site.at(path), reason, status) for path, (_, reason, status) in UNREAD.items()]
    assert isinstance(last, PageText)
    assert "/secret/x" not in site.paths


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/", "mailto:a@b.test", "file:///etc/passwd", "http://["]
)
def test_nothing_but_a_public_page_is_asked_for(researching: Researching, url: str) -> None:
    [answer] = researching.read(url)
    assert isinstance(answer, Unread)
    assert (answer.reason, answer.status) == ("unsafe_target", None)


def test_each_site_is_read_at_its_turn(researching: Researching, site: Site) -> None:
    with Site() as other:
        researching.allow = f"{site.host},{other.host}"
        for each in (site, other):
            each.page("/1", MAKERS)
            each.page("/2", MAKERS)
        places = (site.at("/1"), site.at("/2"), other.at("/1"), site.at("/1"))
        researching.read(*places)
    assert researching.turns == [site.host, other.host, site.host]


def test_a_site_that_was_left_is_waited_for_again(researching: Researching, site: Site) -> None:
    site.page("/1", MAKERS)

    async def harness(ports: Ports) -> ResearchOutcome:
        for _ in range(2):
            await ports.sites.leave()
            await ports.sites.read(site.at("/1"))
        await ports.sites.leave()
        return NOTHING

    researching.run(harness)
    assert researching.turns == [site.host, "", site.host, ""]


def over(act: Act, researching: Researching) -> str:
    """The rule by which a Run is over in which something is done."""

    rules: list[str] = []

    async def harness(ports: Ports) -> ResearchOutcome:
        try:
            await act(ports)
        except RunOver as ended:
            rules.append(ended.rule)
        return NOTHING

    researching.run(harness)
    [rule] = rules
    return rule


@pytest.mark.parametrize("rule", ["cancelled", "deadline"])
def test_nothing_begins_once_a_run_is_over(researching: Researching, site: Site, rule: str) -> None:
    async def after(ports: Ports, ask: Act) -> None:
        if rule == "cancelled":
            researching.cancel.set()
        else:
            await asyncio.sleep(0.05)
        await ask(ports)

    researching.seconds = 0.01 if rule == "deadline" else 30
    assert over(lambda ports: after(ports, lambda p: p.model.ask(QUESTION)), researching) == rule
    assert over(lambda ports: after(ports, lambda p: p.sites.read(site.url)), researching) == rule
    assert not researching.model.asked.is_set()
    assert site.hits == []


def test_a_cancelled_run_waits_for_no_answer_of_a_model(researching: Researching) -> None:
    researching.model.seconds = 60

    async def asked(ports: Ports) -> None:
        asking = asyncio.ensure_future(ports.model.ask(QUESTION))
        await researching.model.asked.wait()
        researching.cancel.set()
        await asking

    assert over(asked, researching) == "cancelled"


def test_a_run_whose_time_is_over_waits_for_an_answer(researching: Researching) -> None:
    researching.model.seconds, researching.seconds = 0.1, 0.02

    async def harness(ports: Ports) -> ResearchOutcome:
        assert (await ports.model.ask(QUESTION)).usage.provider == "test"
        return NOTHING

    assert researching.run(harness) is NOTHING


def test_a_page_under_way_is_left_when_the_time_is_over(
    researching: Researching, site: Site
) -> None:
    def slow(request: Request) -> Answer:
        request.wait(5)
        return Answer(200, MAKERS)

    site.route("/slow", slow)
    researching.seconds = 0.2
    assert over(lambda ports: ports.sites.read(site.at("/slow")), researching) == "deadline"


def test_what_the_recorder_raises_ends_the_run(researching: Researching) -> None:
    async def harness(_: Ports) -> NoReturn:
        raise LostLease

    with pytest.raises(LostLease):
        researching.run(harness)


def test_a_harness_that_breaks_ends_the_run_with_a_sentence(researching: Researching) -> None:
    async def harness(_: Ports) -> NoReturn:
        raise KeyError("rows")

    outcome = researching.run(harness)
    assert outcome.stop == "cancelled"
    assert outcome.problem is not None
    assert (outcome.problem.code, outcome.rows) == ("run.broke_off", [])


def test_a_page_of_scripts_is_read_as_it_is_without_a_browser(
    researching: Researching, site: Site
) -> None:
    researching.how = {"browser": "/nowhere/chromium"}
    site.page("/app", "<p>Loading<script>1</script>")
    assert [text_of(page) for page in researching.read(site.at("/app"))] == ["Loading"]
