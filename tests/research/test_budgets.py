"""What a Run may use, over its attempts together: rules 14.10."""

from __future__ import annotations

from typing import Any

import pytest

from livedata.model import ids
from livedata.model.research.recipe import ResearchLimits
from livedata.model.run import Run
from livedata.services import queries
from livedata.store.database.store import Store
from livedata.store.research import attempts, usage
from spiders.worker.executor import Executor
from tests.cli.shell import Shell
from tests.crawling import Crawling
from tests.makers import FIRST, SECOND, dataset, makers_page, read_makers, scripted
from tests.servers.model import Asked, ModelServer, NoUsage
from tests.site import Answer, Request, Site

pytestmark = pytest.mark.one_database

ENOUGH = 2_000_000
# With it a page fits after one whose cost is known, and not after one that counts at its worst.
LONG = f"<p>{'Lamps are made here. ' * 300}</p>"
LIMITS = {
    "tokens": ResearchLimits(tokens=25_500),
    "money": ResearchLimits(usd=0.0415),
    "pages": ResearchLimits(pages=2),
}


def honest(asked: Asked) -> object:
    return read_makers(asked)


def silent(asked: Asked) -> object:
    """As honest, but nobody is told what it took."""
    return NoUsage(read_makers(asked))


def run_in_two(crawling: Crawling, site: Site, limits: ResearchLimits, model: ModelServer) -> Run:
    """A Run that is given back at its second page, and taken up again."""
    crawling.research = scripted(model.base_url)
    executors: list[Executor] = []
    given_back = False

    def second_page(request: Request) -> Answer:
        nonlocal given_back
        if not given_back:
            given_back = True
            while not answered(crawling.store):
                request.wait(0.01)
            crawling.loop.call_soon_threadsafe(executors[0].give_back)
            request.wait(5)
        return Answer(200, makers_page(SECOND, "East") + LONG)

    site.page("/a", makers_page(FIRST, "West"))
    site.route("/b", second_page)
    paths = ("/a", "/b", *(["/c"] if limits.pages == 2 else []))
    made = dataset(crawling.store, *map(site.at, paths), limits=limits)
    assert crawling.run(made, allow=site.host, during=executors.append)["status"] == "queued"
    return crawling.run(made, allow=site.host)


def answered(store: Store) -> bool:
    with store.reading() as reader:
        return bool(reader.value("SELECT count(*) FROM model_calls"))


def spent(store: Store, run: Run) -> dict[str, Any]:
    """What is recorded of a Run: tokens, money, pages that were asked for."""
    key = ids.RunId(ids.raw_id(run["id"]))
    with store.reading() as reader:
        usages = [call.usage for call in usage.calls_of(reader, key)]
        pages = attempts.pages_asked(reader, key)
    return {
        "tokens": sum((each.input_tokens or 0) + (each.output_tokens or 0) for each in usages),
        "money": sum(each.usd or 0 for each in usages),
        "pages": len(pages),
        "calls": len(usages),
    }


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("answer", [honest, silent])
def test_attempts_together_keep_a_limit(
    crawling: Crawling, site: Site, limit: str, answer: Any
) -> None:
    limits = LIMITS[limit]
    with ModelServer(answer) as model:
        run = run_in_two(crawling, site, limits, model)
    assert run["status"] == "succeeded", run["error"]
    used = spent(crawling.store, run)
    assert used["tokens"] <= limits.tokens
    assert used["money"] <= (limits.usd or ENOUGH)
    assert used["pages"] <= limits.pages
    # A call that does not tell what it took leaves no room for another one.
    expected = 1 if answer is silent and limit != "pages" else 2
    assert used["calls"] >= expected
    if answer is silent:
        assert used["calls"] == expected


@pytest.mark.parametrize("tokens", [150_000, ENOUGH])
def test_a_long_page_is_read_as_far_as_the_budget_goes_and_the_run_says_so(
    crawling: Crawling, site: Site, livedata: Shell, tokens: int
) -> None:
    site.page("/a", makers_page(FIRST) + LONG * 40 + makers_page(SECOND))
    made = dataset(crawling.store, site.at("/a"), limits=ResearchLimits(tokens=tokens))
    with ModelServer(silent) as model:
        crawling.research = scripted(model.base_url)
        run = crawling.run(made, allow=site.host)
    names = sorted(each[0] for each in (FIRST if tokens < ENOUGH else [*FIRST, *SECOND]))
    rows = queries.every_row(crawling.store, "local", made)
    assert run["status"] == "succeeded", run["error"]
    assert sorted(str(next(iter(row["data"].values()))) for row in rows) == names
    told = livedata.out("runs", "explain", run["id"])
    cut = (
        "The page is longer than what was read of it.",
        "Pages that were not read to their end: 1.",
    )
    assert [words in told for words in cut] == [tokens < ENOUGH] * 2, told
    replayed = livedata.json("research", "replay", run["id"])
    assert (replayed["identical"], replayed["misses"]) == (True, [])
