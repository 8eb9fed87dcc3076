"""The model and the search of the settings, open for one Run.

The client of the model is imported with the first question.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

import httpx2
import msgspec
from msgspec import Struct, field
from typing_extensions import override

from livedata.model.research.answers import ModelAnswer
from livedata.model.research.settings import ResearchSettings
from livedata.research.ports import Model, Prices, Question, Search, SearchQuery, prices_of
from livedata.research.providers.web_search import SearchProvider, SearchResults, WebSearch, result

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


MOST_BYTES = 4 * 1024 * 1024
"""Bytes of an answer, headers apart: more than any model or search gives out in one."""


class AnswerTooLarge(httpx2.ReadError):
    """An answer has more bytes than a provider ever needs."""


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """Reads no more of an answer than `MOST_BYTES`, and nothing that grows when it is unpacked."""

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        encoding = response.headers.get("content-encoding", "identity")
        if encoding != "identity":
            await response.aclose()
            raise httpx2.DecodingError(f"compressed as {encoding}, which was not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_BoundedStream(response.stream),
            extensions=response.extensions,
        )


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > MOST_BYTES:
                raise AnswerTooLarge("the answer is larger than 4 MiB")
            yield chunk

    @override
    async def aclose(self) -> None:
        await self._stream.aclose()


def http_client(seconds: float) -> httpx2.AsyncClient:
    """A client for the loop that runs; each step of a request may take `seconds`."""
    # The guard of addresses is not asked: it is the operator who names model and search.
    return httpx2.AsyncClient(
        transport=BoundedTransport(trust_env=False),
        headers={"Accept-Encoding": "identity"},
        timeout=seconds,
        follow_redirects=False,
        trust_env=False,
    )


CLIENT = "livedata.research.providers.openai"


class ModelOnDemand:
    """The model that the operator set. A Run of unchanged pages asks nothing, and imports nothing.

    The client takes two seconds and 60 MiB to import.
    """

    def __init__(self, settings: ResearchSettings, client: httpx2.AsyncClient) -> None:
        self._settings = settings
        self._client = client
        self._importing = asyncio.Lock()
        self._model: Model | None = None

    @property
    def name(self) -> str:
        """The name of the model, as the operator set it."""
        return self._settings.model

    @property
    def prices(self) -> Prices | None:
        """What the operator says that it costs."""
        return prices_of(self._settings)

    async def ask(self, question: Question) -> ModelAnswer:
        """The valid answer as JSON, or why there is none."""
        async with self._importing:
            if self._model is None:
                self._model = await self._imported()
        return await self._model.ask(question)

    async def _imported(self) -> Model:
        # In a thread, because other Runs of the process go on meanwhile.
        await asyncio.to_thread(import_module, CLIENT)
        from livedata.research.providers.openai import OpenAIModel

        return OpenAIModel(self._settings, self._client)


class Providers(Struct, frozen=True):
    """Who answers a Run's questions and searches; nobody searches if none is set."""

    model: Model
    search: Search | None


@asynccontextmanager
async def connected(settings: ResearchSettings) -> AsyncIterator[Providers]:
    """The providers that are set, over one HTTP client that lives on the running loop.

    They know nothing of the Run's end: who may not begin any more does not ask.
    """
    async with http_client(settings.model_seconds) as client:
        yield Providers(ModelOnDemand(settings, client), _search(settings, client))


def _search(settings: ResearchSettings, client: httpx2.AsyncClient) -> Search | None:
    provider = _provider(settings)
    return None if provider is None else WebSearch(provider, client, settings.model_seconds)


def _provider(settings: ResearchSettings) -> SearchProvider | None:
    match settings.search:
        case "tavily":
            return Tavily(settings.search_key, settings.search_url)
        case "searxng":
            return SearXNG(settings.search_url)
        case "brave":
            return Brave(settings.search_key, settings.search_url)
        case "none":
            return None
