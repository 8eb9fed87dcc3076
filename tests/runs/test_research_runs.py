"""Research Runs, whole: from a question to rows with their quotes, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from livedata.model import ids
from livedata.model.dataset import Column
from livedata.model.errors import LostLease
from livedata.model.ids import DatasetId
from livedata.model.research.recipe import ResearchLimits
from livedata.model.run import Run
from livedata.services import diagnostics, queries
from livedata.services.audit.check import check_store
from livedata.store.database.store import Store
from livedata.store.queue import RunOptions
from livedata.store.research import usage
from spiders.worker.executor import Executor
from tests.cli.shell import Shell
from tests.crawling import Crawling, shop_source
from tests.makers import FIRST, SECOND, dataset, makers_page, read_makers, recorded, scripted
from tests.servers.model import Asked, ModelServer, Refusal, Status
from tests.servers.search import Found, SearchServer
from tests.shop import shop, some_items
from tests.site import Answer, Request, Site


@pytest.fixture
def model(crawling: Crawling) -> Iterator[ModelServer]:
    """An honest model, set for all Runs."""
    with ModelServer(read_makers) as server:
        crawling.research = scripted(server.base_url)
        yield server


def columns_of(store: Store, made: DatasetId) -> list[Column]:
    return queries.dataset(store, "local", made)["columns"]


def cells(store: Store, made: DatasetId) -> dict[str, dict[str, Any]]:
    """What the present rows show, by name and by the columns' names."""
    columns = {
        each["id"]: each["name"] for each in queries.dataset(store, "local", made)["columns"]
    }
    rows = queries.every_row(store, "local", made)
    shown = [{columns[field]: value for field, value in row["data"].items()} for row in rows]
    return {str(row["name"]): row for row in shown}


def asked_about(model: ModelServer) -> list[str]:
    """The tasks that the model was asked, each with the page that it is about."""
    return [
        f"{asked.task['task']} {asked.task.get('page', {}).get('title', '')}".strip()
        for asked in model.asked
    ]


def usd_of(store: Store, run: Run) -> float:
    with store.reading() as reader:
        every = usage.calls_of(reader, ids.RunId(ids.raw_id(run["id"])))
    return sum(call.usage.usd or 0 for call in every)


def test_a_question_becomes_rows_with_the_words_that_support_them(
    crawling: Crawling, site: Site, model: ModelServer
) -> None:
    site.page("/a", makers_page(FIRST, "Makers in the west"))
    site.page("/b", makers_page(SECOND, "Makers in the east"))
    results = {"lamps": [Found(site.at("/a")), Found(site.at("/b")), Found("http://10.0.0.1/")]}
    with SearchServer(results) as search:
        crawling.research = scripted(model.base_url, search="searxng", search_url=search.base_url)
        made = dataset(crawling.store, planned=False)
        run = crawling.run(made, allow=site.host)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 4), run["error"]
    assert crawling.story(run).charged == 2
    plan, *pages = asked_about(model)
    # It is asked about both pages at once.
    assert (plan, sorted(pages)) == ("plan", ["rows Makers in the east", "rows Makers in the west"])
    assert site.paths == ["/robots.txt", "/a", "/b"]
    assert cells(crawling.store, made)["Cogwheel"] == {
        "name": "Cogwheel",
        "evidence": "Cogwheel\t1987\tChur",
        "source": site.at("/b"),
        "founded": "1987",
        "city": "Chur",
    }
    assert list(check_store(crawling.store).problems) == []


@pytest.mark.parametrize("provider", ["searxng", "tavily", "brave"])
def test_what_a_search_finds_beyond_the_limit_of_pages_is_told_as_unattempted(
    crawling: Crawling, site: Site, model: ModelServer, provider: str
) -> None:
    paths = ("/a", "/b", "/c", "/d")
    for path in paths:
        site.page(path, makers_page(FIRST, f"Makers of {path}"))
    urls = [site.at(path) for path in paths]
    with SearchServer({"lamps": [Found(url) for url in urls]}) as search:
        crawling.research = scripted(
            *(model.base_url,), search=provider, search_url=search.base_url, search_key="k"
        )
        made = dataset(crawling.store, limits=ResearchLimits(pages=2))
        run = crawling.run(made, allow=site.host)
    assert (run["status"], len(search.queries)) == ("succeeded", 1), run["error"]
    run_id = ids.RunId(ids.raw_id(run["id"]))
    discovery = diagnostics.trace(crawling.store, "local", run_id)["discovery"]
    assert discovery is not None
    assert [(each["url"], each["outcome"]) for each in discovery["candidates"]] == [
        *((url, "checked") for url in urls[:2]),
        *((url, "unattempted") for url in urls[2:]),
    ]
    explained = diagnostics.diagnostics(crawling.store, "local", run_id)
    stop = explained["completion"]["observations"]["stop"]
    assert stop == {"rule": "page_budget", "inputs": {"limit": 2, "reached": 2}}
    assert explained["sources"]["observations"]["counts"]["unattempted"] == 2
    assert site.paths == ["/robots.txt", *paths[:2]]


def test_a_second_run_of_unchanged_pages_asks_nothing_and_writes_nothing(
    crawling: Crawling, site: Site, model: ModelServer
) -> None:
    site.page("/a", makers_page(FIRST))
    site.page("/b", makers_page(SECOND))
    made = dataset(crawling.store, site.at("/a"), site.at("/b"))
    first = crawling.run(made, allow=site.host)
    assert usd_of(crawling.store, first) > 0
    model.asked.clear()
    second = crawling.run(made, allow=site.host)
    assert second["rowDeltas"] == {"new": 0, "changed": 0, "gone": 0}, second["error"]
    assert (model.asked, usd_of(crawling.store, second)) == ([], 0)
    assert crawling.story(second).charged == 2
    site.page("/b", makers_page(SECOND, "More makers"))
    crawling.run(made, allow=site.host)
    assert asked_about(model) == ["rows More makers"]
    crawling.run(made, allow=site.host, options=RunOptions(fresh=True))
    assert len(model.asked) == 3


