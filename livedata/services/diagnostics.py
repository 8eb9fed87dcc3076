"""The trace, the artifacts and the diagnostics of a Run (interface 4.3).

All answers derive from what the Run recorded, and not from the rows of today. Each question is one
read transaction, and nothing heavy is imported.
"""

from __future__ import annotations

from collections.abc import Iterable

from livedata.messages.findings import finding_sentence
from livedata.model import ids
from livedata.model.dataset import Column
from livedata.model.diagnosis.diagnostics import Asked, CostArea, RunDiagnostics
from livedata.model.diagnosis.recorded_research import ArtifactIndex, RunArtifact
from livedata.model.errors import BadRequest, Detail, NotFound
from livedata.model.ids import Micros, OwnerName, RunId
from livedata.model.run import KEPT_FOR, RunTrace, TraceStep
from livedata.rules.diagnosis.steps import latest, milliseconds, totals, trace_step
from livedata.services.kinds import choice as kinds
from livedata.services.run_view import RunView, viewing
from livedata.store.attempts import RecordedAttempt
from livedata.store.database.store import Database
from livedata.store.research import artifacts

LONGEST_NAME = 200


def trace(db: Database, owner: OwnerName, run_id: RunId) -> RunTrace:
    """Interface 2.11: the latest 1000 timing events over the attempts at a Run."""
    with viewing(db, owner, run_id) as view:
        return timing(view)


def timing(view: RunView) -> RunTrace:
    """The trace of a Run."""
    trace = _trace(view)
    trace["discovery"] = kinds.of_source(view.source).discovery(view)
    return trace


def diagnostics(
    db: Database,
    owner: OwnerName,
    run_id: RunId,
    *,
    entity: str | None = None,
    field: str | None = None,
    summary: bool = False,
) -> RunDiagnostics:
    """Interface 2.12: why a Run found what it found, and what of that is not known.

    Raises NotFound, and BadRequest for parameters that exclude each other, are too long, or name
    no field or several.
    """
    with viewing(db, owner, run_id) as view:
        _check(entity, field, summary=summary)
        cost = _cost(_trace(view))
        asked = Asked(entity, None if field is None else _field(view.columns, field), summary)
        return kinds.of_source(view.source).diagnose(view, cost, asked)


def _check(entity: str | None, field: str | None, *, summary: bool) -> None:
    """Interface 4.3: which parameters go together, and how long they may be."""
    problem = None
    if summary and (entity is not None or field is not None):
        problem = Detail("summary", "cannot be combined with entity or field")
    elif field is not None and entity is None:
        problem = Detail("field", "requires entity")
    for name, value in (("entity", entity), ("field", field)):
        if value is not None and not 1 <= len(value) <= LONGEST_NAME:
            problem = Detail(name, f"must have 1 to {LONGEST_NAME} characters")
    if problem is not None:
        raise BadRequest(f"{problem.path} {problem.message}.", (problem,))


def _field(columns: Iterable[Column], given: str) -> str:
    """The id of the field that has this id or, if none has, this exact label."""
    exact = [column["id"] for column in columns if column["id"] == given.lower()]
    matches = exact or [column["id"] for column in columns if column["label"] == given]
    if len(matches) == 1:
        return matches[0]
    message = (
        f"is the label of {len(matches)} fields; give the id"
        if matches
        else "is neither the id nor the label of a field of this dataset"
    )
    raise BadRequest(f"field {given!r} {message}.", (Detail("field", message),))


def _trace(view: RunView) -> RunTrace:
    row, attempts = view.row, view.attempts
    queued, last_start, completed = row.queued, row.started, row.completed
    starts = [attempt.started for attempt in attempts]
    started = min([*starts, last_start]) if last_start is not None else None
    # A held Run that was accepted by hand completed then; what it took is its attempt.
    ended = completed and ((attempts[-1].ended if attempts else None) or completed)
    oldest_kept = view.reader.now() - KEPT_FOR
    kept = [
        attempt
        for attempt in attempts
        if attempt.started >= oldest_kept and attempt.steps is not None
    ]
    # An attempt that ended without steps, or longer ago, leaves a gap that the answer must name.
    pruned = any(attempt.ended is not None and attempt not in kept for attempt in attempts)
    others, harness_version = kinds.of_source(view.source).steps(view)
    steps, cut = latest([*others, *(step for each in kept for step in _steps(each))])
    return {
        "runId": view.run["id"],
        "datasetId": view.run["datasetId"],
        "status": view.run["status"],
        "queueMs": None if started is None else milliseconds(started - queued),
        "wallMs": None if started is None or ended is None else milliseconds(ended - started),
        "truncated": pruned or cut,
        "phases": totals(steps),
        "steps": steps,
        "harnessVersion": harness_version,
        "discovery": None,
    }


def _steps(attempt: RecordedAttempt) -> list[TraceStep]:
    # Their ids are derived and not stored: the same step has the same id in every answer.
    return [
        trace_step(ids.format_uuid(ids.after(attempt.raw, number)), attempt.id, fact)
        for number, fact in enumerate(attempt.steps or [], 1)
    ]


def _cost(timing: RunTrace) -> CostArea:
    """The area of the cost: the times of the Run, as far as they were recorded."""
    area: CostArea = {"observations": {}, "unknowns": []}
    if timing["queueMs"] is not None:
        area["observations"]["queueMs"] = timing["queueMs"]
    else:
        area["unknowns"].append(finding_sentence("unknown.not_started"))
    if timing["wallMs"] is not None:
        area["observations"]["wallMs"] = timing["wallMs"]
    if timing["phases"]:
        area["observations"]["phases"] = timing["phases"]
    elif timing["truncated"]:
        area["unknowns"].append(finding_sentence("unknown.old_phases"))
    elif timing["queueMs"] is not None:
        area["unknowns"].append(finding_sentence("unknown.phases"))
    return area


def artifact_index(db: Database, owner: OwnerName, run_id: RunId) -> ArtifactIndex:
    """Interface 4.3: the newest artifacts of a Run, and its recipe; none of selectors."""
    with viewing(db, owner, run_id) as view:
        listed, more = artifacts.index(view.reader, view.id, _kept_since(view))
        recipe = kinds.of_source(view.source).sent(view.source)
    return {"runId": view.run["id"], "recipe": recipe, "truncated": more, "artifacts": listed}


def artifact(db: Database, owner: OwnerName, run_id: RunId, artifact_id: bytes) -> RunArtifact:
    """Interface 4.3: one artifact with its body. Raises NotFound."""
    with viewing(db, owner, run_id) as view:
        shown = artifacts.get(view.reader, view.ref.id, view.id, artifact_id, _kept_since(view))
    if shown is None:
        raise NotFound(
            "There is no such artifact: this Run has recorded none of that id, or 30 days have "
            "passed."
        )
    return shown


def _kept_since(view: RunView) -> Micros:
    return Micros(view.reader.now() - KEPT_FOR)
