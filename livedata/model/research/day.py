"""What the research of one owner may use in a day, of all datasets together."""

from __future__ import annotations

from msgspec import Struct


class DayBudget(Struct, frozen=True):
    """The limits of a day, and what is used of it so far; without a limit it is None.

    `day` is its date in the operator's time zone, `renews` the moment at which the next one begins,
    both as ISO 8601 writes them. What a call under way may take at most counts as used.
    """

    day: str
    renews: str
    tokens: int = 0
    usd: float = 0.0
    most_tokens: int | None = None
    most_usd: float | None = None
