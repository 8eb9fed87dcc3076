from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from livedata.model import ids
from livedata.store.database.store import Store
from tests import made
from tests.api.person import NOWHERE, Person
from tests.api.serving import Serving


def columns_of(alice: Person, path: str) -> list[dict[str, Any]]:
    columns: list[dict[str, Any]] = alice.get(path)["dataset"]["columns"]
    return columns


def test_what_is_given_changes_and_the_rest_stays(alice: Person) -> None:
    path = alice.dataset()
    before = alice.get(path)["dataset"]
    after = alice.patch(path, {"name": "new", "question": "Which?"})["dataset"]
    assert after == before | {
        "name": "new",
        "question": "Which?",
        "updatedAt": after["updatedAt"],
    }
    assert after["updatedAt"] > before["updatedAt"]


def test_null_clears_question_and_schedule(alice: Person) -> None:
    path = alice.dataset()
    alice.patch(path, {"question": "Which?", "schedule": "0 6 * * *"})
    cleared = alice.patch(path, {"question": None, "schedule": None})["dataset"]
    assert cleared["question"] is cleared["schedule"] is None


@pytest.mark.parametrize("status", ["active", "paused"])
def test_the_status_changes(alice: Person, status: str) -> None:
    path = alice.dataset()
    assert alice.patch(path, {"status": status})["dataset"]["status"] == status
    assert alice.patch(path, {"status": "draft"}, 422)["error"]["details"][0]["path"] == "status"


@pytest.mark.one_database
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": None},
        {"name": ""},
        {"name": "x" * 121},
        {"question": ""},
        {"question": "x" * 1001},
        {"status": "gone"},
        {"schedule": "* * * *"},
        {"schedule": "@daily   "},
        {"schedule": "61 * * * *"},
        {"schedule": "0 0 31 2 *"},
        {"source": {}},
        {"id": NOWHERE},
        {"rowCount": 1},
        {"expectedSchemaVersion": 0},
        {"expectedSchemaVersion": True},
        {"columns": []},
    ],
)
def test_what_breaks_a_rule_is_422_and_changes_nothing(
    alice: Person, body: dict[str, object]
) -> None:
    path = alice.dataset()
    before = alice.get(path)
    assert alice.patch(path, body, 422)["error"]["code"] == "validation_failed"
    assert alice.get(path) == before


def test_a_new_user_column_makes_a_new_schema_version(alice: Person) -> None:
    path = alice.dataset()
    new = {"name": "seen", "type": "date", "ownership": "user"}
    body = {"expectedSchemaVersion": 1, "columns": [*columns_of(alice, path), new]}
    changed = alice.patch(path, body)["dataset"]
    assert changed["schemaVersion"] == 2
    assert changed["columns"][-1]["name"] == "seen"


def test_the_same_columns_make_no_new_version(alice: Person) -> None:
    path = alice.dataset()
    body = {"expectedSchemaVersion": 1, "columns": columns_of(alice, path)}
    assert alice.patch(path, body)["dataset"]["schemaVersion"] == 1


def test_columns_need_the_version_that_they_were_read_at(alice: Person) -> None:
    path = alice.dataset()
    columns = columns_of(alice, path)
    error = alice.patch(path, {"columns": columns}, 422)["error"]
    assert error["details"][0]["path"] == "expectedSchemaVersion"
    error = alice.patch(path, {"columns": columns, "expectedSchemaVersion": 2}, 409)["error"]
    assert error["code"] == "schema_version_conflict"


def test_409_goes_before_rules_that_depend_on_the_columns(alice: Person) -> None:
    path = alice.dataset()
    columns = columns_of(alice, path)
    alice.patch(path, {"status": "active"})
    for wrong in (
        {"columns": columns[1:]},
        {"columns": [{**columns[0], "id": NOWHERE}, *columns[1:]]},
        {"columns": [{**columns[0], "type": "number"}, *columns[1:]]},
        {"status": "draft"},
    ):
        error = alice.patch(path, {"expectedSchemaVersion": 2, **wrong}, 409)["error"]
        assert error["code"] == "schema_version_conflict"
        alice.patch(path, {"expectedSchemaVersion": 1, **wrong}, 422)


def test_422_by_the_request_alone_goes_before_409(alice: Person) -> None:
    path = alice.dataset()
    columns = columns_of(alice, path)
    new = {"name": "seen", "type": "date", "ownership": "user"}
    for wrong in (
        {"schedule": "0 0 31 2 *"},
        {"columns": [*columns, new, new]},
        {"columns": [*columns, columns[0]]},
        {"columns": [*columns, {**new, "key": True}]},
        {"columns": [*columns, {**new, "ownership": "collected"}]},
    ):
        for version in (1, 2):
            alice.patch(path, {"expectedSchemaVersion": version, **wrong}, 422)


def test_of_eight_updates_of_one_version_one_wins_and_seven_are_409(
    served: Serving, store: Store
) -> None:
    dataset = made.make_dataset(store, "alice")
    path = f"/v1/datasets/{ids.format_uuid(dataset)}"
    _, answer = served.ask("GET", path)
    new = {"name": "seen", "type": "date", "ownership": "user"}
    body = {"expectedSchemaVersion": 1, "columns": [*answer["dataset"]["columns"], new]}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: served.ask("PATCH", path, body), range(8)))
    assert Counter(status for status, _ in answers) == {200: 1, 409: 7}


def test_ten_point_zero_is_a_whole_number(alice: Person) -> None:
    path = alice.dataset()
    body = b'{"expectedSchemaVersion": 1.0, "name": "new"}'
    answer = alice.ask("PATCH", path, data=body, content_type="application/json")
    assert answer.status_code == 200


def test_a_name_that_is_taken_is_409(alice: Person) -> None:
    alice.dataset("one")
    path = alice.dataset("two")
    assert alice.patch(path, {"name": "one"}, 409)["error"]["code"] == "name_taken"
    alice.patch(path, {"name": "two"})


def test_404_goes_before_whatever_is_wrong_with_the_body(alice: Person, bob: Person) -> None:
    path = alice.dataset()
    for who, where in ((alice, f"/datasets/{NOWHERE}"), (bob, path)):
        who.patch(where, {}, 404)
        assert who.ask("PATCH", where, data=b"{").status_code == 404
        assert who.ask("PATCH", where, data=b"x" * 2_000_000).status_code == 404
