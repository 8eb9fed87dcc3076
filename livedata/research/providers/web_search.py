"""A search over HTTP: one request, repeated once, and its answer read as results."""

from __future__ import annotations

import asyncio
import re
from typing import Protocol

import httpx2
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from livedata.model.research.answers import (
    NO_CHARACTER,
    CallUsage,
    Failed,
    SearchAnswer,
    SearchResult,
)
from livedata.research.ports import SearchQuery
from livedata.research.providers.complaint import complaint, first_sentence

PAUSE = 0.5
"""Seconds before a search is repeated, if the provider does not name any."""
MOST_TITLE = 500
# Both halves of a pair are one character; an escaped backslash begins no escape.
_ESCAPE = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|\0")
_NO_CHARACTER = re.compile(r"\\u(?:[dD][89a-fA-F]..|0000)|\0")


class SearchResults(Struct, frozen=True):
    """What a provider found, without its snippets, and what it took if it says so."""

    results: list[SearchResult]
    credits: float | None


class SearchProvider(Protocol):
    """How one provider is asked, and how its answer is read."""

    @property
    def name(self) -> str:
        """Its name, as people set it."""

    @property
    def address(self) -> str:
        """The address that is asked."""

    @property
    def key(self) -> str:
        """Its key, which must never be shown."""

    @property
    def refusal(self) -> str:
        """What a 403 of it means, and what to do."""

    def request(self, client: httpx2.AsyncClient, query: SearchQuery) -> httpx2.Request:
        """The request for `query`."""

    def read(self, body: bytes, query: SearchQuery) -> SearchResults:
        """The results in the provider's order. Raises msgspec.MsgspecError for another shape."""


class WebSearch:
    """A search with one provider, for one Run on its loop."""

    def __init__(
        self, provider: SearchProvider, client: httpx2.AsyncClient, seconds: float
    ) -> None:
        self._provider = provider
        self._client = client
        self._seconds = seconds

    @property
    def address(self) -> str:
        """The address of the provider; no setting lets it have a password."""
        return self._provider.address

    async def search(self, query: SearchQuery) -> SearchAnswer:
        """The results, or why there are none after a second try."""
        requests = 0
        outcome: SearchResults | Failed | float = PAUSE
        try:
            async with asyncio.timeout(self._seconds):
                while not isinstance(outcome, (SearchResults, Failed)):
                    await asyncio.sleep(outcome if requests else 0)
                    requests += 1
                    outcome = await self._asked(query, is_last=requests == 2)
        except TimeoutError:
            outcome = Failed("search_failed", f"no complete answer within {self._seconds:g} s")
        usage = CallUsage(self._provider.name, requests=requests)
        if isinstance(outcome, Failed):
            return SearchAnswer(outcome, usage)
        return SearchAnswer(outcome.results, replace(usage, search_credits=outcome.credits))

    async def _asked(self, query: SearchQuery, *, is_last: bool) -> SearchResults | Failed | float:
        """The results; else why there are none, or the seconds after which to ask again."""
        try:
            response = await self._client.send(self._provider.request(self._client, query))
        except httpx2.HTTPError as error:
            return self._failed(str(error) or type(error).__name__) if is_last else PAUSE
        if response.status_code == 200:
            return self._read(response, query)
        if response.status_code == 403:
            return self._failed(f"status 403: {self._provider.refusal}")
        if is_last or response.status_code < 429:
            return self._failed(f"status {response.status_code}: {first_sentence(response.text)}")
        return _wait(response)

    def _read(self, response: httpx2.Response, query: SearchQuery) -> SearchResults | Failed:
        try:
            return self._provider.read(_readable(response.content), query)
        except msgspec.MsgspecError as error:
            return self._failed(f"an answer of another shape: {error}")

    def _failed(self, said: str) -> Failed:
        return Failed("search_failed", complaint(said, self._provider.key))


def result(rank: int, url: str, title: str | None, score: float | None) -> SearchResult:
    """A result on one line."""
    return SearchResult(rank, url, " ".join((title or "").split())[:MOST_TITLE], score)


def _readable(body: bytes) -> bytes:
    """The JSON without what is no character: one result with it must not cost all others."""
    text = body.decode(errors="replace")
    return _ESCAPE.sub(_repaired, text).encode()


def _repaired(escape: re.Match[str]) -> str:
    return NO_CHARACTER if _NO_CHARACTER.fullmatch(escape[0]) else escape[0]


def _wait(response: httpx2.Response) -> float:
    asked = response.headers.get("retry-after", "")
    return float(asked) if asked.isdecimal() else PAUSE
