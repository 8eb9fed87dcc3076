"""Hand edits whose source has changed since, for a person to look at again."""

from __future__ import annotations

from typing import TypedDict

from livedata.extraction.cells import same
from livedata.model.ids import DatasetId, OwnerName
from livedata.model.row import Scalar
from livedata.store import datasets, overrides
from livedata.store.database.store import Database


class StaleOverride(TypedDict):
    """An edited cell with the value of the source at the edit, and since the Run `sinceRunId`."""

    rowId: str
    rowKey: str
    fieldId: str
    column: str
    value: Scalar
    sourceThen: Scalar
    sourceNow: Scalar
    agrees: bool
    sinceRunId: str | None


def edited_cells(db: Database, owner: OwnerName, dataset_id: DatasetId) -> dict[str, set[str]]:
    """Row id -> the fields that are edited by hand. Raises NotFound."""
    with db.reading() as reader:
        dataset = datasets.ref(reader, owner, dataset_id)
        return overrides.edited(reader, dataset_id, dataset.fields)


def stale(db: Database, owner: OwnerName, dataset_id: DatasetId) -> list[StaleOverride]:
    """The overrides whose source has changed since the edit, also if it now agrees with them."""
    with db.reading() as reader:
        dataset = datasets.ref(reader, owner, dataset_id)
        moved = list(overrides.moved(reader, dataset_id, dataset.fields))
    return [
        {
            "rowId": override.row,
            "rowKey": override.key,
            "fieldId": override.field,
            "column": dataset.fields.columns[override.field]["name"],
            "value": override.value,
            "sourceThen": override.then["value"],
            "sourceNow": override.now["value"],
            "agrees": same(override.value, override.now["value"]),
            "sinceRunId": override.run,
        }
        for override in moved
    ]
