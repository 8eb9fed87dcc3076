"""The whole store as its judge reads it: every owner, in streams, nothing decoded yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from livedata.model.ids import DatasetId, KeyId, Micros, ObservationId, RevisionId, RowId, RunId
from livedata.store.database.backend import Reader, Row
from livedata.store.database.statements import selected

KEPT = ("data", "reasons", "overrides", "presence", "observation_id", "item", "evidence")
"""What a row and its last revision both have."""


class WritingRun(NamedTuple):
    """The Run that a record names as its writer; both are None if there is no such Run."""

    dataset: DatasetId | None
    status: str | None


class DatasetRow(NamedTuple):
    """A dataset, with what its rows and revisions add up to."""

    id: DatasetId
    owner: str
    name: str
    columns: str
    field_ids: str
    schema_version: int
    recipe_version: int
    row_count: int
    head: int
    rows_updated_at: Micros
    present: int
    latest: int
    bots: int
    status: str
    schedule: str | None
    next_run_at: Micros | None
    imported_head: int | None
    label_column: str | None
    dropped_columns: str | None


class RowRow(NamedTuple):
    """A row with the revision that it names as its last, whose columns start with ``v_``.

    `writers` are the Runs that it names; its observation is of `observed_by`, at the address
    `observed_url`.
    """

    id: RowId
    dataset_id: DatasetId
    row_key: str
    status: str
    revision_id: RevisionId
    first_run_id: RunId
    last_run_id: RunId
    updated_at: Micros
    v_row: RowId | None
    v_created_at: Micros | None
    v_is_last: int | None
    first_by: RunId | None
    source_url: str
    observed_by: RunId | None
    observed_url: str | None
    writers: set[tuple[RunId, WritingRun]]
    kept: tuple[object, ...]
    v_kept: tuple[object, ...]


class RevisionRow(NamedTuple):
    """A revision as it is stored."""

    id: RevisionId
    dataset_id: DatasetId
    row_id: RowId
    row_dataset: DatasetId | None
    row_key: str | None
    sequence: int
    schema_version: int
    previous_id: RevisionId | None
    origin: str
    kind: str
    changed: int
    data: str
    was: str | None
    reasons: str | None
    overrides: str | None
    presence: str
    observation_id: ObservationId | None
    item: int | None
    evidence: str | None
    run_id: RunId | None
    actor_id: KeyId | None
    actor_owner: str | None
    request_id: str | None
    request_hash: bytes | None
    writer: WritingRun


class RunRow(NamedTuple):
    """A Run with its charges, what it holds, and how many new, changed and gone rows it wrote."""

    id: RunId
    dataset_id: DatasetId
    recipe_version: int
    turn: str | None
    status: str
    checks: str
    new_rows: int
    changed_rows: int
    gone_rows: int
    error: str | None
    stop: str | None
    facts: str | None
    problem: str | None
    attempt: int
    leased: int
    queued_at: Micros
    started_at: Micros | None
    completed_at: Micros | None
    charges: int
    charged: int
    holds: int
    accepted_since: int
    without_steps: int
    imported: int
    written: tuple[int, int, int]


class ChargeRow(NamedTuple):
    """An entry of the ledger with the Run and the dataset that it names."""

    id: bytes
    owner: str
    kind: str
    credits: int
    balance_after: int
    dataset_id: DatasetId | None
    run_id: RunId | None
    dataset_owner: str | None
    run_dataset: DatasetId | None
    run_status: str | None
    imported: int


# The rows are grouped once for all datasets. LEFT, because a draft has none; coalesce, because
# nothing adds up to NULL. PostgreSQL adds no booleans, hence the CASE.
_DATASETS = f"""
SELECT {
    selected(
        DatasetRow,
        "d",
        present="coalesce(r.present, 0)",
        latest="coalesce(r.latest, 0)",
        bots="(SELECT count(*) FROM bots b WHERE b.dataset_id = d.id)",
    )
}
FROM datasets d LEFT JOIN (
    SELECT dataset_id, max(updated_at) AS latest,
           sum(CASE presence WHEN 'present' THEN 1 ELSE 0 END) AS present
    FROM rows GROUP BY dataset_id
) r ON r.dataset_id = d.id ORDER BY d.owner, d.name
"""  # noqa: S608  (our names)
# LEFT: a row whose revision is missing must be found, not skipped.
_ROWS = f"""
SELECT {
    selected(
        RowRow,
        "r",
        v_row="v.row_id",
        v_created_at="v.created_at",
        v_is_last="v.sequence = (SELECT max(sequence) FROM revisions WHERE row_id = r.id)",
        first_by="(SELECT run_id FROM revisions WHERE row_id = r.id ORDER BY sequence LIMIT 1)",
        observed_by="o.run_id",
        observed_url="o.source_url",
        writers="f.dataset_id, f.status, l.dataset_id, l.status",
        kept=", ".join(f"r.{column}" for column in KEPT),
        v_kept=", ".join(f"v.{column}" for column in KEPT),
    )
}
FROM rows r LEFT JOIN revisions v ON v.id = r.revision_id
LEFT JOIN observations o ON o.id = r.observation_id
LEFT JOIN runs f ON f.id = r.first_run_id LEFT JOIN runs l ON l.id = r.last_run_id
"""  # noqa: S608  (our names)
_REVISIONS = f"""
SELECT {
    selected(
        RevisionRow,
        "v",
        row_dataset="r.dataset_id",
        row_key="r.row_key",
        actor_owner="k.owner",
        writer="u.dataset_id, u.status",
    )
}
FROM revisions v LEFT JOIN rows r ON r.id = v.row_id LEFT JOIN api_keys k ON k.id = v.actor_id
LEFT JOIN runs u ON u.id = v.run_id
"""  # noqa: S608  (our names)
# Charges are counted and added up, not joined: a Run with two of them is what is looked for. What
# is accepted since goes by the order in which Runs were queued, which no clock can change: SQLite
# numbers rows by itself, and PostgreSQL has a column for it. LEFT, because most Runs write nothing;
# a kind of revision that there is not counts as new.
_RUNS = f"""
SELECT {
    selected(
        RunRow,
        "r",
        leased="r.lease_owner IS NOT NULL AND r.lease_until IS NOT NULL",
        charges="(SELECT count(*) FROM ledger l WHERE l.run_id = r.id)",
        charged="(SELECT CAST(coalesce(-sum(credits), 0) AS BIGINT) FROM ledger l "
        "WHERE l.run_id = r.id)",
        holds="EXISTS (SELECT 1 FROM held_outputs h WHERE h.run_id = r.id)",
        accepted_since="r.status = 'held' AND EXISTS (SELECT 1 FROM runs s "
        "WHERE s.dataset_id = r.dataset_id AND s.status = 'succeeded' AND s.rowid > r.rowid)",
        without_steps="NOT EXISTS (SELECT 1 FROM attempts a "
        "WHERE a.run_id = r.id AND a.steps IS NOT NULL)",
        imported="r.imported_at IS NOT NULL",
        written="coalesce(w.created, 0), coalesce(w.changed, 0), coalesce(w.gone, 0)",
    )
}
FROM runs r LEFT JOIN (
    SELECT run_id,
           sum(CASE WHEN kind IN ('updated', 'returned', 'missing') THEN 0 ELSE 1 END) AS created,
           sum(CASE WHEN kind IN ('updated', 'returned') THEN 1 ELSE 0 END) AS changed,
           sum(CASE kind WHEN 'missing' THEN 1 ELSE 0 END) AS gone
    FROM revisions WHERE origin = 'collection' AND run_id IS NOT NULL GROUP BY run_id
) w ON w.run_id = r.id
"""  # noqa: S608  (our names)
_LEDGER = f"""
SELECT {
    selected(
        ChargeRow,
        "l",
        dataset_owner="d.owner",
        run_dataset="r.dataset_id",
        run_status="r.status",
        imported="r.imported_at IS NOT NULL",
    )
}
FROM ledger l LEFT JOIN datasets d ON d.id = l.dataset_id LEFT JOIN runs r ON r.id = l.run_id
ORDER BY l.owner, l.created_at, l.id
"""  # noqa: S608  (our names)


def datasets(reader: Reader) -> Iterator[DatasetRow]:
    """Every dataset of every owner."""
    return map(DatasetRow._make, reader.each(_DATASETS))


def versions(reader: Reader, table: str, content: str) -> Iterator[Row]:
    """(dataset, version, content) of ``schemas`` or ``recipes``, each dataset's in order."""
    return reader.each(
        f"SELECT dataset_id, version, {content} FROM {table} "  # noqa: S608  (no input in it)
        "ORDER BY dataset_id, version"
    )


