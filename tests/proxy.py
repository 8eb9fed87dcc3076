"""A forward proxy on loopback for tests: it keeps what it was asked, and passes it on."""

from __future__ import annotations

import http.client
import socket
from threading import Event, Thread
from typing import Self
from urllib.parse import urlsplit

from tests.site import Answer, Listener, Raw, Request, encode, read

BY_HOP = {"connection", "keep-alive", "proxy-authorization", "proxy-connection"}


class ForwardProxy:
    """Passes on plain requests, marked with ``Via``; tunnels where `tunnels` is true."""

    def __init__(self, *, tunnels: bool = False) -> None:
        self.asked: list[Request] = []
        self._tunnels = tunnels
        self._listener = Listener(self._serve)
        self.host = self._listener.host
        self.url = f"http://{self.host}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    @property
    def targets(self) -> list[str]:
        """What was asked for: whole URLs, and host:port of tunnels."""
        return [request.target for request in self.asked]

    def _serve(self, connection: socket.socket, stopping: Event) -> None:
        with connection.makefile("rb") as incoming:
            while request := read(incoming, Raw(connection), stopping):
                self.asked.append(request)
                if request.method == "CONNECT":
                    self._tunnel(connection, request)
                    return
                answer = passed_on(request)
                if answer is None:
                    return
                connection.sendall(encode(answer))

    def _tunnel(self, connection: socket.socket, request: Request) -> None:
        if not self._tunnels:
            connection.sendall(encode(Answer(403, "no tunnels here")))
            return
        host, _, port = request.target.rpartition(":")
        with socket.create_connection((host, int(port))) as far:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            back = Thread(target=pump, args=(far, connection), daemon=True)
            back.start()
            pump(connection, far)
            back.join(1)


def passed_on(request: Request) -> Answer | None:
    """What the site answers; None where it cuts the connection."""
    parts = urlsplit(request.target)
    far = http.client.HTTPConnection(parts.netloc, timeout=5)
    kept = {name: text for name, text in request.headers.items() if name not in BY_HOP}
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    try:
        far.request(request.method, path, headers={**kept, "via": "1.1 test"})
        answer = far.getresponse()
        headers = {k: v for k, v in answer.getheaders() if k.lower() != "transfer-encoding"}
        return Answer(answer.status, answer.read(), headers)
    except (OSError, http.client.HTTPException):
        return None
    finally:
        far.close()


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Pass on bytes until there are no more."""
    try:
        while data := source.recv(65_536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return
