"""The records of a Run, from which alone it is explained.

They do not change when the rows do. What an older version did not record is missing here, and is
reported as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

from msgspec import Struct

from livedata.model.dataset import Column, labels
from livedata.model.diagnosis.diagnostics import Stop
from livedata.model.harvest import PageJudgement, PaginationFault
from livedata.model.problem import Params, Problem
from livedata.model.row import MissingReason, Presence, Scalar
from livedata.model.run import Phase, ReadFailure, RowDeltas, Run, StepStatus


class OddLinks(TypedDict):
    """Next links of which one may lead astray: their addresses, and whether an item holds it."""

    addresses: list[str]
    inItem: bool


class PageFact(TypedDict):
    """A page that was read. `matches` has for each field the number of items that it matched in.

    `links` is the number of matches of the next-link or end selector. `leadsTo` is the address of
    the page that followed this one in the last accepted Run, if the list ends on this page and it
    still links there. `oddLinks` are the next links if they look odd.
    """

    url: str
    finalUrl: str
    status: int
    title: str | None
    items: int
    matches: list[int]
    links: NotRequired[int]
    leadsTo: NotRequired[str]
    oddLinks: NotRequired[OddLinks]


class FailureFact(TypedDict):
    """The page that could not be read; `message` is only of Runs that kept no problem."""

    number: int
    url: str
    reason: str
    status: int | None
    message: NotRequired[str]


class FieldFact(TypedDict):
    """The counts of a field's cells in the distinct rows, by how they were read."""

    id: str
    populated: int
    notFound: int
    extractionFailed: int


class OffendingFact(TypedDict):
    """A record with a problem.

    `cells` maps a field, by its index in the source, to the text that could not be read as its
    type. `missing` has the indexes of required fields that are empty.
    """

    page: int
    item: int
    key: str | None
    cells: dict[str, str]
    missing: list[int]


class StrangerFacts(TypedDict):
    """The items that have nothing of what a record needs, and where the first of them stands.

    `keyless` is how many of them have no key, `rows` how many rows the others make. `lacks` has the
    indexes of the fields that none of them has.
    """

    count: int
    keyless: int
    rows: int
    page: int
    item: int
    lacks: list[int]


class DuplicateFact(TypedDict):
    """A record whose key was read before. `differ` has the indexes of fields with other values."""

    key: str
    page: int
    item: int
    firstPage: int
    firstItem: int
    differ: list[int]


class OddFact(TypedDict):
    """Something that looks odd but holds no Run: the finding that tells it."""

    code: str
    params: Params
    page: int | None
    url: str | None


class RunFacts(TypedDict, total=False):
    """What a Run stores at its end.

    `head` is the last sequence of the feed at that moment. `seen` has for each row that was
    present at `head`, in the order of their keys, the page on which the Run read it, or 0.
    `others` has the keys that the Run read and no present row had, with their pages. `broken`
    is the fault that stopped the way from page to page. `judged` says what is on the page that
    stopped the Run, if that has no items. `against` is the last accepted Run of the moment at which
    a Run was not accepted: a clock may be set back, so the times of Runs do not tell it. `would` is
    what accepting a held Run would have done to the rows then.
    """

    head: int
    rowsInTable: int
    # Page numbers without the keys: the keys are in the history as it was at `head`.
    seen: list[int]
    others: list[tuple[str, int]]
    othersLeftOut: int
    checked: int
    pages: list[PageFact]
    failure: FailureFact | None
    attempts: int
    refusals: int
    complete: bool
    broken: PaginationFault
    judged: PageJudgement
    against: str
    rows: int
    fields: list[FieldFact]
    rejected: dict[str, int]
    duplicates: int
    duplicateExamples: list[DuplicateFact]
    offending: list[OffendingFact]
    strangers: StrangerFacts
    odd: list[OddFact]
    would: RowDeltas


class StopFact(TypedDict):
    """The rule that ended a Run; older versions did not keep what it was applied to."""

    rule: str
    inputs: NotRequired[dict[str, Any]]


class StepFact(TypedDict, total=False):
    """A step of an attempt as stored; moments are microseconds since 1970, UTC."""

    phase: Phase
    status: StepStatus
    startedAt: int
    endedAt: int
    sourceUrl: str
    readFailure: ReadFailure


class PageCounts(TypedDict):
    """What the selectors found on a page, per field by its place in the source.

    `matched` and `filled` count items; `links` the matches of the next-link or end selector.
    """

    items: int
    matched: list[int]
    filled: list[int]
    links: NotRequired[int]


class CellAtRun(Struct, frozen=True):
    """A cell as the source had it at the end of a Run; `entry` is the id of its evidence."""

    field: str
    value: Scalar
    reason: MissingReason | None
    entry: str | None


class RowAtRun(Struct, frozen=True):
    """A row at the end of a Run, from the history; `by` is the Run that wrote this revision."""

    id: str
    key: str
    presence: Presence
    revision: str
    by: str | None
    cells: Sequence[CellAtRun]


class RecordedRun(Struct, frozen=True):
    """Everything that was recorded of a Run.

    `source` is its pinned declaration as JSON. `rows` is the table as the Run left it, by key.
    `facts` is empty and `stop` is None until the Run ends. `problem` is what its error says; it is
    None for Runs without one and for Runs of older versions.
    """

    run: Run
    attempt: str | None
    stop: Stop | None
    facts: RunFacts
    problem: Problem | None
    # JSON and not a Source: commands that only read start without pydantic.
    source: Any
    columns: Sequence[Column]
    composite: bool
    rows: Mapping[str, RowAtRun]
    harness: None = None
    """It runs no harness."""

    @property
    def is_over(self) -> bool:
        """Whether the Run has ended."""
        return self.run["status"] not in {"queued", "running"}

    @property
    def forgotten(self) -> bool:
        """Whether its facts were let go of."""
        return is_forgotten(self.run, self.facts)

    @property
    def labels(self) -> dict[str, str]:
        """The label of each column, by its id."""
        return labels(self.columns)

    def page_url(self, number: int) -> str | None:
        """The address of a page by its number, from 1; None if it was not recorded."""
        pages = self.facts.get("pages", [])
        return pages[number - 1]["url"] if 1 <= number <= len(pages) else None


def is_forgotten(run: Run, facts: RunFacts) -> bool:
    """Whether the facts of a Run were let go of: an accepted one has always stored some."""
    return run["status"] == "succeeded" and not facts
