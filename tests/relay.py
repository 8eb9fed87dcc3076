"""A relay before a PostgreSQL server: it notes what clients say, and makes the way longer."""

from __future__ import annotations

import socket
import time
from collections import Counter
from contextlib import suppress
from queue import Queue
from threading import Thread
from typing import Self
from urllib.parse import urlsplit

_STARTS = {0x00030000, 0x00030002}
"""The numbers of the protocol, by which a client begins: all that it says then has a kind."""
_READS = "READ ONLY"


class Relay:
    """Passes on what is said to the server of a URL; an answer comes `seconds` later."""

    def __init__(self, url: str, seconds: float = 0.0) -> None:
        server = urlsplit(url)
        self._server = (server.hostname, server.port)
        self._seconds = seconds
        self._listener = socket.create_server(("127.0.0.1", 0))
        host = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = server._replace(netloc=f"{server.username}@{host}").geturl()
        self.forget()

    def __enter__(self) -> Self:
        Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

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

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        """Pass on what is said both ways, and close both ends when both have said all."""
        with near, socket.create_connection(self._server) as far:
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            there, back = self._pass_on(near, far, _Heard(self)), self._pass_on(far, near, None)
            for thread in (*there, *back):
                thread.join()

    def _pass_on(
        self, source: socket.socket, sink: socket.socket, heard: _Heard | None
    ) -> tuple[Thread, Thread]:
        under_way: Queue[tuple[float, bytes]] = Queue()
        reading = Thread(target=self._read, args=(source, under_way, heard), daemon=True)
        arriving = Thread(target=_arrive, args=(sink, under_way), daemon=True)
        reading.start()
        arriving.start()
        return reading, arriving

    def _read(
        self, source: socket.socket, under_way: Queue[tuple[float, bytes]], heard: _Heard | None
    ) -> None:
        data = b"."
        while data:
            try:
                data = source.recv(65_536)
            except OSError:
                data = b""
            if heard is not None:
                heard.hear(data)
            under_way.put((time.monotonic() + self._seconds / 2, data))

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


def _arrive(sink: socket.socket, under_way: Queue[tuple[float, bytes]]) -> None:
    """Hand on what is under way when its time has come."""
    while True:
        moment, data = under_way.get()
        time.sleep(max(0.0, moment - time.monotonic()))
        with suppress(OSError):
            if data:
                sink.sendall(data)
            else:
                sink.shutdown(socket.SHUT_WR)
        if not data:
            return
