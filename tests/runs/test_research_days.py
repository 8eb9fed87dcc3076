"""What the research of an owner may use in a day, over all datasets and however Runs end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from livedata.model import ids
from livedata.model.research.settings import DayBudget
from livedata.model.run import Run
from livedata.research.replay.replay import replay
from livedata.services import accounts, diagnostics
from livedata.services.research import days
from livedata.services.research.replays import tape
from livedata.store.research import usage
from spiders.worker.executor import Executor
from tests.crawling import Crawling
from tests.makers import FIRST, SECOND, dataset, makers_page, read_makers, scripted
from tests.servers.model import Asked, Hang, ModelServer, NoUsage, Refusal, Status
from tests.site import Site

ROOM = 60_000
"""Tokens for one question at its worst, and not for two."""
PLAIN = f"<p>{'Lamps are made here. ' * 300}</p>"


def honest(asked: Asked) -> object:
    return read_makers(asked)


def day(crawling: Crawling, owner: str = "local") -> DayBudget:
    return days.of_owner(crawling.store, owner, crawling.research)


def took(crawling: Crawling, *runs: Run) -> tuple[int, float]:
    """Tokens and money of all calls of Runs; those that nobody told, at their worst."""
    with crawling.store.reading() as reader:
        usages = [
            call.usage
            for run in runs
            for call in usage.calls_of(reader, ids.RunId(ids.raw_id(run["id"])))
            if call.usage.model is not None
        ]
    tokens = [
        each.most_tokens or (each.input_tokens or 0) + (each.output_tokens or 0) for each in usages
    ]
    return sum(tokens), sum(each.most_usd or each.usd or 0 for each in usages)


def stop(crawling: Crawling, run: Run, owner: str = "local") -> Any:
    told = diagnostics.diagnostics(crawling.store, owner, ids.RunId(ids.raw_id(run["id"])))
    return told["completion"]["observations"]["stop"]


def is_replayed(crawling: Crawling, run: Run) -> bool:
    recorded = tape(crawling.store, "local", ids.RunId(ids.raw_id(run["id"])))
    return asyncio.run(replay(recorded)).identical


LIMITS: dict[str, tuple[dict[str, Any], str]] = {
    "tokens": ({"research_tokens_a_day": 1_000}, "used 0 of the 1,000 tokens"),
    "money": ({"research_usd_a_day": 0.01}, "used 0 of the 0.01 US dollars"),
}


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("limit", LIMITS)
def test_a_run_beyond_the_day_is_not_begun_and_says_until_when(
    crawling: Crawling, site: Site, limit: str, planned: bool
) -> None:
    settings, words = LIMITS[limit]
    site.page("/a", makers_page(FIRST))
    made = dataset(crawling.store, site.at("/a"), planned=planned)
    with ModelServer(honest) as model:
        crawling.research = scripted(model.base_url, **settings)
        run = crawling.run(made, allow=site.host)
    assert (run["status"], model.asked, site.hits) == ("failed", [], []), run["error"]
    today = day(crawling)
    renews = today.renews[:16].replace("T", " ")
    assert words in (run["error"] or "")
    assert f"run it again after {renews} UTC" in (run["error"] or "")
    rule = "token_limit" if limit == "tokens" else "cost_limit"
    told = stop(crawling, run)
    assert told["rule"] == rule
    assert (told["inputs"]["reached"], told["inputs"]["day"]) == (0, today.day)
    assert crawling.remedies(run) == ["more_a_day"]
    [(owner, _, stopped)] = days.of_all(crawling.store, crawling.research)
    assert (owner, stopped) == ("local", 1)


def cancelled(crawling: Crawling, executors: list[Executor]) -> Callable[[Asked], object]:
    def answer(_: Asked) -> object:
        crawling.loop.call_soon_threadsafe(executors[0].cancel)
        return Hang()

    return answer


ENDS: dict[str, tuple[Any, str]] = {
    "succeeded": (honest, "succeeded"),
    "succeeded without a word of what it took": (lambda a: NoUsage(read_makers(a)), "succeeded"),
    "failed": (Refusal("no"), "failed"),
    "turned down": (Status(400, "no"), "failed"),
    "held": (honest, "held"),
    "cancelled": (None, "failed"),
}


@pytest.mark.parametrize("end", ENDS)
def test_the_day_counts_what_every_run_took_however_it_ended(
    crawling: Crawling, site: Site, end: str
) -> None:
    site.page("/a", makers_page(FIRST))
    site.page("/b", makers_page(SECOND))
    answer, status = ENDS[end]
    paths = ["/a"]
    if end == "held":
        accounts.grant(crawling.store, "local", -999)
        paths.append("/b")
    made = dataset(crawling.store, *map(site.at, paths))
    executors: list[Executor] = []
    scripted_answer = cancelled(crawling, executors) if answer is None else answer
    with ModelServer(scripted_answer if callable(scripted_answer) else [scripted_answer]) as model:
        crawling.research = scripted(model.base_url, research_tokens_a_day=3 * ROOM)
        run = crawling.run(made, allow=site.host, during=executors.append)
    assert run["status"] == status, run["error"]
    tokens, usd = took(crawling, run)
    today = day(crawling)
    assert today.tokens == tokens
    assert (tokens > 0) is (end != "turned down")
    assert today.usd == pytest.approx(usd, abs=2e-6)


def test_the_days_of_owners_are_apart_and_those_of_their_datasets_are_one(
    crawling: Crawling, site: Site
) -> None:
    site.page("/a", makers_page(FIRST) + PLAIN)
    settings = {"research_tokens_a_day": ROOM}
    others = {"alice": "first", "bob": "first"}
    accounts.grant(crawling.store, "alice", 100)
    accounts.grant(crawling.store, "bob", 100)
    made = {
        owner: dataset(crawling.store, site.at("/a"), name=name, owner=owner)
        for owner, name in others.items()
    }
    second = dataset(crawling.store, site.at("/a"), name="second", owner="alice")
    with ModelServer(lambda asked: NoUsage(read_makers(asked))) as model:
        crawling.research = scripted(model.base_url, **settings)
        ends = [
            crawling.run(each, allow=site.host, owner=owner)["status"]
            for each, owner in ((made["alice"], "alice"), (second, "alice"), (made["bob"], "bob"))
        ]
    # A call that does not tell what it took leaves no room for another one.
    assert ends == ["succeeded", "failed", "succeeded"]
    assert len(model.asked) == 2


def test_what_is_left_of_the_day_bounds_what_a_run_begins(crawling: Crawling, site: Site) -> None:
    site.page("/a", makers_page(FIRST) + PLAIN)
    site.page("/b", makers_page(SECOND) + PLAIN)
    made = dataset(crawling.store, site.at("/a"), site.at("/b"))
    with ModelServer(lambda asked: NoUsage(read_makers(asked))) as model:
        crawling.research = scripted(model.base_url, research_tokens_a_day=ROOM)
        run = crawling.run(made, allow=site.host)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2), run["error"]
    told, today = stop(crawling, run), day(crawling)
    assert told == {
        "rule": "token_limit",
        "inputs": {
            "limit": ROOM,
            "reached": today.tokens,
            "day": today.day,
            "renews": today.renews,
        },
    }
    assert today.tokens <= ROOM
    assert is_replayed(crawling, run)


def test_runs_at_one_time_do_not_use_more_than_the_day_together(
    crawling: Crawling, site: Site
) -> None:
    names = "abcdef"
    for name in names:
        site.page(f"/{name}", makers_page(FIRST, name) + PLAIN)
    made = {
        dataset(
            crawling.store,
            *(site.at(f"/{each}") for each in names[number:] + names[:number]),
            name=name,
        ): "local"
        for number, name in enumerate("xyz")
    }
    limit = 4 * ROOM
    with ModelServer(lambda asked: NoUsage(read_makers(asked))) as model:
        crawling.research = scripted(model.base_url, research_tokens_a_day=limit)
        ended = crawling.run_together(made, allow=site.host)
    tokens, _ = took(crawling, *ended)
    assert tokens == day(crawling).tokens <= limit
    assert 4 <= len(model.asked) <= 12
    assert [stop(crawling, run)["inputs"].get("day") for run in ended] == [day(crawling).day] * 3
    for run in ended:
        assert is_replayed(crawling, run), run["error"]
