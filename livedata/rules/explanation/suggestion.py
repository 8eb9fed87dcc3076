"""What would read the known rows on the page that stopped a Run."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

from livedata.extraction.lists.mending import Unmended
from livedata.extraction.lists.survey import survey
from livedata.extraction.page import Page, PageTooComplex
from livedata.extraction.work import TooMuchWork
from livedata.model.diagnosis.explanation import FailedPage, Suggestion
from livedata.model.recipe import Recipe, compile_recipe
from livedata.model.row import Scalar
from livedata.rules.explanation.mended_source import Known, mended_source
from livedata.rules.explanation.narrower_items import without_strangers
from livedata.rules.explanation.run_context import RunContext

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
