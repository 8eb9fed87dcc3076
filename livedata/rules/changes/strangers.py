"""Items that are no records: adverts and the like, which a selector takes in among the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from livedata.model.diagnosis.recorded_run import StrangerFacts
from livedata.model.harvest import Harvest, Record
from livedata.model.recipe import Recipe


def find_strangers(harvest: Harvest, recipe: Recipe) -> StrangerFacts | None:
    """What is recorded of the items that are no records; None if there are none."""
    strangers = strangers_among(
        [record for page in harvest.pages for record in page.records], recipe
    )
    if not strangers:
        return None
    first = strangers[0]
    keys = [record.key for record in strangers if record.key is not None]
    return {
        "count": len(strangers),
        "keyless": len(strangers) - len(keys),
        "rows": len(set(keys)),
        "page": next(page.number for page in harvest.pages if first in page.records),
        "item": first.number,
        "lacks": _lacking(strangers),
    }


def strangers_among(records: Sequence[Record], recipe: Recipe) -> list[Record]:
    """The items that have nothing of what a record needs, if they are fewer than the others."""
    required = {at for at, field in enumerate(recipe.fields) if field.required}
    every = set(range(len(recipe.fields)))
    # One empty cell makes nobody a stranger: without a second one more cells are asked.
    choices = (required, required.union(recipe.key_indexes), every)
    asked = next((each for each in choices if len(each) > 1), choices[-1])
    # An advert has a link as records have, and nothing else of what is required of them.
    but_key = every.difference(recipe.key_indexes)
    asked_too = but_key if len(but_key) > 1 and not required.isdisjoint(but_key) else asked
    strangers = [record for record in records if _lacks(record, asked) or _lacks(record, asked_too)]
    return strangers if 2 * len(strangers) < len(records) else []


def _lacks(record: Record, fields: Iterable[int]) -> bool:
    return all(record.reasons[at] == "not_found" for at in fields)


def _lacking(strangers: Sequence[Record]) -> list[int]:
    """The indexes of the fields that no stranger has."""
    fields = range(len(strangers[0].values))
    return [at for at in fields if all(each.values[at] is None for each in strangers)]
