"""What a person says of the columns of each list: parts of its records that are keys, or never."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from msgspec import Struct, convert
from selectolax.lexbor import LexborNode

from livedata.extraction.derived_names import is_derived
from livedata.extraction.page import Page
from livedata.extraction.selectors import parse
from tests.lists.gold import HERE, Gold

_AT: Final = "@"


class Columns(Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of `keys.toml`, which says what its parts are."""

    identifiers: Sequence[str] = ()
    together: Sequence[Sequence[str]] = ()
    never: Sequence[str] = ()
    required: Sequence[str] = ()
    keyless: bool = False

    @property
    def parts(self) -> Iterator[str]:
        """Each part that is named."""
        yield from (*self.identifiers, *self.never, *self.required)
        for parts in self.together:
            yield from parts


class Part:
    """What a part of a page has in each record: elements, and their values."""

    def __init__(self, page: Page, written: str) -> None:
        selector, place, attribute = written.partition(_AT)
        self.attribute: Final = attribute if place else None
        if attribute and is_derived(attribute):
            page.derive(attribute, parse(selector))
        self.nodes: Final = page.tree.css(selector)
        self._page: Final = page

    def value(self, node: LexborNode) -> str | None:
        """What a Run would read of an element."""
        if self.attribute is None:
            return self._page.text(node) or None
        return self._page.attribute(node, self.attribute) or None

    def by_record(self, records: Sequence[LexborNode]) -> Mapping[int, list[LexborNode]]:
        """The elements within each record, by its number."""
        numbers = {record.mem_id: number for number, record in enumerate(records)}
        values: dict[int, list[LexborNode]] = {}
        for node in self.nodes:
            number = next((numbers[up] for up in upwards(node) if up in numbers), None)
            if number is not None:
                values.setdefault(number, []).append(node)
        return values


@cache
def every_list_columns() -> Mapping[str, Columns]:
    """What is said of each list, by the name of its page."""
    return convert(tomllib.loads((HERE / "keys.toml").read_text("utf-8")), dict[str, Columns])


def part_values(gold: Gold, page: Page, written: str) -> list[str | None]:
    """The first value of a part in each record that has it, of those records that most do."""
    part = Part(page, written)
    result = [part.by_record(page.tree.css(selector)) for selector in gold.records]
    return [part.value(nodes[0]) for nodes in max(result, key=len).values()]


def upwards(node: LexborNode) -> Iterator[int]:
    """An element and what is around it."""
    up: LexborNode | None = node
    while up is not None:
        yield up.mem_id
        up = up.parent
