"""Where the cells of a row were read: most often all of them from one item of one page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from livedata.model.ids import ObservationId

Reference = tuple[ObservationId, int]
"""An observation (one page as one Run saw it), and the number of an item on it."""


class RowEvidence(NamedTuple):
    """All cells of a row were read from one item of one page."""

    observation: ObservationId
    item: int

    def references(self, _position: int) -> Sequence[Reference]:
        """Where the cell at a position was read, if it was read."""
        return (self,)

    def all_references(self) -> Iterable[Reference]:
        """Everything that the row refers to."""
        return (self,)


class CellEvidence(NamedTuple):
    """Each cell has references of its own; a cell that nobody read has none."""

    by_position: Mapping[int, Sequence[Reference]]

    def references(self, position: int) -> Sequence[Reference]:
        """Where the cell at a position was read."""
        return self.by_position.get(position, ())

    def all_references(self) -> Iterable[Reference]:
        """Everything that the row refers to."""
        return chain.from_iterable(self.by_position.values())


Evidence = RowEvidence | CellEvidence
NO_EVIDENCE = CellEvidence({})
