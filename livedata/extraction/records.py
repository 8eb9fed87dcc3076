"""A page -> the records on it, read and typed as the recipe says."""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from livedata.extraction.cells import (
    MAX_CELL,
    CellReading,
    read_attribute,
    read_cell,
    read_presence,
    row_key,
)
from livedata.extraction.page import Page, is_boolean_attribute
from livedata.extraction.selectors import Selector, parse
from livedata.model.harvest import Record
from livedata.model.problem import Params, Problem
from livedata.model.recipe import Read, Recipe, RecipeField
from livedata.model.row import MissingReason, Scalar

MAX_TEXT = 32 * 2**20
"""How many bytes of text a Run may gather."""
MAX_CELLS = 300_000
"""How many cells a Run may gather, empty ones included: 1000 rows of 50 fields, six times."""
_AT_ONCE = 100
"""Items that are read before other crawls of the process have their turn."""


@dataclass(slots=True)
class Extractor:
    """Reads the pages of one Run, and adds up how many cells and how much text they gave."""

    recipe: Recipe
    items: Selector = dataclasses.field(init=False)
    reads: list[tuple[RecipeField, Selector | None]] = dataclasses.field(init=False)
    gathered: list[int] = dataclasses.field(init=False)
    cells: int = dataclasses.field(init=False, default=0)

    def __post_init__(self) -> None:
        self.items = parse(self.recipe.item_selector)
        self.reads = [(field, _selector(field.read)) for field in self.recipe.fields]
        self.gathered = [0] * len(self.reads)

    async def records(self, page: Page, over: asyncio.Event) -> tuple[list[Record], list[int]]:
        """The records of a page in document order, and per field on how many its read matched.

        Only those so far if the Run is `over` meanwhile, or has gathered too much.
        """
        matches = [0] * len(self.reads)
        found: list[Record] = []
        for number, item in enumerate(page.select(self.items), 1):
            # A large page takes a second to read: other Runs of the process go on meanwhile.
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
                if over.is_set():
                    break
            found.append(self._record(page, item, number, matches))
            if self.overflow() is not None:
                break
        return found, matches

    def overflow(self) -> Problem | None:
        """What is wrong if a Run has gathered more than it may; else None."""
        if self.cells > MAX_CELLS:
            selector = self.recipe.item_selector
            return Problem("checks.too_many_cells", {"cells": MAX_CELLS, "selector": selector})
        if sum(self.gathered) <= MAX_TEXT:
            return None
        most = max(range(len(self.reads)), key=self.gathered.__getitem__)
        field = self.recipe.fields[most]
        params: Params = {
            "mib": MAX_TEXT >> 20,
            "field": field.name,
            "selector": field.read.selector,
        }
        return Problem("checks.too_much_text", params)

    def _record(self, page: Page, item: LexborNode, number: int, matches: list[int]) -> Record:
        values: list[Scalar] = []
        reasons: list[MissingReason | None] = []
        texts: list[str | None] = []
        for at, (field, selector) in enumerate(self.reads):
            node = item if selector is None else page.first(selector, item)
            matches[at] += node is not None
            text, reading = _read(page, node, field)
            values.append(reading.value)
            reasons.append(reading.reason)  # type: ignore[arg-type]  # two of the four reasons
            texts.append(text)
            self.gathered[at] += _size(text)
        self.cells += len(values)
        keys = [values[at] for at in self.recipe.key_indexes]
        key = row_key(keys, composite=self.recipe.composite)
        return Record(number, key, values, reasons, texts)


def _size(text: str | None) -> int:
    """The bytes of a text in UTF-8."""
    if not text:
        return 0
    return len(text) if text.isascii() else len(text.encode())


def _selector(read: Read) -> Selector | None:
    return parse(read.selector) if read.selector else None


def _read(
    page: Page, node: LexborNode | None, field: RecipeField
) -> tuple[str | None, CellReading]:
    read = field.read
    if read.kind == "text":
        # One character more than a cell holds is enough to know that it is too long.
        text = None if node is None else page.text(node, MAX_CELL + 1)
        return text, read_cell(text, field.type)
    assert read.attribute is not None
    # HTML says <input disabled>: such an attribute is true by being there, with any value.
    if field.type == "boolean" and is_boolean_attribute(read.attribute):
        present = node is not None and page.attribute(node, read.attribute) is not None
        text = None if node is None else read.attribute if present else ""
        return text, read_presence(node is not None, present)
    value = None if node is None else page.attribute(node, read.attribute)
    return value, read_attribute(value, field.type)
