from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from livedata.model import ids
from livedata.model.harvest import PageFailure, PageSnapshot, Step, StopReason
from livedata.services import attempts, diagnostics, runs
from livedata.services.commit import AcceptancePolicy
from tests.cli.shell import lines
from tests.cli.test_read_commands_are_light import HEAVY
from tests.errors_page import PAGE
from tests.made import BROKEN, ITEMS, URL, harvest, make_dataset, take

if TYPE_CHECKING:
    from pathlib import Path

    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

UNREAD = (
    "Page 2 (https://shop.example/list) could not be read: the site answered with an error (status "
    "500); run it again later."
)
START = 1_800_000_000_000_000
FAILED = PageFailure(2, URL, "http_error", 500, None, BROKEN)
STEPS = [
    Step("pin", START, START, "succeeded"),
    Step("read", START, START + 120_000, "succeeded", URL),
    Step("read", START + 120_000, START + 200_000, "failed", URL, FAILED),
]


@pytest.fixture
def run(store: Store) -> str:
    """A Run with steps, one of which failed."""
    queued, _ = runs.enqueue(store, "local", make_dataset(store))
    attempt = attempts.begin(store, ids.RunId(ids.raw_id(queued)))
    assert attempt is not None
    gathered = harvest(attempt.recipe, ITEMS, StopReason("page_failed", BROKEN))
    gathered = replace(gathered, failure=FAILED, steps=STEPS)
    attempts.finish(store, attempt, gathered, AcceptancePolicy())
    return queued


def test_trace_shows_each_step_and_the_totals_of_each_phase(livedata: Shell, run: str) -> None:
    shown = lines(livedata.out("runs", "trace", "shop"))
    assert ["run", run] in shown
    assert ["phase", "status", "start", "ms", "page", "failure"] in shown
    assert ["read", "succeeded", "08:00:00.000", "120", URL] in shown
    assert ["read", "failed", "08:00:00.120", "80", URL, "http_error", "500"] in shown
    assert ["read", "2", "200", "120"] in shown


def test_trace_as_json_is_that_of_the_api(livedata: Shell, store: Store, run: str) -> None:
    trace = diagnostics.trace(store, "local", ids.RunId(ids.raw_id(run)))
    assert livedata.json("runs", "trace", run) == trace


def test_trace_of_an_open_run_says_that_there_is_nothing_yet(livedata: Shell, store: Store) -> None:
    runs.enqueue(store, "local", make_dataset(store))
    assert "when it ends" in livedata("runs", "trace", "shop").stderr


def test_trace_of_an_old_run_says_how_long_steps_are_kept(
    livedata: Shell, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnostics, "KEPT_FOR", -1_000_000)
    assert "30 days" in livedata("runs", "trace", run).stderr


def test_artifacts_says_that_there_are_none(livedata: Shell, run: str) -> None:
    assert "none" in livedata("runs", "artifacts", "shop").stderr
    assert livedata.json("runs", "artifacts", run)["artifacts"] == []


def test_a_run_of_someone_else_is_not_found(livedata: Shell, run: str) -> None:
    for command in ("trace", "artifacts", "explain"):
        livedata.error("runs", command, run, "--owner", "bob")


@pytest.mark.parametrize(
    "args",
    [
        ("runs", "trace", "shop"),
        ("runs", "explain", "shop"),
        ("runs", "artifacts", "shop"),
        ("rows", "list", "shop", "--stale"),
    ],
    ids=" ".join,
)
def test_explaining_imports_the_driver_alone(
    livedata: Shell, store: Store, args: tuple[str, ...]
) -> None:
    take(store, make_dataset(store))
    assert not livedata.modules_after(*args) & HEAVY


