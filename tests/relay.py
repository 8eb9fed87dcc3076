"""A relay before a PostgreSQL server: it notes what clients say, and makes the way longer."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter, deque
from selectors import SelectSelector
from threading import Thread
from typing import Self
from urllib.parse import urlsplit

from typing_extensions import override

_STARTS = {0x00030000, 0x00030002}
"""The numbers of the protocol, by which a client begins: all that it says then has a kind."""
_READS = "READ ONLY"


class Relay:
    """Passes on what is said to the server of a URL; an answer comes `seconds` later."""

    def __init__(self, url: str, seconds: float = 0.0) -> None:
        server = urlsplit(url)
        self._server = (server.hostname or "", server.port or 0)
        self._way = seconds / 2
        self._listener = socket.create_server(("127.0.0.1", 0))
        host = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = server._replace(netloc=f"{server.username}@{host}").geturl()
        # One loop for all connections: a benchmark's workers need the processor themselves. By
        # select, since epoll waits for whole milliseconds.
        self._loop = asyncio.SelectorEventLoop(SelectSelector())
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._ends: set[_End] = set()
        self._reaching: set[asyncio.Task[None]] = set()
        self.forget()

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def forget(self) -> None:
        """Begin anew to note what is said."""
        self._kinds: Counter[str] = Counter()
        self._reads = 0

    @property
    def statements(self) -> int:
        """How many statements were executed."""
        return self._kinds["E"] + self._kinds["Q"]

    @property
    def waits(self) -> int:
        """How often the server was waited for: nobody waits for the end of what only reads."""
        return self._kinds["S"] + self._kinds["H"] + self._kinds["Q"] - self._reads

    async def _listen(self) -> None:
        self._accepting = await self._loop.create_server(self._accepted, sock=self._listener)

    def _accepted(self) -> _End:
        near = _End(self._way, _Heard(self))
        self._keep(self._loop.create_task(self._reach(near)))
        return near

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._reaching.add(task)
        task.add_done_callback(self._reaching.discard)

    async def _reach(self, near: _End) -> None:
        """Pass on what is said both ways, and close both ends when both have said all."""
        far = _End(self._way, None)
        await self._loop.create_connection(lambda: far, *self._server)
        self._ends |= {near, far}
        near.face(far)
        far.face(near)

    async def _close(self) -> None:
        self._accepting.close()
        for task in self._reaching:
            task.cancel()
        for end in self._ends:
            end.transport.abort()
        # What an end has still to do comes before the loop stops.
        await asyncio.sleep(0)

    def note(self, kind: str, text: bytes) -> None:
        """Note one message of a client."""
        self._kinds[kind] += 1
        if kind in "PQ" and _READS.encode() in text:
            self._reads += 1


class _Heard:
    """What a client has said, taken apart into its messages."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._left = b""
        self._started = False

    def hear(self, data: bytes) -> None:
        """Note the messages that are whole."""
        self._left += data
        while self._take():
            pass

    def _take(self) -> bool:
        """Take one message off what was heard, if it is whole."""
        kind = 1 if self._started else 0  # the first has none, only its length
        length = kind + int.from_bytes(self._left[kind : kind + 4])
        if len(self._left) < max(length, kind + 4):
            return False
        message, self._left = self._left[:length], self._left[length:]
        if self._started:
            self._relay.note(chr(message[0]), message[5:])
        else:
            self._started = int.from_bytes(message[4:8]) in _STARTS
        return True


class _End(asyncio.Protocol):
    """One end of a connection: what it hears is said by the other one, some time later."""

    transport: asyncio.Transport

    def __init__(self, way: float, heard: _Heard | None) -> None:
        self._way, self._heard = way, heard
        self._other: _End | None = None
        self._under_way: deque[bytes] = deque()

    def face(self, other: _End) -> None:
        """Say from now on what is heard by the other end."""
        self._other = other
        for _ in range(len(self._under_way)):
            self._arrive()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is an end of a socket."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    @override
    def data_received(self, data: bytes) -> None:
        """Note what is heard, and send it on its way."""
        if self._heard is not None:
            self._heard.hear(data)
        self._send(data)

    @override
    def eof_received(self) -> bool:
        """Send on its way that no more comes; the other end may still say something."""
        self._send(b"")
        return True

    @override
    def connection_lost(self, _: Exception | None) -> None:
        """The other end is to close too."""
        self._send(b"")

    def _send(self, data: bytes) -> None:
        self._under_way.append(data)
        if self._other is not None:
            asyncio.get_running_loop().call_later(self._way, self._arrive)

    def _arrive(self) -> None:
        """Let the other end say what was sent first."""
        assert self._other is not None
        data, transport = self._under_way.popleft(), self._other.transport
        if data:
            transport.write(data)
        elif self.transport.is_closing():
            transport.close()
        elif not transport.is_closing():
            transport.write_eof()
