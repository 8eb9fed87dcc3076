"""What is wrong with the selectors and the attributes that a source names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livedata.extraction import selectors
from livedata.extraction.derived_names import DERIVED, is_derived
from livedata.messages.request import format_choices, nearest
from livedata.model.errors import Detail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from livedata.model.source import SourceRead


def read_details(path: str, read: SourceRead) -> Iterator[Detail]:
    """What is wrong with how a field is read."""
    if read.selector is not None:
        yield from selector_details(f"{path}.selector", read.selector)
    if read.attribute is not None:
        yield from _name_details(f"{path}.attribute", read.attribute)
    if read.kind == "attribute" and read.attribute is None:
        yield Detail(f"{path}.attribute", 'is required where kind is "attribute"')
    if read.kind == "text" and read.attribute is not None:
        why = 'is given, but kind is "text"; did you mean kind = "attribute"?'
        yield Detail(f"{path}.attribute", why)


def selector_details(path: str, text: str) -> Iterator[Detail]:
    """What is wrong with a selector."""
    try:
        selector = selectors.parse(text)
    except selectors.BadSelector as error:
        # The quoted part of the selector may hold newlines; a detail is one line.
        why = " ".join(str(error).removesuffix(".").split())
        yield Detail(path, why, is_predicate=False)
        return
    for step in selector.steps:
        for test in step.compound.attributes:
            yield from _name_details(path, test.name)


def _name_details(path: str, name: str) -> Iterator[Detail]:
    """What is wrong with the name of an attribute: one of livedata's own must be known."""
    if is_derived(name) and name.lower() not in DERIVED:
        near = nearest(name, DERIVED)
        hint = f'; did you mean "{near}"?' if near else ""
        choices = format_choices(DERIVED, "and")
        yield Detail(path, f'names "{name}", but livedata derives only {choices}{hint}')
