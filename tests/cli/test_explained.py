from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from livedata.model.harvest import Ending, PageFailure, Step
from livedata.services import attempts, explain, runs
from livedata.services.acceptance import Policy
from livedata.store import ids
from tests.cli.shell import lines
from tests.cli.test_read_commands_are_light import HEAVY
from tests.made import ITEMS, URL, harvest, make_dataset, take

if TYPE_CHECKING:
    from livedata.store.engine import Store
    from tests.cli.shell import Shell

START = 1_800_000_000_000_000
FAILED = PageFailure(2, URL, "http_error", 500, None, "Page 2 failed.")
STEPS = [
    Step("pin", START, START, "succeeded"),
    Step("read", START, START + 120_000, "succeeded", URL),
    Step("read", START + 120_000, START + 200_000, "failed", URL, FAILED),
]


@pytest.fixture
def run(store: Store) -> str:
    """A Run with steps, one of which failed."""
    queued, _ = runs.enqueue(store, "local", make_dataset(store))
    attempt = attempts.begin(store, ids.raw_id(queued))
    assert attempt is not None
    gathered = harvest(attempt.recipe, ITEMS, Ending("page_failed", "Page 2 failed."))
    gathered = replace(gathered, failure=FAILED, steps=STEPS)
    attempts.finish(store, attempt, gathered, Policy())
    return queued


def test_trace_shows_each_step_and_the_totals_of_each_phase(livedata: Shell, run: str) -> None:
    shown = lines(livedata.out("runs", "trace", "shop"))
    assert ["run", run] in shown
    assert ["phase", "status", "start", "ms", "page", "failure"] in shown
    assert ["read", "succeeded", "08:00:00.000", "120", URL] in shown
    assert ["read", "failed", "08:00:00.120", "80", URL, "http_error", "500"] in shown
    assert ["read", "2", "200", "120"] in shown


def test_trace_as_json_is_that_of_the_api(livedata: Shell, store: Store, run: str) -> None:
    told = explain.trace(store, "local", ids.raw_id(run))
    assert livedata.json("runs", "trace", run) == told


def test_trace_of_an_open_run_says_that_there_is_nothing_yet(livedata: Shell, store: Store) -> None:
    runs.enqueue(store, "local", make_dataset(store))
    assert "when it ends" in livedata("runs", "trace", "shop").stderr


def test_trace_of_an_old_run_says_how_long_steps_are_kept(
    livedata: Shell, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain, "KEPT_FOR", -1_000_000)
    assert "30 days" in livedata("runs", "trace", run).stderr


def test_artifacts_says_that_there_are_none(livedata: Shell, run: str) -> None:
    assert "none" in livedata("runs", "artifacts", "shop").stderr
    assert livedata.json("runs", "artifacts", run)["artifacts"] == []


def test_a_run_of_someone_else_is_not_found(livedata: Shell, run: str) -> None:
    for command in ("trace", "artifacts"):
        livedata.error("runs", command, run, "--owner", "bob")


@pytest.mark.parametrize(
    "args",
    [("runs", "trace", "shop"), ("runs", "artifacts", "shop"), ("rows", "list", "shop", "--stale")],
    ids=" ".join,
)
def test_explaining_imports_the_driver_alone(
    livedata: Shell, store: Store, args: tuple[str, ...]
) -> None:
    take(store, make_dataset(store))
    assert not livedata.modules_after(*args) & HEAVY
