"""What is answered about whole research Runs; the client judges each answer by the contract."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from livedata.model import ids
from tests.api.person import Person
from tests.crawling import Crawling
from tests.makers import FIRST, SECOND, dataset, makers_page, read_makers, scripted
from tests.servers.model import ModelServer, Status
from tests.servers.search import Found, SearchServer
from tests.site import Answer, Site

if TYPE_CHECKING:
    from flask.testing import FlaskClient

    from livedata.model.run import Run


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
