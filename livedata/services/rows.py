"""Rows as people have them: cells that a person edits, and what names a row.

A cell is edited by hand and given back to the source, which may have moved on meanwhile; for names
see `livedata.model.row_name`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypedDict

import orjson

from livedata.extraction.cells import same
from livedata.model import ids
from livedata.model.errors import NotFound, RequestIdReused, RevisionConflict
from livedata.model.ids import DatasetId, KeyId, Micros, OwnerName, RevisionId, RowId
from livedata.model.problem import Param, Problem
from livedata.model.row import RowEdit, RowRevision, Scalar
from livedata.model.row_name import RowName
from livedata.rules.changes import edits
from livedata.rules.changes.compare import Cells, CurrentRow
from livedata.store import datasets, feed, overrides, revisions, shown_rows
from livedata.store import rows as row_store
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.store import Database, Store
from livedata.store.datasets import DatasetRef, LockedDataset
from livedata.store.revisions import HandEdit, WriteContext

_MOST_TOLD: Final = 5
_LONGEST_TOLD: Final = 80


def edit(
    store: Store,
    owner: OwnerName,
    dataset: DatasetId,
    row_id: RowId,
    wanted: RowEdit,
    actor: KeyId | None,
) -> RowRevision:
    """Override or reset cells of a row (interface 4.2), and return the revision that it writes.

    A repeated request id with the same body returns the first revision again, even if the row has
    changed since. Raises NotFound, Invalid, RevisionConflict if the row has changed since the
    caller read it, and RequestIdReused if the request id came with another body.
    """
    with store.writing() as writer:
        locked = datasets.lock_dataset(writer, dataset, owner)
        revision = _edit(writer, locked, _moment(locked), row_id, wanted, actor)
        return _answer(writer, dataset, locked.ref, revision)


def edit_together(
    store: Store,
    owner: OwnerName,
    dataset: DatasetId,
    wanted: Mapping[RowId, RowEdit],
    actor: KeyId | None,
) -> None:
    """Edit several rows, each as `edit` does with a revision of its own: all of them, or none.

    Raises what `edit` raises, for the first row that cannot be edited.
    """
    with store.writing() as writer:
        locked = datasets.lock_dataset(writer, dataset, owner)
        moment = _moment(locked)
        for row_id, row_edit in wanted.items():
            _edit(writer, locked, moment, row_id, row_edit, actor)


def _moment(locked: LockedDataset) -> Micros:
    """Now, or when a row of the dataset was last updated if the clock is behind that."""
    return Micros(max(ids.now(), locked.rows_updated_at))


def _edit(
    writer: Writer,
    locked: LockedDataset,
    moment: Micros,
    row_id: RowId,
    wanted: RowEdit,
    actor: KeyId | None,
) -> RevisionId:
    digest = request_hash(wanted)
    row = row_store.current_one(writer, locked.id, row_id)
    if row is None:
        raise NotFound("There is no such row.")
    edits.check(wanted.values or {}, wanted.reset_field_ids or ())
    repeated = _repeated(writer, row_id, wanted, digest)
    if repeated is not None:
        return repeated
    # Before the rules that depend on the row: who has not seen its latest state must read it.
    _check_revision(row, wanted)
    context = WriteContext(locked.id, locked.schema_version, moment, None)
    edited = _hand_edit(locked.ref, row, wanted, actor, digest)
    (revision,) = revisions.write_edits(writer, context, [edited])
    return revision


def take_over(
    writer: Writer, context: WriteContext, owner: OwnerName, dataset: DatasetRef, old: DatasetId
) -> list[Problem]:
    """Edit the rows of a locked dataset as those that are the same are edited in an `old` one.

    It happens once, in the transaction that `context` tells of. What was not taken over is told.
    """
    datasets.change(writer, dataset.id, takes_over=None)
    before = datasets.refs(writer, owner, [old]).get(old)
    if before is None:
        return []
    taken = edits.take_over(
        row_store.current(writer, old),
        row_store.current(writer, dataset.id),
        placed(before),
        placed(dataset),
    )
    made_by = overrides.last_edits(writer, old)
    edited = []
    for each in taken.rows:
        # The edit that is repeated here names this one, so both are found from each other.
        first, actor = made_by.get(each.edited.id, (each.edited.revision_id, None))
        revision, request = ids.format_uuid(each.row.revision_id), ids.format_uuid(first)
        wanted = RowEdit(revision, request, each.values)
        edited.append(_hand_edit(dataset, each.row, wanted, actor, request_hash(wanted)))
    revisions.write_edits(writer, context, edited)
    if not taken.unmatched and not taken.unfit:
        return []
    keys = [key[:_LONGEST_TOLD] for key in taken.unmatched[:_MOST_TOLD]]
    about: dict[str, Param] = {
        "name": before.name,
        "taken": len(taken.rows),
        "rows": len(taken.unmatched),
        "keys": keys,
        "more": len(taken.unmatched) - len(keys),
        "columns": [*taken.unfit],
    }
    return [Problem(edits.EDITS_LEFT, about)]


def placed(dataset: DatasetRef) -> edits.Placed:
    """The columns of a dataset by name, each with its position."""
    positions = dataset.fields.positions
    return {
        column["name"]: (positions[field], column)
        for field, column in dataset.fields.columns.items()
    }


def _hand_edit(
    ref: DatasetRef, row: CurrentRow, wanted: RowEdit, actor: KeyId | None, digest: bytes
) -> HandEdit:
    cells, named = _edited(ref, row, wanted)
    return HandEdit(row, cells, named, actor, wanted.request_id, digest)


def _repeated(reader: Reader, row_id: RowId, wanted: RowEdit, digest: bytes) -> RevisionId | None:
    """The revision that the same request wrote earlier. Raises RequestIdReused for another body."""
    # Asked before the edit is judged: a client that repeats a request whose answer was lost must
    # get that answer, though the row now has another revision.
    earlier = feed.by_request(reader, row_id, wanted.request_id)
    if earlier is None:
        return None
    revision, body = earlier
    if body != digest:
        raise RequestIdReused
    return revision


def _check_revision(row: CurrentRow, wanted: RowEdit) -> None:
    if ids.raw_id(wanted.expected_revision_id) != row.revision_id:
        raise RevisionConflict(
            "The row has changed since you read it; its revision is now "
            f"{ids.format_uuid(row.revision_id)}. Read it again, then edit."
        )


def _edited(ref: DatasetRef, row: CurrentRow, wanted: RowEdit) -> tuple[Cells, frozenset[int]]:
    """The cells after the edit, and the positions that the edit names."""
    columns = {
        field: (position, ref.fields.columns[field])
        for field, position in ref.fields.positions.items()
    }
    return edits.edit(row.cells, columns, wanted.values or {}, wanted.reset_field_ids or ())


def request_hash(wanted: RowEdit) -> bytes:
    """The SHA-256 of the canonical JSON of the whole body."""
    parts = {
        "expectedRevisionId": wanted.expected_revision_id,
        "requestId": wanted.request_id,
        "values": wanted.values,
        "resetFieldIds": wanted.reset_field_ids,
    }
    body = {name: part for name, part in parts.items() if part is not None}
    # Imported late: it loads all of OpenSSL, and who reads rows needs none of it.
    import hashlib

    return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).digest()


def _answer(
    reader: Reader, dataset: DatasetId, ref: DatasetRef, revision: RevisionId
) -> RowRevision:
    change = feed.revision(reader, dataset, ref.fields, revision)
    assert change is not None
    return {key: value for key, value in change.items() if key not in {"before", "beforeOverrides"}}  # type: ignore[return-value]


class StaleOverride(TypedDict):
    """An edited cell with the value of the source at the edit, and since the Run `sinceRunId`."""

    rowId: str
    rowKey: str
    fieldId: str
    column: str
    value: Scalar
    sourceThen: Scalar
    sourceNow: Scalar
    agrees: bool
    sinceRunId: str | None


def stale(db: Database, owner: OwnerName, dataset_id: DatasetId) -> list[StaleOverride]:
    """The overrides whose source has changed since the edit, also if it now agrees with them."""
    with db.reading() as reader:
        dataset = datasets.ref(reader, owner, dataset_id)
        moved = list(overrides.moved(reader, dataset_id, dataset.fields))
    return [
        {
            "rowId": override.row,
            "rowKey": override.key,
            "fieldId": override.field,
            "column": dataset.fields.columns[override.field]["name"],
            "value": override.value,
            "sourceThen": override.then["value"],
            "sourceNow": override.now["value"],
            "agrees": same(override.value, override.now["value"]),
            "sinceRunId": override.run,
        }
        for override in moved
    ]


def called(
    db: Database, owner: OwnerName, dataset_id: DatasetId, wanted: Sequence[str]
) -> dict[str, RowName]:
    """Row id -> what these rows of a dataset are called now."""
    with db.reading() as reader:
        fields = datasets.ref(reader, owner, dataset_id).fields
        return shown_rows.names(reader, fields, wanted)
