"""A revised source for a list whose page has changed: what still works stays as it is.

It reads the known rows on that page, or leaves out the items that are no records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from math import ceil
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from livedata.extraction.lists.fields import declared_read
from livedata.extraction.lists.groups import ElementGroup, groups
from livedata.extraction.lists.identity.narrowing import asking_contents, leaving_out
from livedata.extraction.lists.mending import (
    AS_GOOD,
    SEARCHED,
    KnownColumn,
    Mended,
    MendedField,
    Unmended,
    mend,
)
from livedata.extraction.lists.paging import following, leading_to
from livedata.extraction.lists.survey import Survey, survey
from livedata.extraction.page import Page, PageTooComplex
from livedata.extraction.records import Extractor
from livedata.extraction.selectors import parse
from livedata.extraction.work import TooMuchWork
from livedata.model.diagnosis.explanation import FailedPage, Replacement, Suggestion
from livedata.model.harvest import Record
from livedata.model.recipe import NextLinkPages, Read, Recipe, RecipeField, compile_recipe
from livedata.model.row import Scalar
from livedata.rules.diagnosis.run_facts import strangers_among
from livedata.rules.explanation.run_context import RunContext


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
    if mended.selector != recipe.item_selector:
        mended = _as_it_was(survey, known, mended) or mended
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
            "searched": min(records, mended.records, SEARCHED),
            "rows": mended.rows,
            "replaced": replaced,
            "lost": lost,
        },
    )


def _as_it_was(survey: Survey, known: Known, mended: Mended) -> Mended | None:
    """What the recipe finds as it is, if that is as much as another selector would find."""
    read, _ = Extractor(known.recipe).records(survey.page)
    agreeing = _agreeing(known, read)
    if any(agreeing[field.name] < AS_GOOD * field.agrees for field in mended.fields):
        return None
    keys = known.recipe.key_indexes
    rows = {tuple(row[position] for position in keys) for row in known.rows}
    common = len(
        rows & {tuple(record.values[position] for position in keys) for record in read[:SEARCHED]}
    )
    if common < AS_GOOD * mended.rows:
        return None
    selector = known.recipe.item_selector
    return replace(mended, selector=selector, rows=common, records=len(read))


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
    for position, field in enumerate(known.recipe.fields):
        values = {row[position] for row in known.rows if row[position] is not None}
        agreeing[field.name] = sum(record.values[position] in values for record in records)
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


def without_strangers(
    survey: Survey, recipe: Recipe, records: Sequence[Record] | None = None
) -> tuple[str, int] | None:
    """The item selector that matches just the records of the page, and how many it matches.

    None if all items are records, or no selector does. `records` are the items as the recipe reads
    them, if that is done already: a page may be read for so long and no longer.
    """
    with suppress(TooMuchWork):
        read = Extractor(recipe).records(survey.page)[0] if records is None else records
        strangers = {record.number for record in strangers_among(read, recipe)}
        if strangers:
            items = enumerate(survey.page.select(parse(recipe.item_selector)), 1)
            kept = {node.mem_id for number, node in items if number not in strangers}
            members = [index for index, node in enumerate(survey.nodes) if node.mem_id in kept]
            # What the page does not show may match too, and has no number in the survey.
            if len(members) == len(kept):
                items_named = recipe.item_selector
                selector = leaving_out(survey, items_named, members, groups(survey))
                selector = selector or asking_contents(survey, items_named, members)
                return None if selector is None else (selector, len(members))
    return None


_HTML: Final = "text/html; charset=utf-8"
_TABLE_TAG: Final = re.compile(r"</?(table|tbody|thead|tfoot|tr|td|th)\b", re.IGNORECASE)


def suggest(context: RunContext) -> Suggestion | None:
    """What is to be read otherwise on the kept page of a Run.

    None if the page was not read, or if it needs nothing else, or shows too few known rows.
    """
    page = context.page
    if page is None or page.counts is None:
        return None
    known = _known(context, page)
    # Of a page that is made to take long, nothing is suggested.
    with suppress(PageTooComplex, TooMuchWork):
        mending = mended_source(survey(_parsed(page)), known)
        if not isinstance(mending, Unmended) and mending.suggestion["replaced"]:
            return mending.suggestion
    return None


def narrower_selector(context: RunContext) -> str | None:
    """What itemSelector leaves out the items of the kept page that are no records, if any does."""
    page = context.page
    if page is None or page.counts is None:
        return None
    recipe = _recipe(context)
    # Of a page that is made to take long, nothing is suggested.
    with suppress(PageTooComplex, TooMuchWork):
        narrower = without_strangers(survey(_parsed(page)), recipe)
        return None if narrower is None else narrower[0]
    return None


def _recipe(context: RunContext) -> Recipe:
    return compile_recipe(1, context.source, context.recorded.columns)


def _parsed(page: FailedPage) -> Page:
    markup = page.markup
    # A part that begins within a table is read as such: else the parser drops its cells.
    if page.cut and (tag := _TABLE_TAG.search(markup)) and tag[1].lower() != "table":
        markup = f"<table><tbody><tr><td>{markup}"
    return Page(markup.encode(), _HTML, page.final_url)


def _known(context: RunContext, page: FailedPage) -> Known:
    recipe = _recipe(context)
    pages = [each["url"] for each in context.previous_pages]
    return Known.of_pages(recipe, context.source, _rows(context, recipe), pages, page.number)


def _rows(context: RunContext, recipe: Recipe) -> list[list[Scalar]]:
    """The rows that were present, with what was read for each field of the recipe."""
    present = [row for row in context.recorded.rows.values() if row.presence == "present"]
    values = [{cell.field: cell.value for cell in row.cells} for row in present]
    return [[cells.get(field.id) for field in recipe.fields] for cells in values]
