"""The story of a research Run: what it searched, read, was refused, kept and dropped, and why."""

from __future__ import annotations

from collections.abc import Iterator

from livedata.cli.output.escapes import escape_controls
from livedata.cli.output.streams import print_text
from livedata.cli.output.tables import print_table
from livedata.messages.diagnosis.research import fact_meaning
from livedata.messages.templates import plural
from livedata.model.diagnosis.entities import SummaryEntity
from livedata.services.research.story import Story

MOST_NAMES = 10
"""The names of rows that stand in one line; `rows list` has all."""
_UNITS = {
    "inputTokens": "input token",
    "outputTokens": "output token",
    "modelUsd": "US dollar",
    "searchCredits": "search credit",
}


def print_story(told: Story) -> None:
    """Print the story, as far as the Run has come."""
    if told.prompt:
        print_text(f"Asked:    {escape_controls(told.prompt)}")
    print_text(f"Searched: {_searched(told)}")
    if told.fresh:
        print_text("Fresh:    it asked about unchanged pages too.")
    if told.pages:
        print_text("\npages")
        print_table(
            ("outcome", "page", "why"),
            [
                (page.outcome, page.url, None if page.fault is None else fact_meaning(page.fault))
                for page in told.pages
            ],
        )
    for line in _rows(told):
        print_text(line)
    lost = [entity for entity in told.summary["entities"] if entity["outcome"] != "present"]
    if lost:
        print_text("\nnot in the output")
        print_table(("entity", "outcome", "why"), [_lost(entity) for entity in lost])
    for unknown in told.unknowns:
        print_text(f"Not known: {escape_controls(unknown)}")
    print_text(f"Took: {_took(told)}.")


def _took(told: Story) -> str:
    amounts = [_amount(amount, _UNITS[name]) for name, amount in told.took.items() if amount]
    # What nobody told is no zero.
    nothing = "no tokens, and no money" if "inputTokens" in told.took else "what is not known"
    return ", ".join(amounts) or nothing


def _amount(amount: float, unit: str) -> str:
    return f"{amount:,g} {unit}" if amount == 1 else f"{amount:,.10g} {unit}s"


def _searched(told: Story) -> str:
    search = told.discovery
    if search is None:
        return "nothing; it reads the pages that it was given, and those that rows rest on."
    results = plural(len(search.results), "result")
    return escape_controls(f"{search.query!r}, {results}")


def _rows(told: Story) -> Iterator[str]:
    kept = [entity for entity in told.summary["entities"] if entity["outcome"] == "present"]
    names = ", ".join(escape_controls(entity["entity"]) for entity in kept[:MOST_NAMES])
    more = f" and {len(kept) - MOST_NAMES} more" if len(kept) > MOST_NAMES else ""
    yield f"\nOffered:  {plural(told.offered, 'row')}"
    yield f"Kept:     {plural(len(kept), 'row')}" + (f": {names}{more}" if kept else "")
    for code, count in told.rejected.items():
        yield f"Dropped:  {plural(count, 'row')}: {fact_meaning(code)}"
    if told.quotes_dropped:
        values = plural(told.quotes_dropped, "value")
        yield f"Dropped:  {values} that no quote on the page supports."


def _lost(entity: SummaryEntity) -> tuple[str, str, str | None]:
    why = " ".join(fact_meaning(code) for code in entity["failureCodes"])
    return entity["entity"], entity["outcome"], why or None
