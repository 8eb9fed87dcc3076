"""SearXNG: a search server of one's own, without key and without price."""

from __future__ import annotations

import httpx2
import msgspec
from msgspec import Struct

from livedata.research.ports import SearchQuery
from livedata.research.providers.web_search import SearchResults, result


class SearXNG(Struct, frozen=True):
    """A SearXNG server; its settings must allow the format json."""

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
        answer = msgspec.json.decode(body, type=_Answer)
        return SearchResults(
            [
                result(rank, each.url, each.title, each.score)
                for rank, each in enumerate(answer.results[: query.most], 1)
            ],
            0,
        )


class _Result(Struct):
    url: str
    title: str | None = None
    score: float | None = None


class _Answer(Struct):
    results: list[_Result]
