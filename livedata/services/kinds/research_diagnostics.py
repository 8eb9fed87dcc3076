"""The diagnostics (interface 2.12) and the story of a research Run, from its latest attempt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, json

from livedata.messages.research_findings import research_sentence
from livedata.model.diagnosis.diagnostics import Asked, CostArea, Finding, RunDiagnostics
from livedata.model.diagnosis.entities import RunLossSummary, SummaryEntity
from livedata.model.diagnosis.recorded_research import Discovery, RecordedResearch
from livedata.model.ids import AttemptId, RunId, raw_id
from livedata.model.research.record import ArtifactKind, Memory, ResearchFact
from livedata.model.research.stored import compile_research
from livedata.model.run import RunDiscovery
from livedata.rules.diagnosis.areas import report
from livedata.rules.diagnosis.entities import EntityTrace, list_entities, summarize
from livedata.rules.diagnosis.research import areas, ending, entities, pages
from livedata.rules.diagnosis.research.entities import Researched
from livedata.rules.diagnosis.research.pages import ResearchPage
from livedata.rules.diagnosis.research.traces import Fate
from livedata.rules.research.fold import fold
from livedata.rules.research.quotes import holds_words
from livedata.services.run_view import RunView
from livedata.store import memories, rows
from livedata.store.database.backend import Reader
from livedata.store.datasets import DatasetRef
from livedata.store.research import artifacts, attempts, usage
from livedata.store.research.attempts import ResearchAttempt

SHORTEST_NAME = 4
"""A shorter name stands on too many pages to say anything."""


class _PageBody(Struct, frozen=True):
    """What is looked at of a recorded page."""

    url: str
    text: str


def read(view: RunView, *, rows_too: bool = True) -> RecordedResearch:
    """Everything that was recorded of a research Run and its latest attempt.

    The rows of a long table take a while to read; all else of a view is read once.
    """
    if view.researched is None or rows_too > view.researched[1]:
        view.researched = _read(view, rows_too=rows_too), rows_too
    return view.researched[0]


def _read(view: RunView, *, rows_too: bool) -> RecordedResearch:
    reader, dataset = view.reader, view.ref
    tried = attempts.all_of(reader, view.id)
    latest = tried[-1] if tried else None
    known = None if latest is None else memories.load(reader, dataset.id, latest.memory)
    columns = list(view.columns)
    head = view.facts.get("head") if rows_too else None
    return RecordedResearch(
        run=view.run,
        attempt=None if latest is None else latest.id,
        harness=None if latest is None else latest.harness_version,
        stop=view.stopped_by,
        facts=_facts(reader, dataset, latest),
        recipe=compile_research(1, view.source, columns),
        columns=columns,
        summary=view.facts,
        problem=view.problem,
        discovery=_discovery(reader, view.id, latest),
        known=known or Memory(),
        rows={} if head is None else rows.at_run(reader, dataset.id, dataset.fields, head),
        calls=[call.usage for call in usage.calls_of(reader, view.id)],
    )


def _facts(
    reader: Reader, dataset: DatasetRef, attempt: ResearchAttempt | None
) -> list[ResearchFact]:
    return [] if attempt is None else attempts.recorded_facts(reader, dataset.id, attempt.raw)


def discovery(view: RunView) -> RunDiscovery | None:
    """The search of a research Run as its trace has it; None if nothing was searched for."""
    # Which pages were read stands in the facts, and a table may be long.
    return pages.discovery_traced(read(view, rows_too=False))


def answer(view: RunView, cost: CostArea, asked: Asked) -> RunDiagnostics:
    """The diagnostics; `cost` has the times of the Run, to which comes what its calls took."""
    recorded = read(view)
    if recorded.attempt is not None:
        cost["observations"]["usage"] = ending.usage(recorded.calls)
        cost["unknowns"] += ending.usage_unknowns(recorded.calls)
    explained = report(areas, recorded, cost)
    if asked.entity is not None:
        explained["entity"] = diagnosed = entities.diagnose(recorded, asked.entity, asked.field)
        # Only a name that nobody offered is looked for on the pages, for that takes a while.
        if not diagnosed["matchedNames"]:
            diagnosed["unknowns"][1:1] = _naming(view.reader, view.id, recorded, asked.entity)
    if asked.summary:
        explained["summary"] = entities.summarize(recorded)
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


class Story(Struct, frozen=True):
    """What a person wants to know of a research Run; `took` is what its calls used.

    A `fresh` one took no answer from before. `fates` has its entities by what it made of them.
    """

    prompt: str
    discovery: Discovery | None
    pages: Sequence[ResearchPage]
    offered: int
    rejected: Mapping[str, int]
    quotes_dropped: int
    fates: Mapping[Fate, Sequence[SummaryEntity]]
    summary: RunLossSummary
    findings: Sequence[Finding]
    took: Mapping[str, float]
    unknowns: Sequence[str]
    fresh: bool


def tell(view: RunView) -> Story:
    """The story of a Run."""
    recorded = read(view)
    reconciled = areas.reconciliation(recorded)
    parts = (areas.sources(recorded), areas.cells(recorded), reconciled)
    researched = Researched(recorded)
    summary = summarize(researched)
    by_fate: dict[Fate, list[EntityTrace]] = {"kept": [], "stands": [], "lost": []}
    for trace in researched.traces:
        by_fate[trace.fate].append(trace)
    return Story(
        prompt="" if recorded.recipe is None else recorded.recipe.prompt,
        discovery=recorded.discovery,
        pages=pages.list_pages(recorded),
        offered=sum(fact.code == "row_offered" for fact in recorded.facts),
        rejected=reconciled["observations"].get("rejected", {}),
        quotes_dropped=reconciled["observations"].get("quotesDropped", 0),
        fates={fate: list_entities(traced) for fate, traced in by_fate.items()},
        summary=summary,
        findings=[finding for part in parts for finding in part["findings"]],
        took=ending.usage(recorded.calls),
        unknowns=[*summary["unknowns"], *ending.usage_unknowns(recorded.calls)],
        fresh=recorded.known.fresh,
    )
