"""What of the earlier rows stands, and what is gone: rules 14.9."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from livedata.extraction.pagination import canonical_url
from livedata.model.research.outcome import CellQuote, ResearchedCell
from livedata.model.research.record import KnownCell, KnownEntity, KnownRow
from livedata.model.row import MissingReason
from livedata.rules.research.fold import fold
from livedata.rules.research.quotes import PageWords, with_plain_numbers
from livedata.rules.research.reconciliation import MergedCell, Reconciled

SHORTEST_MENTION = 4
"""Characters of a folded name; a shorter one is on many pages by chance."""
_EDGES = " .,;:"
NAME_CELLS = 3
"""The cells before the attributes: name, evidence and source."""


class PageView(Struct, frozen=True):
    """What a page is good for as a witness.

    Its words are None if it was not checked. `silent_proof` says that what it does not say is not
    there: it was checked, and nothing of it was cut. `dead` says that it is gone from its site;
    `offered` are the folded names of all rows that were offered for it, supported or not.
    """

    number: int
    final_url: str
    words: PageWords | None = None
    silent_proof: bool = False
    dead: bool = False
    offered: frozenset[str] = frozenset()


Witnesses = Mapping[str, PageView]
"""The pages of a Run by their canonical addresses, as asked for and as answered."""


def witness(witnesses: Witnesses, url: str | None) -> PageView | None:
    """The page at an address, if this Run asked for it."""
    return None if url is None else witnesses.get(canonical_url(url))


def cells_of(
    row: Reconciled, known: KnownRow | None, pages: Mapping[int, str], witnesses: Witnesses
) -> list[ResearchedCell]:
    """The cells of a row; what the row has already stands until its own page takes it back.

    `pages` are the final addresses of the pages by their numbers.
    """
    first = row.first
    quote = CellQuote(first.page, first.number, first.row.quote.text)
    name = [
        ResearchedCell(value, quote=quote)
        for value in (first.row.name, quote.text, pages[first.page])
    ]
    # What a missing row had was taken back once: it comes with new evidence.
    if known is None or known.presence == "missing":
        return [*name, *(_new_cell(cell) for cell in row.cells)]
    named = known.cells[0]
    if not _is_taken_back(named, witnesses) and not _is_dead(named, witnesses):
        name = [ResearchedCell(cell.value, stands=True) for cell in known.cells[:NAME_CELLS]]
    # Attributes may have been added since the row was written.
    attributes = known.cells[NAME_CELLS:]
    earlier = [*attributes, *[None] * (len(row.cells) - len(attributes))]
    return [
        *name,
        *(
            _new_cell(cell) if before is None else _cell(cell, before, witnesses)
            for cell, before in zip(row.cells, earlier, strict=True)
        ),
    ]


def _new_cell(merged: MergedCell) -> ResearchedCell:
    offer, cell = merged.offer, merged.cell
    if offer is None or cell.quote is None:
        return ResearchedCell(reason=cell.reason)
    return ResearchedCell(cell.value, quote=CellQuote(offer.page, offer.number, cell.quote))


def _cell(merged: MergedCell, known: KnownCell, witnesses: Witnesses) -> ResearchedCell:
    stands = ResearchedCell(known.value, known.reason, stands=True)
    new = _new_cell(merged)
    if known.value is None:
        return new if merged.offer is not None or _says_more(merged.cell.reason, known) else stands
    if new.quote is None:
        return new if _is_taken_back(known, witnesses) else stands
    if fold(new.quote.text) == fold(known.quote or ""):
        return stands
    if not _is_same(new.value or "", known.value):
        return new if _may_replace(new.quote, known, witnesses) else stands
    if _is_taken_back(known, witnesses) or _is_dead(known, witnesses):
        return replace(new, value=known.value)
    return stands


def _says_more(reason: MissingReason | None, known: KnownCell) -> bool:
    """Whether a reason tells of an empty cell what was not known.

    A model that gives now this reason and now that one has seen no change of the page.
    """
    undecided: Sequence[MissingReason | None] = (None, "unknown", "extraction_failed")
    return known.reason in undecided and reason not in ("unknown", known.reason)


def _is_same(value: str, known: str) -> bool:
    """Whether two values differ in their writing alone, as "1,234" and "1 234." do."""
    texts = (fold(with_plain_numbers(each)).strip(_EDGES) for each in (value, known))
    return fold(value) == fold(known) or len(set(texts)) == 1


def _may_replace(quote: CellQuote, known: KnownCell, witnesses: Witnesses) -> bool:
    """Whether another value counts: its page has given it, or gives the old one no more."""
    view = witness(witnesses, known.url)
    if view is None:
        return False
    return quote.page == view.number or view.dead or _is_taken_back(known, witnesses)


def _is_taken_back(known: KnownCell, witnesses: Witnesses) -> bool:
    view = witness(witnesses, known.url)
    if view is None or view.words is None or not view.silent_proof or known.quote is None:
        return False
    return not view.words.still_holds(known.quote)


def _is_dead(known: KnownCell, witnesses: Witnesses) -> bool:
    view = witness(witnesses, known.url)
    return view is not None and view.dead


def gone(
    unseen: Iterable[KnownRow], entities: Mapping[str, KnownEntity], witnesses: Witnesses
) -> list[str]:
    """The keys of the rows that are given up by the page that their name was quoted from."""
    offered = frozenset[str]().union(*(view.offered for view in witnesses.values()))
    return [
        row.key
        for row in unseen
        if row.presence == "present"
        and offered.isdisjoint(names_of(entities.get(row.key)))
        and _is_given_up(row, entities.get(row.key), witnesses)
    ]


def _is_given_up(row: KnownRow, entity: KnownEntity | None, witnesses: Witnesses) -> bool:
    view = witness(witnesses, row.cells[0].url)
    if view is None or view.dead:
        return view is not None
    if view.words is None or not view.silent_proof:
        return False
    aliases = () if entity is None else entity.aliases
    return not any(view.words.holds(alias) for alias in (*aliases, row.cells[0].value or ""))


def names_of(entity: KnownEntity | None) -> frozenset[str]:
    """The folded names by which an entity is found."""
    return frozenset() if entity is None else frozenset(entity.names)


def is_mentioned(row: KnownRow, entity: KnownEntity | None, view: PageView) -> bool:
    """Whether a page names the entity of a row, but neither supports nor rejects it."""
    if view.words is None or not view.offered.isdisjoint(names_of(entity)):
        return False
    names = (*(() if entity is None else entity.aliases), row.cells[0].value or "")
    return any(len(fold(name)) >= SHORTEST_MENTION and view.words.holds(name) for name in names)
