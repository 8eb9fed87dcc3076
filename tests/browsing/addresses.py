"""The address of each page, once for all tests that visit all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livedata.model import ids
from livedata.services import looks, queries
from livedata.services.notices import subscriptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from livedata.model.ids import DatasetId
    from livedata.store.database.store import Store

ALONE = ("/", "/search?q=a", "/changes", "/usage", "/keys", "/new", "/notices")
"""The pages of an owner that belong to no dataset."""
OF_A_DATASET = (
    *("", "/changes", "/compare", "/runs", "/shares", "/settings", "/edits", "/preview"),
)
"""The pages of a dataset but for those of its rows and Runs."""

VALUES = 4
"""Of so many columns the values are looked at beside the table."""


def of_datasets(store: Store, owner: str) -> Iterator[tuple[DatasetId, tuple[str, ...]]]:
    """Each dataset of an owner, and its pages."""
    for dataset in queries.datasets(store, owner, 100):
        path = f"/datasets/{dataset['id']}"
        raw = ids.DatasetId(ids.raw_id(dataset["id"]))
        values = [f"?facet={column['id']}" for column in dataset["columns"][:VALUES]]
        yield raw, tuple(f"{path}{more}" for more in (*OF_A_DATASET, *values))


def of_rows(store: Store, owner: str, dataset: DatasetId) -> list[str]:
    """The pages of the rows of a dataset, by their keys."""
    rows = sorted(queries.rows(store, owner, dataset, 1_000)[0], key=lambda row: row["rowKey"])
    return [f"/datasets/{ids.format_uuid(dataset)}/rows/{row['id']}" for row in rows]


def of_runs(store: Store, owner: str, dataset: DatasetId) -> list[str]:
    """The pages of the Runs of a dataset."""
    return [f"/runs/{run['id']}" for run in queries.runs(store, owner, dataset, 100)]


def of_looks(store: Store, owner: str) -> list[str]:
    """The pages of the looks of an owner, the newest first."""
    return [f"/new/{ids.format_uuid(look.id)}" for look in looks.kept(store, owner)]


def of_notices(store: Store, owner: str) -> list[str]:
    """The pages of the notices of an owner that can be read, and of what each would have told."""
    paths = []
    for notice in subscriptions.listed(store, owner).notices:
        path = f"/notices/{ids.format_uuid(notice.id)}"
        paths += [path, *([f"{path}/try"] if "changes" in notice.kinds else [])]
    return paths
