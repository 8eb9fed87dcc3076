"""``livedata mcp --http`` as a process, and requests to it over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import TypeVar

import httpx2
import orjson
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.served import ServedCommand

READY = r"\Alivedata answers agents at (http://127\.0\.0\.1:(\d+)/mcp)\n\Z"
MODERN, OLDER = "2026-07-28", "legacy"
ACCEPTED = "application/json, text/event-stream"
Answer = TypeVar("Answer")


class AgentsServed(ServedCommand):
    """A running server, which has said so and nothing else."""

    def __init__(self, home: Path, *options: str, **settings: str) -> None:
        words = ("mcp", "--http", "127.0.0.1:0", *options)
        super().__init__(home, *words, ready=READY, **settings)
        self.address, self.port = self.said[1], int(self.said[2])

    def as_agent(self, key: str, mode: str, ask: Callable[[Client], Awaitable[Answer]]) -> Answer:
        """What the official client brings home that asks with a key."""

        async def asking() -> Answer:
            headers = {"Authorization": f"Bearer {key}"}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=30) as http,
                Client(streamable_http_client(self.address, http_client=http), mode=mode) as agent,
            ):
                return await ask(agent)

        return asyncio.run(asking())

    def send(
        self,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        *,
        method: str = "POST",
        path: str = "/mcp",
    ) -> Sent:
        """The answer to a request over a connection of its own; bytes are sent as they are."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = body if isinstance(body, bytes) else orjson.dumps(body)
        try:
            connection.request(method, path, sent, dict(headers or {}))
            return Sent(connection)
        finally:
            connection.close()


class Sent:
    """What came back to a request."""

    def __init__(self, connection: HTTPConnection) -> None:
        answer = connection.getresponse()
        self.status, self.headers, self.body = answer.status, answer.headers, answer.read()

    @property
    def sentence(self) -> str:
        """Why it was refused, as an error of the protocol."""
        refused = orjson.loads(self.body)
        assert (refused["jsonrpc"], refused["id"]) == ("2.0", None)
        sentence: str = refused["error"]["message"]
        return sentence


def with_key(key: str, **more: str) -> dict[str, str]:
    """The headers of a request as agents send it, and more of them (`_` is for `-`)."""
    headers = {"Content-Type": "application/json", "Accept": ACCEPTED}
    headers |= {name.replace("_", "-"): value for name, value in more.items()}
    return {**headers, "Authorization": f"Bearer {key}"}
