"""Wherever a page names a row, it says what people call it, and its key beside that."""

from __future__ import annotations

import re

from livedata.model import ids
from livedata.model.row import Scalar
from livedata.services import queries
from livedata.store.database.store import Store
from tests import made
from tests.browsing.test_table import path_of
from tests.browsing.visitor import Visitor

_NAMED = "<bdi>Lamp</bdi> <small><bdi>A1</bdi></small>"


def test_the_table_the_row_its_changes_and_a_held_run_name_a_row_alike(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, "alice")
    items: list[dict[str, Scalar]] = [
        {"sku": f"A{number}", "title": "Lamp", "price": number} for number in range(1, 41)
    ]
    made.take(store, dataset, items, owner="alice")
    held = made.take(store, dataset, items[30:], owner="alice")
    path = path_of(dataset)
    row = ids.format_uuid(queries.find_row(store, alice.owner, dataset, "A1"))
    for page in (path, f"{path}/rows/{row}", f"{path}/changes", f"/runs/{held}"):
        shown = alice.get(page)
        assert _NAMED in shown, page


def test_a_name_that_is_a_cell_is_sorted_by_and_stands_in_no_column_again(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, "alice")
    made.take(store, dataset, owner="alice")
    page = alice.get(path_of(dataset))
    heads = re.findall(r'<th scope="col"[^>]*>(?:<a[^>]+><bdi>)?([^<]+)', page)
    assert heads == ["Row", "price", "stock", "note", "Status", "Updated"]
    by_name = queries.label_field(store, alice.owner, dataset)
    page = alice.get(f"{path_of(dataset)}?sort={by_name}")
    assert re.findall(r'rows/[^"]+"><bdi>([^<]+)', page) == ["Chair", "Lamp", "Mug"]
    assert 'aria-sort="ascending"' in page


def test_a_name_that_changed_or_was_edited_is_marked_where_it_stands(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, "alice")
    made.take(store, dataset, owner="alice")
    changed = [{**item, "title": f"{item['title']}s"} for item in made.ITEMS]
    made.take(store, dataset, changed, owner="alice")
    page = alice.get(path_of(dataset))
    assert "<bdi>Mugs</bdi> <small><bdi>C3</bdi></small></a>" in page
    assert "was <del><bdi>Mug</bdi></del>" in page
