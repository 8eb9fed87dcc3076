"""A follower of the feed sees every revision once and in order, while others write."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock, local
from typing import TYPE_CHECKING, Any

import pytest

from livedata.model.ids import DatasetId
from livedata.services import rows
from livedata.store import revisions
from livedata.store.database.backend import Writer
from tests.api.person import Person

if TYPE_CHECKING:
    from flask import Flask

WRITERS = 4
FOLLOWERS = 3
EDITS = 40
ITEMS = [{"sku": f"S{number}", "title": "Cup"} for number in range(WRITERS)]


class Feed:
    """A dataset of Alice with a row for each writer; each thread has a client of its own."""

    def __init__(self, app: Flask, alice: Person) -> None:
        self.app, self.alice = app, alice
        self.path = alice.dataset()
        alice.take(self.path, ITEMS)
        self.note = alice.fields(self.path)["note"]
        self.finished = Event()

    def person(self) -> Person:
        return Person(self.app.test_client(), self.alice.store, "alice", self.alice.key)

    def write(self, number: int) -> None:
        """Edit one row again and again."""
        person = self.person()
        row = person.row(self.path, f"S{number}")
        expected = row["revisionId"]
        for turn in range(EDITS):
            body = {
                "expectedRevisionId": expected,
                "requestId": str(turn),
                "values": {self.note: f"note {turn}"},
            }
            expected = person.patch(f"{self.path}/rows/{row['id']}", body)["id"]

    def follow(self, seed: int) -> list[int]:
        """The sequences seen by a follower that sometimes restarts with its position alone."""
        person, chance = self.person(), random.Random(seed)
        seen: list[int] = []
        position, through = 0, ""
        while True:
            # Asked before the page is read: what is written in between is on this page or a later.
            ending = self.finished.is_set()
            limit = chance.randint(1, 7)
            page = person.get(f"{self.path}/changes?limit={limit}&after={position}{through}")
            seen += [change["sequence"] for change in page["data"]]
            if page["nextAfter"] is None:
                position, through = page["through"], ""
                if ending and not page["data"]:
                    return seen
            else:
                position, through = page["nextAfter"], f"&through={page['through']}"
            if chance.random() < 0.2:  # a restart: only the position was kept
                through = ""

    def run(self) -> list[list[int]]:
        """The sequences that each follower saw while the writers wrote."""
        with ThreadPoolExecutor(WRITERS + FOLLOWERS) as pool:
            followers = [pool.submit(self.follow, seed) for seed in range(FOLLOWERS)]
            try:
                for writer in [pool.submit(self.write, number) for number in range(WRITERS)]:
                    writer.result()
            finally:
                self.finished.set()
            return [follower.result() for follower in followers]


@pytest.fixture
def feed(app: Flask, alice: Person) -> Feed:
    return Feed(app, alice)


EVERYTHING = list(range(1, WRITERS * EDITS + len(ITEMS) + 1))


def test_every_follower_sees_every_revision_once_and_in_order(feed: Feed) -> None:
    assert feed.run() == [EVERYTHING] * FOLLOWERS


def test_a_sequence_that_is_taken_before_the_transaction_is_found_out(
    monkeypatch: pytest.MonkeyPatch, feed: Feed
) -> None:
    plant_early_sequence(monkeypatch, first=len(ITEMS))
    assert feed.run() != [EVERYTHING] * FOLLOWERS


def plant_early_sequence(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    """Plant a mistake: number the edits when they arrive, and not when they are written."""
    mine, lock = local(), Lock()
    numbers = iter(range(first + 1, 10**6))
    truly: Callable[..., Any] = rows.edit

    def edit(*args: Any) -> Any:
        with lock:
            mine.number = next(numbers)
        time.sleep(random.random() * 0.02)  # so that a later number may be written first
        return truly(*args)

    def take(writer: Writer, dataset: DatasetId, count: int, _now: object) -> int:
        taken: int = mine.number
        writer.execute(
            "UPDATE datasets SET head = :taken WHERE id = :dataset AND head < :taken",
            taken=taken,
            dataset=dataset,
        )
        return taken - count

    monkeypatch.setattr(rows, "edit", edit)
    monkeypatch.setattr(revisions, "take_sequence", take)
    # The index of fields would fail on the planted numbers, and the test with it.
    monkeypatch.setattr(revisions, "_index_fields", lambda *_: None)
