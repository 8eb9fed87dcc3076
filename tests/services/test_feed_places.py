"""Where in a feed a moment stands, and where the changes of a Run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.store import feed
from tests import made
from tests.services.table import A, B, C, Table, pages_of

if TYPE_CHECKING:
    from tests.services.conftest import Clock


def _places(table: Table) -> dict[str, tuple[int, int]]:
    """Run -> the first and the last sequence that names it in the feed."""
    written: dict[str, list[int]] = {}
    for change in table.feed():
        if change["runId"] is not None:
            written.setdefault(change["runId"], []).append(change["sequence"])
    return {run: (min(sequences), max(sequences)) for run, sequences in written.items()}


def _hold(table: Table, *empty: str) -> None:
    moments = [(ids.parse_timestamp(each["createdAt"]), each["sequence"]) for each in table.feed()]
    with table.store.reading() as reader:
        for run, place in _places(table).items():
            assert feed.of_run(reader, table.id, ids.RunId(ids.raw_id(run))) == place
        for run in empty:
            assert feed.of_run(reader, table.id, ids.RunId(ids.raw_id(run))) == (1, 0)
        for moment in {number + off for number, _ in moments for off in (-1, 0, 1)}:
            expected = max((sequence for number, sequence in moments if number < moment), default=0)
            assert feed.last_before(reader, table.id, ids.Micros(moment)) == expected


@pytest.mark.parametrize("seconds", [0, 60, -60])
def test_whatever_the_clock_does_between_runs(table: Table, step: Clock, seconds: int) -> None:
    for number in range(4):
        step(seconds * number)
        table.take({**A, "price": number}, B, *([C] if number % 2 else []))
        table.edit("B2", {"title": f"mine {number}"})
    unchanged = table.take({**A, "price": 3}, B, C)
    _hold(table, unchanged["id"], ids.format_uuid(ids.new_id()))


@pytest.mark.parametrize("seconds", [0, 3600, -3600])
def test_whatever_the_clock_and_people_do_during_a_run(
    table: Table, step: Clock, seconds: int
) -> None:
    table.take(A, B)
    attempt = table.begin()
    table.edit("B2", {"title": "meanwhile"})
    step(seconds)
    table.edit("B2", {"title": "and again"})
    assert table.finish(attempt, pages_of(attempt.recipe, [{**A, "price": 5}, C]))["rowDeltas"] == {
        "new": 1,
        "changed": 1,
        "gone": 1,
    }
    _hold(table)


def test_the_run_of_another_dataset_wrote_nothing_here(table: Table) -> None:
    other = made.make_dataset(table.store, name="other")
    run = made.take(table.store, other)
    _hold(table, run)
