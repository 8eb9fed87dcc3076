"""``Retry-After``: how long a site wants to get no more requests (RFC 9110)."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import Final

from scrapy.http import Response

LONGEST: Final = 30.0
"""The seconds that a Run waits at most; if a site asks for more, its answer stands."""


def asked_to_wait(response: Response) -> float | None:
    """The seconds that a 429 or 503 asks for, as a number or a date; None if it does not."""
    if response.status not in {429, 503}:
        return None
    said = (response.headers.get("Retry-After") or b"").decode("latin-1").strip()
    if said.isdecimal() and said.isascii():
        return float(said[:12])  # thousands of digits would be infinite, or slow
    try:
        # A date in the past asks for no wait: clocks differ.
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def too_long(response: Response) -> bool:
    """Whether it asks for longer than a Run waits."""
    wait = asked_to_wait(response)
    return wait is not None and wait > LONGEST
