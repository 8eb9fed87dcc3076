"""Hand edits whose source has moved since: what a person may want to look at again."""

from __future__ import annotations

from typing import TypedDict

from livedata.extraction.cells import same
from livedata.model.ids import DatasetId, OwnerName
from livedata.model.row import Scalar
from livedata.store import datasets, overrides
from livedata.store.database.store import Database


class StaleOverride(TypedDict):
    """An edited cell, what the source said at the edit, and what it says since `sinceRunId`."""

    rowId: str
    rowKey: str
    fieldId: str
    column: str
    value: Scalar
    sourceThen: Scalar
    sourceNow: Scalar
    agrees: bool
    sinceRunId: str | None


def stale(db: Database, owner: OwnerName, dataset_id: DatasetId) -> list[StaleOverride]:
    """The overrides whose source is not what it was at the edit; some now agree with it."""
    with db.reading() as reader:
        about = datasets.ref(reader, owner, dataset_id)
        found = list(overrides.moved(reader, dataset_id, about.fields))
    return [
        {
            "rowId": one.row,
            "rowKey": one.key,
            "fieldId": one.field,
            "column": about.fields.columns[one.field]["name"],
            "value": one.value,
            "sourceThen": one.then["value"],
            "sourceNow": one.now["value"],
            "agrees": same(one.value, one.now["value"]),
            "sinceRunId": one.run,
        }
        for one in found
    ]
