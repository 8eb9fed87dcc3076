"""Writing rows and their revisions: those of a Run, and those of edits by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from livedata.model.diagnosis.recorded_run import RunFacts
from livedata.model.harvest import PageRead
from livedata.model.ids import (
    DatasetId,
    KeyId,
    Micros,
    ObservationId,
    OwnerName,
    RevisionId,
    RowId,
    RunId,
    after,
    new_id,
)
from livedata.model.row import CellEvidence, Evidence, Reference, RowEvidence
from livedata.rules.changes.compare import Cells, CurrentRow, Proposal, RowChange, SeenRecord
from livedata.store.accounts import no_owner
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import FACTS, dump, dump_positions, unpacked
from livedata.store.database.statements import assign, insert, listed
from livedata.store.datasets import DatasetRef, move_on, take_sequence
from livedata.store.evidence import Texts, encode, observe
from livedata.store.rows import LAST_ACCEPTED

_CELLS = ("data", "reasons", "overrides")
_STATE = (*_CELLS, "presence", "observation_id", "item", "evidence")
_SEEN = ("last_run_id", "source_url", "observed_at")
_REVISION = (
    *("id", "dataset_id", "row_id", "sequence", "schema_version", "previous_id", "origin", "kind"),
    *("changed", "was", *_STATE, "run_id", "actor_id", "request_id", "request_hash", "created_at"),
)

if TYPE_CHECKING:
    from livedata.model.recipe import Recipe
    from livedata.model.research.recipe import ResearchRecipe

_ADD_REVISION = insert("revisions", *_REVISION)
_CHANGED = ("revision_id", "status", "updated_at")


def _update(*columns: str) -> str:
    return f"UPDATE rows SET {assign(columns, columns)} WHERE id = :id"  # noqa: S608  (our names)


_TOGETHER = 512
"""So many rows are set to the same values in one statement."""
_EDIT = _update(*_CELLS, "revision_id", "updated_at")
# A row that is gone was not seen: when, where and by which Run it was seen last stays.
_WRITE_ROWS = {
    "new": insert(
        "rows", "id", "dataset_id", "row_key", "first_run_id", *_STATE, *_SEEN, *_CHANGED
    ),
    "changed": _update(*_STATE, *_SEEN, *_CHANGED),
    "gone": _update(*_STATE, *_CHANGED),
}
# The database finds the revisions by their masks: nothing of them is sent to it a second time.
_INDEX_FIELD = """
INSERT INTO revision_fields (dataset_id, position, sequence)
SELECT dataset_id, :position, sequence FROM revisions
WHERE dataset_id = :dataset AND sequence > :after AND (changed & :bit) <> 0
"""


_STANDING = f"""
SELECT o.balance, EXISTS (SELECT 1 FROM notices WHERE owner = o.name),
    coalesce((SELECT max(sequence) FROM revisions WHERE dataset_id = :dataset), 0),
    EXISTS (SELECT 1 FROM held_outputs h JOIN runs r ON r.id = h.run_id
        WHERE r.dataset_id = :dataset),
    a.id, a.facts
