"""The kept output of a held Run, and what it would change in the rows as they are now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from livedata.model import ids
from livedata.model.harvest import Harvest
from livedata.model.row import RevisionKind, Scalar
from livedata.rules.changes.compare import Proposal, RowChange
from livedata.services.commit import propose
from livedata.services.kinds import choice as kinds
from livedata.services.run_view import RunView
from livedata.store import held, recipes
from livedata.store.database.backend import Reader
from livedata.store.datasets import DatasetRef
from livedata.store.shown_rows import aliases


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
    return KeptOutput(harvest, propose(reader, dataset, recipe, harvest))


class HeldCellChange(Struct, frozen=True):
    """A cell that would change; `covered` if a hand edit would go on to cover it."""

    label: str
    before: Scalar
    after: Scalar
    covered: bool


class HeldRowChange(Struct, frozen=True):
    """A row that would change: how, and in which cells; `row` is its id, None of a new one."""

    kind: RevisionKind
    row: str | None
    name: str
    cells: Sequence[HeldCellChange]


class HeldChanges(Struct, frozen=True):
    """The rows that would change, counted by kind, and those of one page, after `before` others."""

    new: int
    changed: int
    gone: int
    unchanged: int
    before: int
    rows: Sequence[HeldRowChange]

    @property
    def after(self) -> int:
        """How many rows that would change come after those of this page."""
        return self.new + self.changed + self.gone - self.before - len(self.rows)


def would_change(view: RunView, before: int, most: int) -> HeldChanges | None:
    """What accepting a Run would change; None if nothing of it is held.

    Of the rows, the first `before` are passed over, and at most `most` are returned.
    """
    if view.output is None:
        return None
    reader, dataset = view.reader, view.ref
    kept = kept_output(reader, dataset, view.row.recipe_version, view.output)
    harvest, changes = kept.harvest, kept.proposal.changes
    shown = changes.revisions[before : before + most]
    names = aliases(reader, dataset.id, [change.key for change in shown])
    # The store does not know those that would be new.
    names |= kinds.of_source(view.source).names(harvest)
    labels = [dataset.fields.columns[field]["label"] for field in dataset.fields.ids]
    return HeldChanges(
        changes.count("created"),
        changes.count("updated", "returned"),
        changes.count("missing"),
        len(changes.unchanged),
        before,
        list(_rows(shown, names, labels)),
    )


def _rows(
    revisions: Sequence[RowChange], names: Mapping[str, str], labels: Sequence[str]
) -> Iterator[HeldRowChange]:
    for change in revisions:
        name = names.get(change.key, change.key)
        row = None if change.row is None else ids.format_uuid(change.row.id)
        yield HeldRowChange(change.kind, row, name, list(_cells(change, labels)))


def _cells(change: RowChange, labels: Sequence[str]) -> Iterator[HeldCellChange]:
    if change.kind == "missing":
        return
    for position in sorted(change.changed):
        after, covered = change.cells.source(position)[0], position in change.cells.overrides
        yield HeldCellChange(labels[position], change.before(position), after, covered)
