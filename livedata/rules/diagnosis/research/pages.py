"""The pages of a research Run, with what became of each (interface 2.12, sources)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct

from livedata.messages.research_findings import research_sentence
from livedata.model.diagnosis.diagnostics import SourceCounts
from livedata.model.diagnosis.recorded_research import Discovery, RecordedResearch
from livedata.model.research.outcome import PageOutcome
from livedata.model.research.record import ResearchFact
from livedata.model.run import Candidate, RunDiscovery, SearchObservations
from livedata.model.wire import as_uri

LOST: Final = frozenset(
    {
        *("model_invalid_output", "model_output_cut", "model_refused", "model_auth"),
        *("model_unavailable", "token_limit", "cost_limit", "deadline", "cancelled"),
    }
)
"""What a window is lost by, and its page with it: a page counts as a whole or not at all."""
CUT: Final = frozenset({"text_cut", "row_cap_reached"})
"""What says that there may be more on a page than what was read of it."""


class ResearchPage(Struct, frozen=True):
    """A page that a Run knew of; title and score are those of the search.

    `fault` is the code of what stood in the way of the page, or of all of it, if something did.
    """

    url: str
    outcome: PageOutcome
    fault: str | None = None
    title: str | None = None
    score: float | None = None


def list_pages(recorded: RecordedResearch) -> list[ResearchPage]:
    """Every page that was discovered, in the order in which pages are asked for."""
    facts_of: defaultdict[str, list[ResearchFact]] = defaultdict(list)
    for fact in recorded.facts:
        # Facts of rows say nothing of a page, but a row may be why the page is known.
        if fact.url is not None and (fact.stage == "discovery" or fact.entity is None):
            facts_of[fact.url].append(fact)
    results = {result.url: result for result in reversed(_results(recorded.discovery))}
    taken = {page["url"] for page in recorded.summary.get("pages", [])}
    losing = losing_facts(recorded.facts)
    pages = []
    for url, facts in facts_of.items():
        result = results.get(url)
        title, score = (None, None) if result is None else (result.title, result.score)
        outcome = _outcome(facts, checked=url in taken)
        fault = next((fact.code for fact in facts if fact in losing), None)
        if fault is None and outcome == "checked":
            fault = next((fact.code for fact in facts if fact.code in CUT), None)
        pages.append(ResearchPage(url, outcome, fault, title, score))
    return pages


def page_outcomes(recorded: RecordedResearch) -> dict[str, PageOutcome]:
    """The outcome of each page by its address."""
    return {page.url: page.outcome for page in list_pages(recorded)}


def _results(discovery: Discovery | None) -> Sequence[Any]:
    return () if discovery is None else discovery.results


def _outcome(facts: Sequence[ResearchFact], *, checked: bool) -> PageOutcome:
    """What became of a page, by the facts about it; `checked` says that the Run counted it."""
    failed = {fact.stage for fact in facts if fact.failure}
    codes = {fact.code for fact in facts}
    if "retrieval" in failed:
        return "unreadable"
    if "selection" in failed or not codes & {"page_selected", "page_read"}:
        return "unattempted"
    # Without an end that was recorded nothing shows that all of the page was extracted.
    return "checked" if checked or "page_checked" in codes else "unknown"


def losing_facts(facts: Sequence[ResearchFact]) -> set[ResearchFact]:
    """The facts about whole pages by which these count for nothing."""
    checked = {fact.url for fact in facts if fact.code == "page_checked"}
    # An answer that was cut off is no loss if the halves of its window are asked.
    halved = {fact.evidence for fact in facts if fact.code == "window_split"}
    return {
        fact
        for fact in facts
        if fact.failure and fact.entity is None and fact.url is not None
        if fact.stage in {"selection", "retrieval"}
        or (fact.code in LOST and fact.url not in checked and fact.evidence not in halved)
    }


def count_pages(pages: Sequence[ResearchPage]) -> SourceCounts:
    """The number of pages by outcome."""
    counts = Counter(page.outcome for page in pages)
    return {
        "discovered": len(pages),
        "checked": counts["checked"],
        "unreadable": counts["unreadable"],
        "unknown": counts["unknown"],
        "unattempted": counts["unattempted"],
    }


def candidates(pages: Sequence[ResearchPage]) -> list[Candidate]:
    """The pages as answered; a rank is a place in the order in which pages are asked for."""
    return [
        candidate(rank, page.url, page.outcome, page.title, page.score)
        for rank, page in enumerate(pages, 1)
    ]


def candidate(
    rank: int, url: str, outcome: str, title: str | None, score: float | None
) -> Candidate:
    """A page as answered, without what nobody told."""
    page: Candidate = {"rank": rank, "url": page_uri(url), "outcome": outcome}
    if title:
        page["title"] = title
    if score is not None:
        page["score"] = score
    return page


def discovery_observed(recorded: RecordedResearch) -> SearchObservations | None:
    """The search as diagnostics answer it; None if nothing was searched for."""
    search = recorded.discovery
    if search is None or recorded.attempt is None:
        return None
    answer: SearchObservations = {
        "attemptId": recorded.attempt,
        "query": search.query,
        "depth": search.depth,
        "excludeDomains": list(search.exclude_domains),
    }
    if search.credits is not None:
        answer["credits"] = search.credits
    return answer


def discovery_traced(recorded: RecordedResearch) -> RunDiscovery | None:
    """The search as a trace answers it: with its results in the provider's order."""
    observed = discovery_observed(recorded)
    if observed is None:
        return None
    outcomes = page_outcomes(recorded)
    results = [
        candidate(
            result.rank,
            result.url,
            outcomes.get(result.url, "unattempted"),
            result.title,
            result.score,
        )
        for result in _results(recorded.discovery)
    ]
    return {**observed, "candidates": results}


def page_uri(url: str) -> str:
    """An address as a URI, also one that a search made up."""
    try:
        return as_uri(url)
    except ValueError:
        return quote(url)


def unknowns_of_run(recorded: RecordedResearch) -> Iterator[str]:
    """What stays open of a Run: pages that were not read whole, and what hides it."""
    if not recorded.facts:
        yield nothing_recorded(recorded)
        return
    if not recorded.is_over:
        yield research_sentence("unknown.not_yet")
    counts = count_pages(list_pages(recorded))
    for outcome, code in (
        ("unreadable", "unknown.pages_unreadable"),
        ("unknown", "unknown.pages_unfinished"),
        ("unattempted", "unknown.pages_unattempted"),
    ):
        pages = counts[outcome]  # type: ignore[literal-required]  # names of it
        if pages:
            yield research_sentence(code, pages=pages)
    for fact_code, code in (
        ("text_cut", "unknown.pages_cut"),
        ("row_cap_reached", "unknown.rows_capped"),
    ):
        cut = {fact.url for fact in recorded.facts if fact.code == fact_code}
        if cut:
            yield research_sentence(code, pages=len(cut))
    if any(fact.code == "search_failed" for fact in recorded.facts):
        yield research_sentence("unknown.search_failed")


def nothing_recorded(recorded: RecordedResearch) -> str:
    """The unknown of a Run without facts: none yet, or none any more."""
    if not recorded.is_over:
        return research_sentence("unknown.not_yet")
    # An accepted Run has always recorded some.
    return research_sentence("unknown.old_facts" if recorded.accepted else "unknown.no_facts")