def test_explain_tells_the_cause_and_what_to_try(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store), [])
    text = livedata.out("runs", "explain", "shop")
    assert "1. itemSelector 'li' matches nothing on the page." in text
    assert "try:   Mend the source and keep rows and history" in text
    assert "livedata runs explain" in livedata.out("runs", "show", "shop")


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("show", "About: docs/errors.md#fetch.error_status"),
        ("explain", "about: docs/errors.md#cause.site_error"),
    ],
)
def test_the_place_of_an_error_in_the_catalogue_is_named(
    livedata: Shell, run: str, command: str, place: str
) -> None:
    assert place in [line.strip() for line in livedata.out("runs", command, run).splitlines()]
    assert f'<a id="{place.partition("#")[2]}"></a>' in PAGE.read_text()


def test_explain_as_json_has_the_causes(livedata: Shell, run: str) -> None:
    explanation = livedata.json("runs", "explain", run)
    assert explanation == {
        "runId": run,
        "status": "failed",
        "error": UNREAD,
        "comparedWith": None,
        "causes": [
            {
                "code": "site_error",
                "message": "The site itself is broken at the moment (status 500).",
                "evidence": [UNREAD],
                "next": [
                    "Run it again later: livedata run shop",
                    "Nothing has to be changed in the source.",
                ],
            }
        ],
        "suggestion": None,
        "matches": [],
        "page": None,
    }


def test_explain_of_an_open_run_says_so(livedata: Shell, store: Store) -> None:
    runs.enqueue(store, "local", make_dataset(store))
    assert "not over yet" in livedata.out("runs", "explain", "shop")


def test_explain_of_an_accepted_run_says_that_all_is_well(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store))
    assert "Nothing looks odd." in livedata.out("runs", "explain", "shop")
    assert "No page of this Run is kept" in livedata.error("runs", "explain", "shop", "--page")


@pytest.fixture
def stopped(store: Store) -> str:
    """A Run with the page that stopped it, which was cut, and a picture."""
    queued, _ = runs.enqueue(store, "local", make_dataset(store))
    attempt = attempts.begin(store, ids.RunId(ids.raw_id(queued)))
    assert attempt is not None
    page = PageSnapshot(
        1, URL, URL, 200, "Shop", b"<p>\x1b[31mShop", cut=True, screenshot=b"\x89PNG"
    )
    gathered = harvest(attempt.recipe, [], StopReason("natural_end"))
    attempts.finish(store, attempt, replace(gathered, seen=[page]), AcceptancePolicy())
    return queued


def test_explain_prints_the_kept_page_and_says_that_it_was_cut(
    livedata: Shell, stopped: str
) -> None:
    shown = livedata("runs", "explain", stopped, "--page")
    assert shown.stdout == "<p>\\x1b[31mShop\n"
    assert "This is a part of the page: the 64 KiB where its rows are" in shown.stderr


def test_explain_shows_the_counts_of_the_kept_page(livedata: Shell, stopped: str) -> None:
    shown = lines(livedata.out("runs", "explain", stopped))
    assert ["itemSelector", "0"] in shown


def test_explain_writes_the_screenshot(livedata: Shell, stopped: str, tmp_path: Path) -> None:
    livedata("runs", "explain", stopped, "--screenshot", str(tmp_path / "page.png"))
    assert (tmp_path / "page.png").read_bytes() == b"\x89PNG"
    message = livedata.error("runs", "explain", stopped, "--screenshot", str(tmp_path / "no" / "x"))
    assert "cannot be written" in message


def test_a_page_without_a_screenshot_says_so(livedata: Shell, store: Store, tmp_path: Path) -> None:
    queued, _ = runs.enqueue(store, "local", make_dataset(store))
    attempt = attempts.begin(store, ids.RunId(ids.raw_id(queued)))
    assert attempt is not None
    gathered = harvest(attempt.recipe, [], StopReason("natural_end"))
    page = PageSnapshot(1, URL, URL, 200, "Shop", b"<p>", cut=False)
    attempts.finish(store, attempt, replace(gathered, seen=[page]), AcceptancePolicy())
    message = livedata.error("runs", "explain", "shop", "--screenshot", str(tmp_path / "page.png"))
    assert "No screenshot is kept" in message
