"""The JSON of the feed that is put together by hand says what the plain way says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from livedata.model.ids import format_optional_uuid, format_timestamp, format_uuid
from livedata.services import feed
from livedata.store import datasets
from livedata.store import feed as stored_feed
from livedata.store.database.backend import Reader
from livedata.store.database.store import Store
from livedata.store.evidence import EvidenceSelection, StoredCells, stored_cells
from livedata.store.feed import RevisionFilter
from livedata.store.recipes import schemas
from tests.services.table import A, B, C, Table

KEYS = (
    *("id", "rowId", "sequence", "schemaVersion", "previousRevisionId", "origin", "kind"),
    *("changed", "presence", "runId", "actorId", "requestId", "requestHash", "createdAt"),
)

IDS = ("id", "rowId", "previousRevisionId", "runId", "actorId")


Rows = dict[bytes, tuple[Any, ...]]
"""The revisions as they are stored, by their ids."""


def plain_change(dataset: datasets.DatasetRef, rows: Rows, row: tuple[Any, ...]) -> dict[str, Any]:
    """A revision with nothing that is remembered, shared or joined as text."""
    fields, cells = dataset.fields, stored_cells(row[15:21])
    columns = dict(zip(KEYS, row[:14], strict=True))
    change = {
        **{name: format_optional_uuid(columns[name]) for name in IDS},
        **{name: columns[name] for name in ("sequence", "schemaVersion", "origin", "kind")},
        "requestId": columns["requestId"],
        "requestHash": columns["requestHash"] and columns["requestHash"].hex(),
        "datasetId": format_uuid(dataset.id),
        "presence": columns["presence"],
        "createdAt": format_timestamp(columns["createdAt"]),
        "changedFieldIds": [
            field for place, field in enumerate(fields.ids) if columns["changed"] >> place & 1
        ],
        "data": cells.data(fields, pad=False),
        "evidence": cells.field_evidence(fields),
        "missingReasons": cells.missing(fields, pad=False),
        "overrides": cells.overridden(fields),
        "before": None,
    }
    if row[14] is not None:
        was = zip(change["changedFieldIds"], orjson.loads(row[14]), strict=True)
        change |= {"before": {**change["data"], **dict(was)}, "beforeOverrides": {}}
    elif row[4] is not None:
        before = stored_cells(rows[row[4]][15:21])
        change |= {
            "before": before.data(fields, pad=False),
            "beforeOverrides": before.overridden(fields),
        }
    return change


def selected(rows: Rows, dataset: datasets.DatasetRef) -> EvidenceSelection:
    """What those revisions refer to."""
    selection = EvidenceSelection()

    def add(cells: StoredCells, *positions: int) -> None:
        selection.add(dataset.fields, cells, positions)

    for row in rows.values():
        cells = stored_cells(row[15:21])
        add(cells, *cells.read(dataset.fields), *cells.read_below(dataset.fields))
        if row[14] is None and row[4] is not None:
            before = stored_cells(rows[row[4]][15:21])
            add(before, *before.read_below(dataset.fields))
    return selection


def plain_entries(text: str, wanted: Mapping[int, frozenset[int]], names: list[str]) -> list[Any]:
    """The entries of an observation, each as an object."""
    return [
        {
            "id": f"{item}/{names[int(position)]}",
            "excerpt": kept if isinstance(kept, str) else kept[0],
            "truncated": not isinstance(kept, str),
        }
        for item, by_position in orjson.loads(text).items()
        for position, kept in by_position.items()
        if int(position) in wanted.get(int(item), ())
    ]


def plain_observations(reader: Reader, dataset: datasets.DatasetRef, rows: Rows) -> list[Any]:
    """The observations that these revisions refer to."""
    selection = selected(rows, dataset)
    stored = {
        row[0]: row[1:]
        for row in reader.rows(
            "SELECT id, run_id, source_url, observed_at, digest, entries FROM observations"
        )
    }
    return [
        {
            "id": format_uuid(observation),
            "datasetId": format_uuid(dataset.id),
            "runId": format_uuid(run),
            "method": "deterministic",
            "sourceUrl": url,
            "observedAt": format_timestamp(number),
            "contentDigest": digest.hex(),
            "entries": plain_entries(entries, wanted, dataset.fields.names),
        }
        for observation, wanted in selection.items()
        for run, url, number, digest, entries in [stored[observation]]
    ]


def test_both_ways_say_the_same(store: Store) -> None:
    table = Table(store)
    table.take(A, B, C)
    table.edit("A1", {"title": "Lantern"})
    table.take({**A, "price": 11}, B, {**C, "stock": None})
    table.add_column("colour")
    table.edit("A1", {"colour": "red"}, reset=["title"])
    table.take(A, {**C, "title": "x" * 3000})
    window = RevisionFilter(0, table.dataset["rowCount"] + 100, 100)
    with store.reading() as reader:
        dataset = datasets.ref(reader, "local", table.id)
        rows = {row[0]: row for row in stored_feed.select(reader, dataset.id, window)}
        plain = {
            "data": [plain_change(dataset, rows, row) for row in rows.values()],
            "schemas": schemas(reader, dataset.id, {row[3] for row in rows.values()}),
            "observations": plain_observations(reader, dataset, rows),
            "through": dataset.head,
            "nextAfter": None,
        }
    answered = orjson.loads(feed.changes_json(store, "local", table.id, limit=100))
    assert len(rows) == dataset.head > 8
    assert answered == plain
