"""A retry of an edit never doubles (interface 4.2, ``requestId``)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import pytest

from livedata.model import ids
from livedata.services import feed, queries
from livedata.store.database.store import Store
from tests.api.person import Person
from tests.api.serving import Serving
from tests.made import ITEMS, make_dataset, take


class Editing:
    """The note of the row A1, and the body that sets it."""

    def __init__(self, alice: Person) -> None:
        self.alice = alice
        self.table = alice.table()
        row = alice.row(self.table)
        self.path = f"{self.table}/rows/{row['id']}"
        self.note = alice.fields(self.table)["note"]
        self.title = alice.fields(self.table)["title"]
        self.body = {
            "expectedRevisionId": row["revisionId"],
            "requestId": "one",
            "values": {self.note: "dusty", self.title: "Torch"},
        }

    def head(self) -> int:
        head: int = self.alice.get(f"{self.table}/changes?limit=1")["through"]
        return head


@pytest.fixture
def editing(alice: Person) -> Editing:
    return Editing(alice)


def test_the_same_edit_again_is_the_same_revision(editing: Editing) -> None:
    first = editing.alice.patch(editing.path, editing.body)
    for _ in range(3):
        assert editing.alice.patch(editing.path, editing.body) == first
    assert editing.head() == 4


def test_it_is_so_whatever_has_happened_since(editing: Editing) -> None:
    alice = editing.alice
    first = alice.patch(editing.path, editing.body)
    later = {"expectedRevisionId": first["id"], "requestId": "two", "values": {editing.note: "no"}}
    alice.patch(editing.path, later)
    alice.take(editing.table, [{**ITEMS[0], "title": "Candle", "price": 12}])
    assert alice.patch(editing.path, editing.body) == first
    assert alice.get(editing.path)["data"][editing.note] == "no"


def test_the_order_of_keys_and_the_case_of_ids_make_no_other_edit(editing: Editing) -> None:
    first = editing.alice.patch(editing.path, editing.body)
    values = {editing.title.upper(): "Torch", editing.note: "dusty"}
    revision = str(editing.body["expectedRevisionId"]).upper()
    again = {"values": values, "requestId": "one", "expectedRevisionId": revision}
    assert editing.alice.patch(editing.path, again) == first


@pytest.mark.parametrize("change", ["values", "expectedRevisionId", "resetFieldIds"])
def test_another_edit_under_the_same_request_id_is_409(editing: Editing, change: str) -> None:
    first = editing.alice.patch(editing.path, editing.body)
    other: dict[str, Any] = {
        "values": {"values": {editing.note: "clean"}},
        "expectedRevisionId": {"expectedRevisionId": first["id"]},
        "resetFieldIds": {"values": {editing.note: "dusty"}, "resetFieldIds": [editing.title]},
    }[change]
    error = editing.alice.patch(editing.path, editing.body | other, 409)["error"]
    assert error["code"] == "request_id_reused"
    assert editing.head() == 4


def test_a_request_id_that_was_refused_is_free(editing: Editing) -> None:
    wrong = editing.body | {"values": {editing.title: 1}}
    editing.alice.patch(editing.path, wrong, 422)
    editing.alice.patch(editing.path, editing.body)


def test_a_request_id_is_of_one_row(editing: Editing) -> None:
    editing.alice.patch(editing.path, editing.body)
    other = editing.alice.row(editing.table, "B2")
    body = editing.body | {"expectedRevisionId": other["revisionId"]}
    revision = editing.alice.patch(f"{editing.table}/rows/{other['id']}", body)
    assert revision["rowId"] == other["id"]


def test_ten_at_once_are_one_revision_also_where_the_first_answer_was_lost(
    served: Serving, store: Store
) -> None:
    dataset = make_dataset(store, "alice")
    take(store, dataset, owner="alice")
    row = queries.rows(store, "alice", dataset, 1)[0][0]
    note = queries.dataset(store, "alice", dataset)["columns"][-1]["id"]
    path = f"/v1/datasets/{ids.format_uuid(dataset)}/rows/{row['id']}"
    body = {"expectedRevisionId": row["revisionId"], "requestId": "x", "values": {note: "dusty"}}

    # The client goes away before it reads the answer: it cannot know whether the edit was made.
    lost = served.connect()
    headers = {"Authorization": f"Bearer {served.key}", "Content-Type": "application/json"}
    lost.request("PATCH", path, orjson.dumps(body), headers)
    lost.close()

    def send(_: int) -> tuple[int, Any]:
        return served.ask("PATCH", path, body)

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(send, range(10)))
    assert [status for status, _ in answers] == [200] * 10
    assert all(answer == answers[0][1] for _, answer in answers)
    assert feed.head(store, "alice", dataset) == 4
