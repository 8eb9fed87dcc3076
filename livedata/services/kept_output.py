"""The kept output of a held Run, and what it would change in the rows as they are now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from livedata.messages.column_changes import ColumnChanges
from livedata.model import ids
from livedata.model.dataset import Column, ColumnType
from livedata.model.harvest import Harvest
from livedata.model.row import RevisionKind, Scalar
from livedata.model.row_name import RowName
from livedata.rules.changes.compare import Changes, Proposal, RowChange
from livedata.services.commit import of_today, propose
from livedata.services.run_view import RunView
from livedata.store import held, recipes, rows
from livedata.store.database.backend import Reader
from livedata.store.database.codec import Fields
from livedata.store.datasets import DatasetRef


class KeptOutput(Struct, frozen=True):
    """What a held Run has read, and what accepting that would change now."""

    harvest: Harvest
    proposal: Proposal


def kept_output(
    reader: Reader, dataset: DatasetRef, recipe_version: int, packed: bytes
) -> KeptOutput:
    """The packed output of a Run that read by a version of the recipe of its dataset."""
    recipe = recipes.pinned(reader, dataset.id, dataset.fields, recipe_version)
    assert recipe is not None  # nothing is held of a Run that was not executed
    harvest = held.deserialize_harvest(packed, recipe)
    current = rows.current(reader, dataset.id)
    proposal = propose(dataset, *of_today(dataset.fields, recipe, harvest), current)
    return KeptOutput(harvest, proposal)


class ProposedCellChange(Struct, frozen=True):
    """A cell that would change; `covered` if a hand edit would go on to cover it.

    What an earlier version kept of a preview has no `type` of its column.
    """

    label: str
    before: Scalar
    after: Scalar
    covered: bool
    type: ColumnType | None = None


class ProposedRowChange(Struct, frozen=True):
    """A row that would change: how, and in which cells; `row` is its id, None of a new one.

    `name` is its key for programs, of a row that research found its name; `called` what it would be
    called.
    """

    kind: RevisionKind
    row: str | None
    name: str
    cells: Sequence[ProposedCellChange]
    called: RowName


class ProposedChanges(Struct, frozen=True):
    """The rows that would change, counted by kind, and those of one page, after `before` others.

    `columns` is what would become of the columns before; what is held changes none.
    """

    new: int
    changed: int
    gone: int
    unchanged: int
    before: int
    rows: Sequence[ProposedRowChange]
    columns: ColumnChanges = ColumnChanges()

    @property
    def after(self) -> int:
        """How many rows that would change come after those of this page."""
        return self.new + self.changed + self.gone - self.before - len(self.rows)


def would_change(view: RunView, before: int, most: int) -> ProposedChanges | None:
    """What accepting a Run would change; None if nothing of it is held.

    Of the rows, the first `before` are passed over, and at most `most` are returned.
    """
    if view.output is None:
        return None
    reader, dataset = view.reader, view.ref
    changes = kept_output(reader, dataset, view.row.recipe_version, view.output).proposal.changes
    return shown_changes(changes, dataset.fields, before, most)


def shown_changes(changes: Changes, fields: Fields, before: int, most: int) -> ProposedChanges:
    """The changes as a person sees them: their counts, and `most` rows after the first `before`."""
    shown = changes.revisions[before : before + most]
    return ProposedChanges(
        changes.count("created"),
        changes.count("updated", "returned"),
        changes.count("missing"),
        len(changes.unchanged),
        before,
        list(_rows(shown, fields)),
    )


def _rows(revisions: Sequence[RowChange], fields: Fields) -> Iterator[ProposedRowChange]:
    name = fields.namer
    columns = fields.placed
    for change in revisions:
        called = name(change.key, change.cells.values)
        row = None if change.row is None else ids.format_uuid(change.row.id)
        cells = list(_cells(change, columns))
        yield ProposedRowChange(change.kind, row, called.row, cells, called)


def _cells(change: RowChange, columns: Sequence[Column]) -> Iterator[ProposedCellChange]:
    if change.kind == "missing":
        return
    for position in sorted(change.changed):
        after, covered = change.cells.source(position)[0], position in change.cells.overrides
        label, kind = columns[position]["label"], columns[position]["type"]
        yield ProposedCellChange(label, change.before(position), after, covered, kind)
