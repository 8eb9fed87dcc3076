"""Acts on what a person declares of a research dataset: making it, and revising it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from msgspec import Struct, field

from livedata.model import ids
from livedata.model.dataset import Column, Dataset
from livedata.model.errors import Detail, Invalid, NameTaken
from livedata.model.ids import DatasetId, OwnerName
from livedata.model.research.declaration import CreateResearch, PlanFile
from livedata.model.research.recipe import SEARCHED, ResearchLimits
from livedata.model.research.stored import (
    DeclaredPlan,
    PlannedAttribute,
    SentAttribute,
    SentPlan,
    StoredLimits,
    StoredRecipe,
    attribute_columns,
    first_columns,
    stored_recipe,
    with_plan,
)
from livedata.rules.declaration.revision import Revision, SourceChange, check_room
from livedata.services.accounts import check_datasets, meet_owner
from livedata.services.datasets import Revised, check_readers, take_columns
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
) -> Revised:
    """Pin the next recipe of a research dataset: query, texts, addresses, limits (rules 14.2).

    Attributes that the plan adds or leaves out are columns that are added or dropped. `after` is
    the version that it has to follow. Raises NotFound, ChangedMeanwhile if another one is pinned,
    and Invalid if name, kind or scope fields are others, if there is no plan yet, or if a column
    would be dropped that something else names.
    """
    with store.writing() as writer:
        locked = dataset_store.lock_dataset(writer, dataset, owner)
        current = dataset_store.get(writer, owner, dataset)
        _, source = recipes.source(writer, dataset)
        stored = kinds.of_source(source).to_revise(source)
        if stored is None:
            raise Invalid(f"{current['name']} is no research dataset: it has a source, not a plan.")
        if stored["plan"] is None:
            raise Invalid(f"{current['name']} has no plan yet: its first Run makes one.")
        plan, columns = _planned(stored["plan"], declared.plan.declared, current["columns"])
        wanted = _revised(stored, plan, declared)
        revision = Revision(current["columns"], columns, [*_source_changes(stored, wanted)])
        if recipes.is_pinned(writer, dataset, wanted):
            return Revised(current, None, revision)
        recipes.check_newest(writer, dataset, after)
        if revision.changes_columns:
            had = len(locked.ref.fields.ids)
            check_room(had, len(revision.added), len(columns), "attributes")
            check_readers(writer, owner, dataset, revision)
            take_columns(writer, locked, current, revision)
        now = max(ids.now(), ids.parse_timestamp(current["updatedAt"]))
        version = recipes.add_recipe(writer, dataset, wanted, now)
        return Revised(dataset_store.get(writer, owner, dataset), version, revision)


def _source_changes(had: StoredRecipe, wanted: StoredRecipe) -> Iterator[SourceChange]:
    """What changes of a recipe but its columns, named as in the file of a plan."""
    # What is added or dropped is told as a column: here is the order of the others.
    stay = {*_labels(had)} & {*_labels(wanted)}
    before, after = _texts(had, stay), _texts(wanted, stay)
    for place in dict.fromkeys((*before, *after)):
        if before.get(place) != after.get(place):
            yield SourceChange(place, before.get(place), after.get(place))


def _texts(stored: StoredRecipe, stay: Set[str]) -> dict[str, object]:
    plan = stored["plan"]
    assert plan is not None  # it is revised
    return {
        **{name: plan[name] for name in ("title", "rowMeaning", "query")},
        "rowIdentity.description": plan["rowIdentity"]["description"],
        "attributes": [label for label in _labels(stored) if label in stay],
        "urls": stored["urls"],
        **stored["limits"],
    }


def _labels(stored: StoredRecipe) -> list[str]:
    plan = stored["plan"]
    return [] if plan is None else [each["label"] for each in plan["attributes"]]


def _revised(stored: StoredRecipe, plan: SentPlan, declared: PlanFile) -> StoredRecipe:
    limits: StoredLimits = {"maxPages": declared.max_pages, "maxTokens": declared.max_tokens}
    if declared.max_usd is not None:
        limits["maxUsd"] = declared.max_usd
    url = declared.urls[0] if declared.urls else SEARCHED
    return {**stored, "url": url, "urls": list(declared.urls), "plan": plan, "limits": limits}


def _planned(
    had: SentPlan, wanted: DeclaredPlan, columns: Sequence[Column]
) -> tuple[SentPlan, list[Column]]:
    """The wanted plan of a dataset with these `columns`, and its columns by it. Raises Invalid."""
    _check_rows_stay(had, wanted)
    known = {each["label"]: each for each in had["attributes"]}
    asked = {each["label"]: each for each in wanted["attributes"]}
    kept = [*_kept(columns, had["attributes"], asked)]
    new = [each for label, each in asked.items() if label not in known]
    added = attribute_columns({**wanted, "attributes": new}, [column["name"] for column in kept])
    fields = {label: each["fieldId"] for label, each in known.items()}
    fields |= {column["label"]: column["id"] for column in added}
    attributes: list[SentAttribute] = [
        {**each, "fieldId": fields[label]} for label, each in asked.items()
    ]
    return {**wanted, "attributes": attributes}, [*kept, *added]


def _kept(
    columns: Sequence[Column],
    attributes: Sequence[SentAttribute],
    asked: Mapping[str, PlannedAttribute],
) -> Iterator[Column]:
    """The columns that stay, with the descriptions of the attributes that are `asked`."""
    had = {each["fieldId"]: each for each in attributes}
    for column in columns:
        attribute = had.get(column["id"])
        if attribute is None:
            yield column
        elif (now := asked.get(attribute["label"])) is not None:
            yield _described(column, attribute["description"], now["description"])


def _described(column: Column, before: str, after: str) -> Column:
    """A column with the description of the plan, unless a person has given it another one."""
    if before == after or column.get("description", "") != before:
        return column
    return {**column, "description": after}


def _check_rows_stay(had: SentPlan, wanted: DeclaredPlan) -> None:
    """Raise Invalid if a plan would make other rows of what is found."""
    if wanted["nameLabel"] != had["nameLabel"]:
        _reject("nameLabel", f'must stay "{had["nameLabel"]}"')
    old, new = had["rowIdentity"], wanted["rowIdentity"]
    if new["kind"] != old["kind"]:
        _reject("rowIdentity.kind", f'must stay "{old["kind"]}", or every row would be new')
    if new["scopeFields"] != old["scopeFields"]:
        scope = ", ".join(old["scopeFields"]) or "none"
        _reject("rowIdentity.scopeFields", f"must stay {scope}, or every row would be new")


def _reject(path: str, problem: str) -> None:
    raise Invalid(f"{path} {problem}.", (Detail(path, problem),))
