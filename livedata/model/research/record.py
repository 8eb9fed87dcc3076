"""What a research Run knows when it begins, and records as it goes; a replay is given the same."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from livedata.model.research.answers import CallUsage, Unread
from livedata.model.research.recipe import EntityKind
from livedata.model.research.settings import DayBudget
from livedata.model.row import MissingReason, Presence
from livedata.model.run import Phase, Stage, StepStatus

ArtifactKind = Literal[
    "planning.output", "search.results", "page.text", "page.failure", "extraction.output"
]
LONGEST_BODY = 64 * 1024
"""Bytes of an artifact's body; of a longer one only hash and size are kept (interface 8)."""


class KnownEntity(Struct, frozen=True):
    """An entity that has a key: minted once, it never changes.

    `names` and `urls` are the folded ones by which it is found again; `aliases` as they were
    quoted, first seen first. `scope` are (label, folded value), sorted.
    """

    key: str
    kind: EntityKind
    anchor: str
    scope: tuple[tuple[str, str], ...]
    names: tuple[str, ...]
    urls: tuple[str, ...]
    aliases: tuple[str, ...]


class KnownCell(Struct, frozen=True):
    """A cell as the source had it last, with the page and the text that it was read from."""

    value: str | None
    reason: MissingReason | None
    url: str | None
    quote: str | None


class KnownRow(Struct, frozen=True):
    """A row as it stands; `cells` are in the order of the recipe's fields."""

    key: str
    presence: Presence
    cells: list[KnownCell]


class Spent(Struct, frozen=True):
    """What the earlier attempts of a Run have used; `pages` are the addresses they asked for."""

    pages: tuple[str, ...] = ()
    tokens: int = 0
    usd: float = 0.0


class Memory(Struct, frozen=True):
    """All that was known: entities of accepted Runs, rows, and what this Run has spent before.

    A `fresh` Run takes no answer from before it; each of its attempts is so. `day` is the owner's
    day as it stood then, None if it has no limit.
    """

    entities: list[KnownEntity] = field(default_factory=list)
    rows: list[KnownRow] = field(default_factory=list)
    spent: Spent = field(default_factory=Spent)
    fresh: bool = False
    day: DayBudget | None = None


class ResearchFact(Struct, frozen=True):
    """One thing that happened, never changed afterwards (rules 14.12).

    `evidence` is the id of an artifact, else of a step. `url` is the page it happened on, as it was
    asked for, and `entity` the name as offered or as the row has it; a fact without an entity is
    about the whole page. `candidate` is an offered row, the same in all facts about it: the id of
    its extraction and its place there. `key` is the entity's key once it is known, `field` the id
    of a column.
    """

    stage: Stage
    code: str
    evidence: str
    failure: bool = False
    detail: str = ""
    url: str | None = None
    entity: str | None = None
    key: str | None = None
    field: str | None = None
    candidate: str | None = None


class Merge(Struct, frozen=True):
    """The detail of a `row_merged`, as JSON: what a later page offers for a row that is there.

    `winner` is the page of the row, `offered` are the fields that the later page has a value for,
    `merged` those of them that were empty before.
    """

    winner: str
    offered: list[str]
    merged: list[str]


class Artifact(Struct, frozen=True):
    """A body recorded at the seam to a provider or a site, by which a Run can be replayed.

    `request_digest` is the hex SHA-256 of what was asked. `window` tells the answers for one page
    apart, and the bodies of a long page: "" where there is one, else the place of its text on the
    page, such as "0-16000".
    `reused` says that it is an answer from before, which cost nothing.
    """

    id: str
    kind: ArtifactKind
    source_url: str
    body: str
    request_digest: str
    window: str = ""
    reused: bool = False


class RecordedArtifact(Struct, frozen=True):
    """An artifact as it was kept, with the hex SHA-256 of its body; a long body is None."""

    id: str
    kind: ArtifactKind
    source_url: str
    body: str | None
    request_digest: str
    window: str
    attempt: str
    hash: str
    reused: bool


class RecordedCall(Struct, frozen=True):
    """What one call took, and the phase that made it."""

    phase: Phase
    usage: CallUsage


class RowCounts(Struct, frozen=True):
    """The rows of one window (interface 2.11): candidates = rejected + matched, at most 25."""

    candidates: int
    rejected: int
    matched: int


class ResearchStep(Struct, kw_only=True):
    """One step of an attempt with what it recorded, written when it ends.

    Moments are microseconds since 1970, UTC.
    """

    id: str
    phase: Phase
    started: int
    ended: int | None = None
    status: StepStatus = "running"
    url: str | None = None
    failure: Unread | None = None
    counts: RowCounts | None = None
    facts: list[ResearchFact] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)
    calls: list[CallUsage] = field(default_factory=list)
