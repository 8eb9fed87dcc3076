"""A replay: the harness on what a Run recorded, asking nobody, and how it differs (rules 14.13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct, json

from livedata.model.dataset import Column
from livedata.model.diagnosis.recorded_research import (
    ChangedCell,
    ChangedCode,
    ChangedRow,
    RecordedResearch,
    ReplayDiff,
    ReplayMode,
)
from livedata.model.diagnosis.recorded_run import CellAtRun, RowAtRun
from livedata.model.research.answers import (
    CallUsage,
    Failed,
    ModelAnswer,
    PageText,
    SearchAnswer,
    Unread,
)
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.recipe import SEARCHED, ResearchField, ResearchRecipe
from livedata.model.research.record import (
    Artifact,
    ArtifactKind,
    Memory,
    ResearchFact,
    ResearchStep,
)
from livedata.model.row import MissingReason
from livedata.model.run import Phase, Run
from livedata.research.asking.prompts import HARNESS_VERSION
from livedata.research.asking.questions import RecordedAnswer, question_digest
from livedata.research.harness import research
from livedata.research.journal import request_digest
from livedata.research.ports import Place, Ports, Prices, Question, RunOver, SearchQuery
from livedata.research.reading import RecordedPage
from livedata.research.replay.tape import FoundRow, Tape
from livedata.research.sources import RecordedSearch, search_digest

_PAGES: tuple[ArtifactKind, ...] = ("page.text", "page.failure")


class Miss(Struct, frozen=True, rename="camel"):
    """Something that is asked now and was not asked in the recorded Run."""

    kind: ArtifactKind
    source_url: str
    window: str


class Recording:
    """The bodies of a tape, each found by what was asked; what is not there is noted."""

    def __init__(self, tape: Tape, mode: ReplayMode) -> None:
        self.tape = tape
        self.misses: list[Miss] = []
        self._mode = mode
        self._artifacts: dict[tuple[str, str, str], list[Artifact]] = {}
        for artifact in tape.artifacts:
            self._artifacts.setdefault(_place(artifact), []).append(artifact)

    def find(self, kind: ArtifactKind, source_url: str, window: str, digest: str) -> str | None:
        """The recorded body; None if there is none. Raises RunOver if the Run was over by then."""
        artifacts = self._artifacts.get((kind, source_url, window), [])
        for artifact in artifacts:
            if self._mode == "loose" or artifact.request_digest == digest:
                return artifact.body
        if not artifacts and self.tape.stop in ("deadline", "cancelled"):
            raise RunOver(self.tape.stop)
        self.misses.append(Miss(kind, source_url, window))
        return None

    def find_page(self, url: str, digest: str) -> list[Artifact]:
        """A page that was read, in all its pieces, or why it was not; empty if neither is known."""
        for kind in _PAGES:
            artifacts = self._artifacts.get((kind, url, ""), [])
            if self._mode == "strict":
                artifacts = [each for each in artifacts if each.request_digest == digest]
            if artifacts:
                return artifacts
        if self.tape.stop in ("deadline", "cancelled"):
            raise RunOver(self.tape.stop)
        self.misses.append(Miss("page.text", url, ""))
        return []

    def answers(self) -> Iterator[tuple[Artifact, RecordedAnswer]]:
        """What the model answered."""
        for artifact in self.tape.artifacts:
            if artifact.kind in ("planning.output", "extraction.output"):
                yield artifact, json.decode(artifact.body, type=RecordedAnswer)


def _place(artifact: Artifact) -> tuple[str, str, str]:
    """Where an artifact is looked for: a page by the address that it was asked for at."""
    if artifact.kind == "page.text":
        return artifact.kind, json.decode(artifact.body, type=RecordedPage).url, ""
    return artifact.kind, artifact.source_url, artifact.window


def _recorded_at(artifact: Artifact) -> Place:
    return Place(artifact.source_url, artifact.window)


class RecordedModel:
    """The model of a recorded Run."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        named = [answer for _, answer in recording.answers() if answer.model is not None]
        self.name = (named[0].model if named else None) or ""
        self.prices: Prices | None = Prices(0.0, 0.0)
        if named or recording.tape.stop == "cost_limit":
            # A limit of money that stopped all questions leaves no price: none fits it again.
            self.prices = named[0].prices if named else None

    async def ask(self, question: Question) -> ModelAnswer:
        """What the model answered then."""
        kind: ArtifactKind = "planning.output" if question.kind == "plan" else "extraction.output"
        digest = question_digest(question, self.name)
        body = self._recording.find(kind, question.source_url, question.window, digest)
        if body is None:
            return ModelAnswer(Failed("model_invalid_output"), CallUsage("replay", self.name))
        recorded = json.decode(body, type=RecordedAnswer)
        usage = CallUsage(
            "replay",
            self.name,
            input_tokens=recorded.input_tokens,
            output_tokens=recorded.output_tokens,
            usd=recorded.usd,
        )
        if recorded.failure is not None:
            return ModelAnswer(Failed(recorded.failure, recorded.detail), usage)
        return ModelAnswer(json.encode(recorded.answer).decode(), usage)


