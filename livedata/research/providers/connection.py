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

from livedata.model.research.answers import ModelAnswer
from livedata.model.research.settings import ResearchSettings
from livedata.research.ports import Model, Prices, Question, Search, prices_of
from livedata.research.providers.brave import Brave
from livedata.research.providers.http_client import http_client
from livedata.research.providers.searxng import SearXNG
from livedata.research.providers.tavily import Tavily
from livedata.research.providers.web_search import SearchProvider, WebSearch

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
