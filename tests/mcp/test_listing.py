"""Datasets are listed by name, a part at a time, and none twice or never."""

from __future__ import annotations

import pytest

from livedata.mcp import tables
from livedata.mcp.access import DatasetAccess
from livedata.messages.controls import escape_controls
from livedata.store import dataset_names
from livedata.store.database.store import Store
from tests.made import make_dataset

NAMES = ["Z", "a\x07b", "a0", "aA", "a~", "ä\u202eb", "b"]


@pytest.mark.parametrize("at_once", [1, 3])
def test_names_that_are_written_out_are_each_on_one_page(
    store: Store, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(tables, "_DATASETS", 1)
    monkeypatch.setattr(dataset_names, "_AT_ONCE", at_once)
    for number, name in enumerate(NAMES):
        dataset = make_dataset(store, name=f"made {number}")
        with store.writing() as writer:
            writer.execute("UPDATE datasets SET name = :name WHERE id = :id", name=name, id=dataset)
    agent = DatasetAccess.of(store, "local", "UTC", ())
    seen: list[str] = []
    cursor = None
    while len(seen) <= len(NAMES):
        page = tables.list_datasets(agent, cursor=cursor)
        seen += [entry["dataset"] for entry in page["datasets"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert sorted(seen) == sorted(map(escape_controls, NAMES))
    for name in NAMES:
        with agent.opened(name) as opened:
            assert opened.name == escape_controls(name)
