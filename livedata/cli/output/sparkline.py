"""Sparklines: how a number moved, as a few characters of a line."""

from __future__ import annotations

from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"
LONGEST = 40


def sparkline(values: Sequence[float | None]) -> str:
    """Draw the last values, the least as the lowest bar; a gap is an empty cell."""
    values = values[-LONGEST:]
    numbers = [value for value in values if value is not None]
    low, high = min(numbers, default=0), max(numbers, default=0)
    # Halves, because the distance of two numbers may be too large for a number.
    span = high / 2 - low / 2
    return "".join(" " if value is None else _bar(value, low, span) for value in values)


def _bar(value: float, low: float, span: float) -> str:
    # Values that are all alike are a line in the middle.
    share = (value / 2 - low / 2) / span if span else 0.5
    return BARS[round(share * (len(BARS) - 1))]
