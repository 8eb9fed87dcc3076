"""Tables as agents find them: which there are, and what is in them."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from livedata.mcp.access import DatasetAccess, OpenDataset
from livedata.mcp.answers import Answer, compact, cut_text, fit, fitting, read_name, write_cursor
from livedata.mcp.row_selection import RowSelection, serve
from livedata.model.dataset import Column
from livedata.services import queries

_DATASETS: Final = 50
_SAMPLE: Final = 50
"""So many rows say how long a row of a table is."""
_SHORT: Final = 200


def list_datasets(access: DatasetAccess, *, cursor: str | None) -> Answer:
    """Every dataset, by name."""
    with access.every(read_name(cursor)) as datasets:
        listed, more = fit(datasets, _entry, _DATASETS)
    return {
        "from_websites": True,
        "datasets": listed,
        "next": write_cursor(listed[-1]["dataset"]) if more else None,
    }


def _entry(opened: OpenDataset, most: int) -> Answer:
    dataset = opened.dataset()
    names = [column["name"] for column in dataset["columns"]]
    entry: Answer = {**opened.about(), "rows": dataset["rowCount"], "columns": names}
    if dataset["question"]:
        entry["question"] = cut_text(dataset["question"], min(most, _SHORT))
    return entry


def describe_dataset(access: DatasetAccess, *, dataset: str) -> Answer:
    """What is in a table, and how much it is."""
    with access.opened(dataset) as opened:
        table = opened.dataset()
        page = RowSelection(serve(opened), ())
        lengths = [len(compact(cells)) for cells in islice(page.rows(), _SAMPLE)]
        average = sum(lengths) / len(lengths) if lengths else 0
        source: Any = queries.source(opened.db, opened.owner, opened.id)["source"]
        about: Answer = {
            **opened.about(),
            "from_websites": True,
            "question": table["question"] and cut_text(table["question"], _SHORT),
            "site": _site(source),
            "rows": table["rowCount"],
            "bytes": round(average * table["rowCount"]),
            "through": page.served.through,
            "schedule": table["schedule"],
        }
    return fitting(
        lambda most: {**about, "columns": [_described(each, most) for each in table["columns"]]}
    )


def _described(column: Column, most: int) -> Answer:
    described: Answer = {"name": column["name"], "type": column["type"]}
    if column["key"]:
        described["key"] = True
    if column["ownership"] == "user":
        described["byHand"] = True
    if "description" in column:
        described["about"] = cut_text(column["description"], min(most, _SHORT))
    return described


def _site(source: Any) -> str | None:
    url = source.get("url") if isinstance(source, dict) else None
    return cut_text(url, _SHORT) if isinstance(url, str) else None
