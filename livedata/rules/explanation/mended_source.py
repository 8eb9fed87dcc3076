"""A revised source for a dataset whose page has changed: what still works stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from math import ceil
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from livedata.extraction.lists.fields import declared_read
from livedata.extraction.lists.following import following, leading_to
from livedata.extraction.lists.groups import Group
from livedata.extraction.lists.mending import (
    AS_GOOD,
    KnownColumn,
    Mended,
    Unmended,
    mend,
)
from livedata.extraction.lists.survey import Survey
from livedata.extraction.records import Extractor
from livedata.extraction.selectors import parse
from livedata.model.recipe import NextLink, Recipe
from livedata.model.row import Scalar


class Selector(Struct, frozen=True):
    """A selector that is replaced: of what, how it was read, and how it is read now."""

    target: str
    before: str
    after: str


class Mending(Struct, frozen=True):
    """A revised declaration: what is replaced in it, and what was not found on the page.

    So many known `rows` are read again by their key, in so many records.
    """

    declaration: dict[str, Any]
    replaced: Sequence[Selector]
    lost: Sequence[str]
    rows: int
    records: int


class Known(Struct, frozen=True):
    """What is known of a dataset: its recipe and declaration, its rows, and its pages in order."""

    recipe: Recipe
    declaration: Mapping[str, Any]
    rows: Sequence[Sequence[Scalar]]
    pages: Sequence[str]


def mended_source(survey: Survey, known: Known) -> Mending | Unmended:
    """The declaration with selectors that read the known rows on the page as it is now."""
    recipe = known.recipe
    columns = [
        KnownColumn(field.name, field.type, field.name in recipe.identity)
        for field in recipe.fields
    ]
    expected = ceil(len(known.rows) / max(1, len(known.pages)))
    # A container around the records or within them may serve as well: the one that is there stays.
    found = mend(survey, columns, known.rows, expected, _kept(survey, recipe))
    if isinstance(found, Unmended):
        return found
    replaced: list[Selector] = []
    declaration = deepcopy(dict(known.declaration))
    source = declaration["source"]
    if found.selector != recipe.item_selector:
        replaced.append(Selector("itemSelector", recipe.item_selector, found.selector))
        source["itemSelector"] = found.selector
    lost = _mend_fields(survey, known, found, source, replaced)
    _mend_link(survey, known, found, source, replaced)
    return Mending(declaration, replaced, lost, found.rows, found.records)


def _kept(survey: Survey, recipe: Recipe) -> Group | None:
    """The records that the selector of a recipe finds on the page, as a group."""
    matches = {node.mem_id for node in survey.page.select(parse(recipe.item_selector))}
    members = [number for number, node in enumerate(survey.nodes) if node.mem_id in matches]
    return Group(recipe.item_selector, 0.0, members) if members else None


def _mend_fields(
    survey: Survey, known: Known, found: Mended, source: dict[str, Any], replaced: list[Selector]
) -> list[str]:
    """Replace the reads that no longer agree with the known rows; the names of what is lost."""
    mended = {field.name: field for field in found.fields}
    agreeing = _agreeing(survey, known, found.selector)
    lost = []
    for field in source["fields"]:
        name, read = field["name"], field["read"]
        new = mended.get(name)
        if new is None:
            if not agreeing[name]:
                lost.append(name)
            continue
        if agreeing[name] >= AS_GOOD * new.agrees:
            continue
        field["read"] = declared_read(new.selector, new.attribute)
        replaced.append(Selector(name, _shown(read), _shown(field["read"])))
    return lost


def _agreeing(survey: Survey, known: Known, selector: str) -> Mapping[str, int]:
    """How many known values each field of the recipe still reads within the records."""
    recipe = replace(known.recipe, item_selector=selector)
    records, _ = Extractor(recipe).records(survey.page)
    agreeing = {}
    for at, field in enumerate(recipe.fields):
        values = {row[at] for row in known.rows if row[at] is not None}
        agreeing[field.name] = sum(record.values[at] in values for record in records)
    return agreeing


def _mend_link(
    survey: Survey, known: Known, found: Mended, source: dict[str, Any], replaced: list[Selector]
) -> None:
    """Replace the selector of a next link that finds nothing, if the list had several pages."""
    pagination = known.recipe.pagination
    if not isinstance(pagination, NextLink) or survey.page.select(parse(pagination.selector)):
        return
    selector = leading_to(survey, known.pages[1]) if len(known.pages) > 1 else ""
    if not selector:
        members = [
            number
            for node in survey.page.select(parse(found.selector))
            for number, other in enumerate(survey.nodes)
            if other.mem_id == node.mem_id
        ]
        links = following(survey, members)
        selector = links[0].selector if links else ""
    if selector:
        replaced.append(Selector("pagination", pagination.selector, selector))
        source["pagination"] = {"kind": "next-link", "selector": selector}


def _shown(read: Mapping[str, Any]) -> str:
    place = read.get("selector") or "(the item itself)"
    return f"{place} @{read['attribute']}" if read.get("attribute") else place
