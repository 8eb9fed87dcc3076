"""``livedata research eval``: how well a model fills a table that is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from tests.cli.shell import Shell
from tests.makers import FIRST, PLAN, SECOND, makers_page, read_makers
from tests.servers.model import Asked, ModelServer

pytestmark = pytest.mark.one_database

GOLD = {name: {"Founded": [founded], "City": [city]} for name, founded, city in (*FIRST, *SECOND)}
ALL = {"precision": 1.0, "recall": 1.0, "f1": 1.0}


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A task with two pages of makers."""
    folder = tmp_path / "makers"
    (folder / "pages" / "east").mkdir(parents=True)
    (folder / "plan.toml").write_text(tomli_w.dumps(dict(PLAN)))
    (folder / "gold.json").write_text(json.dumps(GOLD))
    (folder / "pages" / "west.html").write_text(makers_page(FIRST, "Companies of the west"))
    (folder / "pages" / "east" / "all of it.html").write_text(makers_page(SECOND, "make lamps"))
    return folder


def without_years_of_bolt(asked: Asked) -> dict[str, Any]:
    """A model that takes the year of one maker for unknown, and that of another from nowhere."""
    answer = read_makers(asked)
    for row in answer["rows"]:
        if row["name"] == "Bolt Light":
            row["cells"][0] = {**row["cells"][0], "value": None, "quote": None, "reason": "unknown"}
        if row["name"] == "Cogwheel":
            row["cells"][0] = {**row["cells"][0], "value": "2001"}
    return answer


@pytest.mark.slow
def test_runs_of_a_task_are_scored_and_what_they_took_is_summed(
    livedata: Shell, task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(without_years_of_bolt) as model:
        monkeypatch.setenv("LIVEDATA_MODEL", "scripted")
        monkeypatch.setenv("LIVEDATA_MODEL_BASE_URL", model.base_url)
        said = livedata.json("research", "eval", str(task), "--runs", "2")
        calls = len(model.asked)
    assert {name: said[name] for name in list(said)[:9]} == {
        "task": "makers",
        "runs": 2,
        "entities": ALL,
        "rows": {"precision": 0.5, "recall": 0.5, "f1": 0.5},
        "items": {"precision": 1.0, "recall": 0.75, "f1": 0.8571},
        "unsupportedCells": 0,
        "keyChurn": 0,
        "calls": calls,
        "inputTokens": said["inputTokens"],
    }
    assert list(said)[9:] == ["outputTokens", "usd", "credits", "wallMs"]
    assert (said["usd"], said["credits"], calls) == (None, 4, 4)
    assert said["inputTokens"] > 0
    assert not (livedata.home / "livedata.db").exists()


@pytest.mark.slow
def test_a_run_of_a_task_that_fails_says_why(
    livedata: Shell, task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEDATA_MODEL", "scripted")
    # Nobody listens there.
    monkeypatch.setenv("LIVEDATA_MODEL_BASE_URL", "http://127.0.0.1:9/v1")
    error = livedata.error("research", "eval", str(task), code=3)
    assert error.startswith("A Run of the task ended as failed: ")
    assert "nothing answers at http://127.0.0.1:9/v1" in error


def _no_plan(task: Path) -> None:
    (task / "plan.toml").unlink()


def _broken_plan(task: Path) -> None:
    (task / "plan.toml").write_text("title = ")


def _no_pages(task: Path) -> None:
    for page in list((task / "pages").rglob("*.html")):
        page.unlink()


def _no_gold(task: Path) -> None:
    (task / "gold.json").unlink()


def _wrong_gold(task: Path) -> None:
    (task / "gold.json").write_text('{"Acme": {"City": "Lyon"}}')


def _empty_gold(task: Path) -> None:
    (task / "gold.json").write_text("{}")


def _strange_gold(task: Path) -> None:
    (task / "gold.json").write_text('{"Acme": {"Town": ["Lyon"]}}')


def _addresses(task: Path) -> None:
    plan = {"urls": ["https://a.example/"], **PLAN}
    (task / "plan.toml").write_text(tomli_w.dumps(plan))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_no_plan, "it has no plan.toml. livedata research plan makes one."),
        (_broken_plan, "plan.toml:1"),
        (_no_pages, "there is no page in"),
        (_no_gold, 'is missing: it says what is right, such as {"Acme": {"City": ["Lyon"]}}.'),
        (_wrong_gold, "cannot be read: Expected `array`, got `str`"),
        (_empty_gold, "holds no row"),
        (_strange_gold, "has values for 'Town', and the plan no such label; it has Founded, City."),
        (_addresses, "names addresses, but a task reads its own pages; take `urls` out of it."),
    ],
)
def test_a_folder_that_is_no_task_is_told_in_a_sentence(
    livedata: Shell, task: Path, spoil: Callable[[Path], None], said: str
) -> None:
    spoil(task)
    error = livedata.error("research", "eval", str(task))
    assert said in error
    assert len(error.strip().splitlines()) == 1
