"""The rows of a dataset as a research Run knows them: each cell with the page it rests on."""

from __future__ import annotations

from collections.abc import Iterable

from livedata.model.ids import DatasetId, ObservationId
from livedata.model.research.memory import KnownCell, KnownRow
from livedata.model.research.recipe import ResearchRecipe
from livedata.rules.changes.compare import CurrentRow
from livedata.store import rows
from livedata.store.database.backend import Reader
from livedata.store.database.codec import ENTRIES, ItemTexts

Page = tuple[str, dict[int, ItemTexts]]
"""The address of an observation, and its texts."""


def all_of(reader: Reader, dataset: DatasetId, recipe: ResearchRecipe) -> list[KnownRow]:
    """Every row by key, its cells in the order of the recipe's fields."""
    current = sorted(rows.current(reader, dataset), key=lambda row: row.key)
    pages = _pages(reader, dataset, current)
    return [_known(row, recipe, pages) for row in current]


def _known(row: CurrentRow, recipe: ResearchRecipe, pages: dict[ObservationId, Page]) -> KnownRow:
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
) -> dict[ObservationId, Page]:
    """The observations that rows rest on."""
    named = {observation for row in current for observation, _ in row.evidence.all_references()}
    # Those of the dataset one after the other, and no list of ids: rows may rest on hundreds.
    observations = reader.each(
        "SELECT id, source_url, entries FROM observations WHERE dataset_id = :dataset",
        dataset=dataset,
    )
    return {key: (url, ENTRIES.load(entries)) for key, url, entries in observations if key in named}
