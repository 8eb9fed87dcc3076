"""Chooses the page of a Run that is kept to be shown, cuts it, and counts the matches on it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from livedata.model.diagnosis.recorded_run import PageCounts
from livedata.model.harvest import LONGEST_MARKUP, Harvest, PageRead, PageSnapshot

OF_THE_WHOLE = 1
"""The page that is kept for a problem of the whole Run, such as a mass loss."""


def page_to_keep(harvest: Harvest, number: int | None) -> PageSnapshot | None:
    """The last answer to the request for page `number`; None if there was none."""
    wanted = OF_THE_WHOLE if number is None else number
    answers = [page for page in harvest.seen if page.number == wanted]
    # A page that was asked for again has several answers; the last one decided the Run.
    return answers[-1] if answers else None


def shorten(page: PageSnapshot, texts: Iterable[str]) -> PageSnapshot:
    """A page cut down to LONGEST_MARKUP; the part in which most of the `texts` are is kept."""
    if len(page.markup) <= LONGEST_MARKUP:
        return page
    # Imported here because most pages are short.
    from livedata.rules.diagnosis.excerpt import excerpt

    part = excerpt(page.markup.decode(), frozenset(texts))
    return replace(page, markup=part.encode(), cut=True)


def counts(harvest: Harvest, number: int) -> PageCounts | None:
    """The counts of matches on page `number`; None if it was not read."""
    for page in harvest.pages:
        if page.number == number:
            return _counts(page)
    return None


def _counts(page: PageRead) -> PageCounts:
    filled = [
        sum(record.values[at] is not None for record in page.records)
        for at in range(len(page.matches))
    ]
    counts: PageCounts = {"items": len(page.records), "matched": page.matches, "filled": filled}
    if page.links is not None:
        counts["links"] = page.links
    return counts
