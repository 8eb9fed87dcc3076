"""``livedata mcp --http`` as a process, and requests to it over real HTTP."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import httpx2
import orjson
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.patience import until

ROOT = Path(__file__).parents[2]
MODERN, OLDER = "2026-07-28", "legacy"
ACCEPTED = "application/json, text/event-stream"
Answer = TypeVar("Answer")


class AgentsServed:
    """A running server. At the end of the block it is stopped, and must exit with 0."""

    def __init__(self, home: Path, *options: str, **settings: str) -> None:
        # Files and no pipes: a full pipe would stop the server.
        self._out, self._log = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        command = [sys.executable, "-m", "livedata", "mcp", "--http", "127.0.0.1:0", *options]
        environ = {**os.environ, "LIVEDATA_HOME": str(home), "PYTHONPATH": str(ROOT), **settings}
        self.process = subprocess.Popen(command, env=environ, stdout=self._out, stderr=self._log)
        until(lambda: self.process.poll() is not None or "/mcp\n" in self.log())
        match = re.fullmatch(
            r"livedata answers agents at (http://127\.0\.0\.1:(\d+)/mcp)\n", self.log()
        )
        assert match is not None, self.log()
        self.address, self.port = match[1], int(match[2])

    def __enter__(self) -> AgentsServed:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.end()
        code = self.process.wait(20)
        log, out = self.log(), _written(self._out.fileno())
        self._out.close()
        self._log.close()
        # After an error of the test itself, its own message matters more.
        assert kind is not None or (code, out) == (0, ""), log

    def end(self, number: int = signal.SIGTERM) -> None:
        """Send the server a signal, by default to end."""
        self.process.send_signal(number)

    def log(self) -> str:
        """All that the server has written to stderr."""
        return _written(self._log.fileno())

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


def _written(file: int) -> str:
    # pread leaves the file's position alone, at which the server goes on to write.
    return os.pread(file, 10_000_000, 0).decode()
