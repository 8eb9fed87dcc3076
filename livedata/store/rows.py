"""Rows as they stand, and as they stood at a Run; asked for by dataset."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache

import orjson

from livedata.model.diagnosis.recorded_run import CellAtRun, RowAtRun
from livedata.model.ids import (
    DatasetId,
    Micros,
    RowId,
    RunId,
    format_timestamp,
    format_uuid,
    raw_id,
)
from livedata.model.row import ALL_ROWS, ResearchRowIdentity, Row, RowDetail, RowFilter
from livedata.rules.changes.compare import Cells, CurrentRow
from livedata.store.database import backend
from livedata.store.database.backend import Reader
from livedata.store.database.codec import (
    OVERRIDES,
    REASONS,
    VALUES,
    Fields,
    load_positions,
)
from livedata.store.database.statements import listed
from livedata.store.evidence import EvidenceSelection, decode, stored_cells
from livedata.store.feed_json import observations

_CELLS = "data, reasons, overrides, observation_id, item, evidence"
_ROW = f"""
SELECT {_CELLS}, id, row_key, presence, status, revision_id, first_run_id, last_run_id, source_url,
       observed_at, updated_at
FROM rows
"""  # noqa: S608  (our names)
_TOGETHER = 100
"""So many rows of an export are read at once: each may have a page's worth of text."""
_CURRENT = f"SELECT {_CELLS}, id, row_key, presence, revision_id FROM rows"  # noqa: S608
# Revisions are only ever added, so the last one up to a sequence is the row as it was then. A row
# that is younger has none: max() is NULL, which equals nothing, and the join drops the row.
_AT_RUN = """
SELECT v.data, v.reasons, v.overrides, v.observation_id, v.item, v.evidence,
       w.id, w.row_key, v.presence, v.id, v.run_id
FROM rows w JOIN revisions v ON v.dataset_id = :dataset AND v.sequence = (
    SELECT max(sequence) FROM revisions WHERE row_id = w.id AND sequence <= :head)
WHERE w.dataset_id = :dataset
"""


def newest(
    reader: Reader,
    dataset: DatasetId,
    fields: Fields,
    limit: int,
    only: RowFilter = ALL_ROWS,
    before: tuple[Micros, str] | None = None,
) -> tuple[list[Row], bool]:
    """By updatedAt, then id, both descending; `before` is that pair of the last one seen.

    At most `limit`, and none after PAGE_BYTES; with whether there are more.
    """
    condition, values = where(dataset, only, before)
    # In the order of the index (dataset_id, updated_at, id), walked backwards up to the limit. The
    # row beyond the page only tells that there are more.
    stored = reader.page(
        f"{_ROW} WHERE {condition} ORDER BY updated_at DESC, id DESC LIMIT :limit",
        **values,
        limit=limit + 1,
    )
    rows: list[backend.Row] = []
    size = 0
    for row in stored:
        if len(rows) == limit or size >= backend.PAGE_BYTES:
            return _rows(reader, dataset, rows, fields), True
        rows.append(row)
        size += len(row[0]) + len(row[2] or "")
    return _rows(reader, dataset, rows, fields), False


def recent(
    reader: Reader, dataset: DatasetId, fields: Fields, limit: int, only: RowFilter = ALL_ROWS
) -> list[Row]:
    """By updatedAt descending, then by id ascending: rows of one Run in the order of the site."""
    # No index has this order. So one walk finds the moment of the last row that has a place; what
    # is later has a place too, and of that moment the first rows have one.
    condition, values = where(dataset, only)
    values["limit"] = limit
    moments = reader.rows(
        f"SELECT updated_at FROM rows WHERE {condition} ORDER BY updated_at DESC LIMIT :limit",  # noqa: S608  (our names)
        **values,
    )
    values["moment"] = moments[-1][0] if moments else None
    rows = reader.rows(
        f"{_ROW} WHERE {condition} AND updated_at > :moment ORDER BY updated_at DESC, id", **values
    )
    values["limit"] = limit - len(rows)
    rows += reader.rows(
        f"{_ROW} WHERE {condition} AND updated_at = :moment ORDER BY id LIMIT :limit", **values
    )
    return _rows(reader, dataset, rows, fields)


def in_order(reader: Reader, dataset: DatasetId, fields: Fields) -> Iterator[Row]:
    """Every row of a dataset in the order in which Runs found them, for an export."""
    # Ids grow with time, and within a Run with the place on the site. They alone are sorted: the
    # database would read the whole table for it, before the first row is here.
    sql = "SELECT id FROM rows WHERE dataset_id = :dataset ORDER BY id"
    every = [row_id for (row_id,) in reader.each(sql, dataset=dataset)]
    # Some at a time: a table need not fit into memory.
    for start in range(0, len(every), _TOGETHER):
        yield from of_ids(reader, dataset, fields, every[start : start + _TOGETHER])


