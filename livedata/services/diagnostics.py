"""The trace, the artifacts and the diagnostics of a Run (interface 4.3).

All answers derive from what the Run recorded, and not from the rows of today. Each question is one
read transaction, and nothing heavy is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from livedata.messages.diagnosis.findings import finding_sentence
from livedata.model import ids
from livedata.model.dataset import Column
from livedata.model.diagnosis.diagnostics import (
    Asked,
    CostArea,
    RunDiagnostics,
    Stop,
)
from livedata.model.diagnosis.recorded_run import RecordedRun, StepFact
from livedata.model.errors import BadRequest, Detail
from livedata.model.ids import DatasetId, OwnerName, RunId
from livedata.model.recipe import is_research
from livedata.model.run import KEPT_FOR, Phase, PhaseTotal, Run, RunTrace, TraceStep
from livedata.model.wire import as_uri
from livedata.rules.diagnosis import entity_diagnosis, findings
from livedata.rules.diagnosis.run_facts import LONGEST_URL
from livedata.store import datasets, recipes, rows, runs
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database
from livedata.store.datasets import DatasetRef
from livedata.store.runs import Attempt

MOST_EVENTS = 1000
LONGEST_NAME = 200

_PHASES: Sequence[Phase] = get_args(Phase)


def trace(db: Database, owner: OwnerName, run_id: RunId) -> RunTrace:
    """Interface 2.11: the latest 1000 timing events over the attempts at a Run."""
    with db.reading() as reader:
        run = runs.get(reader, owner, run_id)
        dataset = datasets.ref(reader, owner, DatasetId(ids.raw_id(run["datasetId"])))
        of_research = is_of_research(reader, run_id, dataset)
        timing = _trace(reader, run, run_id, of_research=of_research)
        if of_research:
            from livedata.services.research.diagnostics import discovery

            timing["discovery"] = discovery(reader, run, run_id, dataset)
    return timing


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
    with db.reading() as reader:
        run = runs.get(reader, owner, run_id)
        _check(entity, field, summary=summary)
        dataset = datasets.ref(reader, owner, DatasetId(ids.raw_id(run["datasetId"])))
        of_research = is_of_research(reader, run_id, dataset)
        timing = _trace(reader, run, run_id, of_research=of_research)
        columns = [dataset.fields.columns[key] for key in dataset.fields.ids]
        asked = Asked(entity, None if field is None else _field(columns, field), summary)
        if of_research:
            from livedata.services.research.diagnostics import answer, read

            records = read(reader, run, run_id, dataset)
            return answer(reader, run_id, records, _cost(timing), asked)
        # Only these two look at rows, and the rows of a large table take a while to read.
        deep = summary or entity is not None
        recorded = _recorded(reader, owner, run, run_id, rows_too=deep)
    return _of_selectors(recorded, _cost(timing), asked)


def is_of_research(reader: Reader, run: RunId, dataset: DatasetRef) -> bool:
    """Whether a Run is of research: a question about any other imports nothing of it."""
    return is_research(recipes.source(reader, dataset.id, runs.recipe_version(reader, run))[1])


def _of_selectors(recorded: RecordedRun, cost: CostArea, asked: Asked) -> RunDiagnostics:
    answer: RunDiagnostics = {
        "runId": recorded.run["id"],
        "datasetId": recorded.run["datasetId"],
        "status": recorded.run["status"],
        "attemptId": recorded.attempt,
        "harnessVersion": None,
        "request": findings.request(recorded),
        "sources": findings.sources(recorded),
        "cells": findings.cells(recorded),
        "reconciliation": findings.reconciliation(recorded),
        "completion": findings.completion(recorded),
        "cost": cost,
    }
    if asked.entity is not None:
        answer["entity"] = entity_diagnosis.diagnose(recorded, asked.entity, asked.field)
    if asked.summary:
        answer["summary"] = entity_diagnosis.summarize(recorded)
    return answer


def count_oddities(db: Database, listed: Sequence[Run]) -> dict[str, int]:
    """The id of each Run in which something looked odd -> how many things did."""
    with db.reading() as reader:
        odd = {
            run["id"]: runs.facts(reader, RunId(ids.raw_id(run["id"])))[1].get("odd", [])
            for run in listed
        }
    return {run: len(facts) for run, facts in odd.items() if facts}


def recorded_run(reader: Reader, owner: OwnerName, run_id: RunId) -> tuple[RecordedRun, str]:
    """The records of a Run, and the name of its dataset. Raises NotFound."""
    run = runs.get(reader, owner, run_id)
    dataset = datasets.get(reader, owner, DatasetId(ids.raw_id(run["datasetId"])))
    return _recorded(reader, owner, run, run_id, rows_too=True), dataset["name"]


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


def _recorded(
    reader: Reader, owner: OwnerName, run: Run, run_id: RunId, *, rows_too: bool
) -> RecordedRun:
    dataset_id = DatasetId(ids.raw_id(run["datasetId"]))
    dataset = datasets.ref(reader, owner, dataset_id)
    stop_rule, facts = runs.facts(reader, run_id)
    version = runs.recipe_version(reader, run_id)
    _, source = recipes.source(reader, dataset_id, version)
    stop: Stop = {"rule": stop_rule.get("rule", ""), "inputs": stop_rule.get("inputs", {})}
    attempts = runs.attempts(reader, run_id)
    head = facts.get("head")
    # Runs of older versions did not record the head of the feed, so their rows are unknown.
    rows_then = {}
    if rows_too and head is not None:
        rows_then = rows.at_run(reader, dataset_id, dataset.fields, head)
    identity = source.get("identity") if isinstance(source, dict) else None
    return RecordedRun(
        run=run,
        attempt=attempts[-1].id if attempts else None,
        stop=stop if stop_rule else None,
        facts=facts,
        problem=runs.problem(reader, run_id),
        source=source,
        columns=[dataset.fields.columns[field] for field in dataset.fields.ids],
        composite=isinstance(identity, dict) and identity.get("kind") == "composite",
        rows=rows_then,
    )


def _trace(reader: Reader, run: Run, run_id: RunId, *, of_research: bool) -> RunTrace:
    queued, last_start, completed = runs.times(reader, run_id)
    attempts = runs.attempts(reader, run_id)
    starts = [attempt.started for attempt in attempts]
    started = min([*starts, last_start]) if last_start is not None else None
    # A held Run that was accepted by hand completed then; what it took is its attempt.
    ended = completed and ((attempts[-1].ended if attempts else None) or completed)
    oldest_kept = reader.now() - KEPT_FOR
    kept = [
        attempt
        for attempt in attempts
        if attempt.started >= oldest_kept and attempt.steps is not None
    ]
    # An attempt that ended without steps, or longer ago, leaves a gap that the answer must name.
    pruned = any(attempt.ended is not None and attempt not in kept for attempt in attempts)
    steps, harness_version = [step for each in kept for step in _steps(each)], None
    if of_research:
        from livedata.services.research import trace as research_trace

        researched, harness_version = research_trace.steps(reader, run_id)
        steps = [*researched, *steps]
    steps, cut = _latest(steps)
    return {
        "runId": run["id"],
        "datasetId": run["datasetId"],
        "status": run["status"],
        "queueMs": None if started is None else _ms(started - queued),
        "wallMs": None if started is None or ended is None else _ms(ended - started),
        "truncated": pruned or cut,
        "phases": _phases(steps),
        "steps": steps,
        "harnessVersion": harness_version,
        "discovery": None,
    }


def _steps(attempt: Attempt) -> list[TraceStep]:
    steps = enumerate(attempt.steps or [], 1)
    return [_step(attempt, number, step) for number, step in steps]


def _step(attempt: Attempt, number: int, fact: StepFact) -> TraceStep:
    step: TraceStep = {
        # Derived and not stored: the same step has the same id in every answer.
        "stepId": ids.format_uuid(ids.after(attempt.raw, number)),
        "attemptId": attempt.id,
        "phase": fact["phase"],
        "status": fact["status"],
        "startedAt": ids.format_timestamp(ids.Micros(fact["startedAt"])),
    }
    if "endedAt" in fact:
        step["durationMs"] = _ms(fact["endedAt"] - fact["startedAt"])
    if "sourceUrl" in fact and len(address := as_uri(fact["sourceUrl"])) <= LONGEST_URL:
        step["sourceUrl"] = address
    if "readFailure" in fact:
        step["readFailure"] = fact["readFailure"]
    return step


def _latest(steps: Sequence[TraceStep]) -> tuple[list[TraceStep], bool]:
    """The steps with the latest events, and whether steps are left out."""
    # The limit counts events, and a finished step has two of them: its start and its finish.
    events = 0
    for at in range(len(steps) - 1, -1, -1):
        events += 1 + ("durationMs" in steps[at])
        if events > MOST_EVENTS:
            return list(steps[at + 1 :]), True
    return list(steps), False


def _phases(steps: Iterable[TraceStep]) -> list[PhaseTotal]:
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


def _ms(microseconds: int) -> int:
    """Whole milliseconds; a clock that was set back took no time."""
    return max(0, microseconds // 1000)
