"""The change feed: a fixed window of the revisions of a dataset, in order (interface 4.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache, partial

import orjson
from msgspec import Struct

from livedata.model.ids import (
    DatasetId,
    Micros,
    RevisionId,
    RowId,
    RunId,
    parse_timestamp,
    raw_id,
)
from livedata.model.row import Cells, Change, Presence, RevisionKind, Scalar
from livedata.store.database import backend
from livedata.store.database.backend import Reader, Row, Writer
from livedata.store.database.codec import OVERRIDES, VALUES, Fields, load_positions
from livedata.store.feed_json import ChangeWriter, observations, write_page
from livedata.store.recipes import schemas

_REVISION = """
SELECT v.id, v.row_id, v.sequence, v.schema_version, v.previous_id, v.origin, v.kind, v.changed,
       v.presence, v.run_id, v.actor_id, v.request_id, v.request_hash, v.created_at, v.was,
       v.data, v.reasons, v.overrides, v.observation_id, v.item, v.evidence
FROM revisions v
"""
_PLACE = "SELECT v.sequence, v.kind FROM revisions v"


# What stood there is kept with the change, else with the revision before it: only then is that one
# looked up, for none has the id NULL.
_SHOWN = """
SELECT v.sequence, v.row_id, v.kind, v.presence, v.changed, v.run_id, v.created_at, v.data, v.was,
       p.data AS before, v.overrides
FROM revisions v
LEFT JOIN revisions p ON p.id = CASE WHEN v.was IS NULL THEN v.previous_id END
WHERE v.dataset_id = :dataset AND v.sequence > :after AND v.sequence <= :through
ORDER BY v.sequence
"""
_CREATED = """
WITH asked (dataset, place) AS (VALUES {asked})
SELECT a.dataset, (SELECT created_at FROM revisions WHERE dataset_id = a.dataset
    AND sequence <= a.place ORDER BY sequence DESC LIMIT 1)
FROM asked a
"""
_FIRST_PART = 16
"""So many revisions of a row are read at first; then by half as many more, and so on."""


# No cycle goes through a revision, and the collector need not look for one.
class ShownRevision(Struct, frozen=True, gc=False):
    """A revision without its evidence: the shown cells by field id, and which of them it changed.

    `before` is None for the first revision of a row, `run` for what no Run wrote; `edited` are the
    fields with a hand edit.
    """

    sequence: int
    row: RowId
    kind: RevisionKind
    presence: Presence
    changed: Collection[str]
    before: Cells | None
    after: Cells
    run: RunId | None
    created_at: Micros
    edited: Collection[str]


class RevisionFilter(Struct, frozen=True):
    """Revisions with after < sequence <= through, ascending, `limit` at most.

    `row` and `position` narrow it to the timeline of a row, a cell, or a column.
    """

    after: int
    through: int
    limit: int
    row: RowId | None = None
    position: int | None = None


def page(reader: Reader, dataset: DatasetId, fields: Fields, window: RevisionFilter) -> bytes:
    """The revisions of a window, and what they refer to: the JSON of a ``ChangePage``.

    It ends early after PAGE_BYTES.
    """
    writer = ChangeWriter(reader, dataset, fields)
    revisions: list[bytes] = []
    versions: set[int] = set()
    last: int | None = None
    size, more = 0, False
    # Each revision is written before the next is read: what one needed is still in the processor's
    # cache for the next, while a whole page is far larger than that.
    for row in select(reader, dataset, window):
        if len(revisions) == window.limit or size >= backend.PAGE_BYTES:
            # The row beyond the page only tells that a next page exists.
            more = True
            break
        revisions.append(orjson.dumps(writer.change(row)))
        size += len(revisions[-1])
        # Every schema version that a follower needs to read this page comes with it.
        versions.add(row[3])
        last = row[2]
    return write_page(
        revisions,
        schemas(reader, dataset, versions),
        observations(reader, dataset, fields, writer.selection),
        window.through,
        last if more else None,
    )


def revision(
    reader: Reader, dataset: DatasetId, fields: Fields, revision_id: RevisionId
) -> Change | None:
    """One revision of a dataset."""
    row = reader.row(
        f"{_REVISION} WHERE v.id = :id AND v.dataset_id = :dataset",
        id=revision_id,
        dataset=dataset,
    )
    if row is None:
        return None
    # Through JSON, because evidence stands in it as text that is JSON already.
    change: Change = orjson.loads(orjson.dumps(ChangeWriter(reader, dataset, fields).change(row)))
    return change


def by_request(reader: Reader, row: RowId, request_id: str) -> tuple[RevisionId, bytes] | None:
    """The revision of a row that an edit of that request id wrote, and the request's hash."""
    # One at most: a partial unique index over (row, request id) makes sure that an edit which is
    # sent twice is written once. Revisions of Runs have no request id and stay out of it.
    revision = reader.row(
        "SELECT id, request_hash FROM revisions WHERE row_id = :row AND request_id = :request",
        row=row,
        request=request_id,
    )
    return None if revision is None else (revision[0], revision[1])


