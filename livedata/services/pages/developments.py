"""How numbers develop: those of a cell, the rows of a table, the tokens of a day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from msgspec import Struct

from livedata.model.row import Change, Scalar
from livedata.services.research.days import Day
from livedata.store.shown_runs import RunEnd


class Point(Struct, frozen=True):
    """A number from a moment on, or of a day; None if there was none."""

    at: str
    value: float | None


def of_cell(
    changes: Sequence[Change], field: str, since: str | None = None, until: str | None = None
) -> list[Point]:
    """The numbers of a cell by all changes of its row, which stand newest first.

    The oldest point comes first. With `since`, what stood there before the changes counts from
    then, and with `until` the last number still stood there then. A row that was gone had none.
    """
    points = [
        Point(
            change["createdAt"],
            _number(change["data"].get(field)) if change["presence"] == "present" else None,
        )
        for change in reversed(changes)
    ]
    if until is not None and points and points[-1].value is not None and points[-1].at < until:
        points.append(Point(until, points[-1].value))
    before = changes[-1]["before"] if changes else None
    if since is None or before is None:
        return points
    return [Point(since, _number(before.get(field))), *points]


def of_table(ends: Sequence[RunEnd]) -> list[Point]:
    """The rows after each accepted Run; the Runs stand newest first, and the points do not."""
    return [Point(end.at, end.rows) for end in reversed(ends) if end.rows is not None]


def of_days(days: Sequence[Day]) -> list[Point]:
    """The tokens of each day from the first to the last of these, which stand newest first."""
    if not days:
        return []
    tokens = {each.day: each.input_tokens + each.output_tokens for each in days}
    first, last = (date.fromisoformat(days[end].day) for end in (-1, 0))
    every = (first + timedelta(days=number) for number in range((last - first).days + 1))
    return [Point(f"{day}T00:00:00Z", tokens.get(str(day), 0)) for day in every]


def has_moved(points: Sequence[Point]) -> bool:
    """Whether a line through these points shows anything."""
    return len({point.value for point in points if point.value is not None}) > 1


def _number(value: Scalar) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None  # type: ignore[return-value]
