"""Acts on rows: edit cells by hand, or reset them to what the source says."""

from __future__ import annotations

import hashlib

import orjson

from livedata.model import ids
from livedata.model.errors import Invalid, NotFound, RequestIdReused, RevisionConflict
from livedata.model.requests import EditRow
from livedata.model.row import RowRevision
from livedata.rules.changes.compare import Cells, CurrentRow
from livedata.rules.changes.edits import edit as apply_edit
from livedata.store.database import Reader
from livedata.store.engine import Store
from livedata.store.reads import datasets as dataset_reads
from livedata.store.reads import feed
from livedata.store.reads import rows as reads
from livedata.store.writes import datasets as dataset_writes
from livedata.store.writes import rows as writes


def edit(
    store: Store, owner: str, dataset: bytes, row_id: bytes, wanted: EditRow, actor: bytes | None
) -> RowRevision:
    """Override or reset cells of a row (specification 4.2); the revision that this wrote.

    The same request id with the same body returns the first revision again, whatever has happened
    since. Raises NotFound, Invalid, RevisionConflict where the row has changed since it was read,
    and RequestIdReused where the request id came with another body.
    """
    digest = request_hash(wanted)
    with store.writing() as writer:
        about = dataset_reads.handle(writer, owner, dataset)
        row = reads.current_one(writer, dataset, row_id) if about else None
        if about is None or row is None:
            raise NotFound("There is no such row.")
        earlier = _earlier(writer, row_id, wanted.request_id)
        if earlier is not None:
            if earlier[1] != digest:
                raise RequestIdReused
            return _answer(writer, dataset, about, earlier[0])
        cells, named = _edited(about, row, wanted)
        if ids.raw_id(wanted.expected_revision_id) != row.revision_id:
            raise RevisionConflict(
                "The row has changed since you read it; its revision is now "
                f"{ids.format_uuid(row.revision_id)}. Read it again, then edit."
            )
        _, version, latest = dataset_writes.lock(writer, dataset)
        revision = writes.write_edit(
            writer,
            writes.Moment(dataset, version, max(ids.now(), latest), None),
            row,
            cells,
            named,
            actor=actor,
            request_id=wanted.request_id,
            request_hash=digest,
        )
        return _answer(writer, dataset, about, revision)


def _edited(
    about: dataset_reads.Handle, row: CurrentRow, wanted: EditRow
) -> tuple[Cells, frozenset[int]]:
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


def _earlier(reader: Reader, row_id: bytes, request_id: str) -> tuple[bytes, bytes] | None:
    found = reader.row(
        "SELECT id, request_hash FROM revisions WHERE row_id = :row AND request_id = :request",
        row=row_id,
        request=request_id,
    )
    return None if found is None else (found[0], found[1])


def _answer(
    reader: Reader, dataset: bytes, about: dataset_reads.Handle, revision: bytes
) -> RowRevision:
    found = feed.revision(reader, dataset, about.fields, revision)
    assert found is not None
    return {key: value for key, value in found.items() if key not in {"before", "beforeOverrides"}}  # type: ignore[return-value]
