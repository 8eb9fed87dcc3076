"""How well research answers questions about real manuals, and how its tables hold from Run to Run.

The pages come over real HTTP, and so do the answers of a model that reads with care, or with as
many defects as a careless one. What is right comes from another parser.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any

import pytest

from livedata.model import ids
from livedata.model.ids import DatasetId
from livedata.model.research.recipe import ResearchLimits
from livedata.model.run import Run
from livedata.services import feed, queries
from livedata.services.research.declaring import ResearchDeclaration, add_draft
from livedata.services.research.evaluation import Measured, measure
from livedata.store.queue import RunOptions
from tests.crawling import Crawling
from tests.makers import scripted
from tests.research.careful_reader import CarefulReader
from tests.research.manuals import (
    Task,
    apache_modules,
    http_statuses,
    python_functions,
    python_names,
)
from tests.servers.defects import NONE, Defects
from tests.servers.model import ModelServer
from tests.servers.search import Found, SearchServer
from tests.site import Answer, Request, Site

pytestmark = [pytest.mark.one_database, pytest.mark.slow]

TASKS = {
    task.name: task
    for task in (apache_modules(), http_statuses(), python_names(), python_functions())
}
GOOD = 0.98


@dataclass
class Asker:
    """Asks the question of a task of its pages, by Runs of one dataset."""

    crawling: Crawling
    site: Site
    task: Task
    search: SearchServer
    dataset: DatasetId

    def run(self, reader: CarefulReader, output: str = "native") -> Run:
        """One Run with a reader as its model, which is asked anew."""
        with ModelServer(reader) as model:
            self.crawling.research = scripted(
                model.base_url,
                model_output=output,
                search="searxng",
                search_url=self.search.base_url,
            )
            run = self.crawling.run(
                self.dataset, allow=self.site.host, options=RunOptions(fresh=True)
            )
        assert run["status"] == "succeeded", run["error"]
        return run

    def measured(self, run: Run) -> Measured:
        """The table after a Run, held against the gold."""
        return measure(
            self.crawling.store,
            ids.format_uuid(self.dataset),
            run["id"],
            {
                name: {label: [value] for label, value in values.items()}
                for name, values in self.task.gold.items()
            },
        )

    def keys(self) -> dict[str, str]:
        """The key of each present row by its name."""
        rows = queries.every_row(self.crawling.store, "local", self.dataset)
        return {
            row["identity"]["anchor"]: row["rowKey"]
            for row in rows
            if row["identity"] and row["presence"] == "present"
        }

    def serve(self, changes: Mapping[str, Answer]) -> None:
        """Serve these pages instead of those that the site has had."""
        for path, answer in changes.items():
            self.site.route(path, partial(_answered, answer))


def _answered(answer: Answer, _request: Request) -> Answer:
    return answer


def ask(crawling: Crawling, site: Site, search: SearchServer, task: Task) -> Asker:
    """A dataset for the question of a task."""
    urls = [site.at(path) for path in task.start]
    search.pages = {"": [Found(url) for url in urls]}
    declared = ResearchDeclaration(
        task.name,
        plan=dict(task.plan),  # type: ignore[arg-type]  # it is as the wire has it
        urls=() if task.searched else tuple(urls),
        limits=ResearchLimits(pages=50),
    )
    made = add_draft(crawling.store, "local", declared)
    asker = Asker(crawling, site, task, search, DatasetId(ids.raw_id(made["id"])))
    asker.serve(task.pages)
    return asker


@pytest.fixture
def search() -> Iterator[SearchServer]:
    """A search that finds what a test says."""
    with SearchServer({}) as server:
        yield server


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("apache-modules", "native"),
        ("python-names", "native"),
        ("python-functions", "native"),
        ("http-statuses", "native"),
        ("http-statuses", "object"),
        ("http-statuses", "tool"),
        ("http-statuses", "prompted"),
    ],
)
def test_a_careful_model_fills_the_table_whole(
    crawling: Crawling, site: Site, search: SearchServer, name: str, output: str
) -> None:
    asker = ask(crawling, site, search, TASKS[name])
    measured = asker.measured(asker.run(CarefulReader(asker.task.entities), output))
    for scored in (measured.score.entities, measured.score.items):
        assert min(scored.precision, scored.recall) >= GOOD, measured.score
    assert measured.unsupported == 0


def test_a_careless_model_loses_rows_and_adds_nothing_wrong(
    crawling: Crawling, site: Site, search: SearchServer
) -> None:
    recalls = []
    for task in TASKS.values():
        asker = ask(crawling, site, search, task)
        reader = CarefulReader(task.entities, defects=Defects(), seed=2)
        measured = asker.measured(asker.run(reader))
        score = measured.score
        assert min(score.entities.precision, score.items.precision) >= 0.97, score
        assert measured.unsupported == 0
        recalls.append(score.items.recall)
    # Of a model that misses 8 % of the rows and invents 6 % of the names and 10 % of the quotes, no
    # more than 78 % can be right. One table of 40 rows is a small sample of that.
    assert fmean(recalls) >= 0.75


def test_no_key_changes_and_no_row_goes_while_pages_change_elsewhere(
    crawling: Crawling, site: Site, search: SearchServer
) -> None:
    asker = ask(crawling, site, search, apache_modules(12))
    seen: dict[str, str] = {}
    for number in range(5):
        asker.serve(visited(asker.task.pages, number))
        reader = CarefulReader(asker.task.entities, defects=Defects(), restless=True, seed=number)
        run = asker.run(reader)
        assert run["rowDeltas"]["gone"] == 0
        keys = asker.keys()
        assert {name: keys[name] for name in seen} == seen
        seen = keys
    assert set(seen) == {name.lower().replace("_", " ") for name in asker.task.gold}


def visited(pages: Mapping[str, Answer], number: int) -> dict[str, Answer]:
    """Pages that count their visitors: nothing that is asked for has changed."""
    words = f"<p>Visitor {number} of this page</p></body>".encode()
    return {
        path: replace(answer, body=bytes_of(answer).replace(b"</body>", words))
        for path, answer in pages.items()
    }


def bytes_of(answer: Answer) -> bytes:
    return answer.body if isinstance(answer.body, bytes) else answer.body.encode()


def test_what_really_goes_from_a_page_goes_alone(
    crawling: Crawling, site: Site, search: SearchServer
) -> None:
    asker = ask(crawling, site, search, http_statuses())
    (path,) = asker.task.pages
    reader = CarefulReader(asker.task.entities)
    asker.run(reader)
    head = feed.head(crawling.store, "local", asker.dataset)
    whole = asker.task.pages[path]
    unreadable = Answer(503, "later")
    lost = replace(whole, body=bytes_of(whole).replace(b"IM_A_TEAPOT", b"IM_A_KETTLE"))

    asker.serve({path: unreadable})
    with pytest.raises(AssertionError):
        asker.run(reader)
    assert feed.head(crawling.store, "local", asker.dataset) == head

    asker.serve({path: whole})
    forgetful = CarefulReader(asker.task.entities, defects=replace(NONE, missed=0.5))
    assert asker.run(forgetful)["rowDeltas"] == {"new": 0, "changed": 0, "gone": 0}

    asker.serve({path: lost})
    assert asker.run(reader)["rowDeltas"] == {"new": 0, "changed": 0, "gone": 1}
    assert "im a teapot" not in set(asker.keys())


def test_a_second_run_of_unchanged_pages_asks_nothing_and_changes_nothing(
    crawling: Crawling, site: Site, search: SearchServer
) -> None:
    asker = ask(crawling, site, search, http_statuses())
    asker.run(CarefulReader(asker.task.entities, defects=NONE))
    head = feed.head(crawling.store, "local", asker.dataset)
    with ModelServer(CarefulReader(asker.task.entities)) as model:
        crawling.research = scripted(model.base_url)
        run: Any = crawling.run(asker.dataset, allow=site.host)
    assert (run["status"], model.asked) == ("succeeded", [])
    assert feed.head(crawling.store, "local", asker.dataset) == head
    assert crawling.story(run).charged == 1
