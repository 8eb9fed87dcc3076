"""What sites, sources, owners and models write is text on each page, and nothing more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from livedata.services import queries
from tests.api.serving import Serving
from tests.browsing import addresses
from tests.browsing.chromium import looking
from tests.browsing.payloads import ALL, SHOWN
from tests.browsing.world import World
from tests.made import make_store

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from livedata.store.database.store import Store

pytestmark = pytest.mark.slow

PARTS = 6
"""Each part has a store of its own, so that the processes of the tests share them."""
_FOREIGN = "main :is(iframe, object, embed, base, style, template, form[action^=javascript])"
_ROOM = 100
"""So many characters can end each text: the name of a dataset has at most 120."""


def together(payloads: Sequence[str]) -> list[list[str]]:
    """The payloads, those in one list where one text has room for all of them."""
    lists: list[list[str]] = []
    for payload in sorted(payloads, key=len, reverse=True):
        fitting = (each for each in lists if len(" ".join((*each, payload))) <= _ROOM)
        chosen = next(fitting, None)
        if chosen is None:
            lists.append(chosen := [])
        chosen.append(payload)
    return lists


def test_there_are_enough_of_them() -> None:
    assert len(set(ALL)) >= 60


@pytest.mark.parametrize("part", range(PARTS))
def test_no_text_does_anything_on_any_page(browser: Browser, tmp_path: Path, part: int) -> None:
    with closing(made(tmp_path)) as store:
        shares = together(ALL)[part::PARTS]
        for number, payloads in enumerate(shares):
            world = World(store, f"owner{number}", " ".join(payloads))
            shop = world.shop()
            world.preview(shop)
            world.notices(shop)
            world.share(shop)
            world.keys()
            world.makers()
            world.looks()
        with Serving(tmp_path) as server:
            base = f"http://127.0.0.1:{server.port}"
            for number, payloads in enumerate(shares):
                visit_all(browser, base, store, f"owner{number}", payloads)


def made(home: Path) -> Store:
    store = make_store(home)
    store.ensure()
    return store


def pages(store: Store, owner: str) -> Iterator[str]:
    """A page of each kind, and of each end of a Run."""
    yield from addresses.ALONE
    yield from addresses.of_looks(store, owner)
    yield from addresses.of_notices(store, owner)
    for dataset, of_it in addresses.of_datasets(store, owner):
        # The values of one column are shown as those of another.
        values = [path for path in of_it if "facet=" in path]
        yield from (path for path in of_it if path not in values[1:])
        yield from addresses.of_rows(store, owner, dataset)[:1]
        ends = {run["status"]: run["id"] for run in queries.runs(store, owner, dataset, 30)}
        yield from (f"/runs/{run}" for end, run in ends.items() if end != "queued")


def visit_all(
    browser: Browser, base: str, store: Store, owner: str, payloads: Sequence[str]
) -> None:
    with looking(browser, base, store, owner) as visit:
        unseen = {" ".join(payload.split()) for payload in payloads}
        for path in pages(store, owner):
            shown = visit.open(path).evaluate(SHOWN, _FOREIGN)
            read = " ".join(shown["text"].split())
            unseen = {payload for payload in unseen if payload not in read}
            assert (shown["ran"], shown["mains"], shown["foreign"]) == (None, 1, 0), path
            assert {to.partition(":")[0] for to in shown["leads"]} <= {"http", "https"}, path
    assert not unseen
    assert (visit.elsewhere, visit.complaints) == ([], []), payloads
