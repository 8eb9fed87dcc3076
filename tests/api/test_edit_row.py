from __future__ import annotations

from typing import Any

import pytest

from tests.api.person import NOWHERE, Person
from tests.made import ITEMS


class Edited:
    """The row A1 of Alice, with requests that edit it."""

    def __init__(self, alice: Person) -> None:
        self.alice = alice
        self.table = alice.table()
        self.fields = alice.fields(self.table)
        self.path = f"{self.table}/rows/{alice.row(self.table)['id']}"

    def now(self) -> dict[str, Any]:
        row: dict[str, Any] = self.alice.get(self.path)
        return row

    def body(self, **body: Any) -> dict[str, Any]:
        """A body with the required properties and `body`."""
        return {"expectedRevisionId": self.now()["revisionId"], "requestId": "one", **body}

    def send(self, status: int = 200, **body: Any) -> Any:
        return self.alice.patch(self.path, self.body(**body), status)


@pytest.fixture
def row(alice: Person) -> Edited:
    return Edited(alice)


def test_an_edit_answers_with_its_revision(row: Edited, alice: Person) -> None:
    title = row.fields["title"]
    revision = row.send(values={title: "Desk lamp"})
    assert revision["origin"] == "user"
    assert revision["changedFieldIds"] == [title]
    assert revision["data"][title] == "Desk lamp"
    assert revision["requestId"] == "one"
    assert revision["actorId"] is not None
    now = row.now()
    assert now["revisionId"] == revision["id"]
    assert now["data"][title] == "Desk lamp"
    assert now["overrides"][title]["value"] == "Lamp"
    feed = alice.get(f"{row.table}/changes?after=3")
    (change,) = feed["data"]
    assert {key: change[key] for key in revision} == revision


def test_a_reset_shows_the_source_again(row: Edited) -> None:
    title = row.fields["title"]
    row.send(values={title: "Desk lamp"})
    row.send(requestId="two", resetFieldIds=[title])
    assert row.now()["data"][title] == "Lamp"
    assert row.now()["overrides"] == {}


def test_an_override_lives_through_runs(row: Edited, alice: Person) -> None:
    title = row.fields["title"]
    row.send(values={title: "Desk lamp"})
    alice.take(row.table, [{**ITEMS[0], "title": "Torch"}, *ITEMS[1:]])
    assert row.now()["data"][title] == "Desk lamp"
    assert row.now()["overrides"][title]["value"] == "Torch"


def test_a_field_may_be_named_in_any_case(row: Edited) -> None:
    title = row.fields["title"]
    assert row.send(values={title.upper(): "Desk lamp"})["data"][title] == "Desk lamp"


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("sku", "A2"), ("title", 1), ("title", True), ("price", "10"), ("price", True)),
        *(("stock", 1), ("stock", "true"), ("title", ["x"]), ("title", {}), ("title", "\x00")),
        ("title", "x" * 32_769),
    ],
)
def test_a_value_that_the_column_cannot_hold_is_422(row: Edited, name: str, value: Any) -> None:
    before = row.now()
    row.send(422, values={row.fields[name]: value})
    assert row.now() == before


@pytest.mark.one_database
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"values": {}},
        {"values": None},
        {"resetFieldIds": []},
        {"resetFieldIds": [NOWHERE, NOWHERE.upper()]},
        {"resetFieldIds": [NOWHERE]},
        {"values": {NOWHERE: "x"}},
        {"values": {"title": "x"}},
        {"values": {NOWHERE: "x"}, "resetFieldIds": [NOWHERE]},
        {"resetFieldIds": [NOWHERE, NOWHERE]},
        {"values": {NOWHERE: 1}, "more": 1},
        {"values": {NOWHERE: 1}, "requestId": ""},
        {"values": {NOWHERE: 1}, "requestId": "x" * 129},
        {"values": {NOWHERE: 1}, "expectedRevisionId": "x"},
        {"values": {f"01890000-0000-7000-8000-0000000000{n:02x}": 1 for n in range(51)}},
    ],
)
def test_an_edit_that_breaks_a_rule_is_422(row: Edited, body: dict[str, Any]) -> None:
    before = row.now()
    row.send(422, **body)
    assert row.now() == before


def test_the_reset_of_what_is_not_overridden_is_422(row: Edited) -> None:
    row.send(422, resetFieldIds=[row.fields["title"]])


def test_a_stale_revision_is_409_and_names_the_current_one(row: Edited) -> None:
    stale = row.body(values={row.fields["title"]: "Desk lamp"})
    current = row.send(values={row.fields["note"]: "dusty"})["id"]
    error = row.alice.patch(row.path, stale | {"requestId": "two"}, 409)["error"]
    assert error["code"] == "revision_conflict"
    assert current in error["message"]


def test_409_goes_before_rules_that_depend_on_the_row(row: Edited) -> None:
    stale = row.body(requestId="two")
    row.send(values={row.fields["note"]: "dusty"})
    for wrong in (
        {"values": {NOWHERE: "x"}},
        {"values": {row.fields["title"]: 1}},
        {"values": {row.fields["sku"]: "Z9"}},
        {"resetFieldIds": [row.fields["price"]]},
    ):
        row.alice.patch(row.path, stale | wrong, 409)
        error = row.alice.patch(row.path, row.body(**wrong), 409)["error"]
        assert error["code"] == "request_id_reused"
        row.alice.patch(row.path, row.body(requestId="two", **wrong), 422)


def test_422_by_the_request_alone_goes_before_409(row: Edited) -> None:
    stale = row.body(requestId="two")
    title = row.fields["title"]
    row.send(values={row.fields["note"]: "dusty"})
    for wrong in ({}, {"values": {title: "x"}, "resetFieldIds": [title]}):
        row.alice.patch(row.path, stale | wrong, 422)
        row.alice.patch(row.path, stale | {"requestId": "one"} | wrong, 422)


def test_json_that_cannot_be_read_is_400_since_the_endpoint_declares_it(row: Edited) -> None:
    for body in (b"", b"{", b'{"a": 1, "a": 2}', b"\xff", b"NaN"):
        answer = row.alice.ask("PATCH", row.path, data=body, content_type="application/json")
        assert answer.status_code == 400


def test_an_unknown_parameter_is_400(row: Edited) -> None:
    body = row.body(values={row.fields["title"]: "Desk lamp"})
    row.alice.patch(f"{row.path}?dry=1", body, 400)
    assert row.now()["data"][row.fields["title"]] == "Lamp"


def test_404_goes_before_whatever_is_wrong(row: Edited, bob: Person) -> None:
    bob.patch(row.path, {}, 404)
    bob.patch(f"{row.path}?x=1", {}, 404)
    row.alice.patch(f"{row.table}/rows/{NOWHERE}", {}, 404)
    assert bob.ask("PATCH", row.path, data=b"{").status_code == 404
