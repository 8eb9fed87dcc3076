"""A line of numbers over time as SVG: drawn here, so that it needs no script, also in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup, escape
from msgspec import Struct

from livedata.model import ids

WIDTH: Final = 480
HEIGHT: Final = 120
_EDGE: Final = 8


class Point(Struct, frozen=True):
    """A value from a moment on; None if there was none."""

    at: str
    value: float | None


def plot(points: Sequence[Point]) -> Markup:
    """The development of a number, the oldest point first; a gap where there was no value."""
    known = [point.value for point in points if point.value is not None]
    low, high = min(known), max(known)
    begin, end = (ids.parse_timestamp(points[at].at) for at in (0, -1))
    placed = [_placed(point, (begin, end), (low, high)) for point in points]
    path = " ".join(_path(placed))
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"><title>{_told(point)}</title></circle>'
        for point, (x, y) in zip(points, placed, strict=True)
        if y is not None
    )
    told = f"From {known[0]} to {known[-1]}; the lowest is {low}, the highest {high}."
    return Markup(  # noqa: S704  (numbers and moments of ours)
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{told}">'
        f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="2"/>'
        f'<g fill="currentColor">{dots}</g></svg>'
    )


def _told(point: Point) -> str:
    return f"{escape(point.at[:16].replace('T', ' '))} UTC: {point.value}"


def _placed(
    point: Point, times: tuple[int, int], values: tuple[float, float]
) -> tuple[float, float | None]:
    share = (ids.parse_timestamp(point.at) - times[0]) / max(1, times[1] - times[0])
    x = _EDGE + share * (WIDTH - 2 * _EDGE)
    if point.value is None:
        return x, None
    height = (point.value - values[0]) / ((values[1] - values[0]) or 1)
    return x, HEIGHT - _EDGE - height * (HEIGHT - 2 * _EDGE)


def _path(placed: Sequence[tuple[float, float | None]]) -> Iterator[str]:
    """Steps: a value stays until the next one."""
    previous: float | None = None
    for x, y in placed:
        if previous is not None:
            yield f"L{x:.1f} {previous:.1f}"
        if y is not None:
            yield f"{'M' if previous is None else 'L'}{x:.1f} {y:.1f}"
        previous = y
