"""The result of a crawl: the pages it read, the records on them, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from livedata.model.ids import END_OF_TIME
from livedata.model.problem import Problem
from livedata.model.row import MissingReason, Scalar
from livedata.model.run import REFUSALS, FailureReason, ResearchStop

# Enough to see the place that a selector misses; it is stored with each Run that fails.
LONGEST_MARKUP = 64 * 1024
"""The part of a page that is kept to be shown, in bytes of UTF-8."""
LONGEST_SCREENSHOT = 64 * 1024
"""The largest picture of a page that is kept, in bytes; a larger one is made smaller."""

PageKind = Literal["challenge", "refused", "login", "consent", "gone", "no_results", "scripted"]
"""What a page without items shows in place of the list."""

PaginationFault = Literal["repeat", "circle", "click_only", "loop"]
"""A fault on the way from page to page."""

StopRule = Literal[
    "natural_end",
    "max_pages",
    "max_items",
    "page_failed",
    "check_failed",
    "credits",
    "mass_loss",
    "worker_lost",
    "cancelled",
    ResearchStop,
]


class Quote(Struct, frozen=True):
    """A text that supports a value, with its page in the harvest and its item on the page."""

    page: int
    item: int
    text: str


class Record(Struct, frozen=True):
    """One item of one page, typed: lists run over the source's fields in their order.

    `texts` has the texts before typing; None if nothing was found. `key` is None if
    a part of the identity is null.

    `quotes` says what supports each value, if that is not all written in this one item; None
    for a field of which nothing was read: the row keeps what it has there.
    """

    number: Annotated[int, Meta(ge=1)]
    key: str | None
    values: list[Scalar]
    reasons: list[MissingReason | None]
    texts: list[str | None]
    quotes: list[list[Quote] | None] | None = None

    def of_fields(self, indexes: Sequence[int]) -> Record:
        """What was read of some fields alone."""
        return replace(
            self,
            values=[self.values[index] for index in indexes],
            reasons=[self.reasons[index] for index in indexes],
            texts=[self.texts[index] for index in indexes],
            quotes=None if self.quotes is None else [self.quotes[index] for index in indexes],
        )


class PageRead(Struct, frozen=True):
    """One page that was fetched and extracted.

    `matches` counts, per field, the items on which its selector matched; `at` is the moment in
    microseconds since 1970, UTC; `digest` the hex SHA-256 of the body as decoded; `canonical` the
    final address in the form by which pages are told apart. `charged` is False for an end page
    that the server answered with 404 or 410. `links` counts the matches of the next-link or end
    selector on the page; None if the pagination has neither. `leads_to` is the address of the page
    that followed this one in the last accepted Run, if the list ends here and it still links there.
    `next_links` are the different addresses of the next links, the one that is followed first;
    `link_in_item` says that this one lies within an item.
    """

    number: int
    url: str
    final_url: str
    canonical: str
    status: int
    title: str | None
    digest: str
    at: Annotated[int, Meta(ge=0, lt=END_OF_TIME)]
    records: list[Record]
    matches: list[int]
    charged: bool = True
    links: int | None = None
    leads_to: str | None = None
    next_links: list[str] = field(default_factory=list)
    link_in_item: bool = False

    def of_fields(self, indexes: Sequence[int]) -> PageRead:
        """What was read of some fields alone."""
        records = [record.of_fields(indexes) for record in self.records]
        return replace(self, records=records, matches=[self.matches[index] for index in indexes])


class AnsweredPage(Struct, frozen=True):
    """A page as it was answered, read or not: what was asked for, what answered, and how."""

    number: int
    url: str
    final_url: str
    status: int
    title: str | None


class PageSnapshot(AnsweredPage, frozen=True):
    """An answered page while its Run lasts, in case it has to be kept.

    `markup` is its decoded text in UTF-8: of a page with items, the part around them, `cut` at
    LONGEST_MARKUP; of any other all of it, until it has been judged. `links` as in PageRead;
    `screenshot` a JPEG if a browser showed the page; `parsed` says that it was read as a page,
    and no file or error. Nothing of what was sent is in it.
    """

    markup: bytes
    cut: bool
    links: int | None = None
    screenshot: bytes | None = None
    parsed: bool = False


class PageJudgement(TypedDict):
    """What is on a page without items, judged on the whole of it.

    `text` and `scripts` count characters: of what a person sees, and of its scripts. Of the
    `known` rows, which the last accepted Run read on this page, `shown` stand on the page itself,
    and `scripted` only in its scripts.
    """

    number: int
    kind: PageKind | None
    text: int
    scripts: int
    known: int
    shown: int
    scripted: int


class PageFailure(Struct, frozen=True):
    """The page that could not be read, and why."""

    number: int
    url: str
    reason: FailureReason
    status: int | None
    origin: str | None
    problem: Problem


class StopReason(Struct, frozen=True):
    """How a crawl ended; `problem` is what broke the coverage, None at the natural end."""

    rule: StopRule
    problem: Problem | None = None
    broken: PaginationFault | None = None


class Harvest(Struct, frozen=True):
    """Everything that one attempt at a Run gathered.

    `refusals` counts the fetch attempts that the site refused, `attempts` all of them. `seen` are
    the answers in order; of a page that was asked for twice, both. `judged` says what is on the
    page that stopped the Run, if that has no items.
    """

    pages: list[PageRead]
    ending: StopReason
    failure: PageFailure | None = None
    attempts: int = 0
    refusals: int = 0
    overflow: Problem | None = None
    steps: list[Step] = field(default_factory=list)
    seen: list[PageSnapshot] = field(default_factory=list)
    judged: PageJudgement | None = None

    def of_fields(self, indexes: Sequence[int]) -> Harvest:
        """What it has read of some fields alone."""
        return replace(self, pages=[page.of_fields(indexes) for page in self.pages])

    @property
    def output(self) -> object:
        """What is kept of it while it is held: it is complete, so there is no failure to keep."""
        return self.pages

    @property
    def blocked(self) -> bool:
        """Interface 3: every fetch attempt was refused, and no page was read."""
        # One attempt with another outcome (a timeout, say) shows that the site does not refuse all.
        return (
            not self.pages
            and self.failure is not None
            and self.failure.reason in REFUSALS
            and self.refusals == self.attempts
        )


class Step(Struct):
    """One step of the trace: moments are microseconds since 1970, UTC; `ended` is None if open."""

    phase: Literal["pin", "read", "extract", "validate", "accept"]
    started: int
    ended: int | None = None
    status: Literal["running", "succeeded", "failed", "cancelled"] = "running"
    url: str | None = None
    failure: PageFailure | None = None
