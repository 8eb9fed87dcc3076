"""Each answer is of one moment: one transaction has all of it, another knows who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.services import queries
from tests.api.everything import NAMES, ROUTES, World
from tests.browsing.world import World as ManyRuns
from tests.watched import MOST, Watched

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.api.person import Person

QUESTIONS = [(route, name) for route, name in zip(ROUTES, NAMES, strict=True) if route[0] == "GET"]
OF_A_RUN = ("", "/trace", "/artifacts", "/diagnostics", "/diagnostics?summary=true")


@pytest.fixture
def watched(store: Store, monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched.of_store(store, monkeypatch)


def test_no_question_begins_more_than_two_transactions(alice: Person, watched: Watched) -> None:
    world = World(alice)
    many = {}
    asked = {name: route for route, name in QUESTIONS}
    for name in asked:
        watched.look(lambda name: world.ask(asked[name]), name)
        if watched.begun > MOST:
            many[name] = watched.begun
    assert len(QUESTIONS) > 10
    assert many == {}


def test_what_is_asked_of_a_run_of_any_kind_begins_two_transactions(
    alice: Person, store: Store, watched: Watched
) -> None:
    ManyRuns(store, alice.owner).fill()
    many = {}
    for dataset in queries.datasets(store, alice.owner, 10):
        for run in queries.runs(store, alice.owner, ids.DatasetId(ids.raw_id(dataset["id"])), 30):
            for part in OF_A_RUN:
                watched.look(alice.get, f"/runs/{run['id']}{part}")
                if watched.begun > MOST:
                    many[run["status"], part] = watched.begun
    assert many == {}
