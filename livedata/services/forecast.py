"""What a Run that reads a harvest would change in a dataset now; nothing is written."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from livedata.messages.render import sentence
from livedata.model.dataset import Column
from livedata.model.errors import Invalid
from livedata.model.harvest import Harvest
from livedata.model.ids import DatasetId, OwnerName
from livedata.model.problem import Problem
from livedata.model.recipe import Recipe, RecipeField, compile_recipe
from livedata.model.requests import CreateDataset
from livedata.model.row import Scalar
from livedata.rules.changes.compare import Changes
from livedata.rules.declaration import consistency
from livedata.rules.diagnosis.run_facts import summarize_harvest
from livedata.rules.network.targets import TargetPolicy
from livedata.services.attempts import NOT_DECLARATIVE
from livedata.services.commit import AcceptancePolicy, judge_drift, last_accepted, propose
from livedata.services.datasets import judge_revision
from livedata.services.kinds import choice as kinds
from livedata.store import datasets, recipes, rows
from livedata.store.database.codec import Fields
from livedata.store.database.store import Database


class Forecast(Struct, frozen=True):
    """The changes to a dataset, whose `fields` say what each position of a row is.

    `held` is the problem by which a drift guard would hold the Run, `oddities` what looks odd.
    """

    dataset: str
    fields: Fields
    changes: Changes
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


def revised_recipe(
    db: Database,
    owner: OwnerName,
    dataset_id: DatasetId,
    declared: CreateDataset,
    targets: TargetPolicy,
) -> Recipe:
    """The recipe that revising a dataset would pin. Raises NotFound, and Invalid as that would."""
    consistency.check(declared, targets)
    with db.reading() as reader:
        revision = judge_revision(reader, owner, dataset_id, declared)
        fields = datasets.ref(reader, owner, dataset_id).fields.grown(revision.added)
    # Any version will do: nothing is stored, and what is read does not depend on it.
    return compile_recipe(1, declared.source.pinned(), fields.placed)


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


def _column(field: RecipeField) -> Column:
    return {
        "id": field.id,
        "label": field.label,
        "ownership": "collected",
        "name": field.name,
        "type": field.type,
        "key": False,
    }


def forecast(
    db: Database,
    owner: OwnerName,
    dataset_id: DatasetId,
    recipe: Recipe,
    harvest: Harvest,
    policy: AcceptancePolicy,
) -> Forecast:
    """Compare a harvest of a dataset's `recipe` with the rows as they are, as a Run would."""
    facts = summarize_harvest(harvest, recipe)
    with db.reading() as reader:
        dataset = datasets.ref(reader, owner, dataset_id)
        # A recipe that is tried may read columns that the dataset would get by it.
        added = [_column(each) for each in recipe.fields if each.id not in dataset.fields.columns]
        dataset = replace(dataset, fields=dataset.fields.grown(added))
        proposal = propose(dataset, recipe, harvest, rows.current(reader, dataset_id))
        before = last_accepted(reader, dataset_id)
        drift, oddities = judge_drift(reader, dataset_id, recipe, facts, before, proposal, policy)
    held = None if drift is None else drift.problem
    return Forecast(dataset.name, dataset.fields, proposal.changes, held, oddities)
