"""What the model, the search provider and the sites answer a research Run."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from livedata.model.research.recipe import EntityKind
from livedata.model.run import FailureReason

CallFailure = Literal[
    "model_invalid_output",
    "model_output_cut",
    "model_refused",
    "model_auth",
    "model_unavailable",
    "search_failed",
    "token_limit",
    "cost_limit",
]
"""Why there is no answer; by the last two nobody was asked, since the owner's day is used up."""


class CallUsage(Struct, frozen=True):
    """What a call took: None is what nobody told, and never 0 by guess.

    `requests` counts the HTTP requests, those that were refused or repeated too. `most_tokens` and
    `most_usd` are what counts against the limits of a Run if nobody told.
    """

    provider: str
    model: str | None = None
    requests: int = 1
    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None
    search_credits: float | None = None
    most_tokens: int | None = None
    most_usd: float | None = None


class Failed(Struct, frozen=True):
    """A call without a valid answer; `detail` is the provider's own words, cut and without keys."""

    code: CallFailure
    detail: str = ""


class ModelAnswer(Struct, frozen=True):
    """What a model answered: JSON of the shape that was asked for, or why there is none."""

    body: str | Failed
    usage: CallUsage


NO_CHARACTER = "\ufffd"
"""Stands in the words of a search for what is no character."""


class SearchResult(Struct, frozen=True):
    """One result in the provider's order, from rank 1; what it says of the page is not kept."""

    rank: int
    url: str
    title: str
    score: float | None = None


class SearchAnswer(Struct, frozen=True):
    """The results of a search, or why there are none."""

    results: list[SearchResult] | Failed
    usage: CallUsage


class PageText(Struct, frozen=True):
    """A page as the model sees it: its text, and the links on it as (text, address).

    `url` is what was asked for, `final_url` what answered, `digest` the hex SHA-256 of the body as
    decoded, `at` the moment in microseconds since 1970, UTC. `cut` says that the page is longer.
    """

    url: str
    final_url: str
    status: int
    title: str
    text: str
    links: list[tuple[str, str]]
    digest: str
    at: int
    cut: bool = False


class Unread(Struct, frozen=True):
    """A page that could not be read; `origin` is where it was answered, without path or query."""

    url: str
    reason: FailureReason
    status: int | None = None
    origin: str | None = None


class OfferedCell(Struct, frozen=True, forbid_unknown_fields=True):
    """One cell as the model gave it."""

    attribute: str
    value: str | None
    quote: str | None
    reason: Literal["not_found", "not_applicable", "unknown"] | None


class ScopeValue(Struct, frozen=True, forbid_unknown_fields=True):
    """The value of one scope field of a row."""

    label: str
    value: str


class OfferedRow(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One entity as the model gave it; `official_url` is an index into the links of the page."""

    name: str
    name_quote: str
    official_url: int | None
    aliases: list[str]
    scope: list[ScopeValue]
    cells: list[OfferedCell]


class OfferedRows(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The answer to one window: at most 25 rows, and whether there are more in it."""

    rows: list[OfferedRow]
    has_more: bool


class OfferedAttribute(Struct, frozen=True, forbid_unknown_fields=True):
    """One question of a plan as the model gave it."""

    label: str
    description: str


class OfferedIdentity(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What a row of a plan stands for."""

    description: str
    kind: EntityKind
    scope_fields: list[str]


class OfferedPlan(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The answer to a question for a plan.

    The rules judge a plan as this, also one that a person has written: it is converted to it by its
    own names. Beside the words of the store (`stored.PlanWords`), it refuses what nobody asked for.
    """

    title: str
    row_meaning: str
    name_label: str
    query: str
    row_identity: OfferedIdentity
    attributes: list[OfferedAttribute]
