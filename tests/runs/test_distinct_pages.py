"""The charge: one credit for each distinct page of an accepted Run, and for nothing else."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livedata.services import queries
from livedata.services.commit import AcceptancePolicy
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.runs.test_pagination_none import listing
from tests.site import Answer, Site

NO_GUARD = AcceptancePolicy(mass_loss=None)


def link(to: str | None) -> str:
    return "" if to is None else f'<a class="next" href="{to}">Next</a>'


def test_an_accepted_run_costs_one_credit_per_page_and_the_ledger_says_so(
    crawling: Crawling, site: Site
) -> None:
    site.pages(
        {"/1": listing("ab", link("/2")), "/2": listing("c", link("/3")), "/3": listing("d")}
    )
    before = queries.usage(crawling.store, "local")["balance"]
    run = crawling.run(
        crawling.create(shop_source(site.at("/1")), allow=site.host), allow=site.host
    )
    usage = queries.usage(crawling.store, "local")
    assert usage["balance"] == before - 3
    assert (usage["ledger"][0]["credits"], usage["ledger"][0]["runId"]) == (-3, run["id"])


def test_retries_redirects_and_robots_are_free(crawling: Crawling, site: Site) -> None:
    first = itertools.chain(
        [Answer(503, "<p>Later</p>")], itertools.repeat(Answer(200, listing("a", link("/hop"))))
    )
    site.route("/", faults.redirect("/moved"))
    site.route("/moved", faults.meta_refresh("/1"))
    site.route("/1", lambda _: next(first))
    site.route("/hop", faults.redirect("/2"))
    site.page("/2", listing("b"))
    site.page("/robots.txt", "", content_type="text/plain")
    run = crawling.run(crawling.create(shop_source(site.at("/")), allow=site.host), allow=site.host)
    assert run["status"] == "succeeded", run["error"]
    assert len(site.paths) == 9
    assert crawling.story(run).charged == 2


def test_a_run_that_changes_nothing_costs_the_same(crawling: Crawling, site: Site) -> None:
    site.pages({"/1": listing("ab", link("/2")), "/2": listing("c")})
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    runs = [crawling.run(dataset, allow=site.host) for _ in range(2)]
    assert runs[1]["rowDeltas"] == {"new": 0, "changed": 0, "gone": 0}
    assert [crawling.story(run).charged for run in runs] == [2, 2]


@dataclass(frozen=True)
class Graph:
    """Page i lists item i; it links to `following[i]`, by a redirect where `hops[i]`."""

    following: list[int | None]
    hops: list[bool]
    most: int

    def target(self, page: int) -> str | None:
        to = self.following[page]
        return None if to is None else f"/hop/{to}" if self.hops[page] else f"/page/{to}"

    def cost(self) -> int | None:
        """What an accepted Run costs; None where it may not be accepted."""
        here, came_by, seen = 0, "/page/0", set[str]()
        for count in itertools.count(1):
            seen |= {came_by, f"/page/{here}"}
            target = self.target(here)
            if target is None or (count > 1 and target in {came_by, f"/page/{here}"}):
                return count
            to = self.following[here]
            if target in seen or f"/page/{to}" in seen or count == self.most:
                return None
            here, came_by = to or 0, target
        return None


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(1, 5))
    nearly_a_list = [*range(1, size), None]
    following: list[int | None] = [
        draw(st.one_of(st.just(usual), st.none(), st.integers(0, size - 1)))
        for usual in nearly_a_list
    ]
    hops = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    return Graph(following, hops, draw(st.integers(1, 6)))


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(graph=graphs())
def test_any_graph_of_pages_costs_its_distinct_pages_or_nothing(
    crawling: Crawling, site: Site, graph: Graph
) -> None:
    names = (
        f"{number}"
        for number in itertools.count(len(queries.datasets(crawling.store, "local", 500)))
    )
    for number in range(len(graph.following)):
        site.page(f"/page/{number}", listing([f"item-{number}"], link(graph.target(number))))
        site.route(f"/hop/{number}", faults.redirect(f"/page/{number}"))
    source = {**shop_source(site.at("/page/0"), maxPages=graph.most), "name": next(names)}
    before = queries.usage(crawling.store, "local")["balance"]
    run = crawling.run(crawling.create(source, allow=site.host), allow=site.host, policy=NO_GUARD)
    cost = graph.cost()
    assert (run["status"] == "succeeded") is (cost is not None), run["error"]
    assert run["rowDeltas"]["new"] == (cost or 0)
    assert queries.usage(crawling.store, "local")["balance"] == before - (cost or 0)
