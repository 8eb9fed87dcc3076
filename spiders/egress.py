"""The browser's only way out: a forward proxy on loopback that dials public addresses only.

A name is resolved here, each address is judged, and one of those that pass is dialled as it is:
there is no second look-up in which the name could change its mind. That holds for redirects,
scripts, websockets and whatever else a page thinks of, for Chromium has no other way out.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from livedata.rules.targets import Targets

MAX_RECEIVED = 64 * 2**20
"""How many bytes one page may load with all that belongs to it."""

MARK = "x-livedata-egress"
_LONGEST_HEAD = 2**18
_PIECE = 2**16
_OF_ONE_CONNECTION = {
    b"connection",
    b"keep-alive",
    b"proxy-authorization",
    b"proxy-connection",
    b"te",
    b"upgrade",
}
_CLOSE = b"Connection: close"


class Refused(Exception):
    """A connection that is not made; what the browser is told instead."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(slots=True)
class Egress:
    """The way out of one Run.

    `private` holds the places ("host:port") that it did not dial because they are private,
    `unreachable` those that did not answer, with the reason. `overflowed` says that a page wanted
    more than it may load. An answer of the proxy's own carries `token` in the header `MARK`.
    """

    targets: Targets
    most: int = MAX_RECEIVED
    private: set[str] = field(default_factory=set)
    unreachable: dict[str, str] = field(default_factory=dict)
    overflowed: bool = False
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    _received: int = 0
    _server: asyncio.Server | None = None
    _open: set[asyncio.Task[Any]] = field(default_factory=set)

    async def start(self) -> str:
        """Listen; the address for the browser."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_LONGEST_HEAD)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        """Cut every connection and stop listening."""
        if self._server is not None:
            self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def next_page(self) -> None:
        """Count what the next page loads from here."""
        self._received = 0
        self.overflowed = False

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._handle(await reader.readuntil(b"\r\n\r\n"), reader, writer)
        except Refused as refused:
            with suppress(OSError):
                writer.write(self._refusal(refused))
                await writer.drain()
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            # The other side was reset, so this side is: a plain end would pass for a whole answer.
            writer.transport.abort()
        except asyncio.CancelledError:
            # Only `close` cancels, and asyncio would report a server's task that ends cancelled.
            writer.transport.abort()
        finally:
            self._open.discard(task)
            writer.close()

    async def _handle(self, head: bytes, reader: StreamReader, writer: StreamWriter) -> None:
        method, _, rest = head.partition(b" ")
        target = rest.partition(b" ")[0].decode("latin-1")
        tunnel = method == b"CONNECT"
        host, port = _place(f"//{target}" if tunnel else target)
        far_reader, far_writer = await self._dial(host, port)
        try:
            if tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await _first(self._copy(reader, far_writer), self._copy(far_reader, writer))
            else:
                far_writer.write(_origin_form(head, target))
                await _copy_exactly(reader, far_writer, _length(head))
                # One request per connection: the next one could be for another place.
                await _first(self._answer(far_reader, writer), _until_gone(reader))
        finally:
            far_writer.close()

    async def _dial(self, host: str, port: int) -> tuple[StreamReader, StreamWriter]:
        """A connection to `host` at an address that is permitted."""
        place = f"{host}:{port}"
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise self._lost(place, "there is no such name") from error
        addresses = [str(info[4][0]) for info in found]
        permitted = [one for one in addresses if self.targets.permits(host, port, one)]
        if not permitted:
            self.private.add(place)
            raise Refused("403 Forbidden", "This address is private.")
        last: OSError | None = None
        for address in permitted:
            try:
                return await asyncio.open_connection(address, port, limit=_LONGEST_HEAD)
            except OSError as error:
                last = error
        raise self._lost(place, (last and last.strerror) or "no connection") from last

    def _lost(self, place: str, why: str) -> Refused:
        self.unreachable[place] = why
        return Refused("502 Bad Gateway", "This site cannot be reached.")

    def _refusal(self, refused: Refused) -> bytes:
        # It has a body because Chromium turns an empty one into an error of its own.
        body = f"{refused}\n"
        head = (
            f"HTTP/1.1 {refused.status}\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {len(body)}\r\n{MARK}: {self.token}\r\nConnection: close\r\n\r\n"
        )
        return (head + body).encode()

    async def _answer(self, far: StreamReader, writer: StreamWriter) -> None:
        """Pass an answer on, with the connection's end as its end."""
        while True:
            try:
                head = await far.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError as error:
                writer.write(error.partial)
                return
            writer.write(_without_connection(head))
            if not head.startswith((b"HTTP/1.1 1", b"HTTP/1.0 1")):
                break
        await self._copy(far, writer)

    async def _copy(self, source: StreamReader, sink: StreamWriter) -> None:
        while piece := await source.read(_PIECE):
            self._received += len(piece)
            if self._received > self.most:
                self.overflowed = True
                raise ConnectionAbortedError
            sink.write(piece)
            await sink.drain()


def place_of(url: str) -> str:
    """The place of a URL as the records of an `Egress` name it."""
    host, port = _place(url)
    return f"{host}:{port}"


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    if not parts.hostname:
        raise ValueError(url)
    return parts.hostname, parts.port or (443 if parts.scheme in {"https", "wss"} else 80)


def _origin_form(head: bytes, target: str) -> bytes:
    """A request for a proxy as the site itself is asked."""
    method, _, rest = head.partition(b" ")
    parts = urlsplit(target)
    path = target.partition("//")[2].partition(parts.netloc)[2]
    wanted = (path if path.startswith("/") else f"/{path}").encode("latin-1")
    version_and_headers = rest.partition(b" ")[2]
    return _without_connection(b"%b %b %b" % (method, wanted, version_and_headers))


def _without_connection(head: bytes) -> bytes:
    """A head without what concerns one connection only, saying that this one is then closed."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    kept = [one for one in lines if one.partition(b":")[0].lower() not in _OF_ONE_CONNECTION]
    return b"\r\n".join([first, *kept, _CLOSE, b"", b""])


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"transfer-encoding":
            raise Refused("411 Length Required", "Requests of unknown length are not sent.")
        if name.lower() == b"content-length":
            return int(value)
    return 0


async def _copy_exactly(source: StreamReader, sink: StreamWriter, length: int) -> None:
    while length > 0 and (piece := await source.read(min(length, _PIECE))):
        length -= len(piece)
        sink.write(piece)
        await sink.drain()


async def _until_gone(reader: StreamReader) -> None:
    while await reader.read(_PIECE):
        pass


async def _first(*both: Coroutine[Any, Any, None]) -> None:
    """Until one of them ends, the others too; raises what ended it."""
    tasks = {asyncio.ensure_future(one) for one in both}
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
