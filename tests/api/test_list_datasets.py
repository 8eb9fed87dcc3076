from __future__ import annotations

import pytest

from tests.api.person import Person


def test_datasets_come_newest_first(alice: Person) -> None:
    for name in ("one", "two", "three"):
        alice.dataset(name)
    page = alice.get("/datasets")
    assert [dataset["name"] for dataset in page["data"]] == ["three", "two", "one"]
    assert page["nextCursor"] is None


def test_a_cursor_goes_on_where_the_page_ended(alice: Person) -> None:
    for number in range(5):
        alice.dataset(f"d{number}")
    page = alice.get("/datasets?limit=2")
    seen = [[dataset["name"] for dataset in page["data"]]]
    while page["nextCursor"] is not None:
        page = alice.get(f"/datasets?limit=2&cursor={page['nextCursor']}")
        seen.append([dataset["name"] for dataset in page["data"]])
    assert seen == [["d4", "d3"], ["d2", "d1"], ["d0"]]


def test_a_page_that_is_just_full_has_no_next(alice: Person) -> None:
    alice.dataset("one")
    alice.dataset("two")
    assert alice.get("/datasets?limit=2")["nextCursor"] is None


def test_twenty_are_listed_unless_told_otherwise(alice: Person) -> None:
    for number in range(21):
        alice.dataset(f"d{number}")
    page = alice.get("/datasets")
    assert len(page["data"]) == 20
    assert page["nextCursor"]


def test_the_datasets_of_others_are_not_listed(alice: Person, bob: Person) -> None:
    alice.dataset()
    assert bob.get("/datasets") == {"data": [], "nextCursor": None}


def test_a_cursor_shows_nothing_of_another_owner(alice: Person, bob: Person) -> None:
    alice.dataset("one")
    alice.dataset("two")
    cursor = alice.get("/datasets?limit=1")["nextCursor"]
    assert bob.get(f"/datasets?cursor={cursor}")["data"] == []


@pytest.mark.one_database
@pytest.mark.parametrize(
    "query",
    [
        *("limit=0", "limit=101", "limit=-1", "limit=", "limit=1.0", "limit=x", "limit=%20 1"),
        *("limit=1&limit=1", "limit=9999999999999999999999", "limit=true", "limit=%D9%A3"),
        *("cursor=", "cursor=x", "cursor=AAAA", "cursor=%00", "cursor=%FF", f"cursor={'A' * 43}"),
        *("Limit=1", "offset=1", "=1", "status=new"),
    ],
)
def test_a_question_that_is_malformed_is_400(alice: Person, query: str) -> None:
    alice.get(f"/datasets?{query}", 400)


def test_a_cursor_of_another_list_is_400(alice: Person) -> None:
    path = alice.table()
    cursor = alice.get(f"{path}/rows?limit=1")["nextCursor"]
    error = alice.get(f"/datasets?cursor={cursor}", 400)["error"]
    assert [detail["path"] for detail in error["details"]] == ["cursor"]
