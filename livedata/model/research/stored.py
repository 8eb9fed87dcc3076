"""A research recipe as the store keeps it, and as it is sent (interface 2.10)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict, cast

from livedata.model.dataset import Column
from livedata.model.ids import format_uuid, new_id
from livedata.model.research.recipe import (
    SEARCHED,
    Attribute,
    EntityKind,
    ResearchField,
    ResearchLimits,
    ResearchRecipe,
    TablePlan,
)
from livedata.model.wire import Uri, Uuid

LONGEST_NAME = 80
"""The characters of a column's name."""


class PlannedAttribute(TypedDict):
    """What a plan asks of each entity."""

    label: str
    description: str


class PlannedIdentity(TypedDict):
    """Which entities the rows stand for."""

    description: str
    kind: EntityKind
    scopeFields: list[str]


class PlanWords(TypedDict):
    """What every plan says."""

    title: str
    rowMeaning: str
    nameLabel: str
    query: str
    rowIdentity: PlannedIdentity


class DeclaredPlan(PlanWords):
    """A plan as a person or a model writes it."""

    attributes: list[PlannedAttribute]


class PinnedFields(TypedDict):
    """The columns that every research dataset has."""

    name: Uuid
    evidence: Uuid
    source: Uuid


class PinnedColumn(TypedDict):
    """What has a column."""

    fieldId: Uuid


class SentAttribute(PinnedColumn, PlannedAttribute):
    """Interface 2.10: what is asked of each entity."""


class SentPlan(PlanWords):
    """Interface 2.10: what the table is about."""

    attributes: list[SentAttribute]


class RecipeWords(TypedDict):
    """What every research recipe says."""

    kind: Literal["research"]
    version: Literal[1]
    prompt: str
    url: Uri
    identity: Literal["entity"]
    fields: PinnedFields


class SentRecipe(RecipeWords):
    """Interface 2.10: a pinned research recipe."""

    plan: SentPlan


class StoredLimits(TypedDict):
    """What a Run may use; without `maxUsd`, money is not limited."""

    maxPages: int
    maxTokens: int
    maxUsd: NotRequired[float]


class StoredRecipe(RecipeWords):
    """The same as the store has it: `plan` is None until the first Run has planned."""

    plan: SentPlan | None
    urls: list[str]
    limits: StoredLimits


def stored_recipe(
    prompt: str, urls: Sequence[str], limits: ResearchLimits, columns: Sequence[Column]
) -> StoredRecipe:
    """A recipe without a plan, of the first three `columns` of a dataset."""
    name, evidence, source = (column["id"] for column in columns[:3])
    stored: StoredLimits = {"maxPages": limits.pages, "maxTokens": limits.tokens}
    if limits.usd is not None:
        stored["maxUsd"] = limits.usd
    return {
        "kind": "research",
        "version": 1,
        "prompt": prompt,
        "url": urls[0] if urls else SEARCHED,
        "identity": "entity",
        "fields": {"name": name, "evidence": evidence, "source": source},
        "plan": None,
        "urls": list(urls),
        "limits": stored,
    }


def with_plan(recipe: StoredRecipe, plan: DeclaredPlan, columns: Sequence[Column]) -> StoredRecipe:
    """The recipe with its plan, whose attributes have these `columns`, one after the other."""
    attributes: list[SentAttribute] = [
        {
            "fieldId": column["id"],
            "label": attribute["label"],
            "description": attribute["description"],
        }
        for attribute, column in zip(plan["attributes"], columns, strict=True)
    ]
    pinned: SentPlan = {**plan, "attributes": attributes}
    return {**recipe, "plan": pinned}


def sent_recipe(stored: Any) -> SentRecipe | None:
    """A stored recipe as it is sent (interface 2.10); None until it has a plan."""
    own = StoredRecipe.__annotations__.keys() - SentRecipe.__annotations__.keys()
    sent = {name: value for name, value in stored.items() if name not in own}
    return cast(SentRecipe, sent) if sent["plan"] is not None else None


def first_columns(name_label: str = "Name") -> list[Column]:
    """The columns that every research dataset begins with."""
    return [
        _column("name", name_label, "string", key=True),
        _column("evidence", "Evidence", "string"),
        _column("source", "Source", "url"),
    ]


def attribute_columns(plan: DeclaredPlan, taken: Collection[str]) -> list[Column]:
    """A column for each attribute of a plan; `taken` are the names of the others."""
    names = _column_names([each["label"] for each in plan["attributes"]], taken)
    columns = []
    for attribute, name in zip(plan["attributes"], names, strict=True):
        column = _column(name, attribute["label"], "string")
        if attribute["description"]:
            column["description"] = attribute["description"]
        columns.append(column)
    return columns


def compile_research(
    version: int, declared: Mapping[str, Any], columns: Sequence[Column]
) -> ResearchRecipe:
    """The recipe of what the store has; the columns are in the order of a row's values.

    Raises KeyError for a recipe that names what the columns do not have.
    """
    placed = {column["id"]: (index, column) for index, column in enumerate(columns)}

    def field(field_id: str, label: str | None = None) -> ResearchField:
        position, column = placed[field_id]
        return ResearchField(field_id, column["name"], label or column["label"], position)

    plan, limits, fields = declared["plan"], declared["limits"], declared["fields"]
    return ResearchRecipe(
        version=version,
        prompt=declared["prompt"],
        urls=tuple(declared["urls"]),
        # The model knows an attribute by the plan's label, also if its column has another one now.
        plan=plan
        and _plan(
            plan,
            [
                Attribute(field(each["fieldId"], each["label"]), each["description"])
                for each in plan["attributes"]
            ],
        ),
        name=field(fields["name"]),
        evidence=field(fields["evidence"]),
        source=field(fields["source"]),
        limits=ResearchLimits(limits["maxPages"], limits["maxTokens"], limits.get("maxUsd")),
    )


def _plan(declared: PlanWords, attributes: Sequence[Attribute]) -> TablePlan:
    identity = declared["rowIdentity"]
    return TablePlan(
        title=declared["title"],
        row_meaning=declared["rowMeaning"],
        name_label=declared["nameLabel"],
        query=declared["query"],
        kind=identity["kind"],
        kind_description=identity["description"],
        scope_fields=tuple(identity["scopeFields"]),
        attributes=tuple(attributes),
    )


def _column(name: str, label: str, kind: Literal["string", "url"], *, key: bool = False) -> Column:
    return {
        "id": format_uuid(new_id()),
        "label": label,
        "ownership": "collected",
        "name": name,
        "type": kind,
        "key": key,
    }


def _column_names(labels: Sequence[str], taken: Collection[str]) -> Iterator[str]:
    """A name for each label, unlike all others: `founded`, `founded_2`."""
    used = {name.lower() for name in taken}
    for label in labels:
        stem = _in_ascii(label)
        name, number = stem, 1
        while name in used:
            number += 1
            name = f"{stem[: LONGEST_NAME - 4]}_{number}"
        used.add(name)
        yield name


def _in_ascii(label: str) -> str:
    """A label as the name of a column: lower-case letters, digits and underscores."""
    plain = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
    # A name starts with a letter; a label in another script leaves nothing.
    name = name if name[:1].isalpha() else f"field_{name}".rstrip("_")
    return name[:LONGEST_NAME]