def last_before(reader: Reader, dataset: DatasetId, moment: Micros) -> int:
    """The sequence of the last revision before a moment; 0 if there is none."""
    head = reader.value(
        "SELECT coalesce(max(sequence), 0) FROM revisions WHERE dataset_id = :dataset",
        dataset=dataset,
    )
    return last_before_of(reader, {dataset: head}, moment)[dataset]


def last_before_of(
    reader: Reader, heads: Mapping[DatasetId, int], moment: Micros
) -> dict[DatasetId, int]:
    """The same of some datasets, whose last sequences are given: each look asks about all of them.

    Revisions never go back in time, so half of them are left out with each look.
    """
    first, left = dict.fromkeys(heads, 0), dict(heads)
    while looked_at := {
        dataset: (first[dataset] + last + 1) // 2
        for dataset, last in left.items()
        if first[dataset] < last
    }:
        places = {f"at{number}": place for number, place in enumerate(looked_at.values())}
        datasets = {f"of{number}": dataset for number, dataset in enumerate(looked_at)}
        asked = ", ".join(f"(:of{number}, :at{number})" for number in range(len(looked_at)))
        for dataset, created in reader.rows(_CREATED.format(asked=asked), **places, **datasets):
            if created < moment:
                first[dataset] = looked_at[dataset]
            else:
                left[dataset] = looked_at[dataset] - 1
    return first


def of_run(reader: Reader, dataset: DatasetId, run: RunId) -> tuple[int, int]:
    """The first and the last sequence that a Run of a dataset wrote; (1, 0) if it wrote nothing."""
    row = reader.row(
        "SELECT coalesce(started_at, queued_at), new_rows + changed_rows + gone_rows FROM runs "
        "WHERE id = :run AND dataset_id = :dataset",
        run=run,
        dataset=dataset,
    )
    began, count = row or (Micros(0), 0)
    # Between its start and what it wrote there are only hand edits. If the clock was set back
    # meanwhile it may have written before it began: then it is looked for from the beginning.
    for after in (last_before(reader, dataset, began), 0) if count else ():
        first = reader.value(
            "SELECT sequence FROM revisions WHERE dataset_id = :dataset AND sequence > :after "
            "AND run_id = :run ORDER BY sequence LIMIT 1",
            dataset=dataset,
            after=after,
            run=run,
        )
        if first is not None:
            return first, first + count - 1
    return 1, 0


def count_of_run(reader: Reader, dataset: DatasetId, run: RunId) -> int:
    """How many revisions an accepted Run of a dataset wrote."""
    count = reader.value(
        "SELECT new_rows + changed_rows + gone_rows FROM runs "
        "WHERE id = :run AND dataset_id = :dataset",
        run=run,
        dataset=dataset,
    )
    return int(count)


