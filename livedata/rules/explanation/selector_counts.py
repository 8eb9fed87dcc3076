"""The counts of the kept page beside those of the same page in the accepted Run before."""

from __future__ import annotations

from livedata.model.diagnosis.explanation import SelectorCount
from livedata.rules.explanation.run_context import RunContext


def compare_counts(case: RunContext) -> list[SelectorCount]:
    """Selector by selector; nothing where no page is kept that was read."""
    if case.page is None or case.page.counts is None:
        return []
    counts, number = case.page.counts, case.page.number
    then = case.old_pages[number - 1] if number <= len(case.old_pages) else None
    found = [_count("itemSelector", counts["items"], then and then["items"])]
    old = {field["id"]: at for at, field in enumerate((case.before or {}).get("fields", []))}
    for at, declared in enumerate(case.source["fields"]):
        now = case.field(at)
        place = old.get(now["id"]) if now is not None else None
        before = then["matches"][place] if then is not None and place is not None else None
        found.append(_count(declared["name"], counts["matched"][at], before))
    if "links" in counts:
        found.append(_count("pagination", counts["links"], then and then.get("links")))
    return found


def _count(target: str, now: int, before: int | None) -> SelectorCount:
    return {"target": target, "now": now, "before": before}
