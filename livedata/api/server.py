"""The server of ``livedata serve``: waitress with a graceful end."""

from __future__ import annotations

import ctypes
import errno
import gc
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from typing_extensions import override
from waitress import wasyncore
from waitress.server import TcpWSGIServer

from livedata.api.connection import Connection
from livedata.api.responses import MAX_BODY
from livedata.api.turns import Acquaintances, Threads
from livedata.model.errors import LivedataError

if TYPE_CHECKING:
    from flask import Flask

    from livedata.store.database.store import Store

GRACE = 10.0
"""The seconds in which requests in flight may end after the server is told to stop."""
# Many slow clients may connect at once while all threads are busy; Linux cuts this at somaxconn.
_LISTEN_BACKLOG = 1024
_ACCEPTED_AT_ONCE = 64
# A large answer has about so many objects. They die when it is sent, so a search for cycles
# among them finds nothing; Python would search more than ten times as often.
_GC_THRESHOLD = 10_000
# A request asks the store twenty times, and each time waits for its turn of Python: with the usual
# 5 ms it waits for a tenth of a second behind one that computes, and much more behind three.
_SWITCH = 0.001
# Options of the C library's malloc, by their numbers there.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_KEPT_FREE = 8 * 1024 * 1024
"""The bytes of free memory that a thread keeps for its next answer."""


_MOST_WAITING = 1024**4
"""The bytes of an answer that wait for a slow client before a thread waits too: no table has so
many."""


class PortTaken(LivedataError):
    """Another program listens at this address."""


class HttpListener(TcpWSGIServer):  # type: ignore[misc]  # waitress says no types
    """The part of waitress that accepts connections; all that a connection reaches is here."""

    channel_class = Connection
    store: Store
    acquaintances: Acquaintances

    @override
    def handle_accept(self) -> None:
        # Several at a time: one per turn of the loop, which asks every open connection, would let
        # whoever connects often keep all others waiting.
        for _ in range(_ACCEPTED_AT_ONCE):
            before = len(self.active_channels)
            super().handle_accept()
            if len(self.active_channels) == before:
                return


class Server:
    """A server for an application; it listens at `address` as soon as it is created."""

    def __init__(self, app: Flask, host: str, port: int) -> None:
        listening = listen(host, port)
        self.address = address_of(listening)
        self._stopping = False
        acquaintances = Acquaintances()
        self._server = HttpListener(
            app,
            _sock=listening,
            sockinfo=(listening.family, listening.type, listening.proto, listening.getsockname()),
            bind_socket=False,
            dispatcher=Threads(acquaintances),
            # A slow client costs a connection, not a thread: waitress reads a request whole
            # before a thread gets it.
            connection_limit=2000,
            channel_timeout=10,
            cleanup_interval=2,
            # Nor does it where the answer is a table that it takes in slowly: what was written
            # waits in a file, and each connection ends that takes nothing for a while.
            outbuf_high_watermark=_MOST_WAITING,
            # select() fails on file descriptors over 1,023.
            asyncore_use_poll=True,
            # Above our own limit: a body that is a little too large gets the application's 413.
            # One that is far too large is not even read.
            max_request_body_size=MAX_BODY + 64 * 1024,
            ident=None,
        )
        self._server.store = app.extensions["livedata"].store
        self._server.acquaintances = acquaintances

    def run(self) -> None:
        """Serve until :meth:`stop`, then let the requests in flight end."""
        # Modules live to the end. A full collection that visits them halts all threads for 40 ms.
        gc.freeze()
        gc.set_threshold(_GC_THRESHOLD)
        sys.setswitchinterval(_SWITCH)
        _keep_free_memory()
        while not self._stopping:
            self._poll_once()
        # Closes the listening socket only; the connections go on.
        wasyncore.dispatcher.close(self._server)
        deadline = time.monotonic() + GRACE
        while self._has_requests() and time.monotonic() < deadline:
            self._poll_once()
        self._server.task_dispatcher.shutdown(timeout=max(0.0, deadline - time.monotonic()))
        wasyncore.close_all(self._server._map)  # noqa: SLF001  (it has no other name)

    def stop(self) -> None:
        """End soon. A signal handler or another thread may call this."""
        self._stopping = True
        self._server.pull_trigger()  # wakes the loop, which may be waiting in poll()

    def _poll_once(self) -> None:
        wasyncore.loop(timeout=0.5, use_poll=True, map=self._server._map, count=1)  # noqa: SLF001

    def _has_requests(self) -> bool:
        channels = list(self._server.active_channels.values())
        return any(channel.requests or channel.total_outbufs_len for channel in channels)


def _keep_free_memory() -> None:
    """Keep what an answer has taken of memory for the next one."""
    # Else each page of changes gives it back and gets it again, by a hundred page faults: a
    # twentieth of its time. Other C libraries than that of GNU have no such options.
    options = getattr(ctypes.CDLL(None), "mallopt", None)
    if options is not None:
        for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            options(option, _KEPT_FREE)


@contextmanager
def ending_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first SIGTERM or SIGINT; the second ends the process as it is."""

    def handle(number: int, _frame: FrameType | None) -> None:
        # From now on the signal has its usual effect: a person who asks twice is in a hurry.
        signal.signal(number, signal.SIG_DFL)
        stop()

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """A socket that listens; the option is what chooses the port. Raises LivedataError."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = addresses[0]
        return socket.create_server((str(address[0]), port), family=family, backlog=_LISTEN_BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(
                f"Port {port} of {host} is taken by another program; choose one with {option}."
            ) from error
        raise LivedataError(f"Cannot listen at {host}:{port}: {error.strerror}.") from error
    except UnicodeError as error:  # a name that no machine can have
        raise LivedataError(f"Cannot listen at {host}:{port}: {host} is no host name.") from error


def address_of(listening: socket.socket) -> str:
    """The address at which a socket listens."""
    # Asked of the socket: for port 0 the system chooses one.
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