class RecordedSites:
    """The pages of a recorded Run."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    async def read(self, url: str) -> PageText | Unread:
        """The page as it was then."""
        artifacts = self._recording.find_page(url, request_digest(url))
        if not artifacts:
            return Unread(url, "unknown")
        first = artifacts[0]
        if first.kind == "page.failure":
            return json.decode(first.body, type=Unread)
        bodies = [json.decode(each.body, type=RecordedPage) for each in artifacts]
        page = bodies[0]
        return PageText(
            *(url, page.final_url, page.status, page.title),
            text="".join(body.text for body in bodies),
            links=[link for body in bodies for link in body.links],
            digest=page.digest,
            at=0,
            cut=page.cut,
        )

    async def leave(self) -> None:
        """Nothing: no site was asked."""


class RecordedSearches:
    """The search provider of a recorded Run."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        searches = [each for each in recording.tape.artifacts if each.kind == "search.results"]
        self.address = searches[0].source_url if searches else SEARCHED

    async def search(self, query: SearchQuery) -> SearchAnswer:
        """What was found then."""
        digest = search_digest(query)
        body = self._recording.find("search.results", self.address, "", digest)
        if body is None:
            return SearchAnswer(Failed("search_failed"), CallUsage("replay"))
        recorded = json.decode(body, type=RecordedSearch)
        usage = CallUsage("replay", search_credits=recorded.credits)
        if recorded.failure is not None:
            return SearchAnswer(Failed(recorded.failure, recorded.detail), usage)
        return SearchAnswer(recorded.results, usage)


class ReplayRecorder:
    """Keeps the steps of a replay to itself; its ids are numbers."""

    def __init__(self, recording: Recording) -> None:
        self.steps: list[ResearchStep] = []
        self._pinned = recording.tape.pinned or recording.tape.recipe
        self._reused: dict[tuple[str, str, Place], str] = {
            (artifact.kind, artifact.request_digest, _recorded_at(artifact)): artifact.body
            for artifact, answer in recording.answers()
            # Tapes from before say it in the body.
            if artifact.reused or answer.reused
        }
        self._ids = 0

    def begin(self, phase: Phase, url: str | None = None) -> ResearchStep:
        """A step without a time."""
        return ResearchStep(id=self.new_id(), phase=phase, started=0, url=url)

    def new_id(self) -> str:
        """The next number, in the form of an id."""
        self._ids += 1
        return f"00000000-0000-7000-8000-{self._ids:012x}"

    async def end(self, step: ResearchStep) -> None:
        """Keep a step until the replay is over."""
        step.ended = step.started
        self.steps.append(step)

    async def recall(self, kind: str, request_digest: str, place: Place) -> str | None:
        """The body of an answer that the Run did not ask for either."""
        return self._reused.get((kind, request_digest, place))

    async def pin(self, plan: str) -> ResearchRecipe:  # noqa: ARG002  (the port's shape)
        """The recipe that the Run pinned."""
        return self._pinned


class OtherHarness(Exception):
    """A strict replay needs the harness that the Run was made by."""

    def __init__(self, recorded: str) -> None:
        super().__init__(recorded)
        self.recorded = recorded


class Replayed(Struct, frozen=True):
    """What a replay found, and what it would have had to ask for."""

    outcome: ResearchOutcome
    facts: list[ResearchFact]
    misses: list[Miss]
    identical: bool


