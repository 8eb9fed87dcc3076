"""A search server on loopback that answers as SearXNG, Tavily and Brave do, each at its own path.

    with SearchServer({"modules": [Found("https://a.example/", "A")]}) as server:
        settings = ResearchSettings(search="searxng", search_url=server.base_url)

`pages` maps a word of the query, in lower case, to what it finds, in order; every query finds "".
`server.trouble = Trouble(429, times=1)` answers the next search with a status instead.
`server.queries` has every query in order, `server.requests` the requests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from tests.site import Answer, Request, Site

JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Found:
    """One result, with a snippet that nobody may keep."""

    url: str
    title: str = ""
    score: float = 0.5
    snippet: str = "SNIPPET"


@dataclass
class Trouble:
    """The next `times` searches are answered with this status; 0 closes the connection."""

    status: int
    times: int = 1
    body: str = "{}"
    headers: dict[str, str] = field(default_factory=dict)


class SearchServer:
    """The server; `json_allowed` is SearXNG's setting, without which it answers 403."""

    def __init__(self, pages: Mapping[str, Sequence[Found]], *, json_allowed: bool = True) -> None:
        self.pages = pages
        self.json_allowed = json_allowed
        self.trouble: Trouble | None = None
        self.queries: list[str] = []
        self.requests: list[Request] = []
        self.site = Site()
        self.site.route("/search", self._search)
        self.site.route("/res/v1/web/search", self._brave)
        self.base_url = self.site.url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop at once."""
        self.site.close()

    def _search(self, request: Request) -> Answer | None:
        return self._tavily(request) if request.method == "POST" else self._searxng(request)

    def _searxng(self, request: Request) -> Answer | None:
        if request.query.get("format") == "json" and not self.json_allowed:
            return Answer(403, "<!doctype html><title>403 Forbidden</title>")
        return self._answer(request, request.query["q"], _as_searxng)

    def _tavily(self, request: Request) -> Answer | None:
        return self._answer(request, json.loads(request.body)["query"], _as_tavily)

    def _brave(self, request: Request) -> Answer | None:
        return self._answer(request, request.query["q"], _as_brave)

    def _answer(self, request: Request, query: str, shape: Any) -> Answer | None:
        self.queries.append(query)
        self.requests.append(request)
        trouble = self.trouble
        if trouble is not None and trouble.times:
            trouble.times -= 1
            if not trouble.status:
                return None
            return Answer(trouble.status, trouble.body, {**JSON, **trouble.headers})
        return Answer(200, json.dumps(shape(self._found(query))), JSON)

    def _found(self, query: str) -> list[Found]:
        asked = query.lower()
        return [each for word, pages in self.pages.items() if word in asked for each in pages]


def _as_searxng(ranked: Sequence[Found]) -> dict[str, Any]:
    results = [
        {
            "url": each.url,
            "title": each.title,
            "content": each.snippet,
            "engine": "scripted",
            "engines": ["scripted"],
            "positions": [rank],
            "score": each.score,
            "category": "general",
            "publishedDate": None,
        }
        for rank, each in enumerate(ranked, 1)
    ]
    return {"query": "", "number_of_results": 0, "results": results, "unresponsive_engines": []}


def _as_tavily(ranked: Sequence[Found]) -> dict[str, Any]:
    results = [
        {"url": each.url, "title": each.title, "content": each.snippet, "score": each.score}
        for each in ranked
    ]
    return {"query": "", "results": results, "usage": {"credits": 1}, "response_time": 0.1}


def _as_brave(ranked: Sequence[Found]) -> dict[str, Any]:
    results = [
        {"url": each.url, "title": each.title, "description": each.snippet} for each in ranked
    ]
    return {"type": "search", **({"web": {"type": "search", "results": results}} if ranked else {})}
