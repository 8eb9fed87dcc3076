"""A revised source for a list whose page has changed: what still works stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from math import ceil
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from livedata.extraction.lists.fields import declared_read
from livedata.extraction.lists.groups import ElementGroup
from livedata.extraction.lists.mending import (
    AS_GOOD,
    KnownColumn,
    Mended,
    MendedField,
    Unmended,
    mend,
)
from livedata.extraction.lists.paging import following, leading_to
from livedata.extraction.lists.survey import Survey
from livedata.extraction.records import Extractor
from livedata.extraction.selectors import parse
from livedata.model.diagnosis.explanation import Replacement, Suggestion
from livedata.model.harvest import Record
from livedata.model.recipe import NextLinkPages, Read, Recipe, RecipeField
from livedata.model.row import Scalar
from livedata.rules.explanation.narrower_items import without_strangers


class Known(Struct, frozen=True):
    """A list as it was: its recipe, the `source` that declares it, and its rows.

    The page had about so many rows as are `expected`, and led to `next_page`, if to any.
    """

    recipe: Recipe
    source: Mapping[str, Any]
    rows: Sequence[Sequence[Scalar]]
    expected: int
    next_page: str | None

    @classmethod
    def of_pages(
        cls,
        recipe: Recipe,
        source: Mapping[str, Any],
        rows: Sequence[Sequence[Scalar]],
        pages: Sequence[str],
        number: int = 1,
    ) -> Known:
        """The list on page `number` of those `pages` that had these rows before."""
        after = pages[number] if number < len(pages) else None
        return cls(recipe, source, rows, ceil(len(rows) / max(1, len(pages))), after)


class Mending(Struct, frozen=True):
    """A source that reads the page as it is now, and what of it is new."""

    source: dict[str, Any]
    suggestion: Suggestion


def mended_source(survey: Survey, known: Known) -> Mending | Unmended:
    """The source with selectors that read the known rows on the page as it is now.

    Raises `TooMuchWork` for a page on which looking for them takes too long.
    """
    recipe = known.recipe
    columns = [
        KnownColumn(field.name, field.type, field.name in recipe.identity)
        for field in recipe.fields
    ]
    # A container around the records or within them may serve as well: the one that is there stays.
    mended = mend(survey, columns, known.rows, known.expected, _kept(survey, recipe))
    if isinstance(mended, Unmended):
        return mended
    source, replaced = deepcopy(dict(known.source)), list[Replacement]()
    revised = replace(recipe, item_selector=mended.selector)
    read, _ = Extractor(revised).records(survey.page)
    fields, lost = _mend_fields(known, mended, read, source, replaced)
    revised = replace(revised, fields=fields)
    narrower = without_strangers(survey, revised, read if fields == recipe.fields else None)
    selector, records = narrower or (mended.selector, mended.records)
    if selector != recipe.item_selector:
        replaced.insert(0, _replacement("itemSelector", recipe.item_selector, selector))
        source["itemSelector"] = selector
    _mend_link(survey, known, mended, source, replaced)
    return Mending(
        source,
        {
            "records": min(records, mended.records),
            "rows": mended.rows,
            "replaced": replaced,
            "lost": lost,
        },
    )


def _replacement(target: str, before: str, after: str) -> Replacement:
    return {"target": target, "before": before, "after": after}


def _elements(survey: Survey, selector: str) -> list[int]:
    """The elements of the page that a selector matches."""
    matches = {node.mem_id for node in survey.page.select(parse(selector))}
    return [number for number, node in enumerate(survey.nodes) if node.mem_id in matches]


def _kept(survey: Survey, recipe: Recipe) -> ElementGroup | None:
    """The records that the selector of a recipe finds on the page, as a group."""
    members = _elements(survey, recipe.item_selector)
    return ElementGroup(recipe.item_selector, 0.0, members) if members else None


def _mend_fields(
    known: Known,
    mended: Mended,
    records: Sequence[Record],
    source: dict[str, Any],
    replaced: list[Replacement],
) -> tuple[tuple[RecipeField, ...], list[str]]:
    """Replace the reads that no longer agree with the known rows; the fields, and what is lost."""
    places = {field.name: field for field in mended.fields}
    agreeing = _agreeing(known, records)
    fields, lost = [], []
    for field, declared in zip(known.recipe.fields, source["fields"], strict=True):
        place, agrees = places.get(field.name), agreeing[field.name]
        if place is not None and agrees < AS_GOOD * place.agrees:
            read = _read(place)
            declared["read"] = declared_read(place.selector, place.attribute)
            replaced.append(_replacement(field.name, field.read.place, read.place))
            fields.append(replace(field, read=read))
        else:
            fields.append(field)
            if place is None and not agrees:
                lost.append(field.name)
    return tuple(fields), lost


def _read(place: MendedField) -> Read:
    return Read("text" if place.attribute is None else "attribute", place.selector, place.attribute)


def _agreeing(known: Known, records: Sequence[Record]) -> Mapping[str, int]:
    """How many known values each field of the recipe still reads within the records."""
    agreeing = {}
    for at, field in enumerate(known.recipe.fields):
        values = {row[at] for row in known.rows if row[at] is not None}
        agreeing[field.name] = sum(record.values[at] in values for record in records)
    return agreeing


def _mend_link(
    survey: Survey,
    known: Known,
    mended: Mended,
    source: dict[str, Any],
    replaced: list[Replacement],
) -> None:
    """Replace the selector of a next link that finds nothing, if the page had one."""
    pagination = known.recipe.pagination
    if known.next_page is None or not isinstance(pagination, NextLinkPages):
        return
    if survey.page.select(parse(pagination.selector)):
        return
    selector = leading_to(survey, known.next_page)
    if not selector:
        links = following(survey, _elements(survey, mended.selector))
        selector = links[0].selector if links else ""
    if selector:
        replaced.append(_replacement("pagination", pagination.selector, selector))
        source["pagination"] = {"kind": "next-link", "selector": selector}
