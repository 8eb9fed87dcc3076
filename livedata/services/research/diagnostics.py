"""The diagnostics of a research Run (interface 2.12), from what its latest attempt recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, json

from livedata.messages.diagnosis.research import research_sentence
from livedata.model.diagnosis.diagnostics import Asked, CostArea, RunDiagnostics, Stop
from livedata.model.diagnosis.recorded_research import Discovery, RecordedResearch
from livedata.model.ids import AttemptId, RunId, raw_id
from livedata.model.research.memory import Memory
from livedata.model.research.record import ArtifactKind, Fact
from livedata.model.research.stored import compile_research
from livedata.model.run import Run, RunDiscovery
from livedata.rules.diagnosis.research import diagnosis, ending, pages
from livedata.rules.diagnosis.research.report import report
from livedata.rules.research.fold import fold
from livedata.rules.research.quotes import holds_words
from livedata.store import recipes, rows, runs
from livedata.store.database.backend import Reader
from livedata.store.datasets import DatasetRef
from livedata.store.research import artifacts, attempts, calls, memories
from livedata.store.research.attempts import ResearchAttempt

SHORTEST_NAME = 4
"""A shorter name stands on too many pages to say anything."""


class _PageBody(Struct, frozen=True):
    """What is looked at of a recorded page."""

    url: str
    text: str


def read(
    reader: Reader, run: Run, run_id: RunId, dataset: DatasetRef, *, rows_too: bool = True
) -> RecordedResearch:
    """Everything that was recorded of a research Run and its latest attempt."""
    declared: Any = recipes.source(reader, dataset.id, runs.recipe_version(reader, run_id))[1]
    tried = attempts.all_of(reader, run_id)
    latest = tried[-1] if tried else None
    known = None if latest is None else memories.load(reader, dataset.id, latest.memory)
    stop_rule, summary = runs.facts(reader, run_id)
    stop: Stop = {"rule": stop_rule.get("rule", ""), "inputs": stop_rule.get("inputs", {})}
    columns = [dataset.fields.columns[field] for field in dataset.fields.ids]
    head = summary.get("head") if rows_too else None
    return RecordedResearch(
        run=run,
        attempt=None if latest is None else latest.id,
        harness=None if latest is None else latest.harness_version,
        stop=stop if stop_rule else None,
        facts=_facts(reader, dataset, latest),
        recipe=compile_research(1, declared, columns),
        columns=columns,
        summary=summary,
        problem=runs.problem(reader, run_id),
        discovery=_discovery(reader, run_id, latest),
        known=known or Memory(),
        rows={} if head is None else rows.at_run(reader, dataset.id, dataset.fields, head),
        calls=[call.usage for call in calls.all_of(reader, run_id)],
    )


def _facts(reader: Reader, dataset: DatasetRef, attempt: ResearchAttempt | None) -> list[Fact]:
    return [] if attempt is None else attempts.recorded_facts(reader, dataset.id, attempt.raw)


def discovery(reader: Reader, run: Run, run_id: RunId, dataset: DatasetRef) -> RunDiscovery | None:
    """The search of a research Run as its trace has it; None if nothing was searched for."""
    # Which pages were read stands in the facts, and a table may be long.
    return pages.discovery_traced(read(reader, run, run_id, dataset, rows_too=False))


def answer(
    reader: Reader,
    run_id: RunId,
    recorded: RecordedResearch,
    cost: CostArea,
    asked: Asked,
) -> RunDiagnostics:
    """The diagnostics; `cost` has the times of the Run, to which comes what its calls took."""
    if recorded.attempt is not None:
        cost["observations"]["usage"] = ending.usage(recorded.calls)
        cost["unknowns"] += ending.usage_unknowns(recorded.calls)
    explained = report(recorded, cost)
    if asked.entity is not None:
        explained["entity"] = diagnosed = diagnosis.diagnose(recorded, asked.entity, asked.field)
        # Only a name that nobody offered is looked for on the pages, for that takes a while.
        if not diagnosed["matchedNames"]:
            diagnosed["unknowns"][1:1] = _naming(reader, run_id, recorded, asked.entity)
    if asked.summary:
        explained["summary"] = diagnosis.summarize(recorded)
    return explained


def _naming(reader: Reader, run_id: RunId, recorded: RecordedResearch, name: str) -> Sequence[str]:
    """What the pages say of a name that no row was offered for."""
    if recorded.attempt is None or len(fold(name)) < SHORTEST_NAME:
        return []
    texts: dict[str, str] = {}
    for body in _bodies(reader, run_id, recorded.attempt, "page.text"):
        page = json.decode(body, type=_PageBody)
        # A long page is recorded in pieces, one after the other.
        texts[page.url] = texts.get(page.url, "") + page.text
    shown = [url for url, text in texts.items() if holds_words(text, name)]
    return [research_sentence("unknown.named_on_page", address=url) for url in shown]


def _discovery(reader: Reader, run_id: RunId, attempt: ResearchAttempt | None) -> Discovery | None:
    """The search of an attempt, if there was one."""
    if attempt is None:
        return None
    for body in _bodies(reader, run_id, attempt.id, "search.results"):
        return json.decode(body, type=Discovery)
    return None


def _bodies(reader: Reader, run_id: RunId, attempt: str, kind: ArtifactKind) -> Iterator[str]:
    """The bodies of a kind that an attempt recorded, as far as they are kept."""
    of_attempt = AttemptId(raw_id(attempt))
    for artifact in artifacts.recorded(reader, run_id, of_attempt, kind):
        if artifact.body is not None:
            yield artifact.body
