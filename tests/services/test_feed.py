"""The change feed: a fixed window of revisions, its pages, its timelines and its schemas."""

from __future__ import annotations

from typing import Any

import pytest

from livedata.model import ids
from livedata.model.errors import Invalid, NotFound
from livedata.services import datasets, feed
from tests import made
from tests.services.table import A, B, C, Table


@pytest.fixture
def history(table: Table) -> Table:
    """Seven revisions: three created, A1 and B2 updated, C3 missing, A1 by hand."""
    table.take(A, B, C)
    table.take({**A, "price": 11}, {**B, "title": "Stool"})
    table.edit("A1", {"note": "mine"})
    return table


def test_through_defaults_to_the_head_whatever_the_filters(history: Table) -> None:
    assert _page(history)["through"] == 7
    assert _page(history, row_id=_row(history, "C3"))["through"] == 7
    assert _page(history, field_id=history.fields["note"])["through"] == 7


def test_a_feed_without_revisions_is_empty_through_0(table: Table) -> None:
    empty = {"data": [], "schemas": [], "observations": [], "through": 0, "nextAfter": None}
    assert _page(table) == empty


def test_pages_of_a_window_give_every_revision_once_and_in_order(history: Table) -> None:
    seen, after, through = [], 0, None
    while True:
        page = _page(history, after=after, through=through, limit=2)
        seen += _sequences(page)
        through = page["through"]
        if page["nextAfter"] is None:
            break
        after = page["nextAfter"]
        assert after == seen[-1]
    assert seen == [1, 2, 3, 4, 5, 6, 7]


def test_next_after_is_null_where_the_page_is_just_full(history: Table) -> None:
    assert _page(history, limit=7)["nextAfter"] is None
    assert _page(history, after=3, through=5, limit=2)["nextAfter"] is None
    assert _page(history, limit=6)["nextAfter"] == 6


def test_a_window_stays_as_it_was_whatever_comes_later(history: Table) -> None:
    first = _page(history, limit=3)
    history.take(B, C)
    rest = _page(history, after=first["nextAfter"], through=first["through"])
    assert _sequences(rest) == [4, 5, 6, 7]
    assert _sequences(_page(history, after=first["through"])) == [8, 9, 10]


def test_after_equal_to_through_is_an_empty_page(history: Table) -> None:
    page = _page(history, after=7)
    assert (page["data"], page["through"], page["nextAfter"]) == ([], 7, None)


@pytest.mark.parametrize("window", [{"through": 8}, {"after": 8}])
def test_a_window_past_the_head_is_refused_and_the_head_is_named(
    history: Table, window: dict[str, int]
) -> None:
    with pytest.raises(Invalid, match="which is 7") as refused:
        _page(history, **window)
    assert [detail.path for detail in refused.value.details] == list(window)


def test_after_greater_than_through_is_refused(history: Table) -> None:
    with pytest.raises(Invalid, match="greater than through, which is 3"):
        _page(history, after=4, through=3)


def test_an_unknown_field_is_refused_and_an_unknown_row_is_not_found(history: Table) -> None:
    with pytest.raises(Invalid, match="not a field"):
        _page(history, field_id=ids.format_uuid(ids.new_id()))
    with pytest.raises(NotFound):
        _page(history, row_id=ids.new_id())


def test_a_row_of_another_dataset_is_not_found(history: Table) -> None:
    other = Table(history.store, made.declared("other"))
    other.take(A)
    with pytest.raises(NotFound):
        _page(history, row_id=_row(other, "A1"))


def test_the_timeline_of_a_row_has_its_revisions_only(history: Table) -> None:
    page = _page(history, row_id=_row(history, "A1"))
    assert [change["kind"] for change in page["data"]] == ["created", "updated", "updated"]
    assert {change["rowId"] for change in page["data"]} == {history.rows()["A1"]["id"]}


def test_the_timeline_of_a_field_has_the_revisions_that_changed_it(history: Table) -> None:
    price = history.fields["price"]
    page = _page(history, field_id=price)
    wanted = [change for change in history.feed() if price in change["changedFieldIds"]]
    assert page["data"] == wanted
    assert len(wanted) == 4


def test_with_row_and_field_both_must_hold(history: Table) -> None:
    page = _page(history, row_id=_row(history, "A1"), field_id=history.fields["note"])
    assert _sequences(page) == [7]
    paged = _page(history, row_id=_row(history, "A1"), field_id=history.fields["price"], limit=1)
    assert (_sequences(paged), paged["nextAfter"]) == ([1], 1)


def test_schemas_are_the_versions_named_ascending_with_all_five_fields(history: Table) -> None:
    old = history.dataset["columns"]
    history.add_column("extra")
    history.take({**A, "price": 12})
    page = _page(history)
    assert [schema["version"] for schema in page["schemas"]] == [1, 2]
    assert [schema["fields"] for schema in page["schemas"]] == [old, history.dataset["columns"]]
    for schema in page["schemas"]:
        assert schema.keys() == {"id", "datasetId", "version", "fields", "createdAt"}
    assert [schema["version"] for schema in _page(history, after=7)["schemas"]] == [2]


def test_each_revision_says_the_schema_that_it_was_written_under(history: Table) -> None:
    history.add_column("extra")
    history.edit("B2", {"extra": "x"})
    assert [change["schemaVersion"] for change in history.feed()] == [1] * 7 + [2]


def test_before_overrides_are_those_of_the_previous_revision(history: Table) -> None:
    history.edit("A1", {"price": 99})
    history.edit("A1", reset=["price"])
    covered, uncovered = history.feed(after=7)
    assert covered["beforeOverrides"] == {}
    assert uncovered["beforeOverrides"] == covered["overrides"] != {}
    assert uncovered["overrides"] == {}


def test_a_follower_that_read_to_the_head_finds_only_later_revisions(history: Table) -> None:
    last = _page(history)["through"]
    history.take(A, B, C)
    assert min(_sequences(_page(history, after=last))) == last + 1


def test_another_owner_does_not_find_the_feed(history: Table) -> None:
    with pytest.raises(NotFound):
        feed.changes(history.store, "bob", history.id)


def _page(table: Table, **window: Any) -> Any:
    return feed.changes(table.store, "local", table.id, **window)


def _sequences(page: Any) -> list[int]:
    return [change["sequence"] for change in page["data"]]


def _row(table: Table, key: str) -> ids.RowId:
    return ids.RowId(ids.raw_id(table.rows()[key]["id"]))


def test_a_cursor_of_a_dataset_that_was_deleted_meanwhile_is_told(table: Table) -> None:
    table.take(A)
    datasets.remove(table.store, "local", table.id)
    with pytest.raises(NotFound, match="deleted meanwhile, so the cursor 'reader' is not kept"):
        feed.keep_cursor(table.store, table.id, "reader", 1)
