"""What a Run that is not over waits for, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WAITS: Final[Mapping[str, str]] = {
    "worker": "It waits for a worker to take it.",
    "retry": "Its process was lost at attempt {attempt}; it starts again as soon as a worker takes "
    "it.",
    "turn": "It waits for its turn at {site}: another Run of that site is in progress.",
    "place": "It waits for its turn at {site}: Runs that wait there longer come first.",
    "other_site": "Its pages have led to another site, and it waits for its turn there: another "
    "Run of that site is in progress.",
    "lost": "Its process gives no sign of life; it starts again as soon as a worker finds that.",
    "cancelling": "It is being cancelled: whoever executes it asks the site nothing more, and ends "
    "it in seconds.",
    "cancelling_lost": "It is being cancelled, but its process gives no sign of life: the next "
    "worker that finds that ends it, and so does who cancels it once more.",
}
"""What it waits for, by its code -> a sentence."""


def waiting_sentence(code: str, site: str, attempt: int) -> str:
    """What a Run waits for, as a sentence."""
    return WAITS[code].format(site=site, attempt=attempt)
