"""What cannot be read in the store is a page that says so little; only the log says what it is."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.services import queries
from livedata.store.database.store import Store
from tests.browsing.test_table import path_of
from tests.browsing.world import World

if TYPE_CHECKING:
    from tests.browsing.visitor import Visitor


@pytest.mark.parametrize(
    ("page", "table", "column", "value"),
    [
        ("/", "datasets", "columns", "'{'"),
        ("DATASET", "datasets", "field_ids", "'[\"x\"]'"),
        ("DATASET", "rows", "data", "'{\"a\": 1}'"),
        ("DATASET?sort=rowKey", "rows", "data", "'{'"),
        ("DATASET/changes", "revisions", "data", "'{'"),
        ("DATASET/runs", "runs", "checks", "'[1]'"),
        ("ROW", "rows", "reasons", "'[1]'"),
        ("ROW", "observations", "entries", "'{\"1\": [5]}'"),
        ("RUN", "runs", "facts", "'x'"),
        ("/usage", "ledger", "created_at", "9223372036854775807"),
        ("/new", "looks", "wish", "'{'"),
        ("LOOK", "looks", "seen", "'{\"lists\": 1}'"),
        ("DATASET/preview", "looks", "seen", "'{\"lists\": 1}'"),
    ],
)
def test_what_cannot_be_read_is_a_page_and_the_log_names_its_table(
    alice: Visitor,
    store: Store,
    caplog: pytest.LogCaptureFixture,
    page: str,
    table: str,
    column: str,
    value: str,
) -> None:
    world = World(store, alice.owner)
    dataset, look = world.shop(), ids.format_uuid(world.looks()[0])
    world.preview(dataset)
    path = path_of(dataset)
    row = queries.rows(store, alice.owner, dataset, 1)[0][0]["id"]
    run = queries.runs(store, alice.owner, dataset, 9)[-1]["id"]
    places = {
        "DATASET": path,
        "ROW": f"{path}/rows/{row}",
        "RUN": f"/runs/{run}",
        "LOOK": f"/new/{look}",
    }
    with closing(Store(store.url)) as other, other.writing() as writer:
        writer.execute(f"UPDATE {table} SET {column} = {value}")
    for name, place in places.items():
        page = page.replace(name, place)
    answer = alice.get(page, 500)
    assert "<h1>" in answer
    assert "in the table" not in answer
    (record,) = [each for each in caplog.records if each.levelname == "ERROR"]
    assert f"in the table {table}, row " in record.getMessage()
    assert f"the column {column} cannot be read" in record.getMessage()
    assert record.exc_info is None
