"""The server behind ``livedata serve``: waitress, made to live with slow clients and to end well.

A request that the server itself refuses, such as a body far too large, gets the API's own body.
"""

from __future__ import annotations

import errno
import gc
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import orjson
from typing_extensions import override
from waitress import create_server, wasyncore
from waitress.channel import HTTPChannel
from waitress.task import ErrorTask

from livedata.api.responses import MAX_BODY, Internal, PayloadTooLarge, body_of
from livedata.model import ids
from livedata.model.errors import BadRequest, LivedataError

if TYPE_CHECKING:
    from flask import Flask

GRACE = 10.0
"""Seconds that requests in flight have to end once the server is told to stop."""
_LISTEN_BACKLOG = 1024
_THROWN_AWAY = 64 * 1024
_OBJECTS_OF_AN_ANSWER = 10_000
"""A large one; they go when it is sent, so to look for cycles among them is for nothing."""
_REFUSALS: dict[int, type[LivedataError]] = {413: PayloadTooLarge, 500: Internal}


class PortTaken(LivedataError):
    """Another program listens at this address."""


class Refusal(ErrorTask):  # type: ignore[misc]  # waitress says no types
    """The answer to a request that never reached the application."""

    @override
    def execute(self) -> None:
        refused = self.request.error
        kind = _REFUSALS.get(refused.code, BadRequest)
        error = kind() if kind is not BadRequest else BadRequest(f"{refused.reason}.")
        body = orjson.dumps(body_of(error))
        self.status = f"{refused.code} {refused.reason}"
        self.response_headers += [
            ("Content-Type", "application/json"),
            ("X-Request-Id", ids.format_uuid(ids.new_id())),
            ("X-Credits-Remaining", "0"),
        ]
        self.set_close_on_finish()
        self.channel.refused = True
        self.content_length = len(body)
        self.write(body)


class Channel(HTTPChannel):  # type: ignore[misc]
    """A connection.

    After a refusal the client may still be sending: closed at once, it would be reset before it
    could read why. So what it sends is thrown away until it ends, or the channel times out.
    """

    error_task_class = Refusal
    refused = False
    _lingers = False

    @override
    def readable(self) -> bool:
        return self._lingers or bool(super().readable())

    @override
    def handle_read(self) -> None:
        if not self._lingers:
            super().handle_read()
        elif not self.recv(_THROWN_AWAY):
            self.handle_close()

    @override
    def handle_close(self) -> None:
        if self.refused and self.connected and not self._lingers:
            self._lingers, self.will_close = True, False
            self.socket.shutdown(socket.SHUT_WR)
        else:
            super().handle_close()


class Server:
    """Listens from the moment it is made; `address` is where."""

    def __init__(self, app: Flask, host: str, port: int) -> None:
        listening = _listen(host, port)
        shown, bound = listening.getsockname()[:2]
        self.address = f"http://{f'[{shown}]' if ':' in shown else shown}:{bound}"
        self._stopping = False
        self._server: Any = create_server(
            app,
            sockets=[listening],
            threads=8,
            connection_limit=2000,
            channel_timeout=10,
            cleanup_interval=2,
            asyncore_use_poll=True,
            # Above our own limit, so that the application says it; far above, nobody reads on.
            max_request_body_size=MAX_BODY + 64 * 1024,
            ident=None,
        )
        self._server.channel_class = Channel

    def run(self) -> None:
        """Serve until :meth:`stop`, then let the requests in flight end."""
        gc.freeze()  # what was imported stays: to look through it again would halt all for 40 ms
        gc.set_threshold(_OBJECTS_OF_AN_ANSWER)
        while not self._stopping:
            self._turn()
        wasyncore.dispatcher.close(self._server)
        until = time.monotonic() + GRACE
        while self._busy() and time.monotonic() < until:
            self._turn()
        self._server.task_dispatcher.shutdown(timeout=max(0.0, until - time.monotonic()))
        wasyncore.close_all(self._server._map)  # noqa: SLF001  (it has no other name)

    def stop(self) -> None:
        """End soon; may be called by a signal handler or another thread."""
        self._stopping = True
        self._server.pull_trigger()

    def _turn(self) -> None:
        wasyncore.loop(timeout=0.5, use_poll=True, map=self._server._map, count=1)  # noqa: SLF001

    def _busy(self) -> bool:
        channels = list(self._server.active_channels.values())
        return any(channel.requests or channel.total_outbufs_len for channel in channels)


@contextmanager
def ending_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first SIGTERM or SIGINT; the second ends the process as it is."""

    def handle(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        stop()

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _listen(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        return socket.create_server((str(address[0]), port), family=family, backlog=_LISTEN_BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(
                f"Port {port} of {host} is taken by another program; choose one with --port."
            ) from error
        raise LivedataError(f"Cannot listen at {host}:{port}: {error.strerror}.") from error
