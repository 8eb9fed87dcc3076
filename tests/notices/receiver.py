"""A receiver of webhooks: it verifies each with a library of others, and answers as it is told."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

from standardwebhooks.webhooks import Webhook
from typing_extensions import override

Behaviour = str | int
"""A status to answer with; ``hang`` answers nothing, ``close`` hangs up, ``drip`` never ends."""


class Receiver(ThreadingHTTPServer):
    """Answers each delivery with what `behave` says of its number, from 0; else with 200."""

    daemon_threads = True
    # Those that hang must not hold up the end of a test.
    block_on_close = False

    def __init__(
        self,
        secret: str = "",
        behave: Callable[[int], Behaviour] = lambda _: 200,
        port: int = 0,
    ) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.secret = secret
        self.behave = behave
        self.released = Event()
        self.arrived: list[tuple[dict[str, Any], Behaviour]] = []
        self.headers: list[dict[str, str]] = []
        self._lock = Lock()

    @property
    def place(self) -> str:
        """The host and port."""
        return f"127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://{self.place}/hook?key=k"

    @property
    def taken(self) -> list[dict[str, Any]]:
        """The deliveries that were answered with 2xx, in order."""
        return [event for event, answer in self.arrived if answer in range(200, 300)]

    def take(self, event: dict[str, Any], headers: dict[str, str]) -> Behaviour:
        """Note a delivery; how it is to be answered."""
        with self._lock:
            behaviour = self.behave(len(self.arrived))
            self.arrived.append((event, behaviour))
            self.headers.append(headers)
        return behaviour

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of those who hang up."""


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        if self.server.secret:
            # It raises for a signature or a time that is wrong, and nothing is noted.
            Webhook(self.server.secret).verify(body, headers)
        behaviour = self.server.take(json.loads(body), {**headers, ":path": self.path})
        if behaviour == "hang":
            self.server.released.wait(20)
        elif behaviour == "close":
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
        elif behaviour == "drip":
            self._drip()
        else:
            self.send_response(int(behaviour))
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def _drip(self) -> None:
        """Send a byte now and then: no single wait is long."""
        with suppress(OSError):
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            while not self.server.released.wait(0.05):
                self.wfile.write(b"x")

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def receiving(
    secret: str = "", behave: Callable[[int], Behaviour] = lambda _: 200
) -> Iterator[Receiver]:
    """A receiver while the block is open."""
    with Receiver(secret, behave) as receiver:
        thread = Thread(target=receiver.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.released.set()
            receiver.shutdown()
            thread.join()
