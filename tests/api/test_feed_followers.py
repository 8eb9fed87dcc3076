"""A follower of the feed sees every revision once and in order, while others write.

``python -m tests.api.feed_followers`` does the same with 10,000 edits.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from threading import Lock, local
from typing import TYPE_CHECKING, Any

import pytest

from livedata.model.ids import DatasetId
from livedata.services import rows
from livedata.store import revisions
from livedata.store.database.backend import Writer
from tests.api.feed_followers import FOLLOWERS, ITEMS, Feed
from tests.api.person import Person

if TYPE_CHECKING:
    from flask import Flask

EDITS = 40


@pytest.fixture
def feed(app: Flask, alice: Person) -> Feed:
    return Feed(app, alice, EDITS)


def test_every_follower_sees_every_revision_once_and_in_order(feed: Feed) -> None:
    assert feed.run() == [feed.everything] * FOLLOWERS


def test_a_sequence_that_is_taken_before_the_transaction_is_found_out(
    monkeypatch: pytest.MonkeyPatch, feed: Feed
) -> None:
    plant_early_sequence(monkeypatch, first=len(ITEMS))
    assert feed.run() != [feed.everything] * FOLLOWERS


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
