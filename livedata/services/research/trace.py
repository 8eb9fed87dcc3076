"""The steps of research Runs, as they are answered (interface 2.11)."""

from __future__ import annotations

from livedata.model import ids
from livedata.model.ids import Micros, RunId
from livedata.model.research.record import ResearchStep
from livedata.model.run import KEPT_FOR, TraceStep
from livedata.model.wire import as_uri
from livedata.rules.diagnosis.run_facts import LONGEST_URL
from livedata.store.database.backend import Reader
from livedata.store.research import attempts


def steps(reader: Reader, run: RunId) -> tuple[list[TraceStep], str | None]:
    """The steps of all attempts that are kept, those given back too, and the newest harness."""
    since = Micros(reader.now() - KEPT_FOR)
    tried = attempts.all_of(reader, run)
    listed = [
        _step(attempt.id, step)
        for attempt in tried
        for step in attempts.steps(reader, attempt.raw, since)
    ]
    return listed, tried[-1].harness_version if tried else None


def _step(attempt: str, step: ResearchStep) -> TraceStep:
    shown: TraceStep = {
        "stepId": step.id,
        "attemptId": attempt,
        "phase": step.phase,
        "status": step.status,
        "startedAt": ids.format_timestamp(Micros(step.started)),
    }
    if step.ended is not None:
        shown["durationMs"] = max(0, step.ended - step.started) // 1000
    if step.url is not None and len(address := as_uri(step.url)) <= LONGEST_URL:
        shown["sourceUrl"] = address
    if step.failure is not None:
        failure = step.failure
        shown["readFailure"] = {
            "reason": failure.reason,
            "status": failure.status,
            "finalUrl": failure.origin,
        }
    if step.counts is not None:
        shown["candidateRows"] = step.counts.candidates
        shown["rejectedRows"] = step.counts.rejected
        shown["matchedRows"] = step.counts.matched
    return shown
