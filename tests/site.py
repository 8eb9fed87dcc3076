"""A web server on loopback for tests: fixed pages, folders, handlers, and a record of every hit."""

from __future__ import annotations

import contextlib
import http.client
import selectors
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, BinaryIO, Self
from urllib.parse import parse_qsl, unquote, urlsplit

if TYPE_CHECKING:
    from pathlib import Path

HTML = "text/html; charset=utf-8"
CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".htm": HTML,
    ".html": HTML,
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".xml": "application/xml",
}
LONGEST_LINE = 65_536
PATIENCE = 0.2  # seconds that a closing server waits for its threads; they are daemons


@dataclass(frozen=True)
class Hit:
    """One request that reached the site; header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    at: float


@dataclass(frozen=True)
class Answer:
    """What a handler gives back; Content-Type and Content-Length are added when missing."""

    status: int = 200
    body: str | bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """The wire itself, for handlers that write their own bytes."""

    socket: socket.socket

    def is_left(self) -> bool:
        """Whether the client has gone away."""
        with contextlib.suppress(BlockingIOError):
            return self.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        return False

    def write(self, data: bytes) -> None:
        """Send all of these bytes now."""
        self.socket.sendall(data)


@dataclass(frozen=True)
class Request:
    """One request as a handler sees it; header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    keep: bool
    raw: Raw
    stopping: Event

    @property
    def path(self) -> str:
        """The path without the query, as it was sent."""
        # A target such as //host/x is a path here: only a proxy is sent a whole URL.
        if self.target.startswith("/"):
            return self.target.partition("?")[0]
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        """The query's values; of a repeated name the last."""
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    def wait(self, seconds: float | None = None) -> bool:
        """Sleep, but not longer than the site lives: true when it is stopping."""
        return self.stopping.wait(seconds)