@pytest.mark.one_database
def test_a_run_of_unchanged_pages_imports_no_client_of_a_model(
    crawling: Crawling,
    site: Site,
    model: ModelServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site.page("/a", makers_page(FIRST))
    made = dataset(crawling.store, site.at("/a"))
    assert crawling.run(made, allow=site.host)["status"] == "succeeded"
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    monkeypatch.setenv("LIVEDATA_MODEL", "scripted")
    monkeypatch.setenv("LIVEDATA_MODEL_BASE_URL", model.base_url)
    modules = Shell(tmp_path).modules_after("run", "makers")
    assert "httpx2" in modules
    assert not modules & {"jsonschema_rs", "openai", "pydantic", "pydantic_ai"}
    assert len(model.asked) == 1


def test_a_run_that_is_given_back_is_taken_up_where_it_was(
    crawling: Crawling, site: Site, model: ModelServer
) -> None:
    site.page("/a", makers_page(FIRST, "West"))
    made = dataset(crawling.store, site.at("/a"), site.at("/b"), planned=False)
    given_back = False

    def second_page(request: Request) -> Answer:
        nonlocal given_back
        if not given_back:
            given_back = True
            while not recorded(crawling.store, "extraction.output"):
                request.wait(0.01)
            crawling.loop.call_soon_threadsafe(executors[0].give_back)
            request.wait(5)
        return Answer(200, makers_page(SECOND, "East"))

    site.route("/b", second_page)
    executors: list[Executor] = []
    run = crawling.run(made, allow=site.host, during=executors.append)
    assert run["status"] == "queued"
    run = crawling.run(made, allow=site.host)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 4), run["error"]
    assert asked_about(model).count("plan") == 1
    assert asked_about(model).count("rows West") == 1
    assert crawling.story(run).charged == 2
    assert list(check_store(crawling.store).problems) == []


def test_a_cancelled_run_ends_so_and_what_it_planned_stays(
    crawling: Crawling, site: Site, model: ModelServer
) -> None:
    site.page("/a", makers_page(FIRST))
    made = dataset(crawling.store, site.at("/a"), planned=False)

    def cancel(executor: Executor) -> None:
        if model.asked:
            executor.cancel()

    run = crawling.run(made, allow=site.host, during=cancel)
    assert (run["status"], run["error"]) == ("failed", "The Run was cancelled.")
    names = [column["name"] for column in queries.dataset(crawling.store, "local", made)["columns"]]
    assert names in (
        ["name", "evidence", "source"],
        ["name", "evidence", "source", "founded", "city"],
    )
    assert crawling.story(run).charged == 0


def test_who_has_lost_a_run_records_nothing_more_of_it(crawling: Crawling, site: Site) -> None:
    site.page("/a", makers_page(FIRST))
    made = dataset(crawling.store, site.at("/a"))

    def lost(asked: Asked) -> dict[str, Any]:
        with crawling.store.writing() as writer:
            writer.execute("UPDATE runs SET fence = fence + 1")
        return read_makers(asked)

    with ModelServer(lost) as other:
        crawling.research = scripted(other.base_url)
        with pytest.raises(LostLease):
            crawling.run(made, allow=site.host)
    assert cells(crawling.store, made) == {}


ENDS = {
    "no key": (Status(401, "no such key"), "failed", "The model refused its key"),
    "no answer": (Status(500), "failed", "did not answer"),
    "refusals": (Refusal(), "failed", ""),
}


@pytest.mark.one_database
@pytest.mark.parametrize(("answer", "status", "words"), ENDS.values(), ids=ENDS.keys())
def test_a_run_whose_model_fails_writes_and_charges_nothing(
    crawling: Crawling, site: Site, answer: object, status: str, words: str
) -> None:
    for path in ("/a", "/b", "/c", "/d"):
        site.page(path, makers_page(FIRST, path))
    made = dataset(crawling.store, *map(site.at, ("/a", "/b", "/c", "/d")))
    with ModelServer([answer]) as model:
        crawling.research = scripted(model.base_url, model_seconds=2)
        run = crawling.run(made, allow=site.host)
    assert run["status"] == status
    assert words in (run["error"] or "")
    assert crawling.story(run).charged == 0


@pytest.mark.one_database
def test_without_a_model_a_run_says_what_is_missing(crawling: Crawling, site: Site) -> None:
    run = crawling.run(dataset(crawling.store, site.at("/a")), allow=site.host)
    assert run["status"] == "failed"
    assert run["error"] is not None
    assert run["error"].startswith("Research asks a model, and none is set")
    assert crawling.remedies(run) == ["name_model"]
    assert site.hits == []


@pytest.mark.one_database
def test_a_run_of_selectors_imports_neither_harness_nor_client(
    crawling: Crawling, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.pages(shop(some_items(2)))
    crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    modules = Shell(tmp_path).imported_after("run", "shop")
    assert "spiders" in modules
    assert not modules & {"httpx2", "jsonschema_rs", "openai", "pydantic", "pydantic_ai"}
    assert "livedata.research.harness" not in modules
    assert "spiders.research.crawl" not in modules


def test_sites_that_refuse_block_a_run_for_nothing(
    crawling: Crawling, site: Site, model: ModelServer
) -> None:
    site.route("/a", lambda _: Answer(403))
    run = crawling.run(dataset(crawling.store, site.at("/a")), allow=site.host)
    assert (run["status"], model.asked) == ("blocked", [])
    assert crawling.story(run).charged == 0
