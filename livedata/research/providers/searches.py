"""The searches that can be set: how each is asked, and how its answer is read."""

from __future__ import annotations

from typing import Any

import httpx2
import msgspec
from msgspec import Struct, field

from livedata.research.ports import SearchQuery
from livedata.research.providers.web_search import SearchResults, result

BRAVE = "https://api.search.brave.com"
TAVILY = "https://api.tavily.com"
MOST_QUERY = 400
MOST_RESULTS = 20


class Brave(Struct, frozen=True):
    """Brave Search, an index of its own, at its address or at one that speaks like it."""

    key: str
    base: str = BRAVE

    @property
    def name(self) -> str:
        """Its name, as people set it."""
        return "brave"

    @property
    def address(self) -> str:
        """The address that is asked."""
        return f"{self.base or BRAVE}/res/v1/web/search"

    @property
    def refusal(self) -> str:
        """What a 403 of it means, and what to do."""
        return "Brave refuses the key"

    def request(self, client: httpx2.AsyncClient, query: SearchQuery) -> httpx2.Request:
        """The request for `query`."""
        words = [query.query, *(f"-site:{domain}" for domain in query.exclude_domains)]
        asked = {
            "q": " ".join(words)[:MOST_QUERY],
            "count": str(min(query.most, MOST_RESULTS)),
            "result_filter": "web",
        }
        return client.build_request(
            "GET", self.address, params=asked, headers={"X-Subscription-Token": self.key}
        )

    def read(self, body: bytes, query: SearchQuery) -> SearchResults:
        """The results in the provider's order, each scored by its rank, since Brave gives none."""
        results = msgspec.json.decode(body, type=_BraveAnswer).web.results
        return SearchResults(
            [
                result(rank, each.url, each.title, 1 / rank)
                for rank, each in enumerate(results[: query.most], 1)
            ],
            1,
        )


class SearXNG(Struct, frozen=True):
    """A SearXNG server of one's own; its settings must allow the format json."""

    base: str

    @property
    def name(self) -> str:
        """Its name, as people set it."""
        return "searxng"

    @property
    def key(self) -> str:
        """It has none."""
        return ""

    @property
    def address(self) -> str:
        """The address that is asked."""
        return f"{self.base}/search"

    @property
    def refusal(self) -> str:
        """What a 403 of it means, and what to do."""
        return (
            "SearXNG does not answer in JSON until its settings.yml lists json: "
            "search: formats: [html, json]"
        )

    def request(self, client: httpx2.AsyncClient, query: SearchQuery) -> httpx2.Request:
        """The request for `query`."""
        # It has no parameter for them: engines behind it know the minus sign.
        words = [query.query, *(f"-site:{domain}" for domain in query.exclude_domains)]
        return client.build_request(
            "GET", self.address, params={"q": " ".join(words), "format": "json", "pageno": "1"}
        )

    def read(self, body: bytes, query: SearchQuery) -> SearchResults:
        """The results in the server's order."""
        answer = msgspec.json.decode(body, type=_SearXNGAnswer)
        return SearchResults(
            [
                result(rank, each.url, each.title, each.score)
                for rank, each in enumerate(answer.results[: query.most], 1)
            ],
            0,
        )


class Tavily(Struct, frozen=True):
    """Tavily, a search for programs; without a key a few questions are free."""

    key: str
    base: str = TAVILY

    @property
    def name(self) -> str:
        """Its name, as people set it."""
        return "tavily"

    @property
    def address(self) -> str:
        """The address that is asked."""
        return f"{self.base or TAVILY}/search"

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
        answer = msgspec.json.decode(body, type=_TavilyAnswer)
        return SearchResults(
            [
                result(rank, each.url, each.title, each.score)
                for rank, each in enumerate(answer.results[: query.most], 1)
            ],
            answer.usage.credits,
        )


class _Ranked(Struct):
    url: str
    title: str | None = None


class _Scored(_Ranked):
    score: float | None = None


class _BraveResults(Struct):
    results: list[_Ranked] = field(default_factory=list)


class _BraveAnswer(Struct):
    # Without any result the whole part is left out.
    web: _BraveResults = field(default_factory=_BraveResults)


class _SearXNGAnswer(Struct):
    results: list[_Scored]


class _TavilyUsage(Struct):
    credits: float | None = None


class _TavilyAnswer(Struct):
    results: list[_Scored]
    usage: _TavilyUsage = field(default_factory=_TavilyUsage)