def rows(reader: Reader) -> Iterator[RowRow]:
    """Every row with the revision that it names."""
    plain, first, last = map(RowRow._fields.index, ("writers", "first_run_id", "last_run_id"))
    for row in reader.each(_ROWS):
        names, kept = row[plain : plain + 4], row[plain + 4 :]
        writers = {(row[first], WritingRun(*names[:2])), (row[last], WritingRun(*names[2:]))}
        halves = kept[: len(KEPT)], kept[len(KEPT) :]
        yield RowRow._make((*row[:plain], writers, *halves))


def facts(reader: Reader, run: RunId) -> str | None:
    """What a Run recorded at its end, as stored; None if that is not known."""
    text: str | None = reader.value("SELECT facts FROM runs WHERE id = :run", run=run)
    return text


def revisions(reader: Reader) -> Iterator[RevisionRow]:
    """Every revision, row by row, each row's in order."""
    # So ordered, the judge needs one revision before in memory, however long the history is.
    return _revisions(reader, "v.row_id, v.sequence")


def in_order_of_the_feed(reader: Reader) -> Iterator[RevisionRow]:
    """Every revision, feed by feed in order: those of a Run together, page after page."""
    return _revisions(reader, "v.dataset_id, v.sequence")


def _revisions(reader: Reader, order: str) -> Iterator[RevisionRow]:
    for row in reader.each(f"{_REVISIONS} ORDER BY {order}"):
        yield RevisionRow._make((*row[:-2], WritingRun(*row[-2:])))


