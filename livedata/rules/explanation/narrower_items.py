"""The selector of the items of a page without those that are no records."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from livedata.extraction.lists.groups import groups
from livedata.extraction.lists.identity.narrowing import asking_contents, leaving_out
from livedata.extraction.lists.survey import Survey
from livedata.extraction.records import Extractor
from livedata.extraction.selectors import parse
from livedata.extraction.work import TooMuchWork
from livedata.model.harvest import Record
from livedata.model.recipe import Recipe
from livedata.rules.changes.strangers import strangers_among


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
            members = [at for at, node in enumerate(survey.nodes) if node.mem_id in kept]
            # What the page does not show may match too, and has no number in the survey.
            if len(members) == len(kept):
                items_named = recipe.item_selector
                selector = leaving_out(survey, items_named, members, groups(survey))
                selector = selector or asking_contents(survey, items_named, members)
                return None if selector is None else (selector, len(members))
    return None
