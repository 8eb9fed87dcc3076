"""Rows that differ between two moments, a line each: what became of a row, and its first cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct

from livedata.model.dataset import Dataset
from livedata.model.ids import format_uuid
from livedata.model.row_name import RowName
from livedata.services.moments import CellDiff, NamedDiff

CELLS: Final = 4
"""So many cells of a row are told."""
_CHARACTERS: Final = 24_000
"""About so many have all cells of a page: the more there are, the less is told of each."""
_SHORTEST, _LONGEST = 24, 200


class RowLine(Struct, frozen=True):
    """What became of a row, and its first cells by their labels; `left_out` have no place here."""

    row: str
    name: RowName
    kind: str
    cells: Sequence[tuple[str, CellDiff]]
    left_out: int
    is_unseen: bool = False


def labels_by_name(dataset: Dataset) -> dict[str, str]:
    """The label of each column of a dataset by its name."""
    return {column["name"]: column["label"] for column in dataset["columns"]}


def row_line(named: NamedDiff, labels: Mapping[str, str], *, is_unseen: bool = False) -> RowLine:
    """The line of a row."""
    name, diff = named.name, named.diff
    cells = [
        (labels.get(column, column), cell)
        for column, cell in diff["changed"].items()
        # What names a new row stands there already.
        if diff["kind"] != "new" or cell["after"] not in {name.name, name.key}
    ]
    left_out = max(0, len(cells) - CELLS)
    row = format_uuid(named.row)
    return RowLine(row, name, diff["kind"], [*islice(cells, CELLS)], left_out, is_unseen)


def longest_text(lines: Iterable[RowLine]) -> int:
    """How many characters of a text are shown in these lines, which are all those of a page."""
    cells = sum(len(line.cells) for line in lines)
    return min(_LONGEST, max(_SHORTEST, _CHARACTERS // max(1, 2 * cells)))
