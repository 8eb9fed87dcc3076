"""The change feed: a fixed window of the revisions of a dataset, in order (specification 4.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

from livedata.model.dataset import Schema
from livedata.model.ids import format_optional_uuid, format_timestamp, format_uuid
from livedata.model.row import Change, Scalar
from livedata.store.codec import Fields
from livedata.store.database import Reader
from livedata.store.reads.rows import Wanted, observations, stored

_REVISION = """
SELECT v.id, v.row_id, v.sequence, v.schema_version, v.previous_id, v.origin, v.kind, v.changed,
       v.data, v.reasons, v.overrides, v.presence, v.observation_id, v.item, v.run_id, v.actor_id,
       v.request_id, v.request_hash, v.created_at, v.was,
       p.data, p.reasons, p.overrides, p.observation_id, p.item
FROM revisions v
"""
_BEFORE = "LEFT JOIN revisions p ON p.id = CASE WHEN v.was IS NULL THEN v.previous_id END"


@dataclass(frozen=True, slots=True)
class Window:
    """Revisions with after < sequence <= through, ascending, `limit` at most.

    `row` and `position` narrow it to the timeline of a row, a cell, or a column.
    """

    after: int
    through: int
    limit: int
    row: bytes | None = None
    position: int | None = None


def page(reader: Reader, dataset: bytes, fields: Fields, window: Window) -> bytes:
    """The revisions of a window, and what they refer to: the JSON of a ``ChangePage``.

    Each revision and observation is written before the next is read: what one needed is still in
    the processor's cache for the next, while a whole page is far larger than that.
    """
    writer = _Writer(dataset, fields)
    revisions: list[bytes] = []
    versions: set[int] = set()
    last: int | None = None
    more = False
    for row in select(reader, dataset, window):
        if len(revisions) == window.limit:
            more = True
            break
        revisions.append(orjson.dumps(writer.change(row)))
        versions.add(row[3])
        last = row[2]
    seen = map(orjson.dumps, observations(reader, dataset, fields, writer.wanted))
    parts = (
        b'{"data":[',
        b",".join(revisions),
        b'],"schemas":',
        orjson.dumps(schemas(reader, dataset, versions)),
        b',"observations":[',
        b",".join(seen),
        b'],"through":%d,"nextAfter":%b}' % (window.through, orjson.dumps(last if more else None)),
    )
    return b"".join(parts)


def revision(reader: Reader, dataset: bytes, fields: Fields, revision_id: bytes) -> Change | None:
    """One revision of a dataset."""
    row = reader.row(
        f"{_REVISION} {_BEFORE} WHERE v.id = :id AND v.dataset_id = :dataset",
        id=revision_id,
        dataset=dataset,
    )
    if row is None:
        return None
    change: Change = orjson.loads(orjson.dumps(_Writer(dataset, fields).change(row)))
    return change


def select(reader: Reader, dataset: bytes, window: Window) -> Iterator[Sequence[Any]]:
    """The revisions of a window, and one more where more follow."""
    joins, where = [], ["v.dataset_id = :dataset"]
    walked = "v.sequence"
    if window.row is not None:
        where.append("v.row_id = :row")
    if window.position is not None:
        joins.append("JOIN revision_fields f ON f.dataset_id = v.dataset_id")
        where += ["f.dataset_id = :dataset", "f.position = :position", "f.sequence = v.sequence"]
        walked = "v.sequence" if window.row is not None else "f.sequence"
    where.append(f"{walked} > :after AND {walked} <= :through")
    return reader.each(
        f"{_REVISION} {' '.join(joins)} {_BEFORE} WHERE {' AND '.join(where)} "
        f"ORDER BY {walked} LIMIT :limit",
        dataset=dataset,
        row=window.row,
        position=window.position,
        after=window.after,
        through=window.through,
        limit=window.limit + 1,
    )


class _Writer:
    """Writes revisions; `wanted` is what those so far referred to.

    A page has a hundred of them, most of which differ in a few places only: what recurs is made
    once, and where a row without edits was read is put together as text.
    """

    def __init__(self, dataset: bytes, fields: Fields) -> None:
        self.wanted = Wanted()
        self._dataset = format_uuid(dataset)
        self._fields = fields
        self._ident = cache(format_optional_uuid)
        self._moment = cache(format_timestamp)
        self._changed = cache(self._changed_fields)
        self._read = cache(self._read_cells)

    def change(self, row: Sequence[Any]) -> Mapping[str, object]:
        """One revision, to be written as the JSON of a ``Change``."""
        values = orjson.loads(row[8])
        data = dict(zip(self._fields.ids, values, strict=False))
        plain = row[9] is None and row[10] is None
        evidence, missing, overrides = (
            (self._plain(values, row[12], row[13]), {}, {}) if plain else self._edited(row)
        )
        changed = self._changed(row[7])
        change: dict[str, object] = {
            "id": format_uuid(row[0]),
            "datasetId": self._dataset,
            "rowId": format_uuid(row[1]),
            "sequence": row[2],
            "schemaVersion": row[3],
            "previousRevisionId": format_optional_uuid(row[4]),
            "origin": row[5],
            "kind": row[6],
            "changedFieldIds": changed,
            "data": data,
            "evidence": evidence,
            "missingReasons": missing,
            "presence": row[11],
            "createdAt": self._moment(row[18]),
            "runId": self._ident(row[14]),
            "actorId": self._ident(row[15]),
            "requestId": row[16],
            "requestHash": None if row[17] is None else row[17].hex(),
            "overrides": overrides,
            "before": None,
        }
        if row[19] is not None:
            was = zip(changed, orjson.loads(row[19]), strict=True)
            change["before"], change["beforeOverrides"] = {**data, **dict(was)}, {}
        elif row[4] is not None:
            change["before"], change["beforeOverrides"] = self._before(row)
        return change

    def _plain(
        self, values: Sequence[Scalar], observation: bytes | None, item: int
    ) -> Mapping[str, object] | orjson.Fragment:
        """Where the values of a row without reasons and overrides were read."""
        if observation is None:
            return {}
        absent = () if None not in values else tuple(one is None for one in values)
        read, parts = self._read(len(values), absent)
        self.wanted.refer(observation, item, read)
        return orjson.Fragment(f'{self._ident(observation)}","entryId":"{item}/'.join(parts))

    def _read_cells(self, count: int, absent: Sequence[bool]) -> tuple[frozenset[int], list[str]]:
        """The positions that were read, and the JSON of their evidence.

        That is cut where the observation and the item stand in it. Ids and the names of fields
        stand in it as they are: JSON would escape nothing of them.
        """
        fields = self._fields
        read = [at for at in range(count) if fields.collected[at] and not (absent and absent[at])]
        told = (f'"{fields.ids[at]}":[{{"observationId":"\0{fields.names[at]}"}}]' for at in read)
        return frozenset(read), f"{{{','.join(told)}}}".split("\0")

    def _edited(self, row: Sequence[Any]) -> tuple[object, object, object]:
        """Evidence, missing reasons and overrides of a row that has some of these."""
        cells = stored(row[8:11], row[12], row[13])
        fields = self._fields
        self.wanted.add(cells, [*cells.read(fields), *cells.read_below()])
        return cells.evidence(fields), cells.missing(fields), cells.overridden(fields)

    def _before(self, row: Sequence[Any]) -> tuple[object, object]:
        """What stood before, and the overrides of it, by the revision before."""
        before = stored(row[20:23], row[23], row[24])
        self.wanted.add(before, before.read_below())
        return before.data(self._fields, pad=False), before.overridden(self._fields)

    def _changed_fields(self, mask: int) -> list[str]:
        return [field for at, field in enumerate(self._fields.ids) if mask >> at & 1]


def schemas(reader: Reader, dataset: bytes, versions: Collection[int]) -> list[Schema]:
    """Those versions of the schema, ascending."""
    return [
        {
            "id": format_uuid(row[0]),
            "datasetId": format_uuid(dataset),
            "version": version,
            "fields": orjson.loads(row[1]),
            "createdAt": format_timestamp(row[2]),
        }
        for version in sorted(versions)
        for row in reader.rows(
            "SELECT id, columns, created_at FROM schemas "
            "WHERE dataset_id = :dataset AND version = :version",
            dataset=dataset,
            version=version,
        )
    ]
