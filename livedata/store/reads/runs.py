"""Runs, asked for with their owner."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from livedata.model.diagnosis.explanation import FailedPage
from livedata.model.diagnosis.recorded_run import CellAtRun, RowAtRun, RunFacts, StepFact
from livedata.model.ids import (
    format_optional_timestamp,
    format_optional_uuid,
    format_timestamp,
    format_uuid,
)
from livedata.model.problem import Problem, problem_of
from livedata.model.run import Run
from livedata.store.codec import Fields, StoredCells, load_packed
from livedata.store.database import Reader
from livedata.store.reads.rows import cells_of, stored

_RUN = """
SELECT r.id, r.dataset_id, r.status, r.checks, r.new_rows, r.changed_rows, r.gone_rows, r.error,
       r.queued_at, r.started_at, r.completed_at
FROM runs r JOIN datasets d ON d.id = r.dataset_id
"""


_PAST = """
SELECT w.id, w.row_key, v.data, v.reasons, v.overrides, v.presence, v.id, v.observation_id, v.item,
       v.run_id
FROM rows w JOIN revisions v ON v.dataset_id = :dataset AND v.sequence = (
    SELECT max(sequence) FROM revisions WHERE row_id = w.id AND sequence <= :head)
WHERE w.dataset_id = :dataset
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a Run; `steps` is None where they were not recorded, or are kept no more."""

    id: str
    raw: bytes
    started: int
    ended: int | None
    steps: list[StepFact] | None


def get(reader: Reader, owner: str, run: bytes) -> Run | None:
    """Specification 2.8."""
    row = reader.row(_RUN + "WHERE d.owner = :owner AND r.id = :id", owner=owner, id=run)
    return None if row is None else _run(row)


def newest(reader: Reader, owner: str, dataset: bytes, limit: int) -> list[Run]:
    """The recent Runs of a dataset, newest first."""
    rows = reader.rows(
        _RUN + "WHERE d.owner = :owner AND r.dataset_id = :dataset "
        "ORDER BY r.queued_at DESC, r.id DESC LIMIT :limit",
        owner=owner,
        dataset=dataset,
        limit=limit,
    )
    return [_run(row) for row in rows]


def all_ids(reader: Reader, owner: str) -> list[bytes]:
    """Every Run of the owner, newest first."""
    rows = reader.rows(
        "SELECT r.id FROM runs r JOIN datasets d ON d.id = r.dataset_id "
        "WHERE d.owner = :owner ORDER BY r.queued_at DESC, r.id DESC",
        owner=owner,
    )
    return [row[0] for row in rows]


def facts(reader: Reader, run: bytes) -> tuple[dict[str, Any], RunFacts]:
    """The (stop, facts) that a Run stored at its end; both empty while it is open."""
    row = reader.row("SELECT stop, facts FROM runs WHERE id = :id", id=run)
    assert row is not None
    return orjson.loads(row[0] or "{}"), load_packed(row[1] or "{}")


def problem(reader: Reader, run: bytes) -> Problem | None:
    """What went wrong with a Run; None also for Runs of versions that kept only the sentence."""
    stored = reader.value("SELECT problem FROM runs WHERE id = :id", id=run)
    return None if stored is None else problem_of(orjson.loads(stored))


def times(reader: Reader, run: bytes) -> tuple[int, int | None, int | None]:
    """When a Run was queued, last started, and completed."""
    row = reader.row("SELECT queued_at, started_at, completed_at FROM runs WHERE id = :id", id=run)
    assert row is not None
    return row[0], row[1], row[2]


def attempts(reader: Reader, run: bytes) -> list[Attempt]:
    """The attempts at a Run, in order."""
    rows = reader.rows(
        "SELECT id, started_at, ended_at, steps FROM attempts WHERE run_id = :run ORDER BY number",
        run=run,
    )
    return [
        Attempt(
            format_uuid(row[0]), row[0], row[1], row[2], load_packed(row[3]) if row[3] else None
        )
        for row in rows
    ]


def failed_page(reader: Reader, run: bytes, at: int) -> FailedPage | None:
    """The page that stopped a Run, while it is kept."""
    row = reader.row(
        "SELECT number, url, final_url, status, title, markup, cut, counts, screenshot "
        "FROM failed_pages WHERE run_id = :run AND kept_until >= :at",
        run=run,
        at=at,
    )
    if row is None:
        return None
    markup = zlib.decompress(row[5]).decode()
    counts = None if row[7] is None else orjson.loads(row[7])
    number, url, final_url, status, title = row[:5]
    return FailedPage(number, url, final_url, status, title, markup, bool(row[6]), counts, row[8])


def accepted_before(reader: Reader, dataset: bytes, run: bytes) -> bytes | None:
    """The newest accepted Run of a dataset that was queued before `run`."""
    found: bytes | None = reader.value(
        "SELECT id FROM runs WHERE dataset_id = :dataset AND status = 'succeeded' AND id <> :run "
        "AND queued_at <= (SELECT queued_at FROM runs WHERE id = :run) "
        "ORDER BY queued_at DESC, id DESC LIMIT 1",
        dataset=dataset,
        run=run,
    )
    return found


def recipe_version(reader: Reader, run: bytes) -> int:
    """The version of the recipe that a Run executes."""
    version: int = reader.value("SELECT recipe_version FROM runs WHERE id = :id", id=run)
    return version


def rows_at(reader: Reader, dataset: bytes, fields: Fields, head: int) -> dict[str, RowAtRun]:
    """Key -> row as the history has it at `head`: revisions are only ever added."""
    rows = reader.rows(_PAST, dataset=dataset, head=head)
    return {row[1]: _past(row, fields) for row in rows}


def charged(reader: Reader, run: bytes) -> int:
    """The credits that a Run was charged."""
    return -int(reader.value("SELECT credits FROM ledger WHERE run_id = :id", id=run) or 0)


def _run(row: Sequence[Any]) -> Run:
    return {
        "id": format_uuid(row[0]),
        "datasetId": format_uuid(row[1]),
        "status": row[2],
        "checks": orjson.loads(row[3]),
        "rowDeltas": {"new": row[4], "changed": row[5], "gone": row[6]},
        "error": row[7],
        "queuedAt": format_timestamp(row[8]),
        "startedAt": format_optional_timestamp(row[9]),
        "completedAt": format_optional_timestamp(row[10]),
    }


def _past(row: Sequence[Any], fields: Fields) -> RowAtRun:
    kept = stored(row[2:5], row[7], row[8])
    cells = cells_of(row[2:5])
    found = []
    for at, field in enumerate(fields.ids):
        value, reason = cells.source(at)
        read = value is not None or reason == "extraction_failed"
        entry = _entry(kept, fields, at) if read and fields.collected[at] else None
        found.append(CellAtRun(field, value, reason, entry))
    return RowAtRun(
        format_uuid(row[0]),
        row[1],
        row[5],
        format_uuid(row[6]),
        format_optional_uuid(row[9]),
        found,
    )


def _entry(kept: StoredCells, fields: Fields, position: int) -> str | None:
    if kept.observation is None or kept.item is None:
        return None
    return f"{format_uuid(kept.observation)}/{fields.entry(kept.item, position)}"
