"""Suggests selectors for a person to try, from where known values are on a page.

No suggestion is ever applied by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from livedata.extraction.work import TooMuchWork
from livedata.model.diagnosis.explanation import Suggestion
from livedata.rules.explanation.places import KnownValues, Places

if TYPE_CHECKING:
    from livedata.extraction.outline import Element

LEAST: Final = 2
"""A selector must fit at least so many rows: the text of one row may be anywhere by chance."""


def suggest_item_selector(places: Places, fields: Sequence[KnownValues]) -> Suggestion | None:
    """The selector of the elements that each hold the texts of one known row, if there is one."""
    best: Suggestion | None = None
    # Of a page that says too much, the fields that were looked at until then decide.
    with suppress(TooMuchWork):
        for field in fields:
            if field.kind != "string":
                continue
            tally: Counter[str] = Counter()
            for item, values in Counter(_items(places, field)).items():
                tally[places.selector(item)] += values
            for selector, hits in tally.most_common(1):
                if hits >= LEAST and (best is None or hits > best["found"]):
                    total = len(field.wanted)
                    best = _suggestion("itemSelector", selector, hits, total)
    return best


def suggest_field_selectors(places: Places, fields: Sequence[KnownValues]) -> list[Suggestion]:
    """For each field the selector, and the attribute if any, that now has its values."""
    suggested: list[Suggestion] = []
    with suppress(TooMuchWork):
        for field in fields:
            suggested += _field_selector(places, field)
    return suggested


def _field_selector(places: Places, field: KnownValues) -> Iterator[Suggestion]:
    tally: Counter[tuple[str, str]] = Counter()
    for holders in places.of(field):
        tally.update(
            {(places.selector(holder), name) for holder, names in holders.items() for name in names}
        )
    total = len(field.wanted)
    # A field of a single value (a currency, say) can never fit two, so its one value suffices.
    for (selector, name), hits in tally.most_common(1):
        if hits >= min(LEAST, total):
            suggestion = _suggestion(field.name, selector, hits, total)
            if name:
                suggestion["attribute"] = name
            yield suggestion


def _suggestion(target: str, selector: str, hits: int, total: int) -> Suggestion:
    return {"target": target, "selector": selector, "found": hits, "known": total}


def _items(places: Places, field: KnownValues) -> Iterator[Element]:
    """For each value the outermost element around its first place that holds no other value."""
    firsts = [next(iter(holders)) for holders in places.of(field)]
    held: Counter[Element] = Counter()
    for first in firsts:
        above = list(first.above)
        places.spend(len(above), field)
        held.update(above)
    for first in firsts:
        item = first
        for element in first.above:
            if held[element] > 1:
                break
            item = element
        yield item
