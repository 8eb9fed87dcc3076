"""JSON put together by hand: of changes, and of the observations that they refer to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, islice, repeat

import orjson

from livedata.model.dataset import Schema
from livedata.model.errors import Damaged
from livedata.model.ids import (
    DatasetId,
    ObservationId,
    RevisionId,
    format_optional_uuid,
    format_timestamp,
    format_uuid,
)
from livedata.model.row import Scalar
from livedata.store.database.backend import Reader, Row
from livedata.store.database.codec import COLUMNS, ENTRIES, VALUES, Fields, ItemTexts
from livedata.store.database.statements import listed
from livedata.store.evidence import EvidenceSelection, stored_cells

_COMMON = slice(5, 14)
"""The columns of a revision that recur, since Runs write many at once."""
_CELLS = slice(15, 21)
"""The columns of a revision that hold its cells."""
_BEFORE = """
SELECT data, reasons, overrides, observation_id, item, evidence FROM revisions WHERE id = :id
"""


def write_page(
    revisions: Iterable[bytes],
    schemas: Sequence[Schema],
    observations: Iterable[bytes],
    through: int,
    next_after: int | None,
) -> bytes:
    """The JSON of a ``ChangePage`` whose revisions and observations are JSON already."""
    # To load and dump a page again takes ten times as long as to read it from the store. It is put
    # together at once: a page has hundreds of kilobytes, and each copy asks the system for memory.
    parts = (
        *(b'{"data":[', *_with_commas(revisions)),
        *(b'],"schemas":', orjson.dumps(schemas)),
        *(b',"observations":[', *_with_commas(observations)),
        b'],"through":%d,"nextAfter":%b}' % (through, orjson.dumps(next_after)),
    )
    return b"".join(parts)


def _with_commas(parts: Iterable[bytes]) -> Iterator[bytes]:
    return islice(chain.from_iterable(zip(repeat(b","), parts, strict=False)), 1, None)


class ChangeWriter:
    """Writes revisions as they are selected; `selection` is what those so far referred to."""

    def __init__(self, reader: Reader, dataset: DatasetId, fields: Fields) -> None:
        self._reader = reader
        self.selection = EvidenceSelection()
        self._dataset_id, self._dataset = dataset, format_uuid(dataset)
        self._fields = fields
        self._at = cache(self._fields_at)
        # A page has hundreds of revisions of few Runs, moments and sets of columns: what recurs
        # is made once. The caches end with the page, so they need no limit.
        self._uuid = cache(format_uuid)
        self._common = cache(self._common_members)
        self._read = cache(self._read_cells)

    def change(self, row: Row) -> Mapping[str, object]:
        """One revision, to be written as the JSON of a ``Change``."""
        data, reasons, overrides, observation, item, cells = row[_CELLS]
        values, fields = VALUES.load(data), self._at(row[3])
        shown = fields.cells(values)
        common, changed = self._common(row[3], row[_COMMON])
        change = common.copy()
        change["id"], change["rowId"] = format_uuid(row[0]), format_uuid(row[1])
        change["sequence"], change["previousRevisionId"] = row[2], format_optional_uuid(row[4])
        change["data"] = shown
        # Most rows have every value and no edit: their evidence is put together as text.
        if reasons is None and overrides is None and cells is None:
            change["evidence"] = self._plain(row[3], values, observation, item)
            if None in values:
                change["missingReasons"] = fields.reasons(values, {}, (), len(values))
        else:
            self._add_edited(change, fields, row)
        if row[14] is not None:
            # The values that changed, in the order of their positions; the rest stood as it stands.
            before = shown.copy()
            before.update(zip(changed, VALUES.load(row[14]), strict=True))
            change["before"], change["beforeOverrides"] = before, {}
        elif row[4] is not None:
            change["before"], change["beforeOverrides"] = self._before(fields, RevisionId(row[4]))
        return change

    def _fields_at(self, version: int) -> Fields:
        """The fields with the columns of a schema version: one may have been dropped since."""
        if not self._fields.dropped:
            return self._fields
        columns = self._reader.value(
            "SELECT columns FROM schemas WHERE dataset_id = :dataset AND version = :version",
            dataset=self._dataset_id,
            version=version,
        )
        return self._fields.with_columns(COLUMNS.load(columns))

    def _common_members(self, version: int, columns: Row) -> tuple[dict[str, object], list[str]]:
        """All members of a change in their order, with the values of those that recur.

        And the ids of the fields that changed.
        """
        origin, kind, mask, presence, run, actor, request, request_hash, created_at = columns
        ids = enumerate(self._fields.ids)
        changed = [field for position, field in ids if mask >> position & 1]
        return {
            "id": None,
            "datasetId": self._dataset,
            "rowId": None,
            "sequence": None,
            "schemaVersion": version,
            "previousRevisionId": None,
            "origin": origin,
            "kind": kind,
            "changedFieldIds": changed,
            "data": None,
            "evidence": None,
            "missingReasons": {},
            "presence": presence,
            "createdAt": format_timestamp(created_at),
            "runId": format_optional_uuid(run),
            "actorId": format_optional_uuid(actor),
            "requestId": request,
            "requestHash": None if request_hash is None else request_hash.hex(),
            "overrides": {},
            "before": None,
        }, changed

    def _plain(
        self, version: int, values: Sequence[Scalar], observation: ObservationId | None, item: int
    ) -> Mapping[str, object] | orjson.Fragment:
        """Where the values of a row without reasons and overrides were read, all on one item."""
        if observation is None:
            return {}
        # The empty tuple is the key of all rows without a null: the usual case makes no tuple.
        absent = () if None not in values else tuple(value is None for value in values)
        read, parts = self._read(version, len(values), absent)
        self.selection.refer((observation, item), read)
        return orjson.Fragment(f'{self._uuid(observation)}","entryId":"{item}/'.join(parts))

    def _read_cells(
        self, version: int, count: int, absent: Sequence[bool]
    ) -> tuple[frozenset[int], list[str]]:
        """The positions that were read, and the JSON of their evidence.

        The JSON is cut at the places of the observation and the item.
        """
        fields = self._at(version)
        read = [
            position
            for position in range(count)
            if fields.collected[position]
            and position not in fields.hidden
            and not (absent and absent[position])
        ]
        # Ids and names of fields are letters, digits, "-" and "_": JSON escapes nothing of them,
        # and none has the NUL at which the text is cut.
        members = (
            f'"{fields.ids[position]}":[{{"observationId":"\0{fields.names[position]}"}}]'
            for position in read
        )
        return frozenset(read), f"{{{','.join(members)}}}".split("\0")

    def _add_edited(self, change: dict[str, object], fields: Fields, row: Row) -> None:
        """Add evidence, missing reasons and overrides of a row that has some of these."""
        cells = stored_cells(row[_CELLS])
        self.selection.add(fields, cells, [*cells.read(fields), *cells.read_below(fields)])
        change["evidence"] = cells.field_evidence(fields)
        change["missingReasons"] = cells.missing(fields, pad=False)
        change["overrides"] = cells.overridden(fields)

    def _before(self, fields: Fields, revision: RevisionId) -> tuple[object, object]:
        """What stood before, and the overrides of it, by the revision before."""
        # Most revisions say themselves what they replaced, so few are looked up: with a join each
        # column of each would be fetched for nothing.
        row = self._reader.row(_BEFORE, id=revision)
        if row is None:
            raise Damaged("revisions", revision, "id")
        before = stored_cells(row)
        self.selection.add(fields, before, before.read_below(fields))
        return before.data(fields, pad=False), before.overridden(fields)


# Research has an entity for each of its rows, and a dataset has either these or selectors.
_OF_A_MODEL = "EXISTS (SELECT 1 FROM entities e WHERE e.dataset_id = o.dataset_id)"


def observations(
    reader: Reader, dataset: DatasetId, fields: Fields, selection: EvidenceSelection
) -> Iterator[bytes]:
    """The JSON of each ``SourceObservation`` that an answer refers to; selected entries only."""
    # Not only to save a question: PostgreSQL refuses an empty IN ().
    if not selection:
        return
    names, named = listed("o", selection)
    # The dataset is no condition of it: SQLite would take the index of the dataset and walk all its
    # observations, while an id alone is one step in the primary key.
    rows = reader.rows(
        f"SELECT id, run_id, source_url, observed_at, digest, entries, dataset_id, {_OF_A_MODEL} "  # noqa: S608
        f"FROM observations o WHERE id IN ({names})",
        **named,
    )
    by_id = {row[0]: row for row in rows if row[6] == dataset}
    dataset_id, entries = format_uuid(dataset), _EntryWriter(fields)
    run_id = cache(format_uuid)  # A page refers to few Runs.
    for observation, positions in selection.items():
        row = by_id[observation]
        yield orjson.dumps(
            {
                "id": format_uuid(observation),
                "datasetId": dataset_id,
                "runId": run_id(row[1]),
                "method": "model" if row[7] else "deterministic",
                "sourceUrl": row[2],
                "observedAt": format_timestamp(row[3]),
                "contentDigest": row[4].hex(),
                "entries": orjson.Fragment(entries.write(row[5], positions)),
            }
        )


_LINES = orjson.OPT_INDENT_2


class _EntryWriter:
    """Writes the entries of observations as JSON.

    A page of changes has hundreds of them. So the texts of an item are written as one list with
    a line for each, and that is cut between the lines: within a text, JSON escapes a line's end.
    """

    def __init__(self, fields: Fields) -> None:
        self._names = fields.names
        # The items of a list mostly have the same fields: what is the same of them is made once.
        self._shape = cache(self._make_shape)

    def write(self, text: str, wanted: Mapping[int, frozenset[int]]) -> bytes:
        """The entries that are `wanted`, item -> positions, in the order of the page."""
        # A text of which only the beginning is kept stands in a list; hardly a page has one.
        all_whole = '["' not in text
        # An observation has the items of a whole page, and an answer may need one of them.
        items = [
            self._item(item, kept, wanted[item], frozenset() if all_whole else _truncated(kept))
            for item, kept in ENTRIES.load(text).items()
            if item in wanted
        ]
        return b"[%b]" % b",".join(filter(None, items))

    def _item(
        self, item: int, kept: ItemTexts, wanted: frozenset[int], truncated: frozenset[int]
    ) -> bytes:
        positions, around = self._shape(tuple(kept), wanted, truncated)
        texts = [kept[position] for position in positions]
        if truncated:
            texts = [text if isinstance(text, str) else text[0] for text in texts]
        # The JSON of an empty list has no quotes to leave out.
        escaped = orjson.dumps(texts, option=_LINES)[5:-3].split(b'",\n  "') if texts else ()
        return (b"%d" % item).join(around) % tuple(escaped)

    def _make_shape(
        self, present: tuple[int, ...], wanted: frozenset[int], truncated: frozenset[int]
    ) -> tuple[list[int], list[bytes]]:
        """The positions to write, and their JSON without texts, cut where the item is named."""
        # Of all that are present: an entry of no field is damage, also if nobody asks for it.
        names = {position: self._names[position] for position in present}
        positions = [position for position in present if position in wanted]
        # Names are letters, digits, "-" and "_": JSON escapes none of these, and none is a "%".
        entries = (
            f'{{"id":"\0/{names[position]}","excerpt":"%b",'
            f'"truncated":{"true" if position in truncated else "false"}}}'
            for position in positions
        )
        return positions, ",".join(entries).encode().split(b"\0")


def _truncated(kept: ItemTexts) -> frozenset[int]:
    """The positions of the texts of which only the beginning is kept."""
    return frozenset(position for position, text in kept.items() if isinstance(text, tuple))
