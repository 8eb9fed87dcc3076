"""The requests of hand edits: told once however often they are sent, and never lost to another."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from livedata.model import ids
from livedata.model.errors import Invalid, NotFound, RequestIdReused, RevisionConflict
from livedata.services import accounts
from tests.services.table import A, C, Table


@pytest.fixture
def rows(table: Table) -> Table:
    """A1 and C3, of which C3 has no price."""
    table.take(A, C)
    return table


def test_a_stale_revision_is_a_conflict_and_changes_nothing(rows: Table) -> None:
    stale = rows.rows()["A1"]["revisionId"]
    rows.edit("A1", {"price": 99})
    before = rows.dump()
    with pytest.raises(RevisionConflict):
        rows.edit("A1", {"price": 1}, expectedRevisionId=stale)
    assert rows.dump() == before


def test_a_stale_revision_is_told_before_a_rule(rows: Table) -> None:
    stale = ids.format_uuid(ids.new_id())
    with pytest.raises(RevisionConflict):
        rows.edit("A1", {"price": "x"}, expectedRevisionId=stale)


def test_the_retry_of_an_edit_returns_its_revision_whatever_happened_since(rows: Table) -> None:
    rows.edit("A1", {"price": 99})
    row, price = rows.rows()["A1"], rows.fields["price"]
    body = {"expectedRevisionId": row["revisionId"], "requestId": "r", "resetFieldIds": [price]}
    first = rows.send(row["id"], body)
    rows.edit("A1", {"title": "Mine"})
    rows.take(C)
    before = rows.dump()
    assert rows.send(row["id"], body) == first
    assert rows.dump() == before


@pytest.mark.parametrize(
    "other", [{"values": {}}, {"expectedRevisionId": ids.format_uuid(b"x" * 16)}]
)
def test_a_request_id_with_another_body_is_a_conflict(rows: Table, other: dict[str, Any]) -> None:
    row, note = rows.rows()["A1"], rows.fields["note"]
    body = {"expectedRevisionId": row["revisionId"], "requestId": "r", "values": {note: "x"}}
    rows.send(row["id"], body)
    changed = {**body, **({"values": {note: "y"}} if "values" in other else other)}
    with pytest.raises(RequestIdReused):
        rows.send(row["id"], changed)


def test_a_request_id_is_known_per_row(rows: Table) -> None:
    rows.edit("A1", {"note": "x"}, requestId="r")
    rows.edit("C3", {"note": "y"}, requestId="r")
    assert (rows.cells("A1")["note"], rows.cells("C3")["note"]) == ("x", "y")


def test_a_refused_edit_does_not_use_up_its_request_id(rows: Table) -> None:
    with pytest.raises(Invalid):
        rows.edit("A1", {"price": "x"}, requestId="r")
    assert rows.edit("A1", {"price": 5}, requestId="r")["requestId"] == "r"


def test_the_request_hash_is_that_of_the_canonical_json_of_the_whole_body(rows: Table) -> None:
    row, fields = rows.rows()["A1"], rows.fields
    values = {fields["note"]: "ü", fields["price"]: 2}
    body = {"requestId": "r", "values": values, "expectedRevisionId": row["revisionId"]}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert rows.send(row["id"], body)["requestHash"] == hashlib.sha256(text.encode()).hexdigest()


def test_the_actor_is_the_key_and_null_without_one(rows: Table) -> None:
    key = accounts.create_key(rows.store, "local", None)["id"]
    assert rows.edit("A1", {"note": "x"})["actorId"] is None
    row = rows.rows()["A1"]
    body = {
        "expectedRevisionId": row["revisionId"],
        "requestId": "r",
        "values": {rows.fields["note"]: "y"},
    }
    assert rows.send(row["id"], body, actor=ids.KeyId(ids.raw_id(key)))["actorId"] == key


def test_a_revision_answered_to_an_edit_has_no_before(rows: Table) -> None:
    assert not {"before", "beforeOverrides"} & rows.edit("A1", {"note": "x"}).keys()


def test_a_row_that_is_not_there_is_not_found(rows: Table) -> None:
    body = {"expectedRevisionId": ids.format_uuid(ids.new_id()), "requestId": "r", "values": {}}
    body["values"] = {rows.fields["note"]: "x"}
    with pytest.raises(NotFound):
        rows.send(ids.format_uuid(ids.new_id()), body)
