"""Brave Search: an index of its own, with a key."""

from __future__ import annotations

import httpx2
import msgspec
from msgspec import Struct, field

from livedata.research.ports import SearchQuery
from livedata.research.providers.web_search import SearchResults, result

ADDRESS = "https://api.search.brave.com"
MOST_QUERY = 400
MOST_RESULTS = 20


class Brave(Struct, frozen=True):
    """Brave at its own address, or at one that speaks like it."""

    key: str
    base: str = ADDRESS

    @property
    def name(self) -> str:
        """Its name, as people set it."""
        return "brave"

    @property
    def address(self) -> str:
        """The address that is asked."""
        return f"{self.base or ADDRESS}/res/v1/web/search"

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
        results = msgspec.json.decode(body, type=_Answer).web.results
        return SearchResults(
            [
                result(rank, each.url, each.title, 1 / rank)
                for rank, each in enumerate(results[: query.most], 1)
            ],
            1,
        )


class _Result(Struct):
    url: str
    title: str | None = None


class _Web(Struct):
    results: list[_Result] = field(default_factory=list)


class _Answer(Struct):
    # Without any result the whole part is left out.
    web: _Web = field(default_factory=_Web)