FROM owners o LEFT JOIN runs a ON a.id = ({LAST_ACCEPTED}) WHERE o.name = :owner
"""  # noqa: S608  (our own words)


class Standing(Struct, frozen=True):
    """What a Run finds at its end, beside the rows of its dataset.

    The credits of its owner, who may spend them meanwhile; whether these have notices; the last
    sequence; whether the dataset holds outputs; and the Run that was accepted last.
    """

    balance: int
    has_notices: bool
    last: int
    holds_outputs: bool
    accepted: RunId | None
    _facts: str | None

    def facts(self) -> RunFacts:
        """The facts of the Run that was accepted last; empty if none was."""
        return FACTS.load(unpacked(self._facts)) if self._facts else {}


class WriteContext(Struct, frozen=True):
    """Which dataset, in which schema version, when, and by which Run rows are written."""

    dataset: DatasetId
    schema_version: int
    now: Micros
    run: RunId | None
    first_row: bytes = field(default_factory=new_id)  # ids of new rows are counted up from it


class HandEdit(Struct, frozen=True):
    """An edit of a row by hand: its cells afterwards, the positions it names, and who asked for it.

    `actor` is the key by which that was, None for the command line.
    """

    row: CurrentRow
    cells: Cells
    changed: frozenset[int]
    actor: KeyId | None
    request_id: str
    request_hash: bytes


def ask_standing(reader: Reader, dataset: DatasetId, owner: OwnerName) -> Callable[[], Standing]:
    """What a Run of a dataset finds at its end, asked together with the next question."""
    answer = reader.ask(_STANDING, dataset=dataset, owner=owner)

    def standing() -> Standing:
        for balance, has_notices, last, holds, accepted, facts in answer():
            return Standing(balance, bool(has_notices), last, bool(holds), accepted, facts)
        raise no_owner()

    return standing


def apply(
    writer: Writer,
    context: WriteContext,
    recipe: Recipe | ResearchRecipe,
    proposal: Proposal,
    pages: Mapping[int, PageRead],
    dataset: DatasetRef,
    last: int,
) -> None:
    """Write what an accepted Run changes in a `dataset` that this transaction has locked.

    `pages` are those of the harvest by number: a quote may be on another page than its record;
    `last` is the last sequence of the dataset.
    """
    changes = proposal.changes
    _see_again(writer, context, changes.unchanged)
    standing, unchanged = [row.id for row in changes.standing], {"status": "unchanged"}
    _set(writer, standing, unchanged, only="AND status <> 'unchanged'")
    # A Run that changes nothing adds nothing: no observation, no sequence, no revision.
    if not changes.revisions:
        return
    # Evidence refers to observations and rows to revisions, so ids come first and rows last.
    observed = _observe(writer, context, recipe, changes.revisions, pages)
    number, rows_after = len(changes.revisions), proposal.present_after
    sequence = move_on(writer, dataset, last, number, context.now, rows_after)
    revisions: list[dict[str, Any]] = []
    rows: dict[str, list[dict[str, Any]]] = {"new": [], "changed": [], "gone": []}
    for number, change in enumerate(changes.revisions, sequence + 1):
        revision = _revision(context, recipe, change, number, observed)
        revisions.append(revision)
        rows[change.status].append(_row(context, change, revision))
    # One statement for many rows: a Run of 1,000 holds the write lock for some 50 ms.
    for status, statement in _WRITE_ROWS.items():
        writer.many(statement, rows[status])
    writer.many(_ADD_REVISION, revisions)
    changed = frozenset[int]().union(*(change.changed for change in changes.revisions))
    _index_fields(writer, context, sequence, changed)


def write_edits(
    writer: Writer, context: WriteContext, edits: Sequence[HandEdit]
) -> list[RevisionId]:
    """Write hand edits, each of another row; the ids of their revisions."""
    if not edits:
        return []
    after = take_sequence(writer, context.dataset, len(edits), context.now)
    written = [_edited(context, edit, sequence) for sequence, edit in enumerate(edits, after + 1)]
    writer.many(_ADD_REVISION, written)
    changed = frozenset[int]().union(*(edit.changed for edit in edits))
    _index_fields(writer, context, after, changed)
    rows = [
        {
            **_cells(edit.cells),
            "id": edit.row.id,
            "revision_id": revision["id"],
            "updated_at": context.now,
        }
        for edit, revision in zip(edits, written, strict=True)
    ]
    writer.many(_EDIT, rows)
    return [revision["id"] for revision in written]


def _edited(context: WriteContext, edit: HandEdit, sequence: int) -> dict[str, Any]:
    """The revision of a hand edit."""
    row = edit.row
    return {
        **_cells(edit.cells),
        # What was read and where stays in the evidence of the row: an edit reads nothing.
        **encode(row.evidence),
        **_difference(row, edit.cells, edit.changed),
        "id": RevisionId(new_id()),
        "dataset_id": context.dataset,
        "row_id": row.id,
        "sequence": sequence,
        "schema_version": context.schema_version,
        "previous_id": row.revision_id,
        "origin": "user",
        "kind": "updated",
        "presence": row.presence,
        "run_id": None,
        "actor_id": edit.actor,
        "request_id": edit.request_id,
        "request_hash": edit.request_hash,
        "created_at": context.now,
    }


def _observe(
    writer: Writer,
    context: WriteContext,
    recipe: Recipe | ResearchRecipe,
    revisions: Sequence[RowChange],
    pages: Mapping[int, PageRead],
) -> dict[int, ObservationId]:
    """One observation per page that a new or changed row points at; page number -> its id."""
    texts: dict[int, Texts] = {}
    for seen in (change.seen for change in revisions if change.seen is not None):
        for page, item, by_position in _readings(recipe, seen):
            texts.setdefault(page, {}).setdefault(item, {}).update(by_position)
    # Rows that are unchanged have their evidence already.
    read = ((pages[number], on_page) for number, on_page in texts.items())
    return observe(writer, context.dataset, context.run, read)


def _readings(
    recipe: Recipe | ResearchRecipe, seen: SeenRecord
) -> Iterable[tuple[int, int, Mapping[int, str]]]:
    """(page, item, position -> text) of all that was read for a row."""
    record = seen.record
    if record.quotes is not None:
        # The address of a page is not written on it: the words of the name lead there.
        return [
            (quote.page, quote.item, {field.position: quote.text})
            for field, quotes in zip(recipe.fields, record.quotes, strict=True)
            if field != recipe.unwritten
            for quote in quotes or ()
        ]
    # A text that was found but could not be typed is evidence too; "not_found" has no text to show.
    texts = {
        field.position: text
        for field, text, reason in zip(recipe.fields, record.texts, record.reasons, strict=True)
        if text is not None and reason != "not_found"
    }
    return [(seen.page.number, record.number, texts)]


def _evidence(
    recipe: Recipe | ResearchRecipe, change: RowChange, observed: Mapping[int, ObservationId]
) -> Evidence:
    seen = change.seen
    if seen is None:
        # What is gone keeps the evidence that it had.
        assert change.row is not None
        return change.row.evidence
    if seen.record.quotes is None:
        return RowEvidence(observed[seen.page.number], seen.record.number)
    by_position: dict[int, Sequence[Reference]] = {}
    for index, column in enumerate(recipe.fields):
        quotes, position = seen.record.quotes[index], column.position
        if quotes is not None:
            by_position[position] = [(observed[quote.page], quote.item) for quote in quotes]
        elif change.row is not None:
            # Nothing was read for this cell: it rests on what it rested on.
            by_position[position] = change.row.evidence.references(position)
    return CellEvidence({position: refs for position, refs in by_position.items() if refs})


def _see_again(
    writer: Writer, context: WriteContext, unchanged: Sequence[tuple[CurrentRow, SeenRecord]]
) -> None:
    by_page: dict[int, tuple[SeenRecord, list[RowId]]] = {}
    for row, seen in unchanged:
        by_page.setdefault(seen.page.number, (seen, []))[1].append(row.id)
    for seen, rows in by_page.values():
        _set(writer, rows, {"status": "unchanged", **_sighting(context, seen)})


def _set(
    writer: Writer, rows: Sequence[RowId], values: Mapping[str, object], only: str = ""
) -> None:
    """Set the same values in several rows."""
    for start in range(0, len(rows), _TOGETHER):
        some = [*rows[start : start + _TOGETHER]]
        # Filled up to a power of two, so that a server meets few texts, and keeps them prepared.
        some += some[-1:] * ((1 << (len(some) - 1).bit_length()) - len(some))
        names, named = listed("row", some)
        sql = f"UPDATE rows SET {assign(values, values)} WHERE id IN ({names}) {only}"  # noqa: S608
        writer.execute(sql, **named, **values)


def _sighting(context: WriteContext, seen: SeenRecord) -> dict[str, Any]:
    return {
        "last_run_id": context.run,
        "source_url": seen.page.final_url,
        "observed_at": seen.page.at,
    }


def _cells(cells: Cells) -> dict[str, Any]:
    return {
        "data": dump(cells.values),
        "reasons": dump_positions(cells.reasons),
        "overrides": dump_positions(cells.overrides),
    }


def _difference(row: CurrentRow | None, cells: Cells, changed: frozenset[int]) -> dict[str, Any]:
    """Which positions changed, and the values that stood there."""
    # Without `was`, each change of the feed would look up the revision before it. None if there is
    # no such revision, or if values alone do not tell it: it has overrides, or fewer fields.
    was = None
    if row is not None and not row.cells.overrides and len(row.cells.values) == len(cells.values):
        was = dump([row.cells.values[position] for position in sorted(changed)])
    # A mask: one number instead of a list, and SQL can ask for a bit of it.
    return {"changed": sum(1 << position for position in changed), "was": was}


def _revision(
    context: WriteContext,
    recipe: Recipe | ResearchRecipe,
    change: RowChange,
    sequence: int,
    observed: Mapping[int, ObservationId],
) -> dict[str, Any]:
    row = change.row
    return {
        **_cells(change.cells),
        **encode(_evidence(recipe, change, observed)),
        **_difference(row, change.cells, change.changed),
        "id": new_id(),
        "dataset_id": context.dataset,
        # Sorted by their ids, new rows have the order of the site: ids of one moment have none.
        "row_id": row.id if row else after(context.first_row, sequence),
        "sequence": sequence,
        "schema_version": context.schema_version,
        "previous_id": row.revision_id if row else None,
        "origin": "collection",
        "kind": change.kind,
        "presence": "missing" if change.seen is None else "present",
        "run_id": context.run,
        "actor_id": None,
        "request_id": None,
        "request_hash": None,
        "created_at": context.now,
    }


def _row(context: WriteContext, change: RowChange, revision: dict[str, Any]) -> dict[str, Any]:
    # Taken from the revision, so that a row and its last revision cannot differ.
    row = {name: revision[name] for name in _STATE}
    row |= {
        "id": revision["row_id"],
        "revision_id": revision["id"],
        "status": change.status,
        "updated_at": context.now,
    }
    if change.row is None:
        row |= {"dataset_id": context.dataset, "row_key": change.key, "first_run_id": context.run}
    if change.seen is not None:
        row |= _sighting(context, change.seen)
    return row


def _index_fields(
    writer: Writer, context: WriteContext, after: int, positions: Iterable[int]
) -> None:
    """Index the revisions after a sequence by the fields that they changed."""
    which = {"dataset": context.dataset, "after": after}
    fields = (
        {**which, "position": position, "bit": 1 << position} for position in sorted(positions)
    )
    writer.many(_INDEX_FIELD, fields)
