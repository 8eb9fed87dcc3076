"""A research dataset, and Runs of it that found what a test says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from msgspec import json

from livedata.model import ids
from livedata.model.dataset import Dataset
from livedata.model.ids import DatasetId, RunId
from livedata.model.research.answers import CallUsage
from livedata.model.research.outcome import (
    CellQuote,
    ResearchedCell,
    ResearchedPage,
    ResearchedRow,
    ResearchOutcome,
    RowIdentity,
)
from livedata.model.research.recipe import ResearchLimits, ResearchRecipe
from livedata.model.research.record import (
    Artifact,
    ArtifactKind,
    Memory,
    ResearchFact,
    ResearchStep,
    RowCounts,
)
from livedata.model.research.stored import DeclaredPlan
from livedata.model.row import Change, MissingReason, Row, RowDetail, RowEdit
from livedata.model.run import Phase, ResearchStop, Run
from livedata.services import attempts, feed, queries, rows, runs
from livedata.services.attempts import Attempt
from livedata.services.commit import AcceptancePolicy
from livedata.services.research import recording
from livedata.services.research.declaring import ResearchDeclaration, add_draft
from livedata.services.research.finishing import finish_research
from livedata.store.database.store import Store
from livedata.store.queue import RunOptions

HARNESS = "research-1/p:00000000"
PLAN: DeclaredPlan = {
    "title": "Makers",
    "rowMeaning": "A company that makes lamps",
    "nameLabel": "Company",
    "query": "companies that make lamps",
    "rowIdentity": {"description": "A company", "kind": "company", "scopeFields": []},
    "attributes": [
        {"label": "Founded", "description": "The year of its founding"},
        {"label": "City", "description": "Where it is"},
    ],
}
PAGE = "https://makers.example/list"
ACME = {"Founded": "1999", "City": "Bern"}
BOLT = {"Founded": "2004", "City": "Basel"}
DEFAULT_POLICY = AcceptancePolicy()

Found = Mapping[str, Mapping[str, str | None]]
"""Name -> label of an attribute -> value, None for what the page does not say."""
STANDS = "(stands)"
"""A value that is not read anew: the row keeps what it has."""


def key_of(name: str) -> str:
    """The key of the entity of a name."""
    return f"entity:{hashlib.sha256(name.casefold().encode()).hexdigest()}"


class ResearchTable:
    """One research dataset of an owner, made from the plan above or from a question."""

    def __init__(
        self,
        store: Store,
        owner: str = "local",
        *,
        name: str = "makers",
        planned: bool = True,
        limits: ResearchLimits | None = None,
    ) -> None:
        self.store, self.owner = store, owner
        bounds = limits or ResearchLimits()
        declared = (
            ResearchDeclaration(name, plan=PLAN, urls=[PAGE], limits=bounds)
            if planned
            else ResearchDeclaration(name, prompt="Who makes lamps?", limits=bounds)
        )
        created = add_draft(store, owner, declared, first_credits=1000)
        self.id = DatasetId(ids.raw_id(created["id"]))

    @property
    def dataset(self) -> Dataset:
        return queries.dataset(self.store, self.owner, self.id)

    @property
    def fields(self) -> dict[str, str]:
        """Label of a column -> field id."""
        return {column["label"]: column["id"] for column in self.dataset["columns"]}

    def begin(self, *, fresh: bool = False) -> Attempt:
        """A Run that is queued and started."""
        name = self.dataset["name"]
        queued = runs.take_up(self.store, self.owner, self.id, name, RunOptions(fresh))
        return self.begin_again(queued.run)

    def begin_again(self, run: RunId) -> Attempt:
        """The next attempt at a Run that is queued."""
        attempt = attempts.begin(self.store, run)
        assert attempt is not None
        return attempt

    def remember(self, attempt: Attempt) -> Memory:
        """What the dataset knows as the attempt begins."""
        return recording.memory(self.store, attempt, HARNESS)

    def take(
        self,
        result: Found,
        *,
        gone: Iterable[str] = (),
        pages: int = 1,
        policy: AcceptancePolicy = DEFAULT_POLICY,
        stop: ResearchStop = "all_selected_pages_checked",
    ) -> Run:
        """A whole Run that finds entities on the first of its pages."""
        attempt = self.begin()
        self.remember(attempt)
        self.record(attempt)
        outcome = found_on(attempt, result, gone=gone, pages=pages, stop=stop)
        return self.finish(attempt, outcome, policy)

    def record(self, attempt: Attempt, phase: Phase = "extract", body: str = "{}") -> ResearchStep:
        """A step that has ended, with an artifact, a fact and a call."""
        step = step_of(phase, artifacts=[artifact_of(body)])
        recording.record(self.store, attempt, step)
        return step

    def finish(
        self, attempt: Attempt, outcome: ResearchOutcome, policy: AcceptancePolicy = DEFAULT_POLICY
    ) -> Run:
        """The Run as it ended with what was found."""
        finish_research(self.store, attempt, outcome, policy)
        return queries.run(self.store, self.owner, attempt.run)

    def rows(self) -> dict[str, Row]:
        """Every row by the name of its entity."""
        name = self.dataset["columns"][0]["id"]
        every = queries.every_row(self.store, self.owner, self.id)
        return {str(row["data"][name]): row for row in every}

    def row(self, name: str) -> RowDetail:
        """One row with its evidence."""
        row_id = ids.RowId(ids.raw_id(self.rows()[name]["id"]))
        return queries.row(self.store, self.owner, self.id, row_id)

    def cells(self, name: str) -> dict[str, object]:
        """What a row shows, by the labels of its columns."""
        labels = {field: label for label, field in self.fields.items()}
        return {labels[field]: value for field, value in self.rows()[name]["data"].items()}

    def edit(self, name: str, label: str, value: str) -> None:
        """Set a cell of a row by hand."""
        row = self.rows()[name]
        assert row["revisionId"] is not None
        edit = RowEdit(row["revisionId"], f"{label}={value}", {self.fields[label]: value})
        row_id = ids.RowId(ids.raw_id(row["id"]))
        rows.edit(self.store, self.owner, self.id, row_id, edit, None)

    def feed(self) -> list[Change]:
        """Every revision."""
        return feed.changes(self.store, self.owner, self.id, after=0, limit=100)["data"]


def artifact_of(
    body: str, kind: ArtifactKind = "extraction.output", asked: str = "a question"
) -> Artifact:
    """An artifact of a page."""
    digest = hashlib.sha256(asked.encode()).hexdigest()
    return Artifact(ids.format_uuid(ids.new_id()), kind, PAGE, body, digest, "0-16000")


def step_of(
    phase: Phase = "extract",
    *,
    artifacts: Sequence[Artifact] = (),
    calls: Sequence[CallUsage] = (CallUsage("openai", "m", 1, 100, 20, 0.25),),
    facts: Sequence[ResearchFact] | None = None,
) -> ResearchStep:
    """A step that has ended; by default with a fact of its first artifact."""
    step_id = ids.format_uuid(ids.new_id())
    if facts is None:
        evidence = artifacts[0].id if artifacts else step_id
        facts = [ResearchFact("extraction", "row_offered", evidence, url=PAGE, entity="Acme")]
    now = ids.now()
    return ResearchStep(
        id=step_id,
        phase=phase,
        started=now,
        ended=now + 1000,
        status="succeeded",
        url=PAGE,
        counts=RowCounts(3, 1, 2) if phase == "validate" else None,
        facts=list(facts),
        artifacts=list(artifacts),
        calls=list(calls),
    )


def answer(value: object = None) -> str:
    """The body of an answer."""
    return json.encode({"answer": value or {"rows": []}, "model": "m"}).decode()


def found_on(
    attempt: Attempt,
    result: Found,
    *,
    gone: Iterable[str] = (),
    pages: int = 1,
    stop: ResearchStop = "all_selected_pages_checked",
) -> ResearchOutcome:
    """What a harness hands over that found entities on the first of `pages`."""
    recipe = attempt.recipe
    assert isinstance(recipe, ResearchRecipe)
    checked = [page_of(number) for number in range(1, pages + 1)]
    listed = [_row(recipe, number, *each) for number, each in enumerate(result.items(), 1)]
    return ResearchOutcome(stop, checked, listed, [key_of(name) for name in gone])


def page_of(number: int) -> ResearchedPage:
    """A page that was checked."""
    url = PAGE if number == 1 else f"{PAGE}/{number}"
    digest = hashlib.sha256(url.encode()).hexdigest()
    return ResearchedPage(number, url, url, "checked", 200, "Makers", digest, ids.now())


def _row(
    recipe: ResearchRecipe, number: int, name: str, values: Mapping[str, str | None]
) -> ResearchedRow:
    quote = CellQuote(1, number, f"{name}, a maker")
    cells = [ResearchedCell(name, None, quote), ResearchedCell(quote.text, None, quote)]
    cells.append(ResearchedCell(PAGE, None, quote))
    assert recipe.plan is not None
    cells += [_cell(number, values.get(each.label)) for each in recipe.plan.attributes]
    identity = RowIdentity(recipe.plan.kind, name.casefold(), (name,), (), (name.casefold(),), ())
    return ResearchedRow(key_of(name), 1, number, cells, identity, minted=True)


def _cell(number: int, value: str | None) -> ResearchedCell:
    if value == STANDS:
        return ResearchedCell(stands=True)
    reason: MissingReason | None = "not_found" if value is None else None
    quote = None if value is None else CellQuote(1, number, f"it says {value}")
    return ResearchedCell(value, reason, quote)
