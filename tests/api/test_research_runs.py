"""What is answered about whole research Runs; the client judges each answer by the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from livedata.model import ids
from livedata.model.errors import LostLease
from livedata.services.interruptions import reap_expired_leases
from spiders.worker.executor import Executor
from tests.api.person import Person
from tests.crawling import Crawling
from tests.makers import FIRST, SECOND, dataset, makers_page, read_makers, recorded, scripted
from tests.servers.model import Asked, ModelServer, Status
from tests.servers.search import Found, SearchServer
from tests.site import Answer, Request, Site

if TYPE_CHECKING:
    from flask.testing import FlaskClient

    from livedata.model.run import Run
    from livedata.store.database.store import Store


@pytest.fixture
def local(client: FlaskClient, crawling: Crawling) -> Person:
    """The owner of the datasets that are crawled, with a key."""
    return Person.meet(client, crawling.store, "local")


@pytest.fixture
def search(site: Site) -> Iterator[SearchServer]:
    """A search that finds two pages of makers, one that is missing and one that is private."""
    site.page("/a", makers_page(FIRST))
    site.page("/b", makers_page(SECOND))
    pages = [Found(site.at(path)) for path in ("/a", "/b", "/missing")]
    with SearchServer({"lamps": [*pages, Found("http://10.0.0.1/")]}) as server:
        yield server


def answers(person: Person, run: Run) -> dict[str, Any]:
    """Everything that the API answers about a Run and its dataset."""
    this, table = f"/runs/{run['id']}", f"/datasets/{run['datasetId']}"
    index = person.get(f"{this}/artifacts")
    rows = person.get(f"{table}/rows")["data"]
    summary = person.get(f"{this}/diagnostics?summary=true")["diagnostics"]
    for entity in [each["entity"] for each in summary["summary"]["entities"]] + ["Nobody"]:
        person.get(f"{this}/diagnostics", query_string={"entity": entity, "field": "Evidence"})
    return {
        "run": person.get(this)["run"],
        "runs": person.get(f"{table}/runs")["data"],
        "dataset": person.get(table)["dataset"],
        "rows": [person.get(f"{table}/rows/{row['id']}") for row in rows],
        "changes": person.get(f"{table}/changes"),
        "recipe": index["recipe"],
        "artifacts": [
            person.get(f"{this}/artifacts/{each['id']}")["artifact"] for each in index["artifacts"]
        ],
        "trace": person.get(f"{this}/trace")["trace"],
        "diagnostics": summary,
        "usage": person.get("/usage"),
    }


def change(store: Store, values: str) -> None:
    """Change every Run in the store."""
    with store.writing() as writer:
        writer.execute(f"UPDATE runs SET {values}")


def test_every_answer_about_crawled_runs_keeps_the_contract(
    crawling: Crawling, site: Site, search: SearchServer, local: Person, bob: Person
) -> None:
    with ModelServer(read_makers) as model:
        crawling.research = scripted(model.base_url, search="searxng", search_url=search.base_url)
        made = dataset(crawling.store, planned=False)
        told = answers(local, crawling.run(made, allow=site.host))
        again = answers(local, crawling.run(made, allow=site.host))
    assert (told["run"]["status"], len(told["rows"])) == ("succeeded", 4)
    outcomes = [each["outcome"] for each in told["trace"]["discovery"]["candidates"]]
    assert outcomes == ["checked", "checked", "unreadable", "unreadable"]
    observed = told["diagnostics"]["sources"]["observations"]["discovery"]
    assert observed == {
        key: value for key, value in told["trace"]["discovery"].items() if key != "candidates"
    }
    assert {each["kind"] for each in told["artifacts"]} == {
        *("planning.output", "search.results", "page.text", "page.failure", "extraction.output"),
    }
    assert again["changes"]["data"] == told["changes"]["data"]
    for path in ("", "/artifacts", "/trace", "/diagnostics", "/diagnostics?summary=true"):
        bob.get(f"/runs/{told['run']['id']}{path}", 404)
    for each in told["artifacts"]:
        bob.get(f"/runs/{told['run']['id']}/artifacts/{each['id']}", 404)


def test_every_answer_about_a_run_that_failed_keeps_the_contract(
    crawling: Crawling, site: Site, search: SearchServer, local: Person
) -> None:
    with ModelServer(lambda _asked: Status(401)) as model:
        crawling.research = scripted(model.base_url, search="searxng", search_url=search.base_url)
        made = dataset(crawling.store, planned=False)
        told = answers(local, crawling.run(made, allow=site.host))
    assert (told["run"]["status"], told["rows"], told["recipe"]) == ("failed", [], None)
    assert told["trace"]["discovery"] is None
    assert ids.raw_id(told["dataset"]["id"]) == made


CUTS: Mapping[str, Callable[[Executor], None]] = {
    "cancelled": Executor.cancel,
    "given back": Executor.give_back,
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
def test_every_answer_about_a_run_that_was_cut_keeps_the_contract(
    crawling: Crawling, site: Site, local: Person, cut: Callable[[Executor], None]
) -> None:
    executors: list[Executor] = []

    def second_page(request: Request) -> Answer:
        while not recorded(crawling.store, "extraction.output"):
            request.wait(0.01)
        crawling.loop.call_soon_threadsafe(cut, executors[0])
        request.wait(5)
        return Answer(200, makers_page(SECOND, "East"))

    site.page("/a", makers_page(FIRST, "West"))
    site.route("/b", second_page)
    made = dataset(crawling.store, site.at("/a"), site.at("/b"), planned=False)
    with ModelServer(read_makers) as model:
        crawling.research = scripted(model.base_url)
        run = crawling.run(made, allow=site.host, during=executors.append)
        told = answers(local, run)
        site.page("/b", makers_page(SECOND, "East"))
        after = answers(local, crawling.run(made, allow=site.host))
    assert run["status"] == ("failed" if cut is Executor.cancel else "queued")
    assert "extraction.output" in {each["kind"] for each in told["artifacts"]}
    assert told["diagnostics"]["summary"]["outputComplete"] is False
    assert (told["rows"], told["changes"]["data"]) == ([], [])
    assert (after["run"]["status"], len(after["rows"])) == ("succeeded", 4)


def test_every_answer_about_a_run_whose_process_was_lost_keeps_the_contract(
    crawling: Crawling, site: Site, local: Person
) -> None:
    site.page("/a", makers_page(FIRST))
    made = dataset(crawling.store, site.at("/a"), planned=False)

    def lose(asked: Asked) -> dict[str, Any]:
        if asked.task["task"] != "plan":
            change(crawling.store, "fence = fence + 1")
        return read_makers(asked)

    with ModelServer(lose) as model:
        crawling.research = scripted(model.base_url)
        with pytest.raises(LostLease):
            crawling.run(made, allow=site.host)
        open_run = local.get(f"/datasets/{ids.format_uuid(made)}/runs")["data"][0]
        running = answers(local, open_run)
        # Only now, because a Run that goes on to another page takes back those whose lease is over.
        change(crawling.store, "lease_until = 1")
        reap_expired_leases(crawling.store)
        queued = answers(local, open_run)
    assert (running["run"]["status"], queued["run"]["status"]) == ("running", "queued")
    for told in (running, queued):
        assert "page.text" in {each["kind"] for each in told["artifacts"]}
        assert told["rows"] == []


def test_every_answer_about_runs_that_changed_rows_and_were_blocked_keeps_the_contract(
    crawling: Crawling, site: Site, local: Person
) -> None:
    site.page("/a", makers_page(FIRST))
    made = dataset(crawling.store, site.at("/a"))
    with ModelServer(read_makers) as model:
        crawling.research = scripted(model.base_url)
        crawling.run(made, allow=site.host)
        site.page("/a", makers_page([("Acme Lamps", "1998", "Bern"), *SECOND]))
        changed = answers(local, crawling.run(made, allow=site.host))
        site.route("/a", lambda _: Answer(403))
        blocked = answers(local, crawling.run(made, allow=site.host))
    assert changed["run"]["rowDeltas"]["changed"] == 1
    assert (blocked["run"]["status"], blocked["changes"]) == ("blocked", changed["changes"])


def test_every_answer_about_a_run_that_is_held_keeps_the_contract(
    crawling: Crawling, site: Site, local: Person
) -> None:
    """The page really lost most of its makers, which is nobody's to decide but a person's."""
    makers = [(f"Lamps of {name}", "1998", "Bern") for name in "ABCDEFGHIJKL"]
    site.page("/a", makers_page(makers))
    made = dataset(crawling.store, site.at("/a"))
    with ModelServer(read_makers) as model:
        crawling.research = scripted(model.base_url)
        taken = answers(local, crawling.run(made, allow=site.host))
        site.page("/a", makers_page(makers[:1]))
        held = answers(local, crawling.run(made, allow=site.host))
    assert (held["run"]["status"], held["changes"]) == ("held", taken["changes"])
    assert len(held["rows"]) == len(taken["rows"])
