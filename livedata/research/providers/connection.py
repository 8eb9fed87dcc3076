"""The model and the search of the settings, open for one Run.

The client of the model is imported with the first question.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

import httpx2
from msgspec import Struct
from typing_extensions import override

from livedata.model.research.answers import ModelAnswer
from livedata.model.research.settings import ResearchSettings
from livedata.research.ports import Model, Prices, Question, Search, prices_of
from livedata.research.providers.searches import Brave, SearXNG, Tavily
from livedata.research.providers.web_search import SearchProvider, WebSearch

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
