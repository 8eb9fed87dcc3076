"""Each page is of one moment: one transaction has all that it shows, another the visit."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.services import queries
from tests import made
from tests.api.person import NOWHERE
from tests.browsing import addresses
from tests.browsing.world import World
from tests.watched import MOST, Watched

if TYPE_CHECKING:
    from flask import Flask

    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor


OTHERS = {"pages.static", "pages.run_screenshot", "pages.table_as_file"}
"""What is no page: a page loads it, or offers it as a file."""


@pytest.fixture
def watched(store: Store, monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched.of_store(store, monkeypatch)


def every_page(store: Store, owner: str) -> list[str]:
    """The address of each page of a store."""
    paths = [*addresses.ALONE, *addresses.of_looks(store, owner)]
    paths += addresses.of_notices(store, owner)
    for dataset, pages in addresses.of_datasets(store, owner):
        rows = addresses.of_rows(store, owner, dataset)[:1]
        # Without a row that is chosen this page leads to the table.
        row = rows[0].rpartition("/")[2] if rows else NOWHERE
        paths += [f"{each}?row={row}" if each.endswith("/edits") else each for each in pages]
        paths += [f"{pages[0]}?sort=rowKey", f"{pages[0]}?edit=rows", *rows]
        paths += addresses.of_runs(store, owner, dataset)
    return paths


def test_each_page_is_among_these_and_another_links_to_it(
    app: Flask, alice: Visitor, store: Store
) -> None:
    World(store, alice.owner).fill()
    paths = every_page(store, alice.owner)
    routes = app.url_map.bind("localhost")
    here, linked = set(), set()
    for path in paths:
        here.add(endpoint := routes.match(path.partition("?")[0])[0])
        # The rows to be edited are chosen in a form.
        leads = r'<(?:a [^>]*href|form [^>]*method="get" action)="(/[^"?#]*)'
        links = re.findall(leads, alice.get(path))
        linked.update({routes.match(link)[0] for link in links} - {endpoint})
    pages = {
        rule.endpoint
        for rule in app.url_map.iter_rules()
        if rule.endpoint.startswith("pages.") and "GET" in (rule.methods or ())
        if not rule.endpoint.startswith("pages.sign_in_") and rule.endpoint not in OTHERS
    }
    assert here == pages
    assert pages - linked == set()


def test_no_page_begins_more_than_two_transactions(
    alice: Visitor, store: Store, watched: Watched
) -> None:
    World(store, alice.owner).fill()
    paths = every_page(store, alice.owner)
    many = {}
    for path in (*paths, *(f"{path}{'&' if '?' in path else '?'}as=json" for path in paths)):
        watched.look(alice.get, path)
        if watched.begun > MOST:
            many[path] = watched.begun
    assert len(paths) > 15
    assert many == {}


def test_a_page_of_a_run_reads_its_row_once(alice: Visitor, store: Store, watched: Watched) -> None:
    World(store, alice.owner).fill()
    for dataset in queries.datasets(store, alice.owner, 10):
        for run in queries.runs(store, alice.owner, ids.DatasetId(ids.raw_id(dataset["id"])), 30):
            watched.look(alice.get, f"/runs/{run['id']}")
            own = [
                sql
                for sql, values in watched.asked
                if "FROM runs" in sql and values.get("id") == ids.raw_id(run["id"])
            ]
            assert len(own) == 1, (run["status"], own)


def test_a_page_never_says_that_a_run_has_ended_in_two_ways(
    alice: Visitor, store: Store, watched: Watched
) -> None:
    run = made.take(store, made.make_dataset(store, alice.owner), owner=alice.owner)
    path = f"/runs/{run}?as=json"

    def end(status: str) -> None:
        with store.writing() as writer:
            writer.execute(
                "UPDATE runs SET status = :status WHERE id = :run",
                status=status,
                run=ids.raw_id(run),
            )

    watched.look(alice.get, path)
    for planted in range(1, len(watched.asked) + 1):
        end("failed")
        watched.meanwhile = lambda number, place=planted: (
            end("succeeded") if number == place else None
        )
        told = json.loads(watched.look(alice.get, path))
        watched.meanwhile = None
        assert told["data"]["status"] == told["trace"]["status"], planted
