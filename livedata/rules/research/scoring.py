"""How good a researched table is, held against one that is known to be right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from livedata.model.research.recipe import EntityKind
from livedata.rules.research.fold import fold
from livedata.rules.research.identity import fold_name

Gold = Mapping[str, Mapping[str, Sequence[str]]]
"""Name -> label -> the values that are right; none if the cell is to be empty."""


class Scored(Struct, frozen=True):
    """Things that were found: the share of them that is right, and of the right ones found."""

    precision: float
    recall: float
    f1: float


class TableRow(Struct, frozen=True):
    """A row to be scored: all names it goes by, and label -> value."""

    names: Sequence[str]
    values: Mapping[str, str | None]


class Score(Struct, frozen=True):
    """The entities, whole rows and single cells of a table; a cell without a value is no item."""

    entities: Scored
    rows: Scored
    items: Scored


def score(gold: Gold, rows: Iterable[TableRow], kind: EntityKind) -> Score:
    """Judge rows: texts are compared folded, and a row of no known name is wrong as a whole."""
    wanted = {fold_name(name, kind): values for name, values in gold.items()}
    met: set[str] = set()
    entities, whole, items = _Count(), _Count(), _Count()
    for row in rows:
        name = next((each for each in _names(row, kind) if each in wanted), None)
        # A second row of one entity is one too many.
        right = name is not None and name not in met
        values = wanted[name] if name is not None and right else {}
        if name is not None:
            met.add(name)
        entities.add(right=right)
        hits = [_is_right(value, values.get(label, ())) for label, value in row.values.items()]
        whole.add(right=right and all(hits))
        for hit, value in zip(hits, row.values.values(), strict=True):
            if value is not None:
                items.add(right=right and hit)
    cells = sum(bool(right) for values in gold.values() for right in values.values())
    return Score(entities.scored(len(gold)), whole.scored(len(gold)), items.scored(cells))


def _names(row: TableRow, kind: EntityKind) -> Iterable[str]:
    return (fold_name(name, kind) for name in row.names)


def _is_right(value: str | None, right: Sequence[str]) -> bool:
    if value is None:
        return not right
    return fold(value) in {fold(each) for each in right}


class _Count:
    """Counts what was found, and what of it is right."""

    def __init__(self) -> None:
        self._found = self._right = 0

    def add(self, *, right: bool) -> None:
        self._found += 1
        self._right += right

    def scored(self, wanted: int) -> Scored:
        """The shares; of nothing found nothing is wrong, of nothing wanted nothing is missing."""
        precision = self._right / self._found if self._found else 1.0
        recall = self._right / wanted if wanted else 1.0
        both = precision + recall
        return Scored(precision, recall, 2 * precision * recall / both if both else 0.0)
