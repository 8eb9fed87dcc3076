"""The steps and the artifacts of research Runs, as they are answered (interface 2.9 to 2.11)."""

from __future__ import annotations

from livedata.model import ids
from livedata.model.diagnosis.artifacts import ArtifactIndex, RunArtifact
from livedata.model.errors import NotFound
from livedata.model.ids import DatasetId, Micros, OwnerName, RunId
from livedata.model.recipe import is_research
from livedata.model.research.record import ResearchStep
from livedata.model.research.stored import sent_recipe
from livedata.model.run import KEPT_FOR, TraceStep
from livedata.model.wire import as_uri
from livedata.rules.diagnosis.run_facts import LONGEST_URL
from livedata.store import recipes, runs
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database
from livedata.store.research import artifacts as artifact_store
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


def index(db: Database, owner: OwnerName, run_id: RunId) -> ArtifactIndex:
    """Interface 4.3: the newest artifacts of a Run, and its recipe; none of selectors."""
    with db.reading() as reader:
        run = runs.get(reader, owner, run_id)
        dataset = DatasetId(ids.raw_id(run["datasetId"]))
        _, declared = recipes.source(reader, dataset, runs.recipe_version(reader, run_id))
        listed, more = artifact_store.index(reader, run_id, Micros(reader.now() - KEPT_FOR))
    recipe = sent_recipe(declared) if is_research(declared) else None
    return {"runId": run["id"], "recipe": recipe, "truncated": more, "artifacts": listed}


def artifact(db: Database, owner: OwnerName, run_id: RunId, artifact_id: bytes) -> RunArtifact:
    """Interface 4.3: one artifact with its body. Raises NotFound."""
    with db.reading() as reader:
        run = runs.get(reader, owner, run_id)
        dataset = DatasetId(ids.raw_id(run["datasetId"]))
        since = Micros(reader.now() - KEPT_FOR)
        found = artifact_store.get(reader, dataset, run_id, artifact_id, since)
    if found is None:
        raise NotFound(
            "There is no such artifact: this Run has recorded none of that id, or 30 days have "
            "passed."
        )
    return found
