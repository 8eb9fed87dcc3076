"""Which page of a Run is kept to be shown, and what the selectors found on it."""

from __future__ import annotations

from livedata.model.diagnosis.explanation import PageCounts
from livedata.model.harvest import Harvest, PageRead, PageSnapshot

OF_THE_WHOLE = 1
"""What stops a Run without a page of its own (a mass loss, say) is looked for on the first."""


def page_to_keep(harvest: Harvest, number: int | None) -> PageSnapshot | None:
    """The last answer to the request for page `number`; None where there was none."""
    wanted = OF_THE_WHOLE if number is None else number
    answers = [page for page in harvest.seen if page.number == wanted]
    return answers[-1] if answers else None


def counts(harvest: Harvest, number: int) -> PageCounts | None:
    """What was found on page `number`; None where it was not read."""
    for page in harvest.pages:
        if page.number == number:
            return _counts(page)
    return None


def _counts(page: PageRead) -> PageCounts:
    filled = [
        sum(record.values[at] is not None for record in page.records)
        for at in range(len(page.matches))
    ]
    found: PageCounts = {"items": len(page.records), "matched": page.matches, "filled": filled}
    if page.links is not None:
        found["links"] = page.links
    return found
