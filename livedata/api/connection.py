"""A connection of the server: what a client may take of it, and what it answers by itself.

waitress rejects some requests before the application sees them, such as far too large bodies; they
get the API's own body.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Mapping, MutableMapping
from functools import partial
from ipaddress import IPv6Address
from typing import Any, Final
from urllib.parse import parse_qsl

import orjson
from typing_extensions import override
from waitress import utilities
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.task import ErrorTask, WSGITask
from werkzeug.http import parse_cookie

from livedata.api.auth import COOKIE, MEET, balance_of, bearer, without_secrets
from livedata.api.responses import MAX_BODY, Internal, PayloadTooLarge, error_body
from livedata.model import ids
from livedata.model.errors import BadRequest, LivedataError

REQUEST_SECONDS = 20.0
"""How long a request may take to arrive, from its first byte to its last."""
MOST_OF_ONE_PEER = 500
"""How many connections one peer may have open: a quarter of all."""
_DRAIN_BYTES = 64 * 1024
_TOO_LARGE = 413
_ERRORS: dict[int, type[LivedataError]] = {_TOO_LARGE: PayloadTooLarge, 500: Internal}
_MOST_READ: Final = 8_192
"""So many characters of cookies, or of a query, are read: all connections wait meanwhile."""


class Request(HTTPRequestParser):  # type: ignore[misc]  # waitress says no types
    """A request as it arrives."""

    chunked: bool
    body_ignored = False

    @override
    def received(self, data: bytes) -> int:
        before = self.headers_finished
        consumed: int = super().received(data)
        if self.headers_finished and not before and not self.empty:
            self._judge_body()
        # What follows an ignored body in these bytes is more of it, and no next request.
        return len(data) if self.body_ignored else consumed

    def expire(self) -> None:
        """End the request as it is: its answer is an error."""
        if not self.headers_finished:
            self.parse_header(b"GET / HTTP/1.0\r\n")  # without a first line nothing is answered
        self._refuse(utilities.BadRequest(f"it took more than {REQUEST_SECONDS:.0f} seconds"))

    def _judge_body(self) -> None:
        if self.error and self.error.code != _TOO_LARGE:
            return
        too_large = not self.chunked and self.content_length > MAX_BODY
        if self._asks_for_run() and (too_large or self.chunked or self.expect_continue):
            # rules 2.8: the answer does not wait for a body that nobody reads.
            self.body_rcv, self.chunked = None, False
            self.headers.pop("CONTENT_LENGTH", None)
            self.headers["CONNECTION"] = "close"
            self.body_ignored = True
            self._refuse(None)
        elif too_large and self.expect_continue:
            self._refuse(utilities.RequestEntityTooLarge(""))
        elif self.error:
            self._refuse(self.error)

    def _asks_for_run(self) -> bool:
        return bool(self.command == "POST" and self.path.endswith("/runs"))

    def _refuse(self, error: utilities.Error | None) -> None:
        self.error = error
        self.completed = True
        # Else waitress asks for the body, although it was refused.
        self.expect_continue = False


class Answer(WSGITask):  # type: ignore[misc]
    """The answer of the application to a request."""

    @override
    def get_environment(self) -> dict[str, Any]:
        environ: dict[str, Any] = super().get_environment()
        if shown := self.channel.credential():
            environ[MEET] = partial(self.channel.server.acquaintances.meet, shown)
        return environ

    @override
    def set_close_on_finish(self) -> None:
        # waitress ends the connection after an answer without a length; a 304 needs none, and who
        # asks every minute keeps the connection.
        asked = self.request.headers.get("CONNECTION", "").lower() == "close"
        if self.has_body or self.version == "1.0" or asked:
            super().set_close_on_finish()


class RejectedRequest(ErrorTask):  # type: ignore[misc]  # waitress says no types
    """The answer to a request that was rejected before the application saw it."""

    @override
    def execute(self) -> None:
        rejection = self.request.error
        kind = _ERRORS.get(rejection.code)
        why = str(rejection.body).removesuffix(".")
        error = kind() if kind else BadRequest(f"The request cannot be read: {why}.")
        body = orjson.dumps(error_body(error))
        self.status = f"{rejection.code} {rejection.reason}"
        balance = balance_of(self.channel.server.store, self.request.headers.get("AUTHORIZATION"))
        # The headers of every answer; the application, which adds them, is not reached.
        self.response_headers += [
            ("Content-Type", "application/json"),
            ("X-Request-Id", ids.format_uuid(ids.new_id())),
            ("X-Credits-Remaining", str(balance)),
        ]
        self.set_close_on_finish()
        self.channel.leaves_unread = True
        self.content_length = len(body)
        self.write(body)


class _Log(logging.LoggerAdapter[logging.Logger]):
    """The log of waitress, which names the paths of answers that fail."""

    @override
    def process(self, msg: object, kwargs: MutableMapping[str, Any]) -> tuple[object, Any]:
        return without_secrets(str(msg)), kwargs


class Connection(HTTPChannel):  # type: ignore[misc]
    """A connection with its bounds: the time of a request, and the number from one peer.

    If it leaves a part of a request unread, it reads to the end after the answer, so that the
    client gets the answer.
    """

    logger = _Log(utilities.logger, {})
    request: Request | None
    parser_class = Request
    task_class = Answer
    error_task_class = RejectedRequest
    leaves_unread = False
    _draining = False
    _request_began = 0.0

    @override
    def __init__(
        self, server: Any, sock: socket.socket, addr: Any, *args: Any, **more: Any
    ) -> None:
        super().__init__(server, sock, addr, *args, **more)
        self.peer = peer_of(addr[0])
        others = (connection.peer for connection in server.active_channels.values())
        if sum(peer == self.peer for peer in others) > MOST_OF_ONE_PEER:
            self.will_close = True

    def credential(self) -> str:
        """The secret that the request that is next shows of its owner."""
        request = self.requests[0]
        # One that cannot be read has no path.
        path, query = getattr(request, "path", ""), getattr(request, "query", "")
        return credential(path, query, request.headers)

    @override
    def readable(self) -> bool:
        # The server asks this at least twice a second. While nothing of a request is there, and
        # while an earlier one is answered, the clock of the next one stands.
        now = time.monotonic()
        if self.request is None or self.requests:
            self._request_began = now
        elif now - self._request_began > REQUEST_SECONDS:
            self._expire(self.request)
        return self._draining or bool(super().readable())

    @override
    def received(self, data: bytes) -> bool:
        taken = bool(super().received(data))
        if any(request.body_ignored for request in self.requests):
            self.leaves_unread = True
        return taken

    @override
    def handle_read(self) -> None:
        if not self._draining:
            super().handle_read()
        elif not self.recv(_DRAIN_BYTES):
            self.handle_close()

    @override
    def handle_close(self) -> None:
        if self.leaves_unread and self.connected and not self._draining:
            # The client may still send its body. If the socket closed now, the kernel would
            # send a reset, and the client would lose the answer that is on its way. So only
            # our side ends; the rest is read until the client ends or channel_timeout passes.
            self._draining, self.will_close = True, False
            self.socket.shutdown(socket.SHUT_WR)
        else:
            super().handle_close()

    def _expire(self, request: Request) -> None:
        """Answer a request that does not arrive."""
        with self.requests_lock:
            request.expire()
            self.requests.append(request)
            self.request = None
        self.server.add_task(self)


def peer_of(address: str) -> str:
    """Who an address counts as: itself, or for IPv6 its network, since a host has a whole one."""
    if ":" not in address:
        return address
    return IPv6Address(address.partition("%")[0]).packed[:8].hex()


def credential(path: str, query: str, headers: Mapping[str, str]) -> str:
    """The secret that opens what a request asks for, in one form; empty if it has none.

    It is read as the application reads it, and nothing else of the request counts: whoever adds
    another cookie or parameter is no stranger.
    """
    path = f"/{path.lstrip('/')}"  # as a WSGI environment has it
    if path.startswith("/share/"):
        kind, secret = "share", path.split("/")[2]
    elif path.startswith("/feeds/"):
        kind, secret = "feed", _token(query)
    elif path.startswith("/v1/"):
        kind, secret = "key", bearer(headers.get("AUTHORIZATION"))
    else:
        kind, secret = "session", _session(headers.get("COOKIE", ""))
    return f"{kind} {secret}" if secret else ""


def _token(query: str) -> str:
    parameters = parse_qsl(query[:_MOST_READ], keep_blank_values=True)
    return next((value for name, value in parameters if name == "token"), "")


def _session(cookies: str) -> str:
    try:
        return parse_cookie(cookies[:_MOST_READ]).get(COOKIE, "")
    except UnicodeDecodeError:
        return ""
