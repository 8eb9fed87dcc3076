"""Acts on what a person declares of a research dataset: making it, and revising it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from livedata.model import ids
from livedata.model.dataset import Dataset
from livedata.model.errors import Detail, Invalid, NameTaken
from livedata.model.ids import DatasetId, OwnerName
from livedata.model.research.declaration import CreateResearch, PlanFile
from livedata.model.research.recipe import SEARCHED, ResearchLimits
from livedata.model.research.stored import (
    DeclaredPlan,
    SentAttribute,
    SentPlan,
    StoredLimits,
    StoredRecipe,
    attribute_columns,
    first_columns,
    stored_recipe,
    with_plan,
)
from livedata.services.accounts import check_datasets, meet_owner
from livedata.services.kinds import choice as kinds
from livedata.store import datasets as dataset_store
from livedata.store import recipes
from livedata.store.database.backend import AlreadyThere
from livedata.store.database.store import Store


class ResearchDeclaration(Struct, frozen=True):
    """What a research dataset is made from: a question, or a plan that answers it already."""

    name: str
    prompt: str | None = None
    plan: DeclaredPlan | None = None
    urls: Sequence[str] = ()
    limits: ResearchLimits = field(default_factory=ResearchLimits)


def add_draft(
    store: Store, owner: OwnerName, declared: ResearchDeclaration, *, first_credits: int = 0
) -> Dataset:
    """Create a draft with its Bot, recipe version 1 and schema version 1 (rules 14.2).

    A new owner starts with `first_credits`. Raises NameTaken; the caller has checked the rest.
    """
    plan = declared.plan
    columns = first_columns() if plan is None else first_columns(plan["nameLabel"])
    recipe = stored_recipe(declared.prompt or "", declared.urls, declared.limits, columns)
    if plan is not None:
        attributes = attribute_columns(plan, [column["name"] for column in columns])
        recipe, columns = with_plan(recipe, plan, attributes), [*columns, *attributes]
    try:
        with store.writing() as writer:
            # In the same transaction: a create that fails leaves no owner and no grant behind.
            meet_owner(writer, owner, first_credits)
            check_datasets(writer, owner)
            now = ids.now()
            dataset = dataset_store.add(
                writer, owner, declared.name, declared.prompt, columns, recipe, now
            )
            return dataset_store.get(writer, owner, dataset)
    except AlreadyThere as error:
        raise NameTaken(
            f"There is a dataset named {declared.name!r} already; give this one another `name`, or "
            "revise that one."
        ) from error


def create(
    store: Store, owner: OwnerName, declared: CreateResearch, *, first_credits: int = 0
) -> Dataset:
    """Create a draft of what was declared and checked. Raises NameTaken."""
    plan = None if declared.plan is None else declared.plan.declared
    wanted = ResearchDeclaration(
        declared.name, declared.prompt, plan, declared.urls, declared.limits
    )
    return add_draft(store, owner, wanted, first_credits=first_credits)


def revise(
    store: Store,
    owner: OwnerName,
    dataset: DatasetId,
    declared: PlanFile,
    *,
    after: int | None = None,
) -> tuple[Dataset, int | None]:
    """Pin the next recipe of a research dataset: query, texts, addresses and limits (rules 14.2).

    Returns the dataset and the pinned version; None if the recipe says so already. `after` is the
    version that it has to follow. Raises NotFound, ChangedMeanwhile if another one is pinned, and
    Invalid if labels, kind or scope fields are others, or if there is no plan yet.
    """
    with store.writing() as writer:
        dataset_store.lock_dataset(writer, dataset, owner)
        current = dataset_store.get(writer, owner, dataset)
        _, source = recipes.source(writer, dataset)
        stored = kinds.of_source(source).to_revise(source)
        if stored is None:
            raise Invalid(f"{current['name']} is no research dataset: it has a source, not a plan.")
        if stored["plan"] is None:
            raise Invalid(f"{current['name']} has no plan yet: its first Run makes one.")
        revised = _revised(stored, _pinned(stored["plan"], declared.plan.declared), declared)
        if recipes.is_pinned(writer, dataset, revised):
            return current, None
        recipes.check_newest(writer, dataset, after)
        now = max(ids.now(), ids.parse_timestamp(current["updatedAt"]))
        version = recipes.add_recipe(writer, dataset, revised, now)
        return dataset_store.get(writer, owner, dataset), version


def _revised(stored: StoredRecipe, plan: SentPlan, declared: PlanFile) -> StoredRecipe:
    limits: StoredLimits = {"maxPages": declared.max_pages, "maxTokens": declared.max_tokens}
    if declared.max_usd is not None:
        limits["maxUsd"] = declared.max_usd
    url = declared.urls[0] if declared.urls else SEARCHED
    return {**stored, "url": url, "urls": list(declared.urls), "plan": plan, "limits": limits}


def _pinned(had: SentPlan, wanted: DeclaredPlan) -> SentPlan:
    """The wanted plan with the columns that the dataset has. Raises Invalid."""
    labels = [each["label"] for each in had["attributes"]]
    if [each["label"] for each in wanted["attributes"]] != labels:
        _reject("attributes", f"must keep the labels of the dataset, in order: {', '.join(labels)}")
    if wanted["nameLabel"] != had["nameLabel"]:
        _reject("nameLabel", f'must stay "{had["nameLabel"]}"')
    old, new = had["rowIdentity"], wanted["rowIdentity"]
    if new["kind"] != old["kind"]:
        _reject("rowIdentity.kind", f'must stay "{old["kind"]}", or every row would be new')
    if new["scopeFields"] != old["scopeFields"]:
        scope = ", ".join(old["scopeFields"]) or "none"
        _reject("rowIdentity.scopeFields", f"must stay {scope}, or every row would be new")
    attributes: list[SentAttribute] = [
        {**each, "description": revised["description"]}
        for each, revised in zip(had["attributes"], wanted["attributes"], strict=True)
    ]
    return {**wanted, "attributes": attributes}


def _reject(path: str, problem: str) -> None:
    raise Invalid(f"{path} {problem}.", (Detail(path, problem),))
