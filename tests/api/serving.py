"""``livedata serve`` as a process, and requests to it over real HTTP."""

from __future__ import annotations

from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import orjson

from tests.served import ServedCommand


class Serving(ServedCommand):
    """A running server, asked with a key."""

    def __init__(self, home: Path, key: str = "", *, worker: bool = False) -> None:
        self.key = key
        words = ["serve", "--port", "0", *([] if worker else ["--no-worker"])]
        # Port 0 lets the system choose; the server prints what it got.
        super().__init__(home, *words, ready=r"http://127\.0\.0\.1:(\d+)/v1;")
        self.port = int(self.said[1])

    def connect(self) -> HTTPConnection:
        """A new connection to the server."""
        return HTTPConnection("127.0.0.1", self.port, timeout=30)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and body of a request over a connection of its own."""
        connection = self.connect()
        try:
            return ask(connection, self.key, method, path, body)
        finally:
            connection.close()


def ask(
    connection: HTTPConnection, key: str, method: str, path: str, body: Any = None
) -> tuple[int, Any]:
    """Status and body of a request; `body` is bytes, or a value to send as JSON."""
    sent = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request(method, path, sent, headers)
    answer = connection.getresponse()
    return answer.status, orjson.loads(answer.read())
