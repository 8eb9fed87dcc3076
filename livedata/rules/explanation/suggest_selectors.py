"""Known rows looked for on a page -> selectors that a person may try. Nothing is ever applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from livedata.extraction.cells import clean, read_cell
from livedata.model.diagnosis.explanation import Suggestion
from livedata.model.row import Scalar

if TYPE_CHECKING:
    from livedata.extraction.outline import Element, Outline

LONGEST: Final = 500
"""The characters of an attribute up to which it may hold a cell."""
LEAST: Final = 2
"""One row alone proves nothing: its text may stand anywhere."""


@dataclass(frozen=True, slots=True)
class KnownValues:
    """What rows had in a field: `kind` is the column's type."""

    name: str
    kind: str
    attribute: str | None
    values: Sequence[Scalar]

    @property
    def wanted(self) -> set[Scalar]:
        """The values to look for; true and false stand everywhere."""
        return {value for value in self.values if value is not None and self.kind != "boolean"}


def suggest_item_selector(outline: Outline, fields: Sequence[KnownValues]) -> Suggestion | None:
    """What now holds the texts of one row each: the outermost element that holds no other row."""
    best: Suggestion | None = None
    for field in fields:
        if field.kind != "string":
            continue
        places = _places(outline, field)
        tally = Counter(_item(value, places).selector for value in places)
        for selector, found in tally.most_common(1):
            known = len(field.wanted)
            if found >= LEAST and (best is None or found > best["found"]):
                best = {
                    "target": "itemSelector",
                    "selector": selector,
                    "found": found,
                    "known": known,
                }
    return best


def suggest_field_selector(outline: Outline, field: KnownValues) -> Suggestion | None:
    """What now holds the values of a field."""
    tally: Counter[tuple[str, str]] = Counter()
    for places in _all_places(outline, field).values():
        tally.update({(place.selector, name) for place, name in places})
    for (selector, name), found in tally.most_common(1):
        if found >= min(LEAST, len(field.wanted)):
            clue: Suggestion = {
                "target": field.name,
                "selector": selector,
                "found": found,
                "known": len(field.wanted),
            }
            if name:
                clue["attribute"] = name
            return clue
    return None


def count_known_values(markup: str, fields: Sequence[KnownValues]) -> int:
    """How many known texts stand in the raw markup, scripts and all."""
    texts = {str(value) for field in fields if field.kind == "string" for value in field.wanted}
    return sum(text in markup for text in texts if len(text) > LEAST)


def _places(outline: Outline, field: KnownValues) -> Mapping[Scalar, Element]:
    """Value -> the first element that holds it."""
    return {value: places[0][0] for value, places in _all_places(outline, field).items()}


def _all_places(outline: Outline, field: KnownValues) -> dict[Scalar, list[tuple[Element, str]]]:
    """Value -> the inmost elements that hold it, each with the attribute ("" for the text)."""
    wanted = field.wanted
    found: dict[Scalar, list[tuple[Element, str]]] = {}
    for element in outline.elements:
        for name, text in _texts(element, field):
            value = read_cell(text, field.kind).value
            if value is not None and value in wanted:
                known = found.setdefault(value, [])
                known[:] = [(place, at) for place, at in known if place is not element.parent]
                known.append((element, name))
    return found


def _texts(element: Element, field: KnownValues) -> Iterator[tuple[str, str]]:
    if field.attribute is None:
        if element.text:
            yield "", element.text
        return
    for name, text in element.attributes.items():
        if name not in {"class", "style"} and len(text) <= LONGEST:
            yield name, clean(text)


def _item(value: Scalar, places: Mapping[Scalar, Element]) -> Element:
    others = {
        id(above) for other, place in places.items() if other != value for above in place.above
    }
    own = places[value]
    for element in own.above:
        if id(element) in others:
            break
        own = element
    return own