def keys_of(reader: Reader, wanted: Collection[RowId]) -> dict[RowId, str]:
    """Row id -> the key of the row."""
    names, named = listed("row", wanted)
    if not named:
        return {}
    sql = f"SELECT id, row_key FROM rows WHERE id IN ({names})"  # noqa: S608  (our names)
    return dict(reader.rows(sql, **named))


def of_ids(
    reader: Reader, dataset: DatasetId, fields: Fields, wanted: Sequence[RowId]
) -> list[Row]:
    """These rows, in this order."""
    names, named = listed("row", wanted)
    if not named:
        return []
    rows = {row[6]: row for row in reader.rows(f"{_ROW} WHERE id IN ({names})", **named)}
    return _rows(reader, dataset, [rows[row] for row in wanted], fields)


def detail(reader: Reader, dataset: DatasetId, fields: Fields, row_id: RowId) -> RowDetail | None:
    """Interface 2.5: one row with its evidence, overrides and observations."""
    row = reader.row(f"{_ROW} WHERE dataset_id = :dataset AND id = :id", dataset=dataset, id=row_id)
    if row is None:
        return None
    cells = stored_cells(row[:6])
    selection = EvidenceSelection()
    selection.add(fields, cells, [*cells.read(fields), *cells.read_below(fields)])
    return {
        **_rows(reader, dataset, [row], fields)[0],
        "datasetId": format_uuid(dataset),
        "evidence": cells.field_evidence(fields),
        "overrides": cells.overridden(fields),
        "observations": [*map(orjson.loads, observations(reader, dataset, fields, selection))],
    }


def keys(reader: Reader, dataset: DatasetId, like: str) -> list[tuple[RowId, str]]:
    """The (id, key) of the row whose key is exactly `like`, else of all rows."""
    # Mostly the key is exact, which is one step in the index; else a caller looks for similar ones.
    exact = reader.rows(
        "SELECT id, row_key FROM rows WHERE dataset_id = :dataset AND row_key = :key",
        dataset=dataset,
        key=like,
    )
    return exact or reader.rows(
        "SELECT id, row_key FROM rows WHERE dataset_id = :dataset", dataset=dataset
    )


def keys_named(
    reader: Reader, dataset: DatasetId, name: str, candidates: Iterable[tuple[RowId, str]]
) -> set[str]:
    """The keys of those candidates that stand for an entity of this name; case does not count."""
    if not any(_is_of_entity(key) for _, key in candidates):
        return set()
    # Imported only for research, as in `identities`.
    from livedata.store.research.entities import keys_named as named

    return named(reader, dataset, name)


def current(reader: Reader, dataset: DatasetId) -> list[CurrentRow]:
    """Every row as the rules compare it."""
    return ask_current(reader, dataset)()


def ask_current(reader: Reader, dataset: DatasetId) -> Callable[[], list[CurrentRow]]:
    """The same together with the next question."""
    answer = reader.ask(f"{_CURRENT} WHERE dataset_id = :dataset", dataset=dataset)
    return lambda: [_current(row) for row in answer()]


def ask_present_keys(reader: Reader, dataset: DatasetId) -> Callable[[], list[str]]:
    """The keys of the rows that are present, asked together with the next question."""
    answer = reader.ask(
        "SELECT row_key FROM rows WHERE dataset_id = :dataset AND presence = 'present'",
        dataset=dataset,
    )
    return lambda: [key for (key,) in answer()]


# An accepted Run sees every row that is present after it. So the rows know the order in which Runs
# were accepted, which moments do not: a clock may be set back.
# All rows that are present say the same. The newest is found at once, whatever number of others is
# gone.
LAST_ACCEPTED = """
SELECT last_run_id FROM rows WHERE dataset_id = :dataset AND presence = 'present'
ORDER BY updated_at DESC, id DESC LIMIT 1
"""


def last_accepted_run(reader: Reader, dataset: DatasetId) -> RunId | None:
    """The Run that was accepted last; None if it left no row, or none was accepted."""
    run: RunId | None = reader.value(LAST_ACCEPTED, dataset=dataset)
    return run


def current_one(reader: Reader, dataset: DatasetId, row_id: RowId) -> CurrentRow | None:
    """One row as the rules compare and edit it."""
    row = reader.row(
        f"{_CURRENT} WHERE dataset_id = :dataset AND id = :id", dataset=dataset, id=row_id
    )
    return None if row is None else _current(row)


