"""The pages that a Run may read, in their order: rules 14.3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from livedata.extraction.pagination import canonical_url
from livedata.model.problem import Problem
from livedata.model.research.answers import (
    NO_CHARACTER,
    CallFailure,
    CallUsage,
    Failed,
    SearchAnswer,
    SearchResult,
)
from livedata.model.research.recipe import SEARCHED, ResearchRecipe
from livedata.model.research.record import KnownRow, ResearchStep
from livedata.research.journal import Journal, fact, request_digest
from livedata.research.ports import Ports, RunOver, Search, SearchQuery

DEPTH = "basic"
MOST_RESULTS = 100
"""Results that are kept of the one answer, read or not; it costs the same however many are kept."""


class ResearchSource(Struct, frozen=True):
    """A page that may be read; `rows` are (key, name) of those that rest on it.

    `fault` is the code of the reason why it is not read, if it is not.
    """

    url: str
    origin: Literal["explicit_source", "known_source", "candidate_found"]
    rows: tuple[tuple[str, str], ...] = ()
    title: str | None = None
    fault: str | None = None


class Found(Struct, frozen=True):
    """What a search gave, or why it failed."""

    results: list[SearchResult] = field(default_factory=list)
    problem: Problem | None = None


class RecordedSearch(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The body of a search: what was asked, and what came back, without words of the pages."""

    query: str
    depth: str
    exclude_domains: tuple[str, ...]
    results: list[SearchResult] = field(default_factory=list)
    credits: float | None = None
    failure: CallFailure | None = None
    detail: str = ""


def known_sources(rows: Sequence[KnownRow]) -> list[ResearchSource]:
    """The pages that present rows rest on; those that their names were quoted from come first."""
    present = [row for row in rows if row.presence == "present"]
    named: dict[str, list[tuple[str, str]]] = {}
    for row in present:
        url, name = row.cells[0].url, row.cells[0].value
        if url is not None:
            named.setdefault(url, []).append((row.key, name or ""))
    others = {cell.url: None for row in present for cell in row.cells if cell.url is not None}
    return [
        ResearchSource(url, "known_source", tuple(named.get(url, ())))
        for url in {**named, **others}
    ]


def in_order(
    recipe: ResearchRecipe, rows: Sequence[KnownRow], results: Iterable[SearchResult]
) -> list[ResearchSource]:
    """All sources; those that are no pages, or pages that stand before them, say so."""
    known = known_sources(rows)
    resting = {canonical_url(source.url): source.rows for source in known}
    sources = [
        *(
            ResearchSource(u, "explicit_source", resting.get(canonical_url(u), ()))
            for u in recipe.urls
        ),
        *known,
        *(ResearchSource(each.url, "candidate_found", title=each.title) for each in results),
    ]
    seen: set[str] = set()
    ordered: dict[str, ResearchSource] = {}
    for source in sources:
        fault = None
        if not _is_http(source.url):
            fault = "unsafe_target"
        elif canonical_url(source.url) in seen:
            fault = "duplicate_url"
        else:
            seen.add(canonical_url(source.url))
        # An address that is there already is no other page.
        ordered.setdefault(source.url, replace(source, fault=fault))
    return list(ordered.values())


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        # Read only to see whether it is one: a port above 65535 raises.
        _ = parts.port
    except ValueError:
        return False
    is_whole = NO_CHARACTER not in url
    return is_whole and parts.scheme in ("http", "https") and bool(parts.hostname)


def search_digest(query: SearchQuery) -> str:
    """The digest of what is searched for."""
    return request_digest(query.query, query.depth, query.exclude_domains)


async def search(recipe: ResearchRecipe, ports: Ports, journal: Journal) -> Found:
    """The results of the plan's query. Raises RunOver."""
    assert recipe.plan is not None
    query = SearchQuery(recipe.plan.query, DEPTH, (), MOST_RESULTS)
    step = journal.begin("search")
    address = SEARCHED if ports.search is None else ports.search.address
    async with journal.cancelled_if_over(step):
        answer = await _answer(ports.search, query, step)
    body = _recorded(query, answer)
    artifact = journal.keep(step, "search.results", address, body, search_digest(query))
    if answer is None or isinstance(answer.results, Failed):
        step.facts.append(fact("search_failed", artifact, detail=body.detail))
        await journal.end(step, "failed")
        return Found(problem=Problem("research.search_failed", {"detail": body.detail}))
    step.facts += [
        fact("candidate_found", artifact, url=result.url, detail=f"rank {result.rank}")
        for result in answer.results
    ]
    await journal.end(step)
    return Found(answer.results)


async def _answer(
    search: Search | None, query: SearchQuery, step: ResearchStep
) -> SearchAnswer | None:
    if search is None:
        return None
    try:
        answer = await search.search(query)
    except RunOver as over:
        if over.cut_off:
            step.calls.append(CallUsage(""))
        raise
    step.calls.append(answer.usage)
    return answer


def _recorded(query: SearchQuery, answer: SearchAnswer | None) -> RecordedSearch:
    asked = (query.query, query.depth, query.exclude_domains)
    if answer is None:
        return RecordedSearch(*asked, failure="search_failed")
    cost = answer.usage.search_credits
    if isinstance(answer.results, Failed):
        failed = answer.results
        return RecordedSearch(*asked, credits=cost, failure=failed.code, detail=failed.detail)
    return RecordedSearch(*asked, results=answer.results, credits=cost)
