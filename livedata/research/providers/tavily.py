"""Tavily: a search for programs. Without a key a few questions are free."""

from __future__ import annotations

from typing import Any

import httpx2
import msgspec
from msgspec import Struct, field

from livedata.research.ports import SearchQuery
from livedata.research.providers.web_search import SearchResults, result

ADDRESS = "https://api.tavily.com"
MOST_QUERY = 400
MOST_RESULTS = 20


class Tavily(Struct, frozen=True):
    """Tavily at its own address, or at one that speaks like it."""

    key: str
    base: str = ADDRESS

    @property
    def name(self) -> str:
        """Its name, as people set it."""
        return "tavily"

    @property
    def address(self) -> str:
        """The address that is asked."""
        return f"{self.base or ADDRESS}/search"

    @property
    def refusal(self) -> str:
        """What a 403 of it means, and what to do."""
        return "Tavily refuses the key"

    def request(self, client: httpx2.AsyncClient, query: SearchQuery) -> httpx2.Request:
        """The request for `query`."""
        asked: dict[str, Any] = {
            "query": query.query[:MOST_QUERY],
            "search_depth": query.depth,
            "max_results": min(query.most, MOST_RESULTS),
            "exclude_domains": query.exclude_domains,
            "include_usage": True,
        }
        keyless = {"X-Tavily-Access-Mode": "keyless"}
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else keyless
        return client.build_request("POST", self.address, json=asked, headers=headers)

    def read(self, body: bytes, query: SearchQuery) -> SearchResults:
        """The results in the provider's order."""
        answer = msgspec.json.decode(body, type=_Answer)
        return SearchResults(
            [
                result(rank, each.url, each.title, each.score)
                for rank, each in enumerate(answer.results[: query.most], 1)
            ],
            answer.usage.credits,
        )


class _Result(Struct):
    url: str
    title: str | None = None
    score: float | None = None


class _Usage(Struct):
    credits: float | None = None


class _Answer(Struct):
    results: list[_Result]
    usage: _Usage = field(default_factory=_Usage)