def shown(
    reader: Reader, dataset: DatasetId, fields: Fields, after: int, through: int
) -> Iterator[ShownRevision]:
    """The revisions with after < sequence <= through, as conditions look at them."""
    stored = reader.each(_SHOWN, dataset=dataset, after=after, through=through)
    changed_by = lru_cache(maxsize=256)(partial(_changed, fields.ids, fields.hidden))
    every_by = lru_cache(maxsize=256)(partial(_changed, fields.ids, ()))
    load, field_ids, cells_of = VALUES.load, fields.ids, fields.cells
    hidden = fields.hidden
    # Most of what a condition costs is spent here: each name and each copy counts.
    for sequence, row, kind, presence, mask, run, made, data, was, previous, overrides in stored:
        cells = cells_of(load(data))
        changed = changed_by(mask)
        before: Cells | None = None
        if was is not None:
            before = cells | dict(zip(every_by(mask), load(was), strict=True))
        elif previous is not None:
            before = cells_of(load(previous))
        edited = load_positions(OVERRIDES, overrides) if overrides else ()
        covers = [field_ids[place] for place in edited if place not in hidden] if edited else ()
        yield ShownRevision(
            sequence, row, kind, presence, changed, before, cells, run, made, covers
        )


def shown_of(change: Change) -> ShownRevision:
    """A revision of a page without its evidence."""
    run = change["runId"]
    return ShownRevision(
        change["sequence"],
        RowId(raw_id(change["rowId"])),
        change["kind"],
        change["presence"],
        change["changedFieldIds"],
        change["before"],
        change["data"],
        None if run is None else RunId(raw_id(run)),
        parse_timestamp(change["createdAt"]),
        change["overrides"].keys(),
    )


def _changed(field_ids: Sequence[str], hidden: Collection[int], mask: int) -> list[str]:
    return [
        field
        for position, field in enumerate(field_ids)
        if mask >> position & 1 and position not in hidden
    ]


def shown_before(
    reader: Reader, row: RowId, position: int, before: int, after: int = 0
) -> Iterator[tuple[int, list[Scalar]]]:
    """What a row showed in a field between two sequences while it was there, in parts.

    The latest first. A part is the sequence where it begins, and the values. Parts grow: who stops
    early has read little, and who reads all of it has asked seldom.
    """
    limit = _FIRST_PART
    load = VALUES.load
    while True:
        # By the index of the row: its own history is short beside that of its dataset.
        stored = reader.rows(
            "SELECT sequence, data FROM revisions WHERE row_id = :row AND sequence > :after "
            "AND sequence < :before AND presence = 'present' ORDER BY sequence DESC LIMIT :limit",
            row=row,
            after=after,
            before=before,
            limit=limit,
        )
        if stored:
            before = stored[-1][0]
            # A revision may be older than the column.
            shown = map(load, (data for _, data in stored))
            yield before, [values[position] for values in shown if position < len(values)]
        if len(stored) < limit:
            return
        limit += limit // 2


def before_last(reader: Reader, row: RowId, count: int) -> int:
    """The sequence behind which the last `count` revisions of a row are."""
    first = reader.value(
        "SELECT min(sequence) FROM (SELECT sequence FROM revisions WHERE row_id = :row "
        "ORDER BY sequence DESC LIMIT :count) AS latest",
        row=row,
        count=count,
    )
    return int(first or 1) - 1


def cursor(reader: Reader, dataset: DatasetId, name: str) -> int:
    """Where the reader of that name stopped; 0 for a new one."""
    position = reader.value(
        "SELECT position FROM cursors WHERE dataset_id = :dataset AND name = :name",
        dataset=dataset,
        name=name,
    )
    return int(position or 0)


