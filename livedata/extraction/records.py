"""A page -> the records on it, read and typed as the recipe says."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from selectolax.lexbor import LexborNode

from livedata.extraction.cells import (
    CellReading,
    read_attribute,
    read_cell,
    read_presence,
    row_key,
)
from livedata.extraction.derived_names import is_derived
from livedata.extraction.page import Page, is_boolean_attribute
from livedata.extraction.selectors import Selector, parse
from livedata.extraction.text import SET_OFF, plain
from livedata.extraction.work import RUN_LIMIT, Work
from livedata.model.dataset import NUMERIC
from livedata.model.harvest import Record
from livedata.model.problem import Params, Problem
from livedata.model.recipe import Read, Recipe, RecipeField
from livedata.model.row import MissingReason, Scalar

MAX_TEXT = 32 * 2**20
"""How many bytes of text a Run may gather."""
MAX_CELLS = 300_000
"""How many cells a Run may gather, empty ones included: 1000 rows of 50 fields, six times."""
_ITEM = 8
_CELL = 8
"""What an item and each of its cells cost, in nodes looked at."""
_LONG = 100
"""The characters from which the length of a text costs something too."""

_Cell = tuple[str | None, CellReading]
"""The text of a cell, and what it reads as."""
_UNREAD: _Cell = None, read_cell(None, "string")


class _Reading(Struct):
    """One page being read: per field how often it matched, and what was read of it last.

    It ends with the page, for an element keeps the whole tree in memory.
    """

    page: Page
    matches: list[int]
    nodes: list[LexborNode | None]
    cells: list[_Cell]


class Extractor:
    """Reads the pages of one Run, and adds up what they gave and what work they took."""

    __slots__ = ("cells", "derived", "gathered", "items", "key", "reads", "recipe", "work")

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.items = parse(recipe.item_selector)
        self.reads = [(field, _selector(field.read)) for field in recipe.fields]
        self.derived = [
            (field.read.attribute, selector or self.items)
            for field, selector in self.reads
            if field.read.attribute is not None and is_derived(field.read.attribute)
        ]
        self.key = recipe.key_indexes
        self.gathered = [0] * len(self.reads)
        self.cells = 0
        self.work = Work(RUN_LIMIT)

    def records(
        self, page: Page, over: Callable[[], bool] = lambda: False
    ) -> tuple[list[Record], list[int]]:
        """The records of a page in document order, and per field on how many its read matched.

        Only those so far if the Run is `over` meanwhile, or has gathered too much. Raises
        `TooMuchWork`.
        """
        fields = len(self.reads)
        reading = _Reading(page, [0] * fields, [None] * fields, [_UNREAD] * fields)
        records: list[Record] = []
        for attribute, selector in self.derived:
            page.derive(attribute.lower(), selector)
        for number, item in enumerate(page.select(self.items), 1):
            page.work.spend(_ITEM + _CELL * fields, self.items.text)
            records.append(self._record(reading, item, number))
            if over() or self.overflow() is not None:
                break
        return records, reading.matches

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

    def _record(self, reading: _Reading, item: LexborNode, number: int) -> Record:
        values: list[Scalar] = []
        reasons: list[MissingReason | None] = []
        texts: list[str | None] = []
        for position, (_, selector) in enumerate(self.reads):
            node = item if selector is None else reading.page.first(selector, item)
            text, cell = self._cell(reading, position, node)
            values.append(cell.value)
            reasons.append(cell.reason)  # type: ignore[arg-type]  # two of the four reasons
            texts.append(text)
            if text:
                self.gathered[position] += len(text) if text.isascii() else len(text.encode())
        self.cells += len(values)
        keys = [values[position] for position in self.key]
        for position, key_text in zip(self.key, keys, strict=True):
            # In a key letters and marks are composed, which takes as long as half a node for each.
            if isinstance(key_text, str) and len(key_text) > _LONG and not key_text.isascii():
                reading.page.work.spend(
                    len(key_text) // 2, (self.reads[position][1] or self.items).text
                )
        key = row_key(keys, composite=self.recipe.composite)
        return Record(number, key, values, reasons, texts)

    def _cell(self, reading: _Reading, position: int, node: LexborNode | None) -> _Cell:
        """What the field at a position reads of an element."""
        field, selector = self.reads[position]
        if node is None:
            # HTML says <input disabled>: without an element nothing is known of it.
            return None, read_cell(None, field.type)
        reading.matches[position] += 1
        # Items within each other find the same element, one after the other: it is read once.
        if node is not reading.nodes[position]:
            cell = _read(reading.page, node, field, selector or self.items)
            if cell[0] and len(cell[0]) > _LONG:
                self._count(reading.page, cell[0], position)
            reading.nodes[position], reading.cells[position] = node, cell
        return reading.cells[position]

    def _count(self, page: Page, text: str, position: int) -> None:
        """Count the work that a long text takes."""
        field, selector = self.reads[position]
        # Numbers are looked for in many ways, so that they take longer.
        characters = 1 if field.type in NUMERIC else 8
        page.work.spend(len(text) // characters, (selector or self.items).text)


def _selector(read: Read) -> Selector | None:
    return parse(read.selector) if read.selector else None


def _read(page: Page, node: LexborNode, field: RecipeField, selector: Selector) -> _Cell:
    read = field.read
    if read.kind == "text":
        marked = page.marked_text(node, selector.text)
        return plain(marked) if SET_OFF in marked else marked, read_cell(marked, field.type)
    assert read.attribute is not None
    value = page.attribute(node, read.attribute)
    # Such an attribute is true by being there, with any value.
    if field.type == "boolean" and is_boolean_attribute(read.attribute):
        present = value is not None
        return read.attribute if present else "", read_presence(matched=True, has_attribute=present)
    return value, read_attribute(value, field.type)
