"""What develops over time as SVG: numbers as a line, Runs as a strip, their steps as bars.

Drawn here, so that it needs no script, also in a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final

from markupsafe import Markup, escape
from msgspec import Struct

from livedata.messages.templates import lasted
from livedata.model import ids
from livedata.model.dataset import ColumnType, words
from livedata.model.run import TraceStep
from livedata.pages.markup.filters import cell, count, moment
from livedata.services.pages.history import Point, has_moved
from livedata.store.shown_runs import RunEnd

_WIDTH = 1000
_NARROWEST = 8
"""What took no time is still seen."""
_BARRED: Final = 2
"""So many days that took anything are worth a drawing."""
_HIGH, _LOWEST = 24, 4
"""How high the bar of the longest Run of a strip is, and that of the shortest."""


class _Size(Struct, frozen=True):
    """The units of a drawing, and how far from its end the line stays."""

    width: int
    height: int
    edge: int


_PLOT: Final = _Size(480, 120, 8)
_BARS: Final = _Size(480, 60, 4)
_SPARK: Final = _Size(120, 24, 2)


def plot(
    points: Sequence[Point], kind: ColumnType = "number", floor: float | None = None
) -> Markup | None:
    """The development of a number with its scale, the oldest point first; a gap if there was none.

    Its values are written as those of columns of its `kind` are. The scale begins at a `floor` if
    there is one, so that a small step looks small. None if the number never changed.
    """
    if not has_moved(points):
        return None
    low, high = _bounds(points)
    low = low if floor is None else floor
    placed = _placed(points, _PLOT, floor)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"><title>{_told(point, kind)}</title></circle>'
        for point, (x, y) in zip(points, placed, strict=True)
        if y is not None
    )
    return Markup(  # noqa: S704  (numbers and moments of ours)
        f'<figure class="plot"><span class="high">{cell(high, kind)}</span>'
        f'<span class="low">{cell(low, kind)}</span>'
        f'{_drawing("", points, placed, _PLOT, kind)}<g fill="currentColor">{dots}</g></svg>'
        f'<span class="times">{moment(points[0].at)} {moment(points[-1].at)}</span></figure>'
    )


def day_of(day: str) -> Markup:
    """A day in UTC, of a window in which its year is plain."""
    exact = escape(day[:10])
    return Markup(f'<time class="exact" datetime="{exact}" title="{exact}">{_called(day)}</time>')  # noqa: S704


def _called(day: str) -> str:
    then = date.fromisoformat(day[:10])
    return f"{then.day} {then:%b}"


def bars(days: Sequence[Point]) -> Markup | None:
    """A number of each day as a bar over 0, the oldest day first; None of less than two days."""
    most = max((day.value or 0 for day in days), default=0)
    if sum(bool(day.value) for day in days) < _BARRED:
        return None
    room, whole = _BARS.width / len(days), _BARS.height - _BARS.edge
    drawn = "".join(
        f'<rect x="{place * room + room / 8:.1f}" y="{_BARS.height - high:.1f}"'
        f' width="{room * 0.75:.1f}" height="{high:.1f}">'
        f"<title>{_called(day.at)}: {day.value}</title></rect>"
        for place, day in enumerate(days)
        if (high := (day.value or 0) / most * whole)
    )
    first, last = days[0].at, days[-1].at
    told = f"{len(days)} days, from {_called(first)} to {_called(last)}; the most is {most}."
    return Markup(  # noqa: S704  (numbers and days of ours)
        f'<figure class="plot bars"><span class="high">{count(most)}</span>'
        f'<span class="low">{count(0)}</span><svg viewBox="0 0 {_BARS.width} {_BARS.height}"'
        f' role="img" aria-label="{told}" fill="currentColor">{drawn}</svg>'
        f'<span class="times">{day_of(first)} {day_of(last)}</span></figure>'
    )


def sparkline(points: Sequence[Point], kind: ColumnType = "number") -> Markup | None:
    """The same as a small line without a scale, for a list."""
    if not has_moved(points):
        return None
    # A page has a hundred of these: no more is written of each than it shows.
    placed = [(round(x), None if y is None else round(y)) for x, y in _placed(points, _SPARK)]
    drawing = _drawing("spark", points, placed, _SPARK, kind)
    return Markup(f"{drawing}</svg>")  # noqa: S704  (numbers of ours)


class DrawnColumn(Struct, frozen=True):
    """The column whose numbers are drawn beside them, and how each developed, by row id."""

    field: str | None = None
    type: ColumnType = "number"
    points: Mapping[str, Sequence[Point]] = {}

    @property
    def as_json(self) -> dict[str, Any]:
        """The same for a program; nothing if nothing is drawn."""
        return {"lines": self.points} if self.field else {}

    def beside(self, row: str) -> str:
        """The line of a row; nothing if its number never changed."""
        return sparkline(self.points.get(row, ()), self.type) or ""


def _drawing(
    name: str,
    points: Sequence[Point],
    placed: Sequence[tuple[float, float | None]],
    size: _Size,
    kind: ColumnType,
) -> str:
    known = [point.value for point in points if point.value is not None]
    first, last, low, high = (
        escape(words(value, kind)) for value in (known[0], known[-1], *_bounds(points))
    )
    told = f"From {first} to {last}; the lowest is {low}, the highest {high}."
    return (
        f'<svg class="{name}" viewBox="0 0 {size.width} {size.height}" role="img"'
        f' aria-label="{told}"><path d="{" ".join(_path(placed))}" fill="none"'
        f' stroke="currentColor" stroke-width="2"/>'
    )


def _bounds(points: Sequence[Point]) -> tuple[float, float]:
    known = [point.value for point in points if point.value is not None]
    return min(known), max(known)


def _told(point: Point, kind: ColumnType) -> str:
    said = point.value if point.value is None else escape(words(point.value, kind))
    return f"{escape(point.at[:16].replace('T', ' '))} UTC: {said}"


def _placed(
    points: Sequence[Point], size: _Size, floor: float | None = None
) -> list[tuple[float, float | None]]:
    """Where each point stands; without a height if it has no value."""
    low, high = _bounds(points)
    low = low if floor is None else floor
    begin, end = (ids.parse_timestamp(points[index].at) for index in (0, -1))
    across, down = size.width - 2 * size.edge, size.height - 2 * size.edge
    placed = []
    for point in points:
        share = (ids.parse_timestamp(point.at) - begin) / max(1, end - begin)
        y = None
        if point.value is not None:
            y = size.height - size.edge - (point.value - low) / (high - low) * down
        placed.append((size.edge + share * across, y))
    return placed


def _path(placed: Sequence[tuple[float, float | None]]) -> Iterator[str]:
    """Steps: a value stays until the next one."""
    previous: float | None = None
    for x, y in placed:
        if previous is not None:
            yield f"H{_short(x)}"
        if y is not None and y != previous:
            yield f"M{_short(x)} {_short(y)}" if previous is None else f"V{_short(y)}"
        previous = y


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def strip(runs: Sequence[RunEnd]) -> Markup:
    """The ends of Runs that stand newest first, as links; the oldest comes first.

    Each is a bar as high as the Run took long, full only if its output was accepted.
    """
    if not runs:
        return Markup('<span class="none">none yet</span>')
    longest = max((run.seconds or 0 for run in runs), default=0)
    items = "".join(_item(run, longest) for run in reversed(runs))
    told = f"The last {len(runs)} Runs, the oldest first"
    return Markup(f'<ol class="strip" aria-label="{told}">{items}</ol>')  # noqa: S704  (all ours)


def _item(run: RunEnd, longest: float) -> str:
    took = "" if run.seconds is None else f", {lasted(run.seconds)}"
    told = f"{run.status}, {run.at[:10]} {run.at[11:16]} UTC{took}"
    height = _LOWEST
    if run.seconds is not None and longest:
        height = max(_LOWEST, round(run.seconds / longest * (_HIGH - 2)))
    # A page has hundreds of these: the sheet has their ink, and the title is the name of the link.
    return (
        f'<li><a class="end {run.status}" href="/runs/{run.run}" title="{told}">'
        f'<svg viewBox="0 0 8 {_HIGH}"><path d="M1 {_HIGH - 1}v-{height}h6v{height}z"/></svg>'
        "</a></li>"
    )


class Span(Struct, frozen=True):
    """A step, how many seconds after the first one it began, and where it stands in time."""

    step: TraceStep
    after: str
    drawn: Markup


def timeline(steps: Sequence[TraceStep]) -> list[Span]:
    """The steps with their places between the first begin and the last end."""
    starts = [ids.parse_timestamp(step["startedAt"]) // 1000 for step in steps]
    first = min(starts, default=0)
    begins = [start - first for start in starts]
    ends = [begin + step.get("durationMs", 0) for begin, step in zip(begins, steps, strict=True)]
    whole = max(1, *ends) if ends else 1
    return [
        Span(step, f"+{begin / 1000:.3f} s", _bar(begin, end, whole))
        for step, begin, end in zip(steps, begins, ends, strict=True)
    ]


def share(part: int, whole: int) -> Markup:
    """How much of a whole a part is, as a bar; the number stands beside it."""
    width = max(_NARROWEST, part * _WIDTH // whole) if part else 0
    return Markup(  # noqa: S704  (numbers of ours)
        f'<svg class="span" viewBox="0 0 {_WIDTH} 10" preserveAspectRatio="none"'
        f' aria-hidden="true"><rect width="{width}" height="10" fill="currentColor"/></svg>'
    )


def _bar(begin: int, end: int, whole: int) -> Markup:
    width = max(_NARROWEST, (end - begin) * _WIDTH // whole)
    x = min(begin * _WIDTH // whole, _WIDTH - width)
    told = f"From {begin} to {end} of {whole} ms"
    bar = f'<rect x="{x}" width="{width}" height="10" fill="currentColor"/>'
    return Markup(  # noqa: S704  (numbers of ours)
        f'<svg class="span" viewBox="0 0 {_WIDTH} 10" preserveAspectRatio="none" role="img"'
        f' aria-label="{told}">{bar}</svg>'
    )
