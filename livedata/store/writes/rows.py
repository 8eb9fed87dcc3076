"""Rows, revisions and observations: in bulk for a Run, singly for an edit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Executable, Integer, Update, bindparam, insert, select, update

from livedata.model.harvest import PageRead
from livedata.model.ids import new_id
from livedata.model.recipe import Recipe
from livedata.rules.changes.compare import Cells, Changes, CurrentRow, RowChange, SeenRecord
from livedata.store.codec import dump, dump_entries, dump_positions
from livedata.store.engine import Writer
from livedata.store.tables import (
    DatasetRecord,
    ObservationRecord,
    RevisionFieldRecord,
    RevisionRecord,
    RowRecord,
    table,
)

_datasets = table(DatasetRecord)
_rows = table(RowRecord)
_revisions = table(RevisionRecord)
_revision_fields = table(RevisionFieldRecord)
_observations = table(ObservationRecord)


_KEPT = ("data", "reasons", "overrides", "presence", "observation_id", "item")
_SEEN = ("last_run_id", "source_url", "observed_at")
_SEE_AGAIN = (
    "UPDATE rows SET status = 'unchanged', last_run_id = ?, source_url = ?, observed_at = ? "
    "WHERE id = ?"
)


def _update(*columns: str) -> Update:
    return (
        update(_rows)
        .where(_rows.c.id == bindparam("b_id"))
        .values({name: bindparam(name) for name in columns})
    )


_WRITE_ROWS: dict[str, Executable] = {
    "new": insert(_rows),
    "changed": _update(*_KEPT, *_SEEN, "revision_id", "status", "updated_at"),
    "gone": _update(*_KEPT, "revision_id", "status", "updated_at"),
}
_INDEX_FIELD = insert(_revision_fields).from_select(
    ["dataset_id", "position", "sequence"],
    select(
        _revisions.c.dataset_id,
        bindparam("position", type_=Integer),
        _revisions.c.sequence,
    ).where(
        _revisions.c.dataset_id == bindparam("dataset"),
        _revisions.c.sequence > bindparam("after"),
        _revisions.c.changed.bitwise_and(bindparam("bit", type_=BigInteger)) != 0,
    ),
)


@dataclass(frozen=True, slots=True)
class Moment:
    """Which dataset, in which schema version, when, and by which Run rows are written."""

    dataset: bytes
    schema_version: int
    at: int
    run: bytes | None


def apply(writer: Writer, moment: Moment, recipe: Recipe, changes: Changes) -> None:
    """Write what an accepted Run changes; the dataset is locked by this transaction."""
    _see_again(writer, moment, changes.unchanged)
    if not changes.revisions:
        return
    observed = _observe(writer, moment, recipe, changes.revisions)
    sequence = _take_sequence(writer, moment, len(changes.revisions))
    revisions: list[dict[str, Any]] = []
    rows: dict[str, list[dict[str, Any]]] = {"new": [], "changed": [], "gone": []}
    for number, change in enumerate(changes.revisions, sequence + 1):
        revision = _revision(moment, change, number, observed)
        revisions.append(revision)
        rows[change.status].append(_row(moment, change, revision))
    for status, statement in _WRITE_ROWS.items():
        if rows[status]:
            writer.execute(statement, rows[status])
    writer.execute(insert(_revisions), revisions)
    changed = frozenset[int]().union(*(change.changed for change in changes.revisions))
    _index_fields(writer, moment, sequence, changed)


def write_edit(
    writer: Writer,
    moment: Moment,
    row: CurrentRow,
    cells: Cells,
    changed: frozenset[int],
    *,
    actor: bytes | None,
    request_id: str,
    request_hash: bytes,
) -> bytes:
    """Write one hand edit of `row`; the id of its revision."""
    sequence = _take_sequence(writer, moment, 1) + 1
    revision = {
        **_cells(cells),
        "id": new_id(),
        "dataset_id": moment.dataset,
        "row_id": row.id,
        "sequence": sequence,
        "schema_version": moment.schema_version,
        "previous_id": row.revision_id,
        "origin": "user",
        "kind": "updated",
        **_moved(row, cells, changed),
        "presence": row.presence,
        "observation_id": row.evidence[0],
        "item": row.evidence[1],
        "actor_id": actor,
        "request_id": request_id,
        "request_hash": request_hash,
        "created_at": moment.at,
    }
    writer.execute(insert(_revisions).values(**revision))
    _index_fields(writer, moment, sequence - 1, changed)
    writer.execute(
        update(_rows)
        .where(_rows.c.id == row.id)
        .values(**_cells(cells), revision_id=revision["id"], updated_at=moment.at)
    )
    return bytes(revision["id"])


def _take_sequence(writer: Writer, moment: Moment, count: int) -> int:
    """Reserve `count` numbers in this transaction, so that they appear in commit order."""
    head = writer.execute(
        update(_datasets)
        .where(_datasets.c.id == moment.dataset)
        .values(head=_datasets.c.head + count, rows_updated_at=moment.at)
        .returning(_datasets.c.head)
    ).scalar_one()
    return int(head) - count


def _observe(
    writer: Writer, moment: Moment, recipe: Recipe, revisions: Iterable[RowChange]
) -> dict[int, bytes]:
    """One observation per page that a new or changed row points at; page number -> its id."""
    texts: dict[int, dict[int, dict[int, str]]] = {}
    pages: dict[int, PageRead] = {}
    for seen in (change.seen for change in revisions if change.seen is not None):
        pages[seen.page.number] = seen.page
        texts.setdefault(seen.page.number, {})[seen.record.number] = _texts(recipe, seen)
    ids = {number: new_id() for number in pages}
    observations = [
        {
            "id": ids[number],
            "dataset_id": moment.dataset,
            "run_id": moment.run,
            "source_url": page.final_url,
            "observed_at": page.at,
            "digest": bytes.fromhex(page.digest),
            "entries": dump_entries(texts[number]),
        }
        for number, page in pages.items()
    ]
    if observations:
        writer.execute(insert(_observations), observations)
    return ids


def _texts(recipe: Recipe, seen: SeenRecord) -> dict[int, str]:
    record = seen.record
    return {
        field.position: text
        for field, text, reason in zip(recipe.fields, record.texts, record.reasons, strict=True)
        if text is not None and reason != "not_found"
    }


def _see_again(
    writer: Writer, moment: Moment, unchanged: Sequence[tuple[CurrentRow, SeenRecord]]
) -> None:
    writer.many(
        _SEE_AGAIN,
        ((moment.run, seen.page.final_url, seen.page.at, row.id) for row, seen in unchanged),
    )


def _cells(cells: Cells) -> dict[str, Any]:
    return {
        "data": dump(cells.values),
        "reasons": dump_positions(cells.reasons),
        "overrides": dump_positions(cells.overrides),
    }


def _moved(row: CurrentRow | None, cells: Cells, changed: frozenset[int]) -> dict[str, Any]:
    """Which positions changed, and what stood there; None where the row before says more."""
    more = row is None or row.cells.overrides or len(row.cells.values) != len(cells.values)
    return {
        "changed": sum(1 << at for at in changed),
        "was": None
        if more or row is None
        else dump([row.cells.values[at] for at in sorted(changed)]),
    }


def _revision(
    moment: Moment, change: RowChange, sequence: int, observed: dict[int, bytes]
) -> dict[str, Any]:
    row, seen = change.row, change.seen
    if seen is not None:
        evidence = (observed[seen.page.number], seen.record.number)
    else:
        assert row is not None
        evidence = row.evidence  # type: ignore[assignment]  # what is gone keeps what it had
    return {
        **_cells(change.cells),
        "id": new_id(),
        "dataset_id": moment.dataset,
        "row_id": row.id if row else new_id(),
        "sequence": sequence,
        "schema_version": moment.schema_version,
        "previous_id": row.revision_id if row else None,
        "origin": "collection",
        "kind": change.kind,
        **_moved(row, change.cells, change.changed),
        "presence": "missing" if seen is None else "present",
        "observation_id": evidence[0],
        "item": evidence[1],
        "run_id": moment.run,
        "created_at": moment.at,
    }


def _row(moment: Moment, change: RowChange, revision: dict[str, Any]) -> dict[str, Any]:
    seen = change.seen
    row = {name: revision[name] for name in _KEPT}
    row |= {"revision_id": revision["id"], "status": change.status, "updated_at": moment.at}
    if change.row is not None:
        row["b_id"] = change.row.id
    else:
        row |= {
            "id": revision["row_id"],
            "dataset_id": moment.dataset,
            "row_key": change.key,
            "first_run_id": moment.run,
        }
    if seen is not None:
        row |= {
            "last_run_id": moment.run,
            "source_url": seen.page.final_url,
            "observed_at": seen.page.at,
        }
    return row


def _index_fields(writer: Writer, moment: Moment, after: int, positions: Iterable[int]) -> None:
    """Index the revisions after a sequence by the fields that they changed, within the database."""
    wanted = [
        {"dataset": moment.dataset, "after": after, "position": position, "bit": 1 << position}
        for position in sorted(positions)
    ]
    if wanted:
        writer.execute(_INDEX_FIELD, wanted)