def at_run(reader: Reader, dataset: DatasetId, fields: Fields, head: int) -> dict[str, RowAtRun]:
    """Key -> row as the history has it at `head`."""
    rows = reader.rows(_AT_RUN, dataset=dataset, head=head)
    return {row[7]: _row_at_run(row, fields) for row in rows}


def identities(
    reader: Reader, dataset: DatasetId, keys: Sequence[str]
) -> dict[str, ResearchRowIdentity]:
    """Key -> what its row stands for; rows of selectors stand for nobody."""
    entities = [key for key in keys if _is_of_entity(key)]
    if not entities:
        return {}
    # Imported only for research: a listing of selectors is as quick as without it.
    from livedata.store.research.entities import identities

    return identities(reader, dataset, entities)


def where(
    dataset: DatasetId,
    only: RowFilter,
    before: tuple[Micros, str] | None = None,
    *,
    newer: bool = False,
    of: str = "",
) -> tuple[str, dict[str, object]]:
    """What stands after WHERE for rows of a dataset, and the values that it names.

    `before` is (updatedAt, id) of the last row seen of a list that has the newest first; `newer`
    are those that stand before it there. `of` stands before each column where tables are joined.
    """
    conditions = [f"{of}dataset_id = :dataset"]
    if only.since is not None:
        conditions.append(f"{of}updated_at >= :since")
    names, named = listed("status", only.statuses)
    if only.statuses:
        conditions.append(f"{of}status IN ({names})")
    if only.unreadable:
        # The column holds positions and reasons alone, so no text of a site can look like one.
        conditions.append(f"{of}reasons LIKE '%extraction_failed%'")
    if only.edited:
        conditions.append(f"{of}overrides IS NOT NULL")
    values: dict[str, object] = {"dataset": dataset, "since": only.since, **named}
    if before is not None:
        # The id decides among the rows of one Run, which all have its moment.
        sign = ">" if newer else "<"
        conditions.append(f"({of}updated_at, {of}id) {sign} (:updated_at, :last)")
        values |= {"updated_at": before[0], "last": raw_id(before[1])}
    return " AND ".join(conditions), values


def cells_of(columns: Sequence[str | None]) -> Cells:
    """The (data, reasons, overrides) of a row as the rules know them."""
    data, reasons, overrides = columns
    assert data is not None
    return Cells(
        VALUES.load(data), load_positions(REASONS, reasons), load_positions(OVERRIDES, overrides)
    )


def _current(row: backend.Row) -> CurrentRow:
    return CurrentRow(row[6], row[7], cells_of(row[:3]), row[8], row[9], decode(*row[3:6]))


def _is_of_entity(key: str) -> bool:
    """Whether the key of a row is that of an entity, as research gives them."""
    return key.startswith("entity:")


def _rows(reader: Reader, dataset: DatasetId, rows: list[backend.Row], fields: Fields) -> list[Row]:
    who = identities(reader, dataset, [row[7] for row in rows])
    return [_row(row, fields, who.get(row[7])) for row in rows]


def _row(row: backend.Row, fields: Fields, who: ResearchRowIdentity | None) -> Row:
    cells = stored_cells(row[:6])
    data = cells.data(fields, pad=True)
    return {
        "id": format_uuid(row[6]),
        "rowKey": row[7],
        "identity": who,
        # In the order of the columns, while the values are stored in the order of the fields.
        "data": {field: data[field] for field in fields.columns},
        "revisionId": format_uuid(row[10]),
        "presence": row[8],
        "missingReasons": cells.missing(fields, pad=True),
        "status": row[9],
        "firstSeenRunId": format_uuid(row[11]),
        "lastSeenRunId": format_uuid(row[12]),
        "sourceUrl": row[13],
        "observedAt": format_timestamp(row[14]),
        "updatedAt": format_timestamp(row[15]),
    }


def _row_at_run(row: backend.Row, fields: Fields) -> RowAtRun:
    stored, cells = stored_cells(row[:6]), cells_of(row[:3])
    cells_at_run = []
    for field, position in fields.positions.items():
        value, reason = cells.source(position)
        entry = None
        # A cell that was "not_found" has nothing on the page to point at.
        if fields.collected[position] and (value is not None or reason == "extraction_failed"):
            for observation, item in stored.evidence.references(position)[:1]:
                entry = f"{_shared_uuid(observation)}/{fields.entry(item, position)}"
        cells_at_run.append(CellAtRun(field, value, reason, entry))
    return RowAtRun(
        format_uuid(row[6]),
        row[7],
        row[8],
        _shared_uuid(row[9]),
        None if row[10] is None else _shared_uuid(row[10]),
        cells_at_run,
    )


_shared_uuid = lru_cache(maxsize=256)(format_uuid)  # rows share Runs, and the pages they stand on
