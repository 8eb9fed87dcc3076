"""The story of a research Run: what was searched, read, refused, kept and dropped, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from livedata.model.diagnosis.diagnostics import Finding
from livedata.model.diagnosis.entities import RunLossSummary, SummaryEntity
from livedata.model.diagnosis.recorded_research import Discovery
from livedata.rules.diagnosis import losses
from livedata.rules.diagnosis.entities import summarize
from livedata.rules.diagnosis.research import areas, ending, pages
from livedata.rules.diagnosis.research.entities import Researched
from livedata.rules.diagnosis.research.pages import ResearchPage
from livedata.rules.diagnosis.research.traces import Fate
from livedata.rules.diagnosis.traces import EntityTrace
from livedata.services.kinds.research_diagnostics import read
from livedata.services.run_view import RunView


class Story(Struct, frozen=True):
    """What a person wants to know of a research Run; `took` is what its calls used.

    A `fresh` one took no answer from before. `fates` has its entities by what it made of them.
    """

    prompt: str
    discovery: Discovery | None
    pages: Sequence[ResearchPage]
    offered: int
    rejected: Mapping[str, int]
    quotes_dropped: int
    fates: Mapping[Fate, Sequence[SummaryEntity]]
    summary: RunLossSummary
    findings: Sequence[Finding]
    took: Mapping[str, float]
    unknowns: Sequence[str]
    fresh: bool


def tell(view: RunView) -> Story:
    """The story of a Run."""
    recorded = read(view)
    reconciled = areas.reconciliation(recorded)
    parts = (areas.sources(recorded), areas.cells(recorded), reconciled)
    researched = Researched(recorded)
    summary = summarize(researched)
    by_fate: dict[Fate, list[EntityTrace]] = {"kept": [], "stands": [], "lost": []}
    for trace in researched.traces:
        by_fate[trace.fate].append(trace)
    return Story(
        prompt="" if recorded.recipe is None else recorded.recipe.prompt,
        discovery=recorded.discovery,
        pages=pages.list_pages(recorded),
        offered=sum(fact.code == "row_offered" for fact in recorded.facts),
        rejected=reconciled["observations"].get("rejected", {}),
        quotes_dropped=reconciled["observations"].get("quotesDropped", 0),
        fates={fate: losses.list_entities(traced) for fate, traced in by_fate.items()},
        summary=summary,
        findings=[finding for part in parts for finding in part["findings"]],
        took=ending.usage(recorded.calls),
        unknowns=[*summary["unknowns"], *ending.usage_unknowns(recorded.calls)],
        fresh=recorded.known.fresh,
    )
