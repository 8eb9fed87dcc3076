from __future__ import annotations

import pytest

from tests.api.person import NOWHERE, Person
from tests.made import ITEMS


@pytest.fixture
def path(alice: Person) -> str:
    """A dataset with five revisions: three rows, then one changed and one gone."""
    table = alice.table()
    alice.take(table, [{**ITEMS[0], "price": 11}, ITEMS[1]])
    return table


def sequences(page: dict[str, list[dict[str, int]]]) -> list[int]:
    return [revision["sequence"] for revision in page["data"]]


def test_revisions_come_in_order_with_what_stood_before(alice: Person, path: str) -> None:
    page = alice.get(f"{path}/changes")
    price = alice.fields(path)["price"]
    assert sequences(page) == [1, 2, 3, 4, 5]
    assert page["through"] == 5
    assert page["nextAfter"] is None
    first, changed = page["data"][0], page["data"][3]
    assert first["before"] is None
    assert "beforeOverrides" not in first
    assert changed["kind"] == "updated"
    assert (changed["before"][price], changed["data"][price]) == (10, 11)
    assert changed["beforeOverrides"] == {}
    assert [schema["version"] for schema in page["schemas"]] == [1]


def test_the_evidence_of_every_revision_resolves(alice: Person, path: str) -> None:
    page = alice.get(f"{path}/changes")
    entries = {
        (observation["id"], entry["id"])
        for observation in page["observations"]
        for entry in observation["entries"]
    }
    refs = {
        (ref["observationId"], ref["entryId"])
        for change in page["data"]
        for refs in change["evidence"].values()
        for ref in refs
    }
    assert refs == entries


def test_a_window_is_drained_and_polled_again(alice: Person, path: str) -> None:
    page = alice.get(f"{path}/changes?limit=2")
    assert (sequences(page), page["nextAfter"]) == ([1, 2], 2)
    alice.take(path)
    page = alice.get(f"{path}/changes?limit=2&after=2&through={page['through']}")
    assert (sequences(page), page["nextAfter"]) == ([3, 4], 4)
    page = alice.get(f"{path}/changes?limit=2&after=4&through={page['through']}")
    assert (sequences(page), page["nextAfter"], page["through"]) == ([5], None, 5)
    page = alice.get(f"{path}/changes?after={page['through']}")
    assert (sequences(page), page["through"]) == ([6, 7], 7)


def test_a_page_that_is_just_full_has_no_next(alice: Person, path: str) -> None:
    assert alice.get(f"{path}/changes?limit=5")["nextAfter"] is None


def test_a_dataset_without_history_is_an_empty_page_through_0(alice: Person) -> None:
    page = alice.get(f"{alice.dataset()}/changes")
    assert page == {"data": [], "schemas": [], "observations": [], "through": 0, "nextAfter": None}


def test_a_row_and_a_field_select_their_timelines(alice: Person, path: str) -> None:
    row, fields = alice.row(path)["id"], alice.fields(path)
    assert sequences(alice.get(f"{path}/changes?rowId={row}")) == [1, 4]
    assert sequences(alice.get(f"{path}/changes?rowId={row.upper()}&limit=1")) == [1]
    assert sequences(alice.get(f"{path}/changes?fieldId={fields['title']}")) == [1, 2, 3]
    cell = f"rowId={row}&fieldId={fields['price']}"
    assert sequences(alice.get(f"{path}/changes?{cell}&after=1")) == [4]
    assert alice.get(f"{path}/changes?{cell}")["through"] == 5


@pytest.mark.parametrize(
    "query",
    [
        *("after=6", "through=6", "after=3&through=2", f"fieldId={NOWHERE}"),
        *("after=9223372036854775808", f"through={'9' * 99}"),
    ],
)
def test_a_window_past_the_head_or_an_unknown_field_is_422(
    alice: Person, path: str, query: str
) -> None:
    alice.get(f"{path}/changes?{query}", 422)


def test_a_window_past_the_head_names_the_head(alice: Person, path: str) -> None:
    error = alice.get(f"{path}/changes?after=6", 422)["error"]
    assert "5" in error["message"]
    assert error["details"][0]["path"] == "after"


@pytest.mark.one_database
@pytest.mark.parametrize(
    "query",
    [
        *("after=-1", "through=-1", "after=x", "after=", "after=1&after=1", "after=1.0"),
        *("limit=0", "limit=101", "rowId=x", "fieldId=price", "rowId=", "cursor=x", "since=x"),
        *(f"after={'9' * 101}", f"rowId={NOWHERE.replace('-', '')}"),
    ],
)
def test_a_question_that_is_malformed_is_400(alice: Person, path: str, query: str) -> None:
    alice.get(f"{path}/changes?{query}", 400)


def test_an_unknown_row_is_404(alice: Person, path: str) -> None:
    alice.get(f"{path}/changes?rowId={NOWHERE}", 404)
    other = alice.row(alice.table("other"))["id"]
    alice.get(f"{path}/changes?rowId={other}", 404)


def test_an_unknown_row_is_404_whatever_else_is_wrong(alice: Person, path: str) -> None:
    for query in ("after=6", "through=6", "after=3&through=2", f"fieldId={NOWHERE}"):
        alice.get(f"{path}/changes?rowId={NOWHERE}&{query}", 404)


def test_404_goes_before_400(alice: Person, bob: Person, path: str) -> None:
    bob.get(f"{path}/changes?after=-1", 404)
    alice.get(f"/datasets/{NOWHERE}/changes?after=-1", 404)