def feed(reader: Reader) -> Iterator[Row]:
    """(dataset, sequence, schema version, created at) of every revision, feed by feed in order."""
    return reader.each(
        "SELECT dataset_id, sequence, schema_version, created_at FROM revisions "
        "ORDER BY dataset_id, sequence"
    )


def runs(reader: Reader) -> Iterator[RunRow]:
    """Every Run."""
    for row in reader.each(_RUNS):
        yield RunRow._make((*row[:-3], row[-3:]))


def steps(reader: Reader) -> Iterator[Row]:
    """(Run, steps) of every attempt that has kept them."""
    return reader.each("SELECT run_id, steps FROM attempts WHERE steps IS NOT NULL")


def failed_pages(reader: Reader) -> Iterator[Row]:
    """(Run, its status, page number, markup, counts) of every page that is kept."""
    return reader.each(
        "SELECT f.run_id, r.status, f.number, f.markup, f.counts FROM failed_pages f "
        "LEFT JOIN runs r ON r.id = f.run_id"
    )


def owners(reader: Reader) -> Iterator[Row]:
    """(name, balance) of every owner."""
    return reader.each("SELECT name, balance FROM owners ORDER BY name")


def ledger(reader: Reader) -> Iterator[ChargeRow]:
    """The ledgers, owner by owner."""
    return map(ChargeRow._make, reader.each(_LEDGER))
