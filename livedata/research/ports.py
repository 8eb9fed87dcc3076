"""What the harness asks of the world: a model, a search provider, sites, and who records it.

A replay meets the same ports with what was recorded, so nothing else may reach a Run: no clock,
no chance.
"""

from __future__ import annotations

from typing import Literal, Protocol

from msgspec import Struct

from livedata.model.research.answers import ModelAnswer, PageText, SearchAnswer, Unread
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import ResearchStep
from livedata.model.research.settings import ResearchSettings
from livedata.model.run import Phase


class RunOver(Exception):
    """Nothing of this Run may begin any more: its time has expired, or somebody has cancelled it.

    `cut_off` says that a call was under way by then, which may have to be paid for.
    """

    def __init__(self, rule: Literal["deadline", "cancelled"], *, cut_off: bool = False) -> None:
        super().__init__(rule)
        self.rule: Literal["deadline", "cancelled"] = rule
        self.cut_off = cut_off


class Question(Struct, frozen=True):
    """What a model is asked: the one system text, one message, and the JSON schema of the answer.

    It may answer with `most_output` tokens, and be asked `requests` times until it is valid.
    `source_url` and `window` say where the answer is recorded, by which a replay finds it.
    """

    kind: Literal["plan", "rows"]
    system: str
    message: str
    schema: str
    most_output: int
    requests: int
    source_url: str = ""
    window: str = ""


class Place(Struct, frozen=True):
    """Where an answer is recorded, by which a replay finds it."""

    source_url: str
    window: str


class Prices(Struct, frozen=True):
    """US dollars per million tokens."""

    input: float
    output: float


class Model(Protocol):
    """Answers questions in JSON."""

    @property
    def name(self) -> str:
        """The name of the model, as the operator set it."""

    @property
    def prices(self) -> Prices | None:
        """What it costs; None if nobody knows."""

    async def ask(self, question: Question) -> ModelAnswer:
        """The answer, or why there is none. Raises RunOver."""


class SearchQuery(Struct, frozen=True):
    """What is searched for; `most` results are wanted."""

    query: str
    depth: str
    exclude_domains: tuple[str, ...]
    most: int


class Search(Protocol):
    """Finds pages."""

    @property
    def address(self) -> str:
        """The address of the provider, without anything secret."""

    async def search(self, query: SearchQuery) -> SearchAnswer:
        """The results, or why there are none: the provider is asked twice before it has failed."""


class Sites(Protocol):
    """Reads pages, as politely and as guarded as any Run."""

    async def read(self, url: str) -> PageText | Unread:
        """The page, or why it cannot be read. Raises RunOver."""

    async def leave(self) -> None:
        """Let others read the last site, since nothing more is read."""


class Recorder(Protocol):
    """Keeps what happens; ids and moments are its own."""

    def begin(self, phase: Phase, url: str | None = None) -> ResearchStep:
        """A step that begins now; it is kept when it ends."""

    def new_id(self) -> str:
        """The id of an artifact."""

    async def end(self, step: ResearchStep) -> None:
        """Set when a step ended, and keep it with all that it recorded, at once and for good."""

    async def recall(self, kind: str, request_digest: str, place: Place) -> str | None:
        """The body of the newest answer to just this that was asked for within 30 days.

        It holds an `answer`. One that was reused itself was not asked for. The same may be asked
        for at several places, of a page that repeats itself.
        """

    async def pin(self, plan: str) -> ResearchRecipe:
        """Pin the plan of the first Run (its JSON): the recipe with its fields."""


class Ports(Struct, frozen=True):
    """All that a Run reaches; without `search` only the recipe's own pages are read."""

    model: Model
    search: Search | None
    sites: Sites
    recorder: Recorder


def prices_of(settings: ResearchSettings) -> Prices | None:
    """What the operator says that the model costs."""
    price_in, price_out = settings.model_price_in, settings.model_price_out
    return None if price_in is None or price_out is None else Prices(price_in, price_out)
