"""The model and the search of the settings, open for one Run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from msgspec import Struct

from livedata.model.research.settings import ResearchSettings
from livedata.research.ports import Model, Search
from livedata.research.providers.brave import Brave
from livedata.research.providers.http_client import http_client
from livedata.research.providers.model_on_demand import ModelOnDemand
from livedata.research.providers.searxng import SearXNG
from livedata.research.providers.tavily import Tavily
from livedata.research.providers.web_search import SearchProvider, WebSearch


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
