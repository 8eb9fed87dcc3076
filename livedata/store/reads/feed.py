"""The change feed: a fixed window of the revisions of a dataset, in order (specification 4.2)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from livedata.model.dataset import Schema
from livedata.model.row import Change, ChangePage
from livedata.store.codec import Fields
from livedata.store.database import Reader
from livedata.store.ids import ident, maybe_ident, moment
from livedata.store.reads.rows import Wanted, observations, stored

_REVISION = """
SELECT v.id, v.row_id, v.sequence, v.schema_version, v.previous_id, v.origin, v.kind, v.changed,
       v.data, v.reasons, v.overrides, v.presence, v.observation_id, v.item, v.run_id, v.actor_id,
       v.request_id, v.request_hash, v.created_at,
       p.data, p.reasons, p.overrides, p.observation_id, p.item
FROM revisions v
"""
_BEFORE = "LEFT JOIN revisions p ON p.id = v.previous_id"


@dataclass(frozen=True, slots=True)
class Window:
    """Revisions with after < sequence <= through, ascending, `limit` at most.

    `row` and `position` narrow it to the timeline of a row, a cell, or a column.
    """

    after: int
    through: int
    limit: int
    row: bytes | None = None
    position: int | None = None


def page(reader: Reader, dataset: bytes, fields: Fields, window: Window) -> ChangePage:
    """The revisions of a window, and what they refer to."""
    found, more = select(reader, dataset, window)
    wanted = Wanted()
    data = [_change(one, ident(dataset), fields, wanted) for one in found]
    return {
        "data": data,
        "schemas": schemas(reader, dataset, {change["schemaVersion"] for change in data}),
        "observations": observations(reader, dataset, fields, wanted),
        "through": window.through,
        "nextAfter": data[-1]["sequence"] if more else None,
    }


def revision(reader: Reader, dataset: bytes, fields: Fields, revision_id: bytes) -> Change | None:
    """One revision of a dataset."""
    row = reader.row(
        f"{_REVISION} {_BEFORE} WHERE v.id = :id AND v.dataset_id = :dataset",
        id=revision_id,
        dataset=dataset,
    )
    return None if row is None else _change(row, ident(dataset), fields, Wanted())


def select(reader: Reader, dataset: bytes, window: Window) -> tuple[Sequence[Any], bool]:
    """The revisions of a window, and whether more follow: one more is looked at."""
    joins, where = [], ["v.dataset_id = :dataset"]
    walked = "v.sequence"
    if window.row is not None:
        where.append("v.row_id = :row")
    if window.position is not None:
        joins.append("JOIN revision_fields f ON f.dataset_id = v.dataset_id")
        where += ["f.dataset_id = :dataset", "f.position = :position", "f.sequence = v.sequence"]
        walked = "v.sequence" if window.row is not None else "f.sequence"
    where.append(f"{walked} > :after AND {walked} <= :through")
    found = reader.rows(
        f"{_REVISION} {' '.join(joins)} {_BEFORE} WHERE {' AND '.join(where)} "
        f"ORDER BY {walked} LIMIT :limit",
        dataset=dataset,
        row=window.row,
        position=window.position,
        after=window.after,
        through=window.through,
        limit=window.limit + 1,
    )
    return found[: window.limit], len(found) > window.limit


def _change(row: Sequence[Any], dataset: str, fields: Fields, wanted: Wanted) -> Change:
    """One revision; what it refers to is added to `wanted`."""
    cells = stored(row[8:11], row[12], row[13])
    wanted.add(cells, cells.read(fields))
    wanted.add(cells, cells.read_below())
    change: Change = {
        "id": ident(row[0]),
        "datasetId": dataset,
        "rowId": ident(row[1]),
        "sequence": row[2],
        "schemaVersion": row[3],
        "previousRevisionId": maybe_ident(row[4]),
        "origin": row[5],
        "kind": row[6],
        "changedFieldIds": [field for at, field in enumerate(fields.ids) if row[7] >> at & 1],
        "data": cells.data(fields, pad=False),
        "evidence": cells.evidence(fields),
        "missingReasons": cells.missing(fields),
        "presence": row[11],
        "createdAt": moment(row[18]),
        "runId": maybe_ident(row[14]),
        "actorId": maybe_ident(row[15]),
        "requestId": row[16],
        "requestHash": None if row[17] is None else row[17].hex(),
        "overrides": cells.overridden(fields),
        "before": None,
    }
    if row[4] is not None:
        before = stored(row[19:22], row[22], row[23])
        wanted.add(before, before.read_below())
        change["before"] = before.data(fields, pad=False)
        change["beforeOverrides"] = before.overridden(fields)
    return change


def schemas(reader: Reader, dataset: bytes, versions: Collection[int]) -> list[Schema]:
    """Those versions of the schema, ascending."""
    return [
        {
            "id": ident(row[0]),
            "datasetId": ident(dataset),
            "version": version,
            "fields": orjson.loads(row[1]),
            "createdAt": moment(row[2]),
        }
        for version in sorted(versions)
        for row in reader.rows(
            "SELECT id, columns, created_at FROM schemas "
            "WHERE dataset_id = :dataset AND version = :version",
            dataset=dataset,
            version=version,
        )
    ]
