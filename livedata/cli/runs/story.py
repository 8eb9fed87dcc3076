"""The story of a research Run: what it searched, read, was refused, kept and dropped, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from livedata.cli.output.streams import print_text
from livedata.cli.output.tables import print_table
from livedata.messages.controls import escape_controls
from livedata.messages.research_findings import fact_meaning
from livedata.messages.templates import plural
from livedata.model.diagnosis.entities import SummaryEntity
from livedata.services.kinds.research_diagnostics import Story

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
    if told.fates["lost"]:
        print_text("\nnot in the output")
        print_table(("entity", "outcome", "why"), [_lost(each) for each in told.fates["lost"]])
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
    yield f"\nOffered:  {plural(told.offered, 'row')}"
    yield f"Kept:     {_named(told.fates['kept'])}"
    if told.fates["stands"]:
        yield f"Left:     {_named(told.fates['stands'])}; nothing showed that they are gone"
    for code, count in told.rejected.items():
        yield f"Dropped:  {plural(count, 'row')}: {fact_meaning(code)}"
    if told.quotes_dropped:
        values = plural(told.quotes_dropped, "value")
        yield f"Dropped:  {values} that no quote on the page supports."


def _named(entities: Sequence[SummaryEntity]) -> str:
    """How many rows there are, with the names of the first."""
    names = ", ".join(escape_controls(entity["entity"]) for entity in entities[:MOST_NAMES])
    more = f" and {len(entities) - MOST_NAMES} more" if len(entities) > MOST_NAMES else ""
    return plural(len(entities), "row") + (f": {names}{more}" if entities else "")


def _lost(entity: SummaryEntity) -> tuple[str, str, str | None]:
    why = " ".join(fact_meaning(code) for code in entity["failureCodes"])
    return entity["entity"], entity["outcome"], why or None
