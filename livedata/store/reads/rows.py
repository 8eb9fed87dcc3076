"""Rows and their evidence, asked for by dataset."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from livedata.model.ids import format_timestamp, format_uuid, raw_id
from livedata.model.row import Row, RowDetail, SourceObservation
from livedata.rules.changes.compare import Cells, CurrentRow
from livedata.store.codec import Entries, Fields, StoredCells, load_positions
from livedata.store.database import Reader

_COLUMNS = (
    "id, row_key, data, reasons, overrides, presence, status, revision_id, observation_id, item, "
    "first_run_id, last_run_id, source_url, observed_at, updated_at"
)

_CURRENT = (
    "SELECT id, row_key, data, reasons, overrides, presence, revision_id, observation_id, item "
    "FROM rows"
)


def newest(
    reader: Reader,
    dataset: bytes,
    fields: Fields,
    limit: int,
    *,
    since: int | None = None,
    statuses: Sequence[str] = (),
    before: tuple[int, str] | None = None,
) -> list[Row]:
    """By updatedAt, then id, both descending; `before` is that pair of the last one seen."""
    where = ["dataset_id = :dataset"]
    if since is not None:
        where.append("updated_at >= :since")
    if before is not None:
        where.append("(updated_at, id) < (:at, :last)")
    named = {f"s{index}": status for index, status in enumerate(statuses)}
    if named:
        where.append(f"status IN ({', '.join(f':{name}' for name in named)})")
    rows = reader.rows(
        f"SELECT {_COLUMNS} FROM rows WHERE {' AND '.join(where)} "  # noqa: S608  (no input in it)
        "ORDER BY updated_at DESC, id DESC LIMIT :limit",
        dataset=dataset,
        since=since,
        limit=limit,
        at=before[0] if before else None,
        last=raw_id(before[1]) if before else None,
        **named,
    )
    return [_row(row, fields) for row in rows]


def by_key(reader: Reader, dataset: bytes, fields: Fields) -> Iterator[Row]:
    """Every row of a dataset in the order of its keys, for an export."""
    rows = reader.rows(
        f"SELECT {_COLUMNS} FROM rows WHERE dataset_id = :dataset ORDER BY row_key",  # noqa: S608
        dataset=dataset,
    )
    return (_row(row, fields) for row in rows)


def detail(reader: Reader, dataset: bytes, fields: Fields, row_id: bytes) -> RowDetail | None:
    """Specification 2.5: one row with its evidence, overrides and observations."""
    row = reader.row(
        f"SELECT {_COLUMNS} FROM rows WHERE dataset_id = :dataset AND id = :id",  # noqa: S608
        dataset=dataset,
        id=row_id,
    )
    if row is None:
        return None
    cells = stored(row[2:5], row[8], row[9])
    wanted = Wanted()
    wanted.add(cells, [*cells.read(fields), *cells.read_below()])
    return {
        **_row(row, fields),
        "datasetId": format_uuid(dataset),
        "evidence": cells.evidence(fields),
        "overrides": cells.overridden(fields),
        "observations": list(observations(reader, dataset, fields, wanted)),
    }


def keys(reader: Reader, dataset: bytes, like: str) -> list[tuple[bytes, str]]:
    """The (id, key) of the row whose key is exactly `like`, else of all rows."""
    exact = reader.rows(
        "SELECT id, row_key FROM rows WHERE dataset_id = :dataset AND row_key = :key",
        dataset=dataset,
        key=like,
    )
    return exact or reader.rows(
        "SELECT id, row_key FROM rows WHERE dataset_id = :dataset", dataset=dataset
    )


def current(reader: Reader, dataset: bytes) -> list[CurrentRow]:
    """Every row as the rules compare it."""
    rows = reader.rows(
        f"{_CURRENT} WHERE dataset_id = :dataset",
        dataset=dataset,
    )
    return [_current(row) for row in rows]


def current_one(reader: Reader, dataset: bytes, row_id: bytes) -> CurrentRow | None:
    """One row as the rules compare and edit it."""
    row = reader.row(
        f"{_CURRENT} WHERE dataset_id = :dataset AND id = :id", dataset=dataset, id=row_id
    )
    return None if row is None else _current(row)


def _current(row: Sequence[Any]) -> CurrentRow:
    return CurrentRow(row[0], row[1], cells_of(row[2:5]), row[5], row[6], (row[7], row[8]))


def cells_of(stored_columns: Sequence[Any]) -> Cells:
    """The (data, reasons, overrides) of a row as the rules know them."""
    data, reasons, overrides = stored_columns
    return Cells(orjson.loads(data), load_positions(reasons), load_positions(overrides))


class Wanted(defaultdict[bytes, dict[int, frozenset[int]]]):
    """What an answer refers to: observation -> item -> positions."""

    def __init__(self) -> None:
        super().__init__(dict)

    def add(self, cells: StoredCells, positions: Sequence[int]) -> None:
        """The answer refers to where `positions` of these cells were read."""
        if positions:
            assert cells.observation is not None
            assert cells.item is not None
            self.refer(cells.observation, cells.item, frozenset(positions))

    def refer(self, observation: bytes, item: int, positions: frozenset[int]) -> None:
        """The answer refers to these `positions` of an item."""
        items = self[observation]
        items[item] = items[item] | positions if item in items else positions


def observations(
    reader: Reader, dataset: bytes, fields: Fields, wanted: Wanted
) -> Iterator[SourceObservation]:
    """The observations that an answer refers to, each with the `wanted` entries only."""
    named = {f"o{at}": observation for at, observation in enumerate(wanted)}
    # The dataset is no condition of it: its index would be walked from end to end.
    rows = reader.rows(
        "SELECT id, run_id, source_url, observed_at, digest, entries, dataset_id "  # noqa: S608
        f"FROM observations WHERE id IN ({', '.join(f':{name}' for name in named)})",
        **named,
    )
    known = {row[0]: row for row in rows if row[6] == dataset}
    of, entries = format_uuid(dataset), Entries(fields)
    for observation, positions in wanted.items():
        row = known[observation]
        yield {
            "id": format_uuid(observation),
            "datasetId": of,
            "runId": format_uuid(row[1]),
            "method": "deterministic",
            "sourceUrl": row[2],
            "observedAt": format_timestamp(row[3]),
            "contentDigest": row[4].hex(),
            "entries": entries.load(row[5], positions),
        }


def stored(columns: Sequence[Any], observation: bytes | None, item: int | None) -> StoredCells:
    """The stored cells of a row or revision from its columns."""
    data, reasons, overrides = columns
    return StoredCells(
        orjson.loads(data),
        load_positions(reasons),
        load_positions(overrides),
        observation,
        item,
    )


def _row(row: Sequence[Any], fields: Fields) -> Row:
    cells = stored(row[2:5], row[8], row[9])
    data = cells.data(fields, pad=True)
    return {
        "id": format_uuid(row[0]),
        "rowKey": row[1],
        "identity": None,
        "data": {field: data[field] for field in fields.columns},
        "revisionId": format_uuid(row[7]),
        "presence": row[5],
        "missingReasons": cells.missing(fields),
        "status": row[6],
        "firstSeenRunId": format_uuid(row[10]),
        "lastSeenRunId": format_uuid(row[11]),
        "sourceUrl": row[12],
        "observedAt": format_timestamp(row[13]),
        "updatedAt": format_timestamp(row[14]),
    }
