"""Items that are no records: adverts and the like, which a selector takes in among the others."""

from __future__ import annotations

from livedata.model.diagnosis.recorded_run import StrangerFacts
from livedata.model.harvest import Harvest, Record
from livedata.model.recipe import Recipe


def find_strangers(harvest: Harvest, recipe: Recipe) -> StrangerFacts | None:
    """The items that have nothing of what a record needs, if they are fewer than the others."""
    required = {at for at, field in enumerate(recipe.fields) if field.required}
    # One empty cell makes nobody a stranger: without a second one more cells are asked.
    choices = (required, required.union(recipe.key_indexes), set(range(len(recipe.fields))))
    asked = next((each for each in choices if len(each) > 1), choices[-1])
    records = [(page.number, record) for page in harvest.pages for record in page.records]
    strangers = [
        (number, record)
        for number, record in records
        if all(record.reasons[at] == "not_found" for at in asked)
    ]
    if not strangers or 2 * len(strangers) >= len(records):
        return None
    page, first = strangers[0]
    keys = [record.key for _, record in strangers if record.key is not None]
    return {
        "count": len(strangers),
        "keyless": len(strangers) - len(keys),
        "rows": len(set(keys)),
        "page": page,
        "item": first.number,
        "lacks": _lacking([record for _, record in strangers]),
    }


def _lacking(strangers: list[Record]) -> list[int]:
    """The indexes of the fields that no stranger has."""
    fields = range(len(strangers[0].values))
    return [at for at in fields if all(each.values[at] is None for each in strangers)]
