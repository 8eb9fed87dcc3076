"""Acts on rows: edit cells by hand, or reset them to what the source says."""

from __future__ import annotations

import hashlib

import orjson

from livedata.model import ids
from livedata.model.errors import Invalid, NotFound, RequestIdReused, RevisionConflict
from livedata.model.ids import DatasetId, KeyId, OwnerName, RevisionId, RowId
from livedata.model.requests import EditRow
from livedata.model.row import RowRevision
from livedata.rules.changes.compare import Cells, CurrentRow
from livedata.rules.changes.edits import edit as apply_edit
from livedata.store import datasets, feed, revisions
from livedata.store import rows as row_store
from livedata.store.database.backend import Reader
from livedata.store.database.store import Store
from livedata.store.datasets import DatasetRef
from livedata.store.revisions import WriteContext


def edit(
    store: Store,
    owner: OwnerName,
    dataset: DatasetId,
    row_id: RowId,
    wanted: EditRow,
    actor: KeyId | None,
) -> RowRevision:
    """Override or reset cells of a row (interface 4.2); the revision that this wrote.

    The same request id with the same body returns the first revision again, whatever has happened
    since. Raises NotFound, Invalid, RevisionConflict if the row has changed since it was read,
    and RequestIdReused if the request id came with another body.
    """
    digest = request_hash(wanted)
    with store.writing() as writer:
        locked = datasets.lock_dataset(writer, dataset, owner)
        about = locked.ref
        row = row_store.current_one(writer, dataset, row_id)
        if row is None:
            raise NotFound("There is no such row.")
        earlier = feed.by_request(writer, row_id, wanted.request_id)
        if earlier is not None:
            if earlier[1] != digest:
                raise RequestIdReused
            return _answer(writer, dataset, about, earlier[0])
        cells, named = _edited(about, row, wanted)
        _check_revision(row, wanted)
        at = max(ids.now(), locked.rows_updated_at)
        revision = revisions.write_edit(
            writer,
            WriteContext(dataset, locked.schema_version, at, None),
            row,
            cells,
            named,
            actor=actor,
            request_id=wanted.request_id,
            request_hash=digest,
        )
        return _answer(writer, dataset, about, revision)


def _check_revision(row: CurrentRow, wanted: EditRow) -> None:
    if ids.raw_id(wanted.expected_revision_id) != row.revision_id:
        raise RevisionConflict(
            "The row has changed since you read it; its revision is now "
            f"{ids.format_uuid(row.revision_id)}. Read it again, then edit."
        )


def _edited(about: DatasetRef, row: CurrentRow, wanted: EditRow) -> tuple[Cells, frozenset[int]]:
    """The row after the edit, and the positions that it names."""
    if wanted.values is None and wanted.reset_field_ids is None:
        raise Invalid("Give values or resetFieldIds: an edit of nothing is not one.")
    columns = {
        field: (position, about.fields.columns[field])
        for field, position in about.fields.positions.items()
    }
    return apply_edit(row.cells, columns, wanted.values or {}, wanted.reset_field_ids or ())


def request_hash(wanted: EditRow) -> bytes:
    """The SHA-256 of the canonical JSON of the whole body."""
    body = wanted.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).digest()


def _answer(
    reader: Reader, dataset: DatasetId, about: DatasetRef, revision: RevisionId
) -> RowRevision:
    found = feed.revision(reader, dataset, about.fields, revision)
    assert found is not None
    return {key: value for key, value in found.items() if key not in {"before", "beforeOverrides"}}  # type: ignore[return-value]
