"""A step as the store keeps it: a list of what no other column has."""

from __future__ import annotations

from msgspec import Struct

from livedata.model.research.answers import Unread
from livedata.model.research.record import ResearchStep, RowCounts
from livedata.model.run import Phase, StepStatus
from livedata.store.database.codec import JsonColumn


class StoredStep(Struct, frozen=True, array_like=True):
    """A step without its id, its begin and its facts; `took` is in microseconds."""

    phase: Phase
    status: StepStatus
    took: int | None
    url: str | None = None
    failure: Unread | None = None
    counts: RowCounts | None = None


STEP = JsonColumn[StoredStep](StoredStep)


def stored_step(step: ResearchStep) -> StoredStep:
    """What is kept of a step."""
    took = None if step.ended is None else step.ended - step.started
    return StoredStep(step.phase, step.status, took, step.url, step.failure, step.counts)


def loaded_step(step_id: str, started: int, stored: StoredStep) -> ResearchStep:
    """The step that was kept, without its facts."""
    return ResearchStep(
        id=step_id,
        phase=stored.phase,
        started=started,
        ended=None if stored.took is None else started + stored.took,
        status=stored.status,
        url=stored.url,
        failure=stored.failure,
        counts=stored.counts,
    )
