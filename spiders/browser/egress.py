"""The browser's only way out: a forward proxy on loopback that dials public addresses only.

A name is resolved here, each address is judged, and one of those that pass is dialled as it is:
there is no second look-up in which the name could change its mind. That holds for redirects,
scripts, websockets and everything else that a page loads: Chromium has no other way out.

If the Run goes through the operator's proxy, the proxy is dialled instead and resolves the name
again: it is not asked for a name that has a private address here, as in static Runs.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from msgspec import Struct, field
from scrapy.exceptions import CannotResolveHostError, DownloadConnectionRefusedError

from livedata.rules.network.installation import Proxy
from livedata.rules.network.targets import TargetPolicy, literal_address, split_place
from spiders.browser.proxy_headers import (
    Refused,
    length_of,
    origin_form,
    place_of,
    proxy_form,
    read_head,
    without_connection,
)
from spiders.fetch.errors import HeaderTooLong, no_tunnel, not_taken
from spiders.fetch.heads import LONGEST_HEAD

MAX_RECEIVED = 64 * 2**20
"""How many bytes one page may load with all that belongs to it, as sent and as unpacked."""

# Chromium shows an answer of the proxy's own as the site's. A token that no site can guess tells
# them apart.
MARK = "x-livedata-egress"
_PIECE = 2**16
_PATIENCE = 1.0
"""Seconds for one of several addresses of a host: some lead nowhere, IPv6 ones above all."""


class Egress(Struct):
    """The way out of one Run, through `proxy` once there is one.

    `private` holds the places ("host:port") that it did not dial because they may not be read,
    `unreachable` those that did not answer, and what that means. `overflowed` says that a page
    wanted more than it may load. An answer of the proxy's own carries `token` in the header `MARK`.
    Nothing goes out once the Run is `cancelled`: a page goes on by itself until its tab is closed.
    """

    targets: TargetPolicy
    most: int = MAX_RECEIVED
    proxy: Proxy | None = None
    private: set[str] = field(default_factory=set)
    unreachable: dict[str, Exception] = field(default_factory=dict)
    overflowed: bool = False
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    cancelled: Callable[[], bool] = lambda: False
    _received: int = 0
    _server: asyncio.Server | None = None
    _open: set[asyncio.Task[Any]] = field(default_factory=set)

    async def start(self) -> str:
        """Listen; the address for the browser."""
        # `limit` bounds a head that is being read: one without end would fill the memory.
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=LONGEST_HEAD)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        """Cut every connection and stop listening."""
        if self._server is not None:
            self._server.close()
        await self._cut()

    async def next_page(self, proxy: Proxy | None) -> None:
        """From here on go through `proxy`, or direct, and count what the next page loads."""
        if proxy != self.proxy:
            self.proxy = proxy
            await self._cut()  # a tunnel that is kept open would still lead the old way
        self._received = 0
        self.overflowed = False

    async def _cut(self) -> None:
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

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
            # The far side was reset, so this side is: a plain end would pass for a whole answer.
            writer.transport.abort()
        except asyncio.CancelledError:
            # Only `_cut` cancels, and asyncio would report a server's task that ends cancelled.
            writer.transport.abort()
        finally:
            self._open.discard(task)
            writer.close()

    async def _handle(self, head: bytes, reader: StreamReader, writer: StreamWriter) -> None:
        method, _, rest = head.partition(b" ")
        target = rest.partition(b" ")[0].decode("latin-1")
        tunnel = method == b"CONNECT"
        host, port = split_place(f"//{target}" if tunnel else target)
        proxy = self.proxy
        far_reader, far_writer = await self._dial(host, port, proxy)
        try:
            if tunnel:
                if proxy is not None:
                    await self._through(proxy, target, far_reader, far_writer)
                # From here on all is TLS: its bytes can be counted, and nothing else of it.
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await _first(self._copy(reader, far_writer), self._copy(far_reader, writer))
            else:
                far_writer.write(proxy_form(head, proxy) if proxy else origin_form(head, target))
                await _copy_exactly(reader, far_writer, length_of(head))
                # One request per connection: the next one could be for another place.
                # A browser that leaves a page closes its side, and nobody wants the rest.
                await _first(
                    self._answer(f"{host}:{port}", far_reader, writer), _until_gone(reader)
                )
        finally:
            far_writer.close()

    async def _dial(
        self, host: str, port: int, proxy: Proxy | None
    ) -> tuple[StreamReader, StreamWriter]:
        """A connection to `host` at an address that is permitted, or to the proxy for it."""
        place = f"{host}:{port}"
        # Before its name is looked up: what may not be read is not even asked for in the DNS, and a
        # proxy would resolve what this machine cannot.
        if not self.targets.covers(host, port):
            self.private.add(place)
            raise Refused("403 Forbidden", "This host may not be read.")
        addresses = await _addresses(host, port)
        if self.cancelled():
            raise ConnectionAbortedError
        permitted = [address for address in addresses if self.targets.permits(host, port, address)]
        # Nobody knows which address a proxy takes: each that is known here has to be permitted.
        if len(permitted) < len(addresses) and (proxy is not None or not permitted):
            self.private.add(place)
            raise Refused("403 Forbidden", "This address may not be read.")
        # The operator named the proxy, so it may stand at a private address.
        if proxy is not None:
            try:
                return await dial([proxy.host], proxy.port)
            except OSError as error:
                raise self._lost(place, not_taken(proxy)) from error
        if not permitted:
            raise self._lost(place, CannotResolveHostError(host))
        try:
            # Addresses and not the name: at a second look-up it could have a private one.
            return await dial(permitted, port)
        except OSError as error:
            cause = DownloadConnectionRefusedError(error.strerror or "no connection")
            raise self._lost(place, cause) from error

    async def _through(
        self, proxy: Proxy, target: str, far: StreamReader, far_writer: StreamWriter
    ) -> None:
        """Have the proxy make a tunnel to `target`."""
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if proxy.authorization is not None:
            lines.append(f"Proxy-Authorization: {proxy.authorization}")
        far_writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        status = ""
        # A proxy that breaks off gave no status, which is reported as no tunnel.
        with suppress(OSError, EOFError, HeaderTooLong):
            head = await read_head(far)
            status = head.partition(b" ")[2][:3].decode("latin-1")
        if status != "200":
            raise self._lost(place_of(f"//{target}"), no_tunnel(proxy, status))

    def _lost(self, place: str, error: Exception) -> Refused:
        self.unreachable[place] = error
        return Refused("502 Bad Gateway", "This site cannot be reached.")

    def _refusal(self, refused: Refused) -> bytes:
        # It has a body because Chromium turns an empty one into an error of its own.
        body = f"{refused}\n"
        head = (
            f"HTTP/1.1 {refused.status}\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {len(body)}\r\n{MARK}: {self.token}\r\nConnection: close\r\n\r\n"
        )
        return (head + body).encode()

    async def _answer(self, place: str, far: StreamReader, writer: StreamWriter) -> None:
        """Pass an answer on, with the connection's end as its end."""
        taken = 0
        while True:
            try:
                head = await read_head(far)
                taken += len(head)
                if taken > LONGEST_HEAD:  # interim answers without end
                    raise HeaderTooLong
            except HeaderTooLong as error:
                raise self._lost(place, error) from error
            writer.write(without_connection(head) if head.startswith(b"HTTP/") else head)
            await writer.drain()
            if not head.startswith((b"HTTP/1.1 1", b"HTTP/1.0 1")):
                break
        await self._copy(far, writer)

    async def _copy(self, source: StreamReader, sink: StreamWriter) -> None:
        while piece := await source.read(_PIECE):
            if self.cancelled():
                raise ConnectionAbortedError
            self._received += len(piece)
            # All connections of the page count together: a page that loads a thousand small files
            # takes as much memory as one with a large file.
            if self._received > self.most:
                self.overflowed = True
                raise ConnectionAbortedError
            sink.write(piece)
            await sink.drain()


async def _addresses(host: str, port: int) -> list[str]:
    """The addresses to which this machine resolves a name; none if it knows no such name."""
    literal = literal_address(host)
    if literal is not None:  # in a form, perhaps, that only the proxy takes for an address
        return [literal]
    try:
        infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # UnicodeError: a label that IDNA refuses
        return []
    return [str(info[4][0]) for info in infos]


async def dial(hosts: list[str], port: int) -> tuple[StreamReader, StreamWriter]:
    """A connection to the first of the hosts that takes one soon, or the last one's OSError."""
    for host in hosts[:-1]:
        with suppress(OSError):
            async with asyncio.timeout(_PATIENCE):
                return await asyncio.open_connection(host, port, limit=LONGEST_HEAD)
    return await asyncio.open_connection(hosts[-1], port, limit=LONGEST_HEAD)


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
    tasks = {asyncio.ensure_future(direction) for direction in both}
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
