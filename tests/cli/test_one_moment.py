"""Each command that asks reads in one transaction: all that it prints is of one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.services import queries
from livedata.store.database.sqlite.file import Sqlite
from tests.browsing.world import World
from tests.watched import Watched

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

OF_A_RUN = (
    *(["show"], ["trace"], ["artifacts"], ["explain"], ["explain", "--summary"]),
    ["explain", "--entity", "Lamp"],
)


@pytest.fixture
def watched(store: Store, monkeypatch: pytest.MonkeyPatch) -> Watched:
    World(store).fill()
    return Watched(Sqlite, monkeypatch)


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("args", OF_A_RUN, ids=" ".join)
def test_what_a_command_tells_of_a_run_is_of_one_moment(
    livedata: Shell, store: Store, watched: Watched, args: list[str], as_json: bool
) -> None:
    name, *options = [*args, *(["--json"] if as_json else [])]
    many = {}
    for dataset in queries.datasets(store, "local", 10):
        for run in queries.runs(store, "local", ids.DatasetId(ids.raw_id(dataset["id"])), 30):
            answer = watched.look(lambda run: livedata.raw("runs", name, run, *options), run["id"])
            assert answer.exit_code == 0, answer.output
            if watched.begun > 1:
                many[run["status"]] = watched.begun
    assert many == {}


@pytest.mark.parametrize(
    "args",
    [
        ("runs", "list", "shop"),
        ("rows", "list", "shop"),
        ("rows", "list", "shop", "--stale"),
        ("rows", "show", "shop", "K001"),
        ("rows", "show", "shop", "K001", "--history"),
        ("dataset", "list"),
        ("dataset", "source", "shop"),
        ("dataset", "source", "makers"),
        ("usage",),
    ],
    ids=" ".join,
)
def test_what_a_command_tells_of_a_dataset_is_of_one_moment(
    livedata: Shell, watched: Watched, args: tuple[str, ...]
) -> None:
    answer = watched.look(lambda _: livedata.raw(*args), "")
    assert answer.exit_code == 0, answer.output
    assert watched.begun == 1
