"""What is recorded of a Run, and lasts: all that its explanation may be made of.

Nothing here is read from the rows as they are today. What an older version did not record is not
there, and becomes an unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from livedata.model.dataset import Column
from livedata.model.diagnosis.diagnostics import Stop
from livedata.model.harvest import PaginationFault
from livedata.model.problem import Problem
from livedata.model.row import MissingReason, Presence, Scalar
from livedata.model.run import Phase, ReadFailure, Run, StepStatus


class PageFact(TypedDict):
    """One page that was read; `matches` counts per field the items that its selector matched.

    `links` counts the matches of the next-link or end selector.
    """

    url: str
    finalUrl: str
    status: int
    title: str | None
    items: int
    matches: list[int]
    links: NotRequired[int]


class FailureFact(TypedDict):
    """The page that could not be read; `message` is only of Runs that kept no problem."""

    number: int
    url: str
    reason: str
    status: int | None
    message: NotRequired[str]


class FieldFact(TypedDict):
    """What became of a field's cells in the distinct rows."""

    id: str
    populated: int
    notFound: int
    extractionFailed: int


class OffendingFact(TypedDict):
    """A record with something wrong.

    `cells` maps the place of a field in the source to the text that could not be read; `missing`
    are the places of required fields of which nothing was found.
    """

    page: int
    item: int
    key: str | None
    cells: dict[str, str]
    missing: list[int]


class DuplicateFact(TypedDict):
    """A record whose key had been read already; `differ` are the places of the fields that do."""

    key: str
    page: int
    item: int
    firstPage: int
    firstItem: int
    differ: list[int]


class RunFacts(TypedDict, total=False):
    """What a Run stores at its end.

    `head` is the last sequence of the feed then. `seen` stands beside the keys of the rows that
    were present at `head`, in their order: the page on which the Run read each, 0 for none.
    `others` are the keys that it read and that no present row had, with their pages. `broken` says
    what broke the way from page to page.
    """

    head: int
    rowsInTable: int
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
    rows: int
    fields: list[FieldFact]
    rejected: dict[str, int]
    duplicates: int
    duplicateExamples: list[DuplicateFact]
    offending: list[OffendingFact]


class StepFact(TypedDict, total=False):
    """One step of an attempt as stored; moments are microseconds since 1970, UTC."""

    phase: Phase
    status: StepStatus
    startedAt: int
    endedAt: int
    sourceUrl: str
    readFailure: ReadFailure


@dataclass(frozen=True, slots=True)
class CellAtRun:
    """A cell as the source had it when a Run ended; `entry` names its evidence."""

    field: str
    value: Scalar
    reason: MissingReason | None
    entry: str | None


@dataclass(frozen=True, slots=True)
class RowAtRun:
    """A row as the history has it at the end of a Run; `by` is the Run that wrote that."""

    id: str
    key: str
    presence: Presence
    revision: str
    by: str | None
    cells: Sequence[CellAtRun]


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """Everything that was recorded of a Run.

    `source` is its pinned declaration as JSON, `rows` the table as the Run left it, by key; both
    `facts` and `stop` are empty while it is open. `problem` is what its error says; None also for
    Runs of older versions.
    """

    run: Run
    attempt: str | None
    stop: Stop | None
    facts: RunFacts
    problem: Problem | None
    source: Any
    columns: Sequence[Column]
    composite: bool
    rows: Mapping[str, RowAtRun]

    @property
    def is_over(self) -> bool:
        """Whether the Run has ended."""
        return self.run["status"] not in {"queued", "running"}

    @property
    def labels(self) -> dict[str, str]:
        """Field id -> the label that people know."""
        return {column["id"]: column["label"] for column in self.columns}

    def page_url(self, number: int) -> str | None:
        """The address of a page that was read; None where that was not recorded."""
        pages = self.facts.get("pages", [])
        return pages[number - 1]["url"] if 1 <= number <= len(pages) else None
