"""What a research Run found, before it is judged and accepted, and its harvest."""

from __future__ import annotations

from typing import Any, Literal, Self

from msgspec import Struct, field
from typing_extensions import override

from livedata.model.harvest import Harvest, PageRead, StopReason
from livedata.model.problem import Problem
from livedata.model.research.recipe import EntityKind
from livedata.model.row import MissingReason
from livedata.model.run import ResearchStop

PageOutcome = Literal["checked", "unreadable", "unknown", "unattempted"]


class ResearchedPage(Struct, frozen=True):
    """A page that was asked for, with its number from 1 in that order, and what became of it.

    `title`, `status`, `digest` and `at` are those of a page that was read. Only checked pages have
    rows. `refused` says that the site refused to be read.
    """

    number: int
    url: str
    final_url: str
    outcome: PageOutcome
    status: int | None = None
    title: str | None = None
    digest: str | None = None
    at: int = 0
    cut: bool = False
    refused: bool = False


class CellQuote(Struct, frozen=True):
    """The page's own words that support a value: the page's number, and the row's on it."""

    page: int
    row: int
    text: str


class ResearchedCell(Struct, frozen=True):
    """A cell of a row. One that `stands` keeps value, reason and evidence as the row has them."""

    value: str | None = None
    reason: MissingReason | None = None
    quote: CellQuote | None = None
    stands: bool = False


class RowIdentity(Struct, frozen=True):
    """What a row stands for; the names and URLs are those to find it by from now on, all folded."""

    kind: EntityKind
    anchor: str
    aliases: tuple[str, ...]
    scope: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    urls: tuple[str, ...]


class ResearchedRow(Struct, frozen=True):
    """One entity: its cells in the order of the recipe's fields, and the page it was found on."""

    key: str
    page: int
    number: int
    cells: list[ResearchedCell]
    identity: RowIdentity
    minted: bool


class ResearchFindings(Struct, frozen=True):
    """What research knows beside the records of its pages: who they are, and which rows are gone.

    `identities` are by key. `inputs` are the figures that the rule was applied to.
    """

    stop: ResearchStop
    identities: dict[str, RowIdentity]
    gone: list[str]
    inputs: dict[str, Any] = field(default_factory=dict)


class ResearchOutcome(Struct, frozen=True):
    """Everything that one attempt found.

    `gone` are the keys of known rows that their own pages give up; all other rows that were not
    seen stand as they stood. `problem` says why a Run could not go on, if it could not. `inputs`
    are the figures that the rule was applied to. `ambiguous` are keys of rows of which this Run
    cannot tell which they are. `digest` is that of rows and facts (rules 14.13), None if the Run
    ended before there were rows. `complaint` is what came last instead of an answer to a window.
    """

    stop: ResearchStop
    pages: list[ResearchedPage]
    rows: list[ResearchedRow]
    gone: list[str] = field(default_factory=list)
    ambiguous: list[str] = field(default_factory=list)
    problem: Problem | None = None
    inputs: dict[str, Any] = field(default_factory=dict)
    digest: str | None = None
    complaint: str = ""

    @property
    def cancelled(self) -> bool:
        """Whether somebody ended it; a harness that broke stops by the same rule."""
        return self.stop == "cancelled" and self.problem is None

    @property
    def blocked(self) -> bool:
        """Whether every page that was asked for was refused."""
        asked = [page for page in self.pages if page.outcome != "unattempted"]
        return bool(asked) and all(page.refused for page in asked)


class ResearchHarvest(Harvest, frozen=True, kw_only=True):
    """What an attempt gathered, and what only a research Run knows beside it."""

    research: ResearchFindings

    @classmethod
    def of(cls, harvest: Harvest) -> Self:
        """The harvest of a Run that is known to be of research."""
        assert isinstance(harvest, cls)
        return harvest

    @property
    @override
    def output(self) -> HeldResearch:
        """The pages with their records, and all else that accepting them needs."""
        return HeldResearch(self.pages, self.research)


class HeldResearch(Struct, frozen=True):
    """The output of a research Run that is held: pages with records, and what was found."""

    pages: list[PageRead]
    research: ResearchFindings

    @property
    def harvest(self) -> ResearchHarvest:
        """The harvest that it was kept of."""
        ending = StopReason(self.research.stop)
        return ResearchHarvest(self.pages, ending, research=self.research)
