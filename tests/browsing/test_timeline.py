"""The steps of a Run stand on one scale of time, between the first begin and the last end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from livedata.model import ids
from livedata.model.ids import Micros
from livedata.pages.markup.plot import timeline

if TYPE_CHECKING:
    from livedata.model.run import TraceStep

_BAR = re.compile(r'<rect x="(\d+)" width="(\d+)"')
_BEGIN = 1_790_000_000_000_000


def step(start: int, took: int | None) -> TraceStep:
    """A step that begins so many milliseconds after a moment."""
    made: TraceStep = {
        "stepId": "01890000-0000-7000-8000-000000000000",
        "attemptId": "01890000-0000-7000-8000-000000000000",
        "phase": "read",
        "status": "succeeded",
        "startedAt": ids.format_timestamp(Micros(_BEGIN + start * 1000)),
    }
    if took is not None:
        made["durationMs"] = took
    return made


def bars(*steps: tuple[int, int | None]) -> list[tuple[int, int]]:
    """Where the bars of steps begin, and how wide they are, of 1,000."""
    drawn = [_BAR.search(span.drawn) for span in timeline([step(*each) for each in steps])]
    return [(int(bar[1]), int(bar[2])) for bar in drawn if bar is not None]


def test_steps_stand_beside_each_other_as_they_followed() -> None:
    assert bars((0, 250), (250, 250), (500, 500)) == [(0, 250), (250, 250), (500, 500)]


def test_a_step_that_took_no_time_or_has_not_ended_is_seen() -> None:
    assert bars((0, 1000), (500, 0), (1000, None)) == [(0, 1000), (500, 8), (992, 8)]


def test_the_first_to_begin_counts_and_not_the_first_in_the_list() -> None:
    spans = timeline([step(500, 500), step(0, 100)])
    assert [span.after for span in spans] == ["+0.500 s", "+0.000 s"]


def test_a_run_without_steps_has_none() -> None:
    assert timeline([]) == []


@given(
    st.lists(
        st.tuples(st.integers(0, 10**8), st.none() | st.integers(0, 10**8)), min_size=1, max_size=9
    )
)
def test_no_bar_leaves_the_scale_and_the_order_of_begins_is_kept(
    steps: list[tuple[int, int | None]],
) -> None:
    drawn = bars(*steps)
    assert all(x >= 0 and x + width <= 1000 for x, width in drawn)
    in_time = [
        x for _, (x, _) in sorted(zip(steps, drawn, strict=True), key=lambda each: each[0][0])
    ]
    assert in_time == sorted(in_time)
