"""How the end of numbered pages is told: by what only a page past the last one has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from livedata.extraction.lists.looks import UTILITY, named_options
from livedata.extraction.lists.survey import survey
from livedata.extraction.page import Page
from livedata.extraction.selectors import BadSelector, parse
from livedata.extraction.work import TooMuchWork

_MOST: Final = 3
_SAID: Final = re.compile(
    r"no-?(?:results?|items?|posts?|products?|more|match(?:es)?|data|content)|empty|not-?found|404"
    r"|error|nothing|none",
    re.IGNORECASE,
)
"""How pages without records are called in classes."""


def end_selectors(past: Page, others: Sequence[Page], records: str) -> list[str]:
    """What matches on a page past the last one, and on none of the others, the surest first.

    None if that page has records: then it is not past the last one, or does not say so.
    """
    try:
        if past.select(parse(records)):
            return []
        looks = dict.fromkeys(survey(past).looks)
        options = {
            selector: cost
            for look in looks
            for selector, cost in [
                *named_options(look),
                *([(f"#{look.id}", 1.0)] if look.id else []),
            ]
            if cost < UTILITY
        }
        ordered = sorted(options, key=lambda one: (not _SAID.search(one), options[one], len(one)))
        return [one for one in ordered if not _matches(one, others)][:_MOST]
    except TooMuchWork:
        return []


def _matches(selector: str, pages: Sequence[Page]) -> bool:
    """Whether a selector matches on any of the pages."""
    try:
        return any(page.select(parse(selector)) for page in pages)
    except BadSelector:
        return True
