"""What a Run that reads a harvest would change in a dataset now; nothing is written."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from livedata.messages.column_changes import (
    AddedCells,
    ColumnChanges,
    DroppedCells,
    RelabelledColumn,
    RowNames,
)
from livedata.messages.render import sentence
from livedata.model.dataset import DroppedColumn
from livedata.model.errors import Invalid
from livedata.model.harvest import Harvest
from livedata.model.ids import DatasetId, OwnerName
from livedata.model.problem import Problem
from livedata.model.recipe import Recipe, compile_recipe
from livedata.model.requests import CreateDataset
from livedata.model.row import Scalar
from livedata.rules.changes.compare import Changes, CurrentRow
from livedata.rules.declaration import consistency
from livedata.rules.diagnosis.run_facts import summarize_harvest
from livedata.rules.network.targets import TargetPolicy
from livedata.services.attempts import NOT_DECLARATIVE
from livedata.services.commit import AcceptancePolicy, judge_drift, last_accepted, propose
from livedata.services.datasets import check_readers, judge_revision
from livedata.services.kinds import choice as kinds
from livedata.store import datasets, recipes, rows
from livedata.store.database.codec import Fields, fields_of
from livedata.store.database.store import Database


class Forecast(Struct, frozen=True):
    """The changes to a dataset, whose `fields` say what each position of a row is.

    `columns` is what revising it would change before, `held` the problem by which a drift guard
    would hold the Run, `oddities` what looks odd.
    """

    dataset: str
    fields: Fields
    changes: Changes
    columns: ColumnChanges
    held: Problem | None
    oddities: list[Problem]


def current_recipe(db: Database, owner: OwnerName, dataset_id: DatasetId) -> Recipe:
    """The recipe that the next Run of a dataset follows. Raises NotFound and Invalid."""
    with db.reading() as reader:
        dataset = datasets.ref(reader, owner, dataset_id)
        recipe = recipes.pinned(reader, dataset_id, dataset.fields)
    if recipe is None:
        raise Invalid(sentence(NOT_DECLARATIVE))
    tried = kinds.of_recipe(recipe).to_try(recipe)
    if tried is None:
        raise Invalid(f"{dataset.name} is a research dataset, and only selectors can be tried out.")
    return tried


class Revised(Struct, frozen=True):
    """What revising a dataset would make of it: its next recipe, and its fields then."""

    recipe: Recipe
    fields: Fields


def revised(
    db: Database,
    owner: OwnerName,
    dataset_id: DatasetId,
    declared: CreateDataset,
    targets: TargetPolicy,
    *,
    checks_readers: bool = True,
) -> Revised:
    """What revising a dataset would make of it. Raises NotFound, and Invalid as that would."""
    consistency.check(declared, targets)
    with db.reading() as reader:
        revision = judge_revision(reader, owner, dataset_id, declared)
        if checks_readers:
            check_readers(reader, owner, dataset_id, revision)
        now = datasets.ref(reader, owner, dataset_id).fields
        chosen = datasets.chosen_label(reader, dataset_id)
    ids = [*now.ids, *(column["id"] for column in revision.added)]
    gone: list[DroppedColumn] = [{**column, "lastRecipe": 1} for column in revision.dropped]
    fields = fields_of(ids, revision.after, chosen, [*now.dropped, *gone])
    # Any version will do: nothing is stored, and what is read does not depend on it.
    return Revised(compile_recipe(1, declared.source.pinned(), fields.placed), fields)


def known_rows(db: Database, dataset_id: DatasetId, recipe: Recipe) -> list[list[Scalar]]:
    """The rows that are present, with what was read for each field of a recipe."""
    positions = [field.position for field in recipe.fields]
    with db.reading() as reader:
        current = rows.current(reader, dataset_id)
    return [
        # What the site said, and not what a person wrote over it: the page is searched for this.
        [row.cells.source(position)[0] for position in positions]
        for row in current
        if row.presence == "present"
    ]


def forecast(
    db: Database,
    owner: OwnerName,
    dataset_id: DatasetId,
    recipe: Recipe,
    harvest: Harvest,
    policy: AcceptancePolicy,
    fields: Fields | None = None,
) -> Forecast:
    """Compare a harvest of a dataset's `recipe` with the rows as they are, as a Run would.

    `fields` are those that the dataset has by then, if it is revised before.
    """
    facts = summarize_harvest(harvest, recipe)
    with db.reading() as reader:
        dataset = datasets.ref(reader, owner, dataset_id)
        fields = fields or dataset.fields
        current = rows.current(reader, dataset_id)
        proposal = propose(replace(dataset, fields=fields), recipe, harvest, current)
        before = last_accepted(reader, dataset_id)
        drift, oddities = judge_drift(reader, dataset_id, recipe, facts, before, proposal, policy)
    columns = _column_changes(dataset.fields, fields, current, proposal.changes)
    held = None if drift is None else drift.problem
    return Forecast(dataset.name, fields, proposal.changes, columns, held, oddities)


def _column_changes(
    before: Fields, after: Fields, current: Sequence[CurrentRow], changes: Changes
) -> ColumnChanges:
    """What becomes of the columns, with the cells that they have or would have."""
    had, has = before.columns, after.columns
    kept = [(had[field], has[field]) for field in has if field in had]
    return ColumnChanges(
        added=[_added(after, field, changes) for field in has if field not in had],
        dropped=[_dropped(before, field, current) for field in had if field not in has],
        relabelled=[
            RelabelledColumn(old["name"], old["label"], new["label"])
            for old, new in kept
            if old["label"] != new["label"]
        ],
        described=[
            new["name"] for old, new in kept if old.get("description") != new.get("description")
        ],
        order=_order(before, after),
        rows_named_by=_names(before, after),
    )


def _added(fields: Fields, field: str, changes: Changes) -> AddedCells:
    place = fields.positions[field]
    seen = [change for change in changes.revisions if change.kind != "missing"]
    filled = sum(change.cells.source(place)[0] is not None for change in seen)
    # A row that is as before has no value in a column that was not there before.
    rows_after = len(seen) + len(changes.unchanged) + len(changes.standing)
    return AddedCells(fields.columns[field]["name"], filled, rows_after - filled)


def _dropped(fields: Fields, field: str, current: Sequence[CurrentRow]) -> DroppedCells:
    place = fields.positions[field]
    values = sum(row.cells.value(place) is not None for row in current)
    edits = sum(place in row.cells.overrides for row in current)
    return DroppedCells(fields.columns[field]["name"], values, edits)


def _order(before: Fields, after: Fields) -> list[str] | None:
    """The names of all columns, if those that stay stand in another order than before."""
    stay = [field for field in before.columns if field in after.columns]
    if stay == [field for field in after.columns if field in before.columns]:
        return None
    return [column["name"] for column in after.columns.values()]


def _names(before: Fields, after: Fields) -> RowNames | None:
    """What names the rows, if it is another column than before."""
    if before.label == after.label:
        return None
    was, is_ = before.label, after.label
    return RowNames(
        None if was is None else before.columns[was]["name"],
        None if is_ is None else after.columns[is_]["name"],
    )
