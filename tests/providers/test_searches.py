"""Each search provider is asked in its own way; results have no snippets, failures a reason."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from livedata.model.research.answers import Failed, SearchAnswer
from livedata.model.research.settings import ResearchSettings, SearchProvider
from livedata.research.ports import SearchQuery
from livedata.research.providers.connection import connected
from tests.servers.search import Found, SearchServer, Trouble

KEY = "tvly-secret-456"
PAGES = {
    "modules": [
        Found("https://a.example/list", "All\n modules", 0.9),
        Found("https://b.example/one", "", 0.4),
        Found("javascript:alert(1)", "odd", 0.1),
    ]
}
PROVIDERS: tuple[SearchProvider, ...] = ("tavily", "searxng", "brave")


def search(
    server: SearchServer, provider: SearchProvider, query: str = "apache modules", **settings: Any
) -> SearchAnswer:
    told = ResearchSettings(
        model="m", search=provider, search_url=server.base_url, search_key=KEY, **settings
    )

    async def searched() -> SearchAnswer:
        async with connected(told) as providers:
            assert providers.search is not None
            assert providers.search.address.startswith(server.base_url)
            return await providers.search.search(SearchQuery(query, "basic", ("x.example",), 2))

    return asyncio.run(searched())


@pytest.mark.parametrize("provider", PROVIDERS)
def test_results_come_in_the_provider_s_order_without_snippets(provider: SearchProvider) -> None:
    with SearchServer(PAGES) as server:
        answer = search(server, provider)
    assert not isinstance(answer.results, Failed)
    assert [(each.rank, each.url, each.title) for each in answer.results] == [
        (1, "https://a.example/list", "All modules"),
        (2, "https://b.example/one", ""),
    ]
    assert "SNIPPET" not in str(answer)
    scores = [each.score for each in answer.results]
    assert scores == ([1.0, 0.5] if provider == "brave" else [0.9, 0.4])
    assert answer.usage.provider == provider
    assert answer.usage.search_credits == (0 if provider == "searxng" else 1)


# The title and the address in JSON, and what is made of them.
ODD = {
    r'"A\ud83d\ude00"': "A\U0001f600",
    r'"A\ud83d"': "A\ufffd",
    r'"A\udc00\ud83d b"': "A\ufffd\ufffd b",
    r'"A\u0000"': "A\ufffd",
    r'"C:\\ud800"': r"C:\ud800",
    '"A\0"': "A\ufffd",
}


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_character_in_one_result_costs_no_other(odd: str) -> None:
    results = f'{{"url": "https://a.example/", "title": {odd}}}, {{"url": "https://b.example/"}}'
    with SearchServer(PAGES) as server:
        server.trouble = Trouble(200, body=f'{{"results": [{results}]}}')
        answer = search(server, "searxng")
    assert not isinstance(answer.results, Failed)
    assert [each.title for each in answer.results] == [ODD[odd], ""]


def test_each_provider_is_asked_in_its_own_way() -> None:
    with SearchServer(PAGES) as server:
        for provider in PROVIDERS:
            search(server, provider)
        tavily, searxng, brave = server.requests
    assert json.loads(tavily.body) == {
        "query": "apache modules",
        "search_depth": "basic",
        "max_results": 2,
        "exclude_domains": ["x.example"],
        "include_usage": True,
    }
    assert tavily.headers["authorization"] == f"Bearer {KEY}"
    assert searxng.query["q"] == "apache modules -site:x.example"
    assert searxng.query["format"] == "json"
    assert brave.query["q"] == "apache modules -site:x.example"
    assert brave.query["count"] == "2"
    assert brave.headers["x-subscription-token"] == KEY
    assert KEY not in searxng.target + brave.target + str(searxng.headers)


def test_tavily_is_asked_without_a_key_if_there_is_none() -> None:
    with SearchServer(PAGES) as server:
        told = ResearchSettings(model="m", search="tavily", search_url=server.base_url)

        async def searched() -> SearchAnswer:
            async with connected(told) as providers:
                assert providers.search is not None
                return await providers.search.search(SearchQuery("modules", "basic", (), 5))

        asyncio.run(searched())
    assert server.requests[0].headers["x-tavily-access-mode"] == "keyless"
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_results_are_no_failure(provider: SearchProvider) -> None:
    with SearchServer(PAGES) as server:
        assert search(server, provider, "nothing of it").results == []


# Provider, what goes wrong how often, the requests made, words of the detail ("" : it succeeds).
TROUBLES: dict[str, tuple[SearchProvider, Trouble, int, str]] = {
    "broken once": ("searxng", Trouble(500), 2, ""),
    "cut off once": ("brave", Trouble(0), 2, ""),
    "asked too often once": ("tavily", Trouble(429, headers={"Retry-After": "0"}), 2, ""),
    "broken twice": ("tavily", Trouble(500, 2, f"down, {KEY}\x1b[31m"), 2, "status 500: down, "),
    "cut off twice": ("brave", Trouble(0, 2), 2, "disconnected"),
    "told to wait for an hour": (
        "tavily",
        Trouble(429, headers={"Retry-After": "3600"}),
        1,
        "0.3 s",
    ),
    "a wrong key": ("tavily", Trouble(401, body=f"bad key {KEY}"), 1, "status 401: bad key ***"),
    "forbidden": ("brave", Trouble(403), 1, "Brave refuses the key"),
    "redirected": ("searxng", Trouble(302, headers={"Location": "http://127.0.0.1:9/"}), 1, "302"),
    "a page instead of JSON": ("searxng", Trouble(200, body="<html>"), 1, "another shape"),
    "another shape": ("tavily", Trouble(200, body='{"results": [{"url": 7}]}'), 1, "another shape"),
    "too large": ("brave", Trouble(200, 2, body=" " * 5_000_000), 2, "4 MiB"),
    "compressed": ("brave", Trouble(200, 2, headers={"Content-Encoding": "gzip"}), 2, "gzip"),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_a_search_is_repeated_once_and_then_says_why_it_failed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, trouble, requests, words = TROUBLES[name]
    monkeypatch.setattr("livedata.research.providers.web_search.PAUSE", 0.01)
    with SearchServer(PAGES) as server:
        server.trouble = trouble
        answer = search(server, provider, model_seconds=0.3 if "hour" in name else 10)
    assert len(server.queries) == answer.usage.requests == requests
    if not words:
        assert not isinstance(answer.results, Failed)
        return
    assert isinstance(answer.results, Failed)
    assert answer.results.code == "search_failed"
    assert words in answer.results.detail
    assert KEY not in answer.results.detail
    assert "\x1b" not in answer.results.detail


def test_a_searxng_that_does_not_answer_in_json_names_its_setting() -> None:
    with SearchServer(PAGES, json_allowed=False) as server:
        answer = search(server, "searxng")
    assert isinstance(answer.results, Failed)
    assert "formats: [html, json]" in answer.results.detail
