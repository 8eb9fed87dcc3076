"""Runs as they are drawn: the last ones of a dataset as a strip, the steps of one as a timeline."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

from livedata.model import ids
from livedata.model.run import TraceStep
from livedata.store.shown_runs import RunEnd

_WIDTH = 1000
_NARROWEST = 8
"""What took no time is still seen."""
_HIGH, _LOWEST = 24, 4
"""How high the bar of the longest Run of a strip is, and that of the shortest."""


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
    took = "" if run.seconds is None else f", {run.seconds:.1f} s"
    told = f"{run.status}, {run.at[:10]} {run.at[11:16]} UTC{took}"
    height = _LOWEST
    if run.seconds is not None and longest:
        height = max(_LOWEST, round(run.seconds / longest * (_HIGH - 2)))
    ink = "currentColor" if run.status == "succeeded" else "none"
    return (
        f'<li><a class="end {run.status}" href="/runs/{run.run}" title="{told}">'
        f'<svg viewBox="0 0 8 {_HIGH}" aria-hidden="true"><rect x="1" y="{_HIGH - 1 - height}"'
        f' width="6" height="{height}" fill="{ink}" stroke="currentColor"/></svg>'
        f'<span class="unseen">{told}</span></a></li>'
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


def _bar(begin: int, end: int, whole: int) -> Markup:
    width = max(_NARROWEST, (end - begin) * _WIDTH // whole)
    x = min(begin * _WIDTH // whole, _WIDTH - width)
    told = f"From {begin} to {end} of {whole} ms"
    bar = f'<rect x="{x}" width="{width}" height="10" fill="currentColor"/>'
    return Markup(  # noqa: S704  (numbers of ours)
        f'<svg class="span" viewBox="0 0 {_WIDTH} 10" preserveAspectRatio="none" role="img"'
        f' aria-label="{told}">{bar}</svg>'
    )
