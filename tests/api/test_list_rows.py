from __future__ import annotations

import pytest

from tests.api.person import NOWHERE, Person
from tests.made import ITEMS

MANY = [{"sku": f"S{number:03}", "title": "Cup"} for number in range(30)]


def keys_of(alice: Person, path: str, query: str = "") -> list[str]:
    return [row["rowKey"] for row in alice.get(f"{path}/rows?{query}")["data"]]


def test_rows_come_by_their_update_and_then_their_id_latest_first(alice: Person) -> None:
    path = alice.dataset()
    alice.take(path, MANY)
    alice.take(path, [{**MANY[3], "title": "Mug"}, *MANY[:3], *MANY[4:]])
    rows = alice.get(f"{path}/rows")["data"]
    assert rows[0]["rowKey"] == "S003"
    assert rows == sorted(rows, key=lambda row: (row["updatedAt"], row["id"]), reverse=True)


@pytest.mark.parametrize("size", [1, 7, 30])
def test_pages_together_are_the_list(alice: Person, size: int) -> None:
    path = alice.dataset()
    alice.take(path, MANY)
    seen: list[str] = []
    page = alice.get(f"{path}/rows?limit={size}")
    seen += [row["id"] for row in page["data"]]
    while page["nextCursor"]:
        page = alice.get(f"{path}/rows?limit={size}&cursor={page['nextCursor']}")
        assert page["data"]
        seen += [row["id"] for row in page["data"]]
    assert seen == [row["id"] for row in alice.get(f"{path}/rows")["data"]]
    assert len(set(seen)) == 30


def test_data_is_keyed_by_field_and_holds_every_column(alice: Person) -> None:
    path = alice.table()
    fields = alice.fields(path)
    row = alice.row(path, "C3")
    assert row["data"] == {
        fields["sku"]: "C3",
        fields["title"]: "Mug",
        fields["price"]: None,
        fields["stock"]: True,
        fields["note"]: None,
    }
    assert row["missingReasons"] == {fields["price"]: "not_found"}


def test_a_status_narrows_the_list_and_may_be_repeated(alice: Person) -> None:
    path = alice.table()
    alice.take(path, [{**ITEMS[0], "price": 11}, ITEMS[1], {"sku": "D4"}])
    assert keys_of(alice, path, "status=new") == ["D4"]
    assert sorted(keys_of(alice, path, "status=gone&status=changed")) == ["A1", "C3"]
    assert sorted(keys_of(alice, path, "status=unchanged&status=new")) == ["B2", "D4"]


def test_since_finds_what_was_updated_then_or_later(alice: Person) -> None:
    path = alice.table()
    first = alice.row(path)["updatedAt"]
    alice.take(path, [{**ITEMS[0], "price": 11}, *ITEMS[1:]])
    second = alice.row(path)["updatedAt"]
    assert keys_of(alice, path, f"since={second}") == ["A1"]
    assert len(keys_of(alice, path, f"since={first}")) == 3
    # The same moment in another notation; -00:01 is a minute later.
    later = second.replace("Z", "%2B00:00")
    assert keys_of(alice, path, f"since={later}") == ["A1"]
    assert keys_of(alice, path, f"since={second.replace('Z', '-00:01')}") == []


@pytest.mark.one_database
@pytest.mark.parametrize(
    "query",
    [
        *("since=2026-01-01T00:00:00", "since=2026-01-01", "since=now", "since=", "since=0"),
        *("since=2026-13-01T00:00:00Z", "since=2026-01-01T25:00:00Z", "since=2026-01-01x00:00:00Z"),
        *("status=old", "status=", "status=new,gone", "status=new&status=new", "status=NEW"),
        *("limit=0", "limit=501", "limit=1&limit=2", "cursor=x", "page=2", "sinse=x"),
    ],
)
def test_a_question_that_is_malformed_is_400(alice: Person, query: str) -> None:
    alice.get(f"{alice.dataset()}/rows?{query}", 400)


# In UTC both are outside of the years that datetime can hold.
@pytest.mark.parametrize("since", ["0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59:59-14:00"])
def test_the_ends_of_time_are_moments_too(alice: Person, since: str) -> None:
    alice.get(f"{alice.dataset()}/rows?since={since}")


def test_a_cursor_belongs_to_its_dataset_and_filters(alice: Person) -> None:
    # The order of repeated filters means nothing; everything else makes another list.
    path, other = alice.table("one"), alice.table("two")
    cursor = alice.get(f"{path}/rows?limit=1&status=new&status=gone")["nextCursor"]
    alice.get(f"{path}/rows?cursor={cursor}&status=gone&status=new")
    for foreign in (
        f"{other}/rows?cursor={cursor}&status=new&status=gone",
        f"{path}/rows?cursor={cursor}",
        f"{path}/rows?cursor={cursor}&status=new",
        f"{path}/rows?cursor={cursor}&status=new&status=gone&since=2020-01-01T00:00:00Z",
        f"{path}/rows?cursor={cursor}=&status=new&status=gone",
    ):
        alice.get(foreign, 400)


def test_404_goes_before_400(alice: Person, bob: Person) -> None:
    path = alice.table()
    bob.get(f"{path}/rows?limit=x", 404)
    bob.get(f"{path}/rows?cursor=x", 404)
    alice.get(f"/datasets/{NOWHERE}/rows?limit=x", 404)