def keep_cursor(writer: Writer, dataset: DatasetId, name: str, position: int, now: Micros) -> None:
    """Remember where a named reader of the feed stopped."""
    # A position may go back: a reader who lost what it got asks for it again.
    writer.execute(
        "INSERT INTO cursors (dataset_id, name, position, updated_at) "
        "VALUES (:dataset, :name, :position, :now) ON CONFLICT (dataset_id, name) "
        "DO UPDATE SET position = excluded.position, updated_at = excluded.updated_at",
        dataset=dataset,
        name=name,
        position=position,
        now=now,
    )


def newest(
    reader: Reader,
    dataset: DatasetId,
    fields: Fields,
    window: RevisionFilter,
    most: int,
    kind: RevisionKind | None = None,
) -> tuple[list[Change], int | None]:
    """The last revisions of a window, newest first, `most` at most and none after PAGE_BYTES.

    With the sequence before which the earlier ones go on; None if there are none. No index knows
    the kind: revisions of others count as looked at.
    """
    writer = ChangeWriter(reader, dataset, fields)
    changes: list[Change] = []
    size, last = 0, None
    for number, row in enumerate(select(reader, dataset, window, newest_first=True)):
        is_wanted = kind in {None, row[6]}
        is_full = number == window.limit or size >= backend.PAGE_BYTES
        if is_full or (is_wanted and len(changes) == most):
            return changes, last
        last = row[2]
        if is_wanted:
            # Through JSON, because evidence stands in it as text that is JSON already.
            written = orjson.dumps(writer.change(row))
            changes.append(orjson.loads(written))
            size += len(written)
        else:
            size += len(row[15]) + len(row[17] or "")
    return changes, None


def ahead(
    reader: Reader,
    dataset: DatasetId,
    window: RevisionFilter,
    count: int,
    kind: RevisionKind | None = None,
) -> int | None:
    """The sequence of the revision of a window that so many are older than; None for no such.

    The last one that may be looked at counts as that one, where others follow it.
    """
    sql, values = _within(dataset, window)
    stored = reader.rows(f"{_PLACE} {sql}", **values)
    for looked_at, (sequence, its_kind) in enumerate(stored, 1):
        count -= kind in {None, its_kind}
        if not count or looked_at > window.limit:
            return int(sequence)
    return None


def select(
    reader: Reader, dataset: DatasetId, window: RevisionFilter, *, newest_first: bool = False
) -> Iterator[Row]:
    """The revisions of a window, and one more if more follow."""
    sql, values = _within(dataset, window, newest_first=newest_first)
    return reader.page(f"{_REVISION} {sql}", **values)


def _within(
    dataset: DatasetId, window: RevisionFilter, *, newest_first: bool = False
) -> tuple[str, dict[str, object]]:
    """What stands behind the table for the revisions of a window, and the values that it names."""
    # A page starts after a sequence, not at an OFFSET: 0.1 ms at any place of a million revisions,
    # while an OFFSET near the end takes 60 ms. Its upper end is fixed, so that a reader who walks
    # all pages sees one state although Runs go on.
    joins, where = [], ["v.dataset_id = :dataset"]
    walked = "v.sequence"
    if window.row is not None:
        where.append("v.row_id = :row")
    if window.position is not None:
        # Which revisions changed a field is a bit in each of them, and no index can find a bit.
        joins.append("JOIN revision_fields f ON f.dataset_id = v.dataset_id")
        where += ["f.dataset_id = :dataset", "f.position = :position", "f.sequence = v.sequence"]
        # The table to walk in order: the timeline of one row is shorter than that of a column.
        walked = "v.sequence" if window.row is not None else "f.sequence"
    where.append(f"{walked} > :after AND {walked} <= :through")
    order = f"{walked} DESC" if newest_first else walked
    values: dict[str, object] = {
        "dataset": dataset,
        "row": window.row,
        "position": window.position,
        "after": window.after,
        "through": window.through,
        "limit": window.limit + 1,
    }
    sql = f"{' '.join(joins)} WHERE {' AND '.join(where)} ORDER BY {order} LIMIT :limit"
    return sql, values
