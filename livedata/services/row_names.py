"""What names the rows of a dataset, and what they are called now; see `livedata.model.row_name`."""

from __future__ import annotations

from collections.abc import Sequence

from livedata.model.dataset import Column
from livedata.model.ids import DatasetId, OwnerName
from livedata.model.row_name import RowName
from livedata.store import datasets, shown_rows
from livedata.store.database.store import Database


def label_column(db: Database, owner: OwnerName, dataset_id: DatasetId) -> Column | None:
    """The column whose texts name the rows of a dataset; None if their keys do."""
    with db.reading() as reader:
        fields = datasets.ref(reader, owner, dataset_id).fields
    return None if fields.label is None else fields.columns[fields.label]


def label_field(db: Database, owner: OwnerName, dataset_id: DatasetId) -> str | None:
    """The field of that column."""
    column = label_column(db, owner, dataset_id)
    return None if column is None else column["id"]


def called(
    db: Database, owner: OwnerName, dataset_id: DatasetId, wanted: Sequence[str]
) -> dict[str, RowName]:
    """Row id -> what these rows of a dataset are called now."""
    with db.reading() as reader:
        fields = datasets.ref(reader, owner, dataset_id).fields
        return shown_rows.names(reader, fields, wanted)