async def replay(tape: Tape, mode: ReplayMode = "strict") -> Replayed:
    """Run a tape again. Raises OtherHarness."""
    if mode == "strict" and tape.harness != HARNESS_VERSION:
        raise OtherHarness(tape.harness)
    recording = Recording(tape, mode)
    recorder = ReplayRecorder(recording)
    ports = Ports(
        model=RecordedModel(recording),
        search=RecordedSearches(recording),
        sites=RecordedSites(recording),
        recorder=recorder,
    )
    outcome = await research(tape.recipe, tape.memory, ports)
    return Replayed(
        outcome=outcome,
        facts=[fact for step in recorder.steps for fact in step.facts],
        misses=recording.misses,
        identical=not recording.misses and outcome.digest == tape.digest,
    )


def difference(tape: Tape, replayed: Replayed) -> ReplayDiff:
    """The rows and codes that are others now."""
    return {
        "rows": list(_rows(tape, replayed)),
        "codes": list(_codes(tape.facts, replayed.facts)),
    }


def _rows(tape: Tape, replayed: Replayed) -> Iterator[ChangedRow]:
    recorded = {row.key: row for row in tape.rows}
    now = {row.key: [cell.value for cell in row.cells] for row in replayed.outcome.rows}
    recipe = tape.pinned or tape.recipe
    for key, row in recorded.items():
        if key not in now:
            yield {"rowKey": key, "name": row.name, "change": "lost", "cells": []}
            continue
        cells = list(_cells(recipe, row, now[key]))
        if cells:
            yield {"rowKey": key, "name": row.name, "change": "changed", "cells": cells}
    for key, values in now.items():
        if key not in recorded:
            yield {"rowKey": key, "name": values[0] or "", "change": "added", "cells": []}


def _cells(
    recipe: ResearchRecipe, recorded: FoundRow, values: Sequence[str | None]
) -> Iterator[ChangedCell]:
    if recorded.values is None:
        return
    for field, before, now in zip(recipe.fields, recorded.values, values, strict=False):
        if before != now:
            yield {"label": field.label, "recorded": before, "replayed": now}


def _codes(
    recorded: Sequence[ResearchFact], replayed: Sequence[ResearchFact]
) -> Iterator[ChangedCode]:
    before, now = _counted(recorded), _counted(replayed)
    for code in sorted({*before, *now}):
        if before[code] != now[code]:
            yield {"code": code, "recorded": before[code], "replayed": now[code]}


def _counted(facts: Sequence[ResearchFact]) -> Counter[str]:
    # What became of the rows in the table is none of the harness's facts.
    return Counter(fact.code for fact in facts if fact.stage != "output")


def as_recorded(
    run: Run,
    recipe: ResearchRecipe,
    known: Memory,
    facts: Sequence[ResearchFact],
    outcome: ResearchOutcome,
) -> RecordedResearch:
    """What a replay of `run` records, to be explained as any Run is."""
    taken: Run = {**run, "status": "succeeded" if outcome.problem is None else "failed"}
    return RecordedResearch(
        run=taken,
        attempt=None,
        stop={"rule": outcome.stop, "inputs": outcome.inputs},
        facts=facts,
        recipe=recipe,
        columns=[_column(field, is_key=field == recipe.name) for field in recipe.fields],
        basis="replay",
        known=known,
        rows={row.key: row for row in _rows_after(run, recipe, known, outcome)},
    )


def _rows_after(
    run: Run, recipe: ResearchRecipe, known: Memory, outcome: ResearchOutcome
) -> Iterator[RowAtRun]:
    """The table as the output would leave it: rows from before, and over them those found."""
    for before in known.rows:
        gone = before.key in outcome.gone
        presence, by = ("missing" if gone else before.presence), (run["id"] if gone else None)
        cells = _cells_after(recipe, [(cell.value, cell.reason) for cell in before.cells])
        yield RowAtRun(before.key, before.key, presence, before.key, by, cells)
    for row in outcome.rows:
        cells = _cells_after(recipe, [(cell.value, cell.reason) for cell in row.cells])
        yield RowAtRun(row.key, row.key, "present", row.key, run["id"], cells)


def _cells_after(
    recipe: ResearchRecipe, cells: Sequence[tuple[str | None, MissingReason | None]]
) -> list[CellAtRun]:
    return [
        CellAtRun(field.id, value, reason, None)
        for field, (value, reason) in zip(recipe.fields, cells, strict=True)
    ]


def _column(field: ResearchField, *, is_key: bool) -> Column:
    return {
        "id": field.id,
        "label": field.label,
        "ownership": "collected",
        "name": field.name,
        "type": "string",
        "key": is_key,
    }
