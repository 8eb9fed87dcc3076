"""Compares the matches on the kept page with the same page of the accepted Run before."""

from __future__ import annotations

from livedata.model.diagnosis.explanation import SelectorCount
from livedata.rules.explanation.run_context import RunContext


def compare_counts(context: RunContext) -> list[SelectorCount]:
    """The matches of each selector, now and before; empty if the kept page was not read."""
    if context.page is None or context.page.counts is None:
        return []
    counts, number = context.page.counts, context.page.number
    previous = context.previous_pages
    before = previous[number - 1] if number <= len(previous) else None
    compared = [_count("itemSelector", counts["items"], before and before["items"])]
    # By id and not by position: the accepted Run may have had another recipe.
    places = {field["id"]: at for at, field in enumerate((context.before or {}).get("fields", []))}
    for at, declared in enumerate(context.source["fields"]):
        field = context.field(at)
        place = places.get(field["id"]) if field is not None else None
        earlier = before["matches"][place] if before is not None and place is not None else None
        compared.append(_count(declared["name"], counts["matched"][at], earlier))
    if "links" in counts:
        compared.append(_count("pagination", counts["links"], before and before.get("links")))
    return compared


def _count(target: str, now: int, before: int | None) -> SelectorCount:
    return {"target": target, "now": now, "before": before}
