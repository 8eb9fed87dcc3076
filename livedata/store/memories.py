"""What a research Run knows before it begins: kept by its hash, with the rows and their pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import json
from msgspec.structs import replace

from livedata.model.ids import DatasetId, Micros, ObservationId
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import KnownCell, KnownRow, Memory
from livedata.rules.changes.compare import CurrentRow
from livedata.store import rows
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import ENTRIES, ItemTexts, JsonColumn
from livedata.store.research import artifacts, entities

_Page = tuple[str, dict[int, ItemTexts]]
"""The address of an observation, and its texts."""
_MEMORY = JsonColumn[Memory](Memory)


def known_rows(reader: Reader, dataset: DatasetId, recipe: ResearchRecipe) -> list[KnownRow]:
    """Every row by key, its cells in the order of the recipe's fields."""
    current = sorted(rows.current(reader, dataset), key=lambda row: row.key)
    pages = _pages(reader, dataset, current)
    return [_known(row, recipe, pages) for row in current]


def _known(row: CurrentRow, recipe: ResearchRecipe, pages: dict[ObservationId, _Page]) -> KnownRow:
    cells = []
    for field in recipe.fields:
        value, reason = row.cells.source(field.position)
        url = quote = None
        for observation, item in row.evidence.references(field.position):
            url, texts = pages[observation]
            # The words of the name lead to the address of the page.
            position = recipe.name.position if field == recipe.source else field.position
            text = texts.get(item, {}).get(position)
            quote = text[0] if isinstance(text, tuple) else text
        cells.append(KnownCell(None if value is None else str(value), reason, url, quote))
    return KnownRow(row.key, row.presence, cells)


def _pages(
    reader: Reader, dataset: DatasetId, current: Iterable[CurrentRow]
) -> dict[ObservationId, _Page]:
    """The observations that rows rest on."""
    named = {observation for row in current for observation, _ in row.evidence.all_references()}
    # Those of the dataset one after the other, and no list of ids: rows may rest on hundreds.
    observations = reader.each(
        "SELECT id, source_url, entries FROM observations WHERE dataset_id = :dataset",
        dataset=dataset,
    )
    return {key: (url, ENTRIES.load(entries)) for key, url, entries in observations if key in named}


def keep(writer: Writer, dataset: DatasetId, known: Memory, now: Micros) -> bytes:
    """Keep what is known; its hash."""
    numbers = entities.numbers(writer, dataset)
    # A key stands here twice, and cannot be compressed.
    short = {key: f"#{number}" for key, number in numbers.items()}
    stored = _renamed(known, lambda key: short.get(key, key))
    return artifacts.keep_body(writer, dataset, json.encode(stored).decode(), now)


def load(reader: Reader, dataset: DatasetId, key: bytes | None) -> Memory | None:
    """What was known, by its hash; None if it is kept no more."""
    text = None if key is None else artifacts.load_body(reader, dataset, key)
    if text is None:
        return None
    numbers = entities.numbers(reader, dataset)
    full = {f"#{number}": key for key, number in numbers.items()}
    return _renamed(_MEMORY.load(text), lambda key: full.get(key, key))


def _renamed(known: Memory, name: Callable[[str], str]) -> Memory:
    """The same with other keys."""
    return replace(
        known,
        entities=[replace(entity, key=name(entity.key)) for entity in known.entities],
        rows=[replace(row, key=name(row.key)) for row in known.rows],
    )
