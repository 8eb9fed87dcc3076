"""Whatever a history was and whenever it is pruned, nobody who reads it sees a difference."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from livedata.model import ids
from livedata.model.errors import Conflict, InsufficientCredits
from livedata.model.harvest import StopReason
from livedata.model.run import FACTS_KEPT_FOR, Run
from livedata.services import explanation, feed, queries, runs
from livedata.services.audit.check import check_store
from livedata.services.retention import count_old, forget_old
from livedata.store import held
from livedata.store.database.store import Store
from tests import made
from tests.databases import Dump
from tests.services.conftest import Clock
from tests.services.table import Table, pages_of
from tests.services.test_failed_pages import seen

DAY = 86_400
KEYS = [f"k{number:02}" for number in range(20)]
FOUND = st.sampled_from([KEYS, KEYS[:18], KEYS[1:], KEYS[:5]])
"""What a Run finds: the last of them is a loss for which it is held."""
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("run"), FOUND, st.sampled_from([1, 2, None])),
        st.tuples(st.just("stop"), FOUND),
        st.tuples(st.just("edit"), st.sampled_from(KEYS[:3]), st.sampled_from(["x", None])),
        st.tuples(st.just("accept")),
        st.tuples(st.just("open")),
        st.tuples(st.just("wait"), st.sampled_from([1, 25, 60, 91, -50])),
    ),
    min_size=8,
    max_size=14,
)
TEMPORARY = ("attempts", "failed_pages", "held_outputs", "runs", "skipped_fires")


class _History:
    """A table of which the Runs end in every way, over months."""

    def __init__(self, store: Store, name: str, step: Clock, day: int) -> None:
        declared: Any = made.declared(name)
        declared["source"]["minimumItems"] = 0
        self.table = Table(store, declared)
        self.day = day
        self._step = step

    def run(self, keys: list[str], price: int | None) -> None:
        """A Run that is accepted, or held for a loss or an emptied field."""
        if self._open() is None:
            attempt = self.table.begin()
            items = [{"sku": key, "title": f"T{key}", "price": price} for key in keys]
            harvest = replace(pages_of(attempt.recipe, items), seen=[seen()])
            self.table.finish(attempt, harvest)

    def stop(self, keys: list[str]) -> None:
        """A Run that fails on its only page, which is kept."""
        if self._open() is None:
            attempt = self.table.begin()
            items = [{"sku": key} for key in keys]
            ending = StopReason("check_failed", made.LOOPS)
            harvest = pages_of(attempt.recipe, items, ending=ending)
            self.table.finish(attempt, replace(harvest, seen=[seen()]))

    def edit(self, key: str, title: str | None) -> None:
        """A hand edit, if there is such a row."""
        if key in self.table.rows():
            self.table.edit(key, {"title": title})

    def accept(self) -> None:
        """Accept the newest Run by hand, if it is held."""
        if (newest := next(iter(self.runs()), None)) is not None:
            with suppress(Conflict, InsufficientCredits):
                runs.accept(self.table.store, "local", _id(newest))

    def open(self) -> None:
        """Leave a Run queued."""
        if self._open() is None:
            runs.enqueue(self.table.store, "local", self.table.id)

    def wait(self, days: int) -> None:
        """Let days pass; below 0, set the clock back."""
        self.day += days
        self._step(self.day * DAY)
        if (queued := self._open()) is not None:
            runs.cancel(self.table.store, _id(queued))

    def runs(self) -> list[Run]:
        """Every Run, newest first."""
        return queries.runs(self.table.store, "local", self.table.id, 100)

    def _open(self) -> Run | None:
        return next((run for run in self.runs() if run["status"] == "queued"), None)

    def seen(self) -> tuple[Any, ...]:
        """What readers see: feed, rows, held outputs, and why the Runs of 90 days ended so."""
        store, oldest = (
            self.table.store,
            ids.format_timestamp(ids.Micros(ids.now() - FACTS_KEPT_FOR)),
        )
        explained = [
            explanation.explanation(store, "local", _id(run))
            for run in self.runs()
            if run["queuedAt"] >= oldest
        ]
        with store.reading() as reader:
            outputs = [held.output(reader, _id(run), ids.now()) for run in self.runs()]
        changes = feed.changes_json(store, "local", self.table.id, limit=10_000)
        listed = list(queries.every_row(store, "local", self.table.id))
        return changes, listed, outputs, explained


def _id(run: Run) -> ids.RunId:
    return ids.RunId(ids.raw_id(run["id"]))


def _for_good(table: Table) -> tuple[Dump, list[tuple[Any, ...]]]:
    """Everything that is kept for good: of the Runs, all but their facts."""
    with table.store.reading() as reader:
        kept = reader.rows(
            "SELECT id, status, recipe_version, attempt, fence, checks, new_rows, changed_rows, "
            "gone_rows, error, stop, problem, queued_at, started_at, completed_at, "
            "CASE WHEN status = 'succeeded' THEN '' ELSE facts END FROM runs ORDER BY id"
        )
    return table.dump(*TEMPORARY), kept


@pytest.mark.slow
def test_nobody_sees_that_a_store_was_pruned(store: Store, step: Clock) -> None:
    numbers, day = count(), 0

    @settings(max_examples=12, deadline=None, phases=[Phase.generate])
    @given(
        steps=STEPS,
        last=st.sampled_from([KEYS[:5], KEYS[:5], KEYS]),
        after=st.sampled_from([0, 0, 31, 91]),
    )
    def hold(steps: list[Any], last: list[str], after: int) -> None:
        nonlocal day
        history = _History(store, f"shop-{next(numbers)}", step, day)
        for name, *values in steps:
            getattr(history, name)(*values)
        history.wait(0)
        history.run(last, 1)
        history.day += after
        step(history.day * DAY)
        day = history.day
        before, kept, old = history.seen(), _for_good(history.table), count_old(store)
        assert {**dict.fromkeys(old, 0), **forget_old(store)} == old
        assert history.seen() == before
        assert _for_good(history.table) == kept
        assert check_store(store).problems == []
        assert set(count_old(store).values()) == {0}

    hold()
