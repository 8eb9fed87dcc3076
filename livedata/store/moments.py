"""The table of a dataset as it was at a sequence: what the revisions up to it leave (rules 15).

It is read by index: one step for each row that the dataset has ever had, however long its history.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from livedata.model.ids import (
    DatasetId,
    Micros,
    ObservationId,
    RevisionId,
    RowId,
    RunId,
    format_timestamp,
    format_uuid,
)
from livedata.model.row import Presence, ResearchRowIdentity, RevisionKind, Row, RowStatus, Scalar
from livedata.store import rows
from livedata.store.database import backend
from livedata.store.database.backend import Reader
from livedata.store.database.codec import COLUMNS, VALUES, Fields
from livedata.store.database.statements import listed
from livedata.store.datasets import DatasetRef
from livedata.store.evidence import StoredCells, stored_cells

_TOGETHER: Final = 100
"""So many rows share the questions for what they refer to."""
# Revisions are only ever added, so the last one up to a sequence is the row as it was then. A row
# that is younger has none: max() is NULL, which equals nothing, and the join drops the row. A hand
# edit leaves alone what a Run did to the row last: that is asked of the revision before it.
_ROWS: Final = """
SELECT v.data, v.reasons, v.overrides, v.observation_id, v.item, v.evidence,
       w.id, w.row_key, w.first_run_id, v.presence, v.id, v.created_at, c.kind, c.run_id
FROM rows w
JOIN revisions v ON v.dataset_id = :dataset AND v.sequence = (
    SELECT max(sequence) FROM revisions WHERE row_id = w.id AND sequence <= :sequence)
LEFT JOIN revisions c ON c.dataset_id = :dataset AND c.sequence = CASE
    WHEN v.origin <> 'user' THEN v.sequence
    ELSE (SELECT max(sequence) FROM revisions
          WHERE row_id = w.id AND sequence <= :sequence AND origin <> 'user') END
WHERE w.dataset_id = :dataset
ORDER BY w.id
"""
_FEW: Final = 5_000
"""So many rows are looked up one by one rather than among all rows of their dataset."""
# "+ 0", so that no database begins with the revisions after the first sequence, of which there may
# be a million: it begins with the rows.
_DIFFERENCES: Final = """
SELECT w.id, w.row_key, b.data, b.presence, a.data AS after, a.presence AS after_presence
FROM rows w
JOIN revisions a ON a.dataset_id = :dataset AND a.sequence = (
    SELECT max(sequence) FROM revisions WHERE row_id = w.id AND sequence <= :last)
LEFT JOIN revisions b ON b.dataset_id = :dataset AND b.sequence = (
    SELECT max(sequence) FROM revisions WHERE row_id = w.id AND sequence <= :first)
