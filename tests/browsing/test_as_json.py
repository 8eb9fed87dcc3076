"""Each page ends with a link to the same as JSON, in the shapes of the API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.services import queries
from tests import made
from tests.browsing.test_changes import numbers
from tests.browsing.test_table import fields, keys, path_of
from tests.browsing.world import World

if TYPE_CHECKING:
    from livedata.model.ids import DatasetId
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor


@pytest.fixture
def dataset(store: Store, alice: Visitor) -> DatasetId:
    """A dataset of Alice with Runs of each end."""
    return World(store, alice.owner).shop()


@pytest.mark.parametrize(
    "query",
    [
        *("", "status=gone", "only=stale", "search=lamp+7", "sort=rowKey&order=down"),
        "sort=price&search=lamp",
    ],
)
def test_a_table_gives_the_rows_that_it_shows_in_their_order(
    alice: Visitor, store: Store, dataset: DatasetId, query: str
) -> None:
    path = path_of(dataset)
    path += f"?{query.replace('price', fields(store, path)['price'])}"
    shown = keys(alice.get(path))
    assert shown
    assert [row["rowKey"] for row in alice.as_json(path)["data"]] == shown


def test_what_goes_on_for_a_reader_goes_on_for_a_program(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, alice.owner)
    made.take(store, dataset, World(store, alice.owner).items(230), owner=alice.owner)
    path = f"{path_of(dataset)}?sort=rowKey"
    answers = [alice.as_json(path)]
    while answers[-1]["next"] is not None:
        answers.append(json.loads(alice.get(answers[-1]["next"])))
    assert [row["rowKey"] for answer in answers for row in answer["data"]] == [
        f"K{number:03}" for number in range(230)
    ]


def test_a_table_and_its_runs_give_what_stands_beside_them(
    alice: Visitor, store: Store, dataset: DatasetId
) -> None:
    table = alice.as_json(path_of(dataset))
    assert table["dataset"] == queries.dataset(store, alice.owner, dataset)
    assert (table["upcoming"], table["skipped"]) == ([], [])
    runs = alice.as_json(f"{path_of(dataset)}/runs")
    assert table["lastRuns"] == runs["ends"]
    assert [end["run"] for end in runs["ends"]] == [run["id"] for run in runs["data"]]
    assert [end["rows"] for end in runs["ends"] if end["rows"] is not None] == [39, 39, 40, 39, 40]


def test_settings_come_with_the_declaration_that_the_shell_prints(
    alice: Visitor, store: Store, dataset: DatasetId
) -> None:
    answer = alice.as_json(f"{path_of(dataset)}/settings")
    assert answer["data"] == queries.dataset(store, alice.owner, dataset)
    assert answer["declaration"] == queries.source(store, alice.owner, dataset)
    assert (answer["labelColumn"], answer["recipeVersion"]) == ("title", 1)
    assert answer["upcoming"] == []


def test_changes_are_those_that_the_page_shows(
    alice: Visitor, store: Store, dataset: DatasetId
) -> None:
    for query in ("", "?kind=returned", f"?field={fields(store, path_of(dataset))['title']}"):
        path = f"{path_of(dataset)}/changes{query}"
        shown = numbers(alice.get(path))
        assert shown
        assert [change["sequence"] for change in alice.as_json(path)["data"]] == shown


def test_a_row_comes_with_its_history(alice: Visitor, store: Store, dataset: DatasetId) -> None:
    (row,) = [
        row for row in queries.rows(store, alice.owner, dataset, 100)[0] if row["rowKey"] == "K000"
    ]
    answer = alice.as_json(f"{path_of(dataset)}/rows/{row['id']}")
    assert answer["data"] == queries.row(
        store, alice.owner, dataset, ids.RowId(ids.raw_id(row["id"]))
    )
    assert {change["rowId"] for change in answer["changes"]} == {row["id"]}
    assert len(answer["changes"]) > 3


def test_datasets_come_with_their_last_runs_and_the_next_one(
    alice: Visitor, store: Store, dataset: DatasetId
) -> None:
    (answer,) = alice.as_json("/")["data"]
    assert {**queries.dataset(store, alice.owner, dataset)}.items() <= answer.items()
    assert [run["status"] for run in answer["lastRuns"][:4]] == [
        *("queued", "held", "blocked", "failed")
    ]
    assert answer["nextRunAt"] is None


def test_a_run_comes_with_its_causes_its_steps_and_what_it_would_change(
    alice: Visitor, dataset: DatasetId
) -> None:
    listed = alice.as_json(f"{path_of(dataset)}/runs")["data"]
    by_end = {run["status"]: alice.as_json(f"/runs/{run['id']}") for run in listed}
    assert by_end["held"]["data"]["status"] == "held"
    held = by_end["held"]["held"]
    assert held["gone"] == 37
    assert len(held["rows"]) == held["new"] + held["changed"] + held["gone"]
    assert by_end["failed"]["causes"][0]["tries"]
    assert by_end["failed"]["page"]["screenshot"]
    assert by_end["blocked"]["trace"]["steps"]
    assert by_end["succeeded"]["credits"] == 1
    assert [page["items"] for page in by_end["held"]["pages"]] == [2]
    assert by_end["succeeded"]["held"] is None


def test_usage_is_that_of_the_api_with_what_research_took(alice: Visitor, store: Store) -> None:
    World(store, alice.owner).makers()
    answer = alice.as_json("/usage")
    assert answer["data"] == queries.usage(store, alice.owner)
    assert isinstance(answer["research"], list)


def test_the_page_of_a_refused_form_has_no_such_link(alice: Visitor, dataset: DatasetId) -> None:
    path = f"{path_of(dataset)}/runs"
    refused = alice.post(path, alice.token(path))  # one is queued already
    assert refused.status_code == 409
    assert "This page as JSON" not in refused.text
