from __future__ import annotations

from tests.api.person import NOWHERE, Person


def test_a_row_resolves_the_evidence_of_each_cell(alice: Person) -> None:
    path = alice.table()
    fields = alice.fields(path)
    listed = alice.row(path)
    row = alice.get(f"{path}/rows/{listed['id']}")
    assert {key: row[key] for key in listed} == listed
    (observation,) = row["observations"]
    excerpts = {entry["id"]: entry["excerpt"] for entry in observation["entries"]}
    (ref,) = row["evidence"][fields["title"]]
    assert ref["observationId"] == observation["id"]
    assert excerpts[ref["entryId"]] == "Lamp"
    assert set(row["evidence"]) == {fields[name] for name in ("sku", "title", "price", "stock")}


def test_a_row_is_found_in_its_own_dataset_only(alice: Person, bob: Person) -> None:
    path, other = alice.table("one"), alice.table("two")
    row = alice.row(path)["id"]
    alice.get(f"{other}/rows/{row}", 404)
    bob.get(f"{path}/rows/{row}", 404)
    bob.get(f"{bob.table()}/rows/{row}", 404)
    alice.get(f"{path}/rows/{NOWHERE}", 404)
    alice.get(f"{path}/rows/A1", 404)


def test_a_query_is_ignored(alice: Person) -> None:
    path = alice.table()
    alice.get(f"{path}/rows/{alice.row(path)['id']}?limit=x")
