"""How a research Run ends if its model, its search or its sites fail: rules 14.11."""

from __future__ import annotations

import pytest

from livedata.model.ids import RunId, raw_id
from livedata.store.research import usage
from spiders.worker.executor import Executor
from tests.cli.shell import Shell
from tests.crawling import Crawling
from tests.makers import FIRST, dataset, makers_page, read_makers, scripted
from tests.servers.model import (
    Asked,
    Cut,
    Hang,
    Malformed,
    ModelServer,
    NoUsage,
    Refusal,
    Reset,
    Scripted,
    Status,
    ToolCall,
)
from tests.servers.search import Found, SearchServer, Trouble
from tests.site import Answer, Site

pytestmark = pytest.mark.one_database

STEERS = "\x1b]0;owned\x07\x9b2J"
NOTHING = {"rows": [], "hasMore": False}
UNASKED = "did not answer"
ENDS: dict[str, tuple[Scripted, str]] = {
    "a refused key": (Status(401, f"no such key {STEERS}"), "refused its key: status 401: no such"),
    "no such path": (Status(404), "needs the path /v1"),
    "no schemas": (Status(400, "no response_format"), "needs the output mode object or prompted"),
    "too many questions": (Status(429, "slow down", retry_after=0), UNASKED),
    "a broken server": (Status(500, STEERS), UNASKED),
    "no answer in time": (Hang(), UNASKED),
    "a reset": (Reset(), UNASKED),
    "a refusal": (Refusal(STEERS), "were extracted"),
    "an answer that is cut": (Cut(NOTHING), "were extracted"),
    "no completion": (Malformed(STEERS), UNASKED),
    "a tool that nobody offered": (ToolCall(), "were extracted"),
    "no rows": (NoUsage(NOTHING), "Nothing that fits the question"),
}
"""What the model answers to each page, and words of the sentence in which the Run says so."""


def is_plain(text: str) -> bool:
    return all(each.isprintable() or each == "\n" for each in text)


@pytest.mark.parametrize(("answer", "words"), ENDS.values(), ids=ENDS)
def test_a_run_says_in_a_sentence_how_its_model_failed(
    crawling: Crawling, site: Site, livedata: Shell, answer: Scripted, words: str
) -> None:
    for path in "abcd":
        site.page(f"/{path}", makers_page(FIRST, path))
    made = dataset(crawling.store, *(site.at(f"/{path}") for path in "abcd"))
    with ModelServer([answer]) as model:
        crawling.research = scripted(model.base_url, model_seconds=0.6)
        run = crawling.run(made, allow=site.host)
    error = run["error"] or ""
    assert (run["status"], crawling.story(run).charged) == ("failed", 0), error
    assert words in error
    told = livedata.out("runs", "explain", run["id"])
    assert is_plain(error + told)
    assert error.split(".")[0] in told.replace("\n", " ")


@pytest.mark.parametrize("planned", [True, False])
def test_the_words_of_a_server_stand_in_the_sentence_of_the_run(
    crawling: Crawling, site: Site, livedata: Shell, planned: bool
) -> None:
    site.page("/a", makers_page(FIRST))
    made = dataset(crawling.store, site.at("/a"), planned=planned)
    with ModelServer([Status(400, "no response_format")]) as model:
        crawling.research = scripted(model.base_url)
        run = crawling.run(made, allow=site.host)
    error = (run["error"] or "").lower()
    assert "the model did not answer: status 400: no response_format; a server that" in error
    assert crawling.remedies(run) == ["check_model"]
    shown = livedata.out("runs", "show", run["id"])
    assert "livedata research try" in shown
    assert "livedata preview" not in shown
    assert "livedata research try" in livedata.out("runs", "explain", run["id"])


def test_a_call_that_is_cut_off_counts_at_its_worst(crawling: Crawling, site: Site) -> None:
    site.page("/a", makers_page(FIRST))
    made = dataset(crawling.store, site.at("/a"))
    executors: list[Executor] = []

    def cancelled(_: Asked) -> Hang:
        crawling.loop.call_soon_threadsafe(executors[0].cancel)
        return Hang()

    with ModelServer(cancelled) as model:
        crawling.research = scripted(model.base_url)
        run = crawling.run(made, allow=site.host, during=executors.append)
    assert run["status"] == "failed"
    with crawling.store.reading() as reader:
        [call] = usage.calls_of(reader, RunId(raw_id(run["id"])))
    assert (call.phase, call.usage.model, call.usage.input_tokens) == ("extract", "scripted", None)
    assert (call.usage.most_tokens or 0) > 8_000


def test_a_search_that_fails_twice_ends_a_run(
    crawling: Crawling, site: Site, livedata: Shell
) -> None:
    site.page("/a", makers_page(FIRST))
    with (
        ModelServer(read_makers) as model,
        SearchServer({"lamps": [Found(site.at("/a"))]}) as search,
    ):
        settings = {"search": "searxng", "search_url": search.base_url}
        crawling.research = scripted(model.base_url, **settings)
        made = dataset(crawling.store)
        search.trouble = Trouble(500, times=9, body=STEERS)
        failed = crawling.run(made, allow=site.host)
        assert (failed["status"], model.asked, site.hits) == ("failed", [], [])
        assert (failed["error"] or "").startswith("The search failed twice")
        search.trouble = None
        search.pages = {}
        empty = crawling.run(made, allow=site.host)
    assert (empty["status"], (empty["error"] or "").split(",")[0]) == (
        "failed",
        "There was no page to read",
    )
    for run in (failed, empty):
        assert is_plain((run["error"] or "") + livedata.out("runs", "explain", run["id"]))
        assert crawling.story(run).charged == 0


def test_a_mass_loss_is_held_and_can_be_accepted(
    crawling: Crawling, site: Site, livedata: Shell
) -> None:
    makers = [
        (f"Maker {word} Lamps", "1999", "Bern")
        for word in ["Ada", "Bea", "Cia", "Dea", "Eva", "Fay", "Gia"]
    ]
    site.page("/a", makers_page(makers))
    made = dataset(crawling.store, site.at("/a"))
    with ModelServer(read_makers) as model:
        crawling.research = scripted(model.base_url)
        assert crawling.run(made, allow=site.host)["rowDeltas"]["new"] == 7
        site.page("/a", makers_page(FIRST))
        held = crawling.run(made, allow=site.host)
    assert held["status"] == "held", held["error"]
    assert is_plain(livedata.out("runs", "explain", held["id"]))
    livedata("runs", "accept", held["id"])
    assert livedata.json("runs", "show", held["id"])["rowDeltas"]["gone"] == 7


def test_sites_that_all_refuse_block_a_run_and_cost_nothing(
    crawling: Crawling, site: Site, livedata: Shell
) -> None:
    site.route("/a", lambda _: Answer(403))
    site.route("/b", lambda _: Answer(429))
    made = dataset(crawling.store, *map(site.at, ("/a", "/b")))
    with ModelServer(read_makers) as model:
        crawling.research = scripted(model.base_url)
        run = crawling.run(made, allow=site.host)
    assert (run["status"], crawling.story(run).charged, model.asked) == ("blocked", 0, [])
    assert "refused" in livedata.out("runs", "explain", run["id"])
