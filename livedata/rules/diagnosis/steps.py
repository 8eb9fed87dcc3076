"""The steps of a Run as its trace has them, whatever kind of Run it is (interface 2.11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, get_args

from livedata.model.diagnosis.recorded_run import StepFact
from livedata.model.ids import Micros, format_timestamp
from livedata.model.run import Phase, PhaseTotal, TraceStep
from livedata.model.wire import as_uri
from livedata.rules.diagnosis.run_facts import LONGEST_URL

MOST_EVENTS: Final = 1000
_PHASES: Sequence[Phase] = get_args(Phase)


def trace_step(step_id: str, attempt: str, fact: StepFact) -> TraceStep:
    """A step of an attempt as it is answered."""
    step: TraceStep = {
        "stepId": step_id,
        "attemptId": attempt,
        "phase": fact["phase"],
        "status": fact["status"],
        "startedAt": format_timestamp(Micros(fact["startedAt"])),
    }
    if "endedAt" in fact:
        step["durationMs"] = milliseconds(fact["endedAt"] - fact["startedAt"])
    if "sourceUrl" in fact and len(address := as_uri(fact["sourceUrl"])) <= LONGEST_URL:
        step["sourceUrl"] = address
    if "readFailure" in fact:
        step["readFailure"] = fact["readFailure"]
    return step


def latest(steps: Sequence[TraceStep]) -> tuple[list[TraceStep], bool]:
    """The steps with the latest events, and whether steps are left out."""
    # The limit counts events, and a finished step has two of them: its start and its finish.
    events = 0
    for index in range(len(steps) - 1, -1, -1):
        events += 1 + ("durationMs" in steps[index])
        if events > MOST_EVENTS:
            return list(steps[index + 1 :]), True
    return list(steps), False


def totals(steps: Iterable[TraceStep]) -> list[PhaseTotal]:
    """The totals of each phase that has steps, in their fixed order."""
    took: dict[Phase, list[int]] = {}
    for step in steps:
        took.setdefault(step["phase"], []).append(step.get("durationMs", 0))
    return [
        {
            "phase": phase,
            "count": len(took[phase]),
            "totalMs": sum(took[phase]),
            "maxMs": max(took[phase]),
        }
        for phase in _PHASES
        if phase in took
    ]


def milliseconds(microseconds: int) -> int:
    """Whole milliseconds; a clock that was set back took no time."""
    return max(0, microseconds // 1000)
