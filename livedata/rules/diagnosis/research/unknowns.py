"""What was not recorded of a research Run (interface 2.12)."""

from __future__ import annotations

from collections.abc import Iterator

from livedata.messages.diagnosis.research import research_sentence
from livedata.model.diagnosis.recorded_research import RecordedResearch
from livedata.rules.diagnosis.research.pages import count_pages, list_pages


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