WHERE {which} AND a.sequence + 0 > :first
ORDER BY w.id
"""
_ALL: Final = _DIFFERENCES.format(which="w.dataset_id = :dataset")
_TOUCHED: Final = """
SELECT row_id FROM revisions WHERE dataset_id = :dataset AND sequence > :first AND sequence <= :last
ORDER BY sequence DESC LIMIT :most
"""
_STATUSES: Final[Mapping[RevisionKind, RowStatus]] = {
    "created": "new",
    "updated": "changed",
    "returned": "changed",
    "missing": "gone",
    "baseline": "unchanged",
}


class RowBetween(NamedTuple):
    """A row at two sequences: whether it was there, and its values by position.

    `before` is None if the row had never been there.
    """

    row: RowId
    key: str
    was_there: bool
    is_there: bool
    before: list[Scalar] | None
    after: list[Scalar]


class _RowThen(NamedTuple):
    """A row as one revision left it; `kind` and `run` are of the last one that no hand wrote."""

    cells: StoredCells
    id: RowId
    key: str
    first_run: RunId
    presence: Presence
    revision: RevisionId
    updated_at: Micros
    kind: RevisionKind | None
    run: RunId | None

    @property
    def page(self) -> ObservationId | None:
        """The page on which its cells were read, or the first of several."""
        return next((page for page, _ in self.cells.evidence.all_references()), None)


class _Page(NamedTuple):
    """A page as a Run saw it."""

    run: RunId
    url: str
    observed_at: Micros


def fields_at(
    reader: Reader, dataset: DatasetRef, sequence: int, end: Micros | None = None
) -> Fields:
    """The fields of a dataset with the columns that it had last before a time `end`.

    Without one, with those of the last revision up to a sequence. At the head, and before the first
    revision, those of today.
    """
    columns = None
    if end is not None:
        # A column may come or go without any revision.
        columns = reader.value(
            "SELECT columns FROM schemas WHERE dataset_id = :dataset AND created_at < :end "
            "ORDER BY version DESC LIMIT 1",
            dataset=dataset.id,
            end=end,
        )
    elif sequence < dataset.head:
        columns = reader.value(
            "SELECT s.columns FROM revisions v JOIN schemas s "
            "ON s.dataset_id = v.dataset_id AND s.version = v.schema_version "
            "WHERE v.dataset_id = :dataset AND v.sequence <= :sequence "
            "ORDER BY v.sequence DESC LIMIT 1",
            dataset=dataset.id,
            sequence=sequence,
        )
    now = dataset.fields
    # What names the rows today named them then too, if it was there.
    return now if columns is None else now.with_columns(COLUMNS.load(columns))


def rows_at(reader: Reader, dataset: DatasetId, fields: Fields, sequence: int) -> Iterator[Row]:
    """Every row as it was at a sequence, in the order in which Runs found them.

    A row was seen where its cells were read, since the history tells of no Run that saw it
    unchanged; its status is what the last Run that wrote something did to it.
    """
    last_run = _last_run(reader, dataset, sequence)
    stored = reader.each(_ROWS, dataset=dataset, sequence=sequence)
    then = (_RowThen(stored_cells(row[:6]), *row[6:]) for row in stored)
    # Some at a time: a table need not fit into memory.
    while together := list(islice(then, _TOGETHER)):
        pages = _pages(reader, together)
        who = rows.identities(reader, dataset, [row.key for row in together])
        for row in together:
            yield _row(row, fields, pages, who, last_run)


def touched(reader: Reader, dataset: DatasetId, first: int, last: int, most: int) -> set[RowId]:
    """The rows of the last `most` revisions after the first sequence, up to the last."""
    stored = reader.rows(_TOUCHED, dataset=dataset, first=first, last=last, most=most)
    return {row for (row,) in stored}


def touched_by(
    reader: Reader, dataset: DatasetId, ends: tuple[int, int], kinds: Collection[str], most: int
) -> list[RowId]:
    """The first `most` rows with a revision of these kinds from the one sequence to the other."""
    names, named = listed("kind", kinds)
    stored = reader.rows(
        "SELECT row_id FROM revisions WHERE dataset_id = :dataset AND sequence >= :first "  # noqa: S608  (our names)
        f"AND sequence <= :last AND kind IN ({names}) ORDER BY sequence LIMIT :most",
        dataset=dataset,
        first=ends[0],
        last=ends[1],
        most=most,
        **named,
    )
    return [row for (row,) in stored]


def touched_of(reader: Reader, rows_of: Collection[RowId], first: int, last: int) -> set[RowId]:
    """Those of some rows with a revision after the first sequence, up to the last."""
    names, named = listed("row", rows_of)
    stored = reader.rows(
        f"SELECT DISTINCT row_id FROM revisions WHERE row_id IN ({names}) "  # noqa: S608  (our names)
        "AND sequence > :first AND sequence <= :last",
        first=first,
        last=last,
        **named,
    )
    return {row for (row,) in stored}


def differences(
    reader: Reader,
    dataset: DatasetId,
    first: int,
    last: int,
    wanted: Collection[RowId] | None = None,
) -> Iterator[RowBetween]:
    """What became of each row, or of these, with a revision after the first sequence, up to `last`.

    In the order in which Runs found the rows. A row that came and went between is there too.
    """
    window = {"dataset": dataset, "first": first, "last": last}
    stored: Iterator[backend.Row]
    if wanted is None or len(wanted) > _FEW:
        stored = (row for row in reader.each(_ALL, **window) if wanted is None or row[0] in wanted)
    else:
        stored = _these(reader, window, sorted(wanted))
    for row, key, before, was_presence, after, presence in stored:
        yield RowBetween(
            row,
            key,
            was_presence == "present",
            presence == "present",
            None if before is None else VALUES.load(before),
            VALUES.load(after),
        )


def _these(
    reader: Reader, window: Mapping[str, object], wanted: Sequence[RowId]
) -> Iterator[backend.Row]:
    remaining = iter(wanted)
    while together := list(islice(remaining, _TOGETHER)):
        # The dataset is not named: with it, SQLite would read all its rows instead of these.
        names, named = listed("row", together)
        yield from reader.rows(_DIFFERENCES.format(which=f"w.id IN ({names})"), **window, **named)


def _last_run(reader: Reader, dataset: DatasetId, sequence: int) -> RunId | None:
    run: RunId | None = reader.value(
        "SELECT run_id FROM revisions WHERE dataset_id = :dataset AND sequence <= :sequence "
        "AND run_id IS NOT NULL ORDER BY sequence DESC LIMIT 1",
        dataset=dataset,
        sequence=sequence,
    )
    return run


def _pages(reader: Reader, together: Sequence[_RowThen]) -> dict[ObservationId, _Page]:
    wanted = {row.page for row in together} - {None}
    if not wanted:
        return {}
    names, named = listed("page", wanted)
    sql = f"SELECT id, run_id, source_url, observed_at FROM observations WHERE id IN ({names})"  # noqa: S608  (our names)
    return {page: _Page(*about) for page, *about in reader.rows(sql, **named)}


def _row(
    row: _RowThen,
    fields: Fields,
    pages: Mapping[ObservationId, _Page],
    who: Mapping[str, ResearchRowIdentity],
    last_run: RunId | None,
) -> Row:
    nowhere = _Page(row.first_run, "", row.updated_at)
    page = nowhere if row.page is None else pages.get(row.page, nowhere)
    data = row.cells.data(fields, pad=True)
    return {
        "id": format_uuid(row.id),
        "rowKey": row.key,
        "identity": who.get(row.key),
        "data": {field: data[field] for field in fields.columns},
        "revisionId": format_uuid(row.revision),
        "presence": row.presence,
        "missingReasons": row.cells.missing(fields, pad=True),
        "status": _status(row, last_run),
        "firstSeenRunId": format_uuid(row.first_run),
        "lastSeenRunId": format_uuid(page.run),
        "sourceUrl": page.url,
        "observedAt": format_timestamp(page.observed_at),
        "updatedAt": format_timestamp(row.updated_at),
    }


def _status(row: _RowThen, last_run: RunId | None) -> RowStatus:
    """What the last Run up to then did to the row."""
    if row.presence == "missing":
        return "gone"
    is_of_last = row.run is not None and row.run == last_run
    return _STATUSES[row.kind] if is_of_last and row.kind is not None else "unchanged"
