"""What the pages come to: rows, what stands of the earlier ones, and what is gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from livedata.extraction.pagination import canonical_url
from livedata.model.research.outcome import ResearchedRow, RowIdentity
from livedata.model.research.recipe import TablePlan
from livedata.model.research.record import KnownRow, Memory, Merge, ResearchFact
from livedata.research.journal import fact
from livedata.research.reading import Visit, unread_facts
from livedata.rules.research.earlier_rows import PageView, Witnesses, cells_of, gone, is_mentioned
from livedata.rules.research.fold import fold
from livedata.rules.research.identity import Entities
from livedata.rules.research.reconciliation import (
    Later,
    Offer,
    Reconciled,
    Reconciliation,
    reconcile,
)

MOST_ALIASES = 100
"""The aliases of an entity (interface 2.4)."""


class Findings(Struct, frozen=True):
    """The rows of a Run, and the keys that it cannot tell apart or that are gone."""

    rows: list[ResearchedRow]
    gone: list[str]
    ambiguous: list[str]
    facts: list[ResearchFact]


class Preview:
    """Puts together what the visited pages gave."""

    def __init__(self, plan: TablePlan, memory: Memory, visits: Sequence[Visit]) -> None:
        self._plan = plan
        self._known = {row.key: row for row in memory.rows}
        self._entities = {entity.key: entity for entity in memory.entities}
        self._resolved = Entities(plan.kind, memory.entities)
        self._visits = visits
        self._checked = [visit for visit in visits if visit.outcome == "checked"]

    def findings(self, step: str) -> Findings:
        """Rows and facts; `step` is the id by which facts without a body speak."""
        offers = [offer for visit in self._checked if visit.page for offer in visit.page.offers()]
        reconciliation = reconcile(offers, self._resolved)
        seen = {row.key for row in reconciliation.rows}
        ambiguous = {key for _, keys in reconciliation.ambiguous for key in keys}
        unseen = [row for key, row in self._known.items() if key not in seen]
        witnesses = _witnesses(self._visits)
        certain = [row for row in unseen if row.key not in ambiguous]
        return Findings(
            rows=[self._row(row, witnesses) for row in reconciliation.rows],
            gone=gone(certain, self._entities, witnesses),
            ambiguous=sorted(ambiguous),
            facts=[
                *self._page_facts(unseen, step),
                *self._row_facts(reconciliation),
            ],
        )

    def _row(self, row: Reconciled, witnesses: Witnesses) -> ResearchedRow:
        entity, first = self._resolved[row.key], row.first
        pages = {visit.number: visit.result().final_url for visit in self._checked}
        return ResearchedRow(
            key=row.key,
            page=first.page,
            number=first.number,
            cells=cells_of(row, self._known.get(row.key), pages, witnesses),
            identity=RowIdentity(
                kind=entity.kind,
                anchor=entity.anchor,
                aliases=_aliases(entity.aliases, row.offers),
                scope=entity.scope,
                names=entity.names,
                urls=entity.urls,
            ),
            minted=row.minted,
        )

    def _page_facts(self, unseen: Sequence[KnownRow], step: str) -> Iterator[ResearchFact]:
        present = [row for row in unseen if row.presence == "present"]
        for visit in self._visits:
            yield from unread_facts(visit, step)
            if visit.outcome != "checked" or visit.page is None:
                continue
            url, view = visit.source.url, visit.view()
            yield fact("page_checked", step, url=url)
            if visit.page.is_short:
                yield fact("text_cut", visit.page.artifact, url=url)
            for row in present:
                if is_mentioned(row, self._entities.get(row.key), view):
                    name = row.cells[0].value
                    evidence = visit.page.artifact
                    yield fact("mentioned_not_offered", evidence, url=url, entity=name, key=row.key)

    def _row_facts(self, reconciliation: Reconciliation) -> Iterator[ResearchFact]:
        for row in reconciliation.rows:
            detail = "minted" if row.minted else "known"
            yield self._offer_fact("row_kept", row.first, key=row.key, detail=detail)
            for later in row.later:
                yield from self._later_facts(row, later)
        for offer, _ in reconciliation.ambiguous:
            yield self._offer_fact("identity_ambiguous", offer)
        for offer in reconciliation.over_limit:
            yield self._offer_fact("over_row_limit", offer)

    def _later_facts(self, row: Reconciled, later: Later) -> Iterator[ResearchFact]:
        first, offer = row.first, later.offer
        # Windows overlap: what stands twice in two windows stands once on the page.
        if (offer.page, offer.row.quote.start) == (first.page, first.row.quote.start):
            return
        ids = [attribute.field.id for attribute in self._plan.attributes]
        merge = Merge(
            winner=self._asked_url(first),
            offered=[ids[place] for place in later.offered],
            merged=[ids[place] for place in later.merged],
        )
        detail = msgspec.json.encode(merge).decode()
        yield self._offer_fact("row_merged", offer, key=row.key, detail=detail)
        for place in later.conflicts:
            yield self._offer_fact("cell_conflict", offer, key=row.key, field=ids[place])

    def _offer_fact(
        self,
        code: str,
        offer: Offer,
        key: str | None = None,
        detail: str = "",
        field: str | None = None,
    ) -> ResearchFact:
        return fact(
            code,
            offer.evidence,
            url=self._asked_url(offer),
            entity=offer.row.name,
            candidate=offer.candidate,
            key=key,
            detail=detail,
            field=field,
        )

    def _asked_url(self, offer: Offer) -> str:
        return self._visits[offer.page - 1].source.url


def _witnesses(visits: Sequence[Visit]) -> Witnesses:
    """The asked pages by their addresses; the one that an address led to last counts least."""
    views: dict[str, PageView] = {}
    for visit in visits:
        if visit.asked:
            view = visit.view()
            views.setdefault(canonical_url(visit.source.url), view)
            views.setdefault(canonical_url(view.final_url), view)
    return views


def _aliases(known: Sequence[str], offers: Sequence[Offer]) -> tuple[str, ...]:
    """All names that were quoted, and others that stand on a page, the first seen first."""
    names = [name for offer in offers for name in (offer.row.name, *offer.row.aliases)]
    aliases: dict[str, str] = {}
    for name in (*known, *names):
        aliases.setdefault(fold(name), name)
    return tuple(aliases.values())[:MOST_ALIASES]