Handler = Callable[[Request], Answer | None]


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """The status line and the headers as bytes, with the empty line that ends them."""
    lines = [f"HTTP/1.1 {status} {http.client.responses.get(status, 'Unknown')}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def encode(answer: Answer, *, body_too: bool = True) -> bytes:
    """A whole answer as bytes."""
    body = answer.body.encode() if isinstance(answer.body, str) else answer.body
    headers = dict(answer.headers)
    named = {name.lower() for name in headers}
    bodiless = answer.status in {204, 304}
    if not bodiless and "content-type" not in named:
        headers["Content-Type"] = HTML
    if not bodiless and not named & {"content-length", "transfer-encoding"}:
        headers["Content-Length"] = str(len(body))
    return head(answer.status, headers) + (b"" if bodiless or not body_too else body)


class Listener:
    """A listening socket on loopback with a daemon thread for itself and one per connection."""

    def __init__(
        self,
        serve: Callable[[socket.socket, Event], None],
        place: tuple[str, int] = ("127.0.0.1", 0),
    ) -> None:
        self._serve = serve
        self._lock = Lock()
        self._open: dict[socket.socket, Thread] = {}
        self._count = 0
        self.stopping = Event()
        self._socket = socket.create_server(place, backlog=256)
        self._socket.settimeout(0)
        self.host = f"{place[0]}:{self._socket.getsockname()[1]}"
        self._bell, self._ringer = socket.socketpair()
        self._thread = Thread(target=self._listen, name=f"listen {self.host}", daemon=True)
        self._thread.start()

    @property
    def connections(self) -> int:
        """How many connections were ever made, those of this very moment included."""
        self._take()
        return self._count

    def close(self) -> None:
        """Stop listening, cut every connection and wait a moment for the threads."""
        self._take()
        with self._lock:
            if self.stopping.is_set():
                return
            self.stopping.set()
        self._ringer.send(b"!")
        self._thread.join()
        for each in (self._socket, self._bell, self._ringer):
            each.close()
        self._cut()

    def _cut(self) -> None:
        with self._lock:
            threads = list(self._open.values())
            for connection in self._open:
                with contextlib.suppress(OSError):  # the other side may be gone already
                    connection.shutdown(socket.SHUT_RDWR)
        end = time.monotonic() + PATIENCE
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _listen(self) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(self._socket, selectors.EVENT_READ)
            ready.register(self._bell, selectors.EVENT_READ)
            while not self.stopping.is_set():
                ready.select()
                self._take()

    def _take(self) -> None:
        # Accepting and counting under one lock: who asks for the count misses no connection.
        with self._lock, contextlib.suppress(BlockingIOError):
            while not self.stopping.is_set():
                connection, _ = self._socket.accept()
                self._count += 1
                thread = Thread(target=self._run, args=(connection,), daemon=True)
                self._open[connection] = thread
                thread.start()

    def _run(self, connection: socket.socket) -> None:
        try:
            with contextlib.suppress(ConnectionError):  # clients under test give up as they like
                connection.settimeout(None)
                self._serve(connection, self.stopping)
        finally:
            with self._lock:
                del self._open[connection]
            connection.close()


class Site:
    """A web server on loopback that serves what a test puts on it, until it is closed."""

    def __init__(self, place: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        self.hits: list[Hit] = []
        self.delay = 0.0
        self._routes: dict[str, Handler] = {}
        self._folders: dict[str, Path] = {}
        self._listener = Listener(self._serve, place)
        self.host = self._listener.host
        self.url = f"http://{self.host}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop at once, whatever the handlers are doing."""
        self._listener.close()

    @property
    def paths(self) -> list[str]:
        """The paths that were asked for, with their queries, in order."""
        return [hit.path for hit in self.hits]

    @property
    def connections(self) -> int:
        """How many connections were ever made."""
        return self._listener.connections

    def at(self, path: str) -> str:
        """The whole URL of a path."""
        return self.url + path

    def forget(self) -> None:
        """Empty the record of hits."""
        self.hits.clear()

    def page(
        self,
        path: str,
        body: str | bytes,
        *,
        status: int = 200,
        content_type: str = HTML,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Put a fixed answer at a path; a path with a query answers that query only."""
        answer = Answer(status, body, {"Content-Type": content_type, **(headers or {})})
        self.route(path, lambda _: answer)

    def pages(self, bodies: Mapping[str, str | bytes]) -> None:
        """Put many HTML pages."""
        for path, body in bodies.items():
            self.page(path, body)

    def folder(self, folder: Path, path: str = "/") -> None:
        """Serve the files of a folder, index.html for a path that ends in a slash."""
        self._folders[path.rstrip("/") + "/"] = folder

    def route(self, path: str, handler: Handler) -> None:
        """Let a handler answer a path; when it returns None the connection is closed."""
        self._routes[path] = handler

    def remove(self, path: str) -> None:
        """Take away what was put at a path."""
        self._routes.pop(path, None)
        self._folders.pop(path.rstrip("/") + "/", None)

    def _serve(self, connection: socket.socket, stopping: Event) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection.makefile("rb") as incoming:
            while (request := read(incoming, Raw(connection), stopping)) and self._answer(request):
                pass

    def _answer(self, request: Request) -> bool:
        hit = Hit(request.method, request.target, request.headers, time.monotonic())
        self.hits.append(hit)
        if self.delay:
            request.wait(self.delay)
        answer = self._handler(request)(request)
        if answer is None:
            return False
        request.raw.write(encode(answer, body_too=request.method != "HEAD"))
        return request.keep

    def _handler(self, request: Request) -> Handler:
        for key in (request.target, request.path, unquote(request.path)):
            if key in self._routes:
                return self._routes[key]
        return self._file

    def _file(self, request: Request) -> Answer:
        path = unquote(request.path)
        for number in sorted(self._folders, key=len, reverse=True):
            if path.startswith(number):
                file = find(self._folders[number], path.removeprefix(number))
                return served(file) if file else not_found()
        return not_found()


def read(incoming: BinaryIO, raw: Raw, stopping: Event) -> Request | None:
    """The next request on a connection, or None when there is none that can be read."""
    words = incoming.readline(LONGEST_LINE).decode("latin-1").split()
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None
    try:
        message = http.client.parse_headers(incoming)
    except http.client.HTTPException:
        return None
    headers = {name.lower(): value for name, value in message.items()}
    length = headers.get("content-length", "")
    whole = int(length) if length.isdecimal() else 0
    body = incoming.read(whole)
    if len(body) < whole:
        return None  # the client went away, or was killed, before it had sent all of it
    # The body of a chunked request is not read, so what follows would not be a request.
    asks_to_close = headers.get("connection", "").lower() == "close"
    keep = words[2] != "HTTP/1.0" and not asks_to_close and "transfer-encoding" not in headers
    return Request(words[0], words[1], headers, body, keep, raw, stopping)


def find(folder: Path, relative: str) -> Path | None:
    """The file of a folder that a path means, None also for what lies outside the folder."""
    if "\0" in relative:
        return None
    if not relative or relative.endswith("/"):
        relative += "index.html"
    file = (folder / relative).resolve()
    return file if file.is_relative_to(folder.resolve()) and file.is_file() else None


def served(file: Path) -> Answer:
    """A file as an answer."""
    kind = CONTENT_TYPES.get(file.suffix.lower(), "application/octet-stream")
    return Answer(200, file.read_bytes(), {"Content-Type": kind})


def not_found() -> Answer:
    """The page for what is not there."""
    page = "<!doctype html><html><head><title>Not found</title></head><body>Not found</body></html>"
    return Answer(404, page)


class Forbidden:
    """A server that nobody may talk to: it counts every connection and gives its secret away."""

    def __init__(self) -> None:
        self._listener = Listener(self._tell)
        self.host = self._listener.host
        self.url = f"http://{self.host}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening; the count stays."""
        self._listener.close()

    @property
    def hits(self) -> int:
        """How many connections were made, whether or not anything was asked."""
        return self._listener.connections

    def at(self, path: str) -> str:
        """The whole URL of a path."""
        return self.url + path

    @staticmethod
    def _tell(connection: socket.socket, stopping: Event) -> None:
        with connection.makefile("rb") as incoming:
            if read(incoming, Raw(connection), stopping):
                page = "<!doctype html><title>secret</title><p>secret</p>"
                connection.sendall(encode(Answer(200, page, {"Connection": "close"})))
