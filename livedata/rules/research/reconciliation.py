"""The rows of all pages put together, one for each entity: rules 14.7 and 14.8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct, field

from livedata.model.row import MissingReason
from livedata.rules.research.fold import fold
from livedata.rules.research.identity import Ambiguous, ClaimedIdentity, Entities
from livedata.rules.research.offers import SupportedCell, SupportedRow

MOST_ROWS = 1000
"""The rows of a Run; those of earlier Runs stand beside them."""
_BY_WEIGHT: Sequence[MissingReason] = (
    "extraction_failed",
    "not_applicable",
    "not_found",
    "unknown",
)


class Offer(Struct, frozen=True):
    """A supported row with its place: `number` counts the rows of its page.

    `candidate` and `evidence` are the ids by which facts speak of it.
    """

    page: int
    number: int
    row: SupportedRow
    candidate: str
    evidence: str


class MergedCell(Struct, frozen=True):
    """A cell with the offer that it was taken from; None if no offer has a value."""

    cell: SupportedCell
    offer: Offer | None


class Later(NamedTuple):
    """A later offer for a row that is there; fields are places of attributes in the plan."""

    offer: Offer
    offered: list[int]
    merged: list[int]
    conflicts: list[int]


class Reconciled(Struct):
    """One entity with the offer that it was found by, and all later ones."""

    key: str
    minted: bool
    first: Offer
    cells: list[MergedCell]
    later: list[Later] = field(default_factory=list)

    @property
    def offers(self) -> list[Offer]:
        """All offers, the one that the row was found by first."""
        return [self.first, *(later.offer for later in self.later)]


class Reconciliation(Struct, frozen=True):
    """The rows of a Run in the order of their first offers, and the offers that came to no row."""

    rows: list[Reconciled]
    ambiguous: list[tuple[Offer, list[str]]]
    over_limit: list[Offer]


def reconcile(offers: Sequence[Offer], entities: Entities) -> Reconciliation:
    """One row for each entity that is offered; `offers` are in the order of pages."""
    keys: dict[str, Ambiguous | str] = {}
    minted: set[str] = set()
    # Those with an address first: a name alone is then known to belong to it.
    for offer in sorted(offers, key=lambda offer: offer.row.url is None):
        row = offer.row
        resolved = entities.resolve(ClaimedIdentity(row.name, row.url, row.scope))
        if isinstance(resolved, Ambiguous):
            keys[offer.candidate] = resolved
        else:
            keys[offer.candidate] = resolved.key
            minted |= {resolved.key} if resolved.minted else set()
    return _put_together(offers, keys, minted)


def _put_together(
    offers: Sequence[Offer], keys: dict[str, Ambiguous | str], minted: set[str]
) -> Reconciliation:
    rows: dict[str, Reconciled] = {}
    ambiguous, over_limit = [], []
    for offer in offers:
        key = keys[offer.candidate]
        if isinstance(key, Ambiguous):
            ambiguous.append((offer, key.keys))
        elif key in rows:
            _merge(rows[key], offer)
        elif len(rows) == MOST_ROWS:
            over_limit.append(offer)
        else:
            rows[key] = Reconciled(key, key in minted, offer, _cells(offer))
    return Reconciliation(list(rows.values()), ambiguous, over_limit)


def _cells(offer: Offer) -> list[MergedCell]:
    return [MergedCell(cell, None if cell.value is None else offer) for cell in offer.row.cells]


def _merge(row: Reconciled, offer: Offer) -> None:
    """Fill the empty cells of a row from a later offer, and note where the two differ."""
    later = Later(offer, [], [], [])
    for place, (here, there) in enumerate(zip(row.cells, offer.row.cells, strict=True)):
        if there.value is not None:
            later.offered.append(place)
        if here.offer is None and there.value is not None:
            row.cells[place] = MergedCell(there, offer)
            later.merged.append(place)
        elif here.offer is None:
            row.cells[place] = MergedCell(_weightier(here.cell, there), None)
        elif there.value is not None and fold(there.value) != fold(here.cell.value or ""):
            later.conflicts.append(place)
    row.later.append(later)


def _weightier(cell: SupportedCell, other: SupportedCell) -> SupportedCell:
    return min(cell, other, key=lambda each: _BY_WEIGHT.index(each.reason or "unknown"))
