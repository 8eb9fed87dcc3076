"""Suggests selectors for a person to try, from where known values are on a page.

No suggestion is ever applied by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from livedata.extraction.cells import clean, read_cell
from livedata.model.diagnosis.explanation import Suggestion
from livedata.model.row import Scalar
from livedata.rules.diagnosis.markup_pieces import address_tails

if TYPE_CHECKING:
    from livedata.extraction.outline import Element, Outline

LONGEST: Final = 500
"""The characters of an attribute up to which it may hold a cell."""
LONGEST_NUMBER: Final = 100
"""The characters of a text up to which it may be a number: reading them takes long."""
LEAST: Final = 2
"""A selector must fit at least so many rows: the text of one row may be anywhere by chance."""


class KnownValues(Struct, frozen=True):
    """The values of a field in known rows; `kind` is the type of its column."""

    name: str
    kind: str
    attribute: str | None
    values: Sequence[Scalar]

    @property
    def wanted(self) -> set[Scalar]:
        """The values to look for."""
        # "true" and "false", and the words for them, are on any page.
        return {value for value in self.values if value is not None and self.kind != "boolean"}


def suggest_item_selector(outline: Outline, fields: Sequence[KnownValues]) -> Suggestion | None:
    """The selector of the elements that each hold the texts of one known row, if there is one."""
    best: Suggestion | None = None
    for field in fields:
        if field.kind != "string":
            continue
        tally: Counter[str] = Counter()
        for item, values in Counter(_items(outline, field)).items():
            tally[item.selector] += values
        for selector, hits in tally.most_common(1):
            total = len(field.wanted)
            if hits >= LEAST and (best is None or hits > best["found"]):
                best = {
                    "target": "itemSelector",
                    "selector": selector,
                    "found": hits,
                    "known": total,
                }
    return best


def suggest_field_selector(outline: Outline, field: KnownValues) -> Suggestion | None:
    """The selector, and the attribute if any, that now has the values of a field."""
    places = _places(outline, field)
    # Once for each element: its classes may be long, and its attributes hold many values.
    selectors = {element: element.selector for element in set().union(*places.values())}
    tally: Counter[tuple[str, str]] = Counter()
    for holders in places.values():
        tally.update(
            {(selectors[holder], name) for holder, names in holders.items() for name in names}
        )
    # A field of a single value (a currency, say) can never fit two, so its one value suffices.
    for (selector, name), hits in tally.most_common(1):
        if hits >= min(LEAST, len(field.wanted)):
            suggestion: Suggestion = {
                "target": field.name,
                "selector": selector,
                "found": hits,
                "known": len(field.wanted),
            }
            if name:
                suggestion["attribute"] = name
            return suggestion
    return None


def _places(outline: Outline, field: KnownValues) -> dict[Scalar, dict[Element, list[str]]]:
    """Value -> the inmost elements that hold it, each with its attributes ("" for the text)."""
    forms = _forms(field)
    places: dict[Scalar, dict[Element, list[str]]] = {}
    for element in outline.elements:
        for name, text in _texts(element, field):
            if field.kind != "string" and len(text) > LONGEST_NUMBER:
                continue
            read = read_cell(text, field.kind).value
            is_address = name and isinstance(read, str)
            written: Collection[Scalar] = address_tails(str(read)) if is_address else (read,)
            # Two ends of one address stand for the same value.
            for value in {forms[form] for form in written if form in forms}:
                holders = places.setdefault(value, {})
                # A parent has the text of its child too: only the innermost element counts.
                if element.parent is not None:
                    holders.pop(element.parent, None)
                holders.setdefault(element, []).append(name)
    return places


def _forms(field: KnownValues) -> dict[Scalar, Scalar]:
    """How a page may write a value -> the value: an address in an attribute has many forms."""
    if field.attribute is None:
        return {value: value for value in field.wanted}
    forms: dict[Scalar, set[Scalar]] = {
        value: {value, *address_tails(str(value))} for value in field.wanted
    }
    holders = Counter(form for own in forms.values() for form in own)
    return {form: value for value, own in forms.items() for form in own if holders[form] == 1}


def _texts(element: Element, field: KnownValues) -> Iterator[tuple[str, str]]:
    if field.attribute is None:
        if element.text:
            yield "", element.text
        return
    for name, text in element.attributes.items():
        if name not in {"class", "style"} and len(text) <= LONGEST:
            yield name, clean(text)


def _items(outline: Outline, field: KnownValues) -> Iterator[Element]:
    """For each value the outermost element around its first place that holds no other value."""
    firsts = [next(iter(holders)) for holders in _places(outline, field).values()]
    held = Counter(firsts)
    # Children come after their parents, so from behind each is counted before it is added.
    for element in reversed(outline.elements):
        if element.parent is not None and element in held:
            held[element.parent] += held[element]
    for first in firsts:
        item = first
        for element in first.above:
            if held[element] > 1:
                break
            item = element
        yield item
