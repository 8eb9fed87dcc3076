"""The server of ``livedata mcp --http``: streamable HTTP for agents that have a key."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from socket import IPPROTO_TCP, TCP_NODELAY, socket
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import mcp_types as types
import uvicorn
from anyio.to_thread import run_sync
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from msgspec import Struct
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send
from typing_extensions import override

from livedata.mcp.access import DatasetAccess
from livedata.mcp.guarding import AgentRequest
from livedata.mcp.server import AT_ONCE, make_shared_server
from livedata.mcp.tools import Tool
from livedata.model.errors import Damaged, LivedataError, StoreUnavailable, TooManyRequests
from livedata.rules.network.installation import Hosts

Admit = Callable[[str | None], DatasetAccess | None]
"""Which datasets an Authorization header opens; None if it has no key that is valid now."""

PATH: Final = "/mcp"
LONGEST_BODY: Final = 1024 * 1024
"""The bytes of a request at most, as of the HTTP API."""
_MOST_CONNECTIONS: Final = 500
"""So many may be open at once: whoever comes then is told to come later."""
_PATIENCE: Final = 8
"""The seconds in which a request must have come whole."""
_GRACE: Final = 10
"""The seconds in which requests in flight may end after the server is told to stop."""
_ACCESS: Final = "livedata.access"
"""The name in an ASGI scope of the datasets that a request may be about."""
_LOG: Final = logging.getLogger("livedata.mcp")


class Refusal(Struct, frozen=True):
    """Why a request is not answered."""

    status: int
    sentence: str
    headers: Mapping[str, str] = {}

    def response(self) -> JSONResponse:
        """It as an agent's client reads it: an error of the protocol, of no request by number."""
        error = {"code": types.INVALID_REQUEST, "message": self.sentence}
        answer = {"jsonrpc": "2.0", "id": None, "error": error}
        return JSONResponse(answer, self.status, self.headers)


_MISDIRECTED: Final = Refusal(
    421, "This server is not known by this name; LIVEDATA_HOSTS lists the names that it answers to."
)
_NO_PATH: Final = Refusal(404, f"There is nothing at this path; agents ask at {PATH}.")
_FOREIGN: Final = Refusal(403, "This was asked from a page of another site, which may not ask.")
# It names no metadata of OAuth: a client would look for a server that gives out keys.
_NO_KEY: Final = Refusal(
    401,
    'A valid API key is required: send it as "Authorization: Bearer <key>".',
    {"WWW-Authenticate": "Bearer"},
)
_NO_METHOD: Final = Refusal(
    405, "Each question is a POST of its own: nothing else is read here.", {"Allow": "POST"}
)
_TOO_LONG: Final = Refusal(413, "The body is larger than 1 MiB.")
_TOO_SLOW: Final = Refusal(408, f"The request did not come whole within {_PATIENCE} seconds.")


class AgentEndpoint:
    """An ASGI application: it judges each request by itself, and keeps nothing of it."""

    def __init__(self, admit: Admit, hosts: Hosts, public_url: str, tools: Sequence[Tool]) -> None:
        self._admit, self._hosts, self._public = admit, hosts, urlsplit(public_url).netloc
        # For keys too: whoever has none, and tries many, takes no more threads.
        self._limiter = anyio.CapacityLimiter(AT_ONCE)
        self.sessions = StreamableHTTPSessionManager(
            make_shared_server(_access_of, tools, self._limiter, _told),
            json_response=True,
            stateless=True,
            # It compares texts; `Hosts` also knows addresses and ports, as the pages do.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=LONGEST_BODY,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        headers = Headers(scope=scope)
        refusal = self._refused_unread(scope["path"], headers)
        refusal = refusal or await self._refused_by_key(scope, headers)
        if refusal is None and scope["method"] != "POST":
            # The SDK would open a stream of events, on which nothing ever comes.
            refusal = _NO_METHOD
        if refusal is None and _length(headers) > LONGEST_BODY:
            refusal = _TOO_LONG
        body = refusal or await _read(receive)
        if isinstance(body, Refusal):
            await body.response()(scope, receive, send)
        else:
            await self.sessions.handle_request(scope, _replayed(body, receive), send)

    def _refused_unread(self, path: str, headers: Headers) -> Refusal | None:
        """Why a request is refused whoever asks."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._hosts.know(host):
            return _MISDIRECTED
        # A proxy in front of us may ask under a name that the browser does not know.
        if origin is not None and _netloc(origin) not in {host, self._public or host}:
            return _FOREIGN
        return None if path == PATH else _NO_PATH

    async def _refused_by_key(self, scope: Scope, headers: Headers) -> Refusal | None:
        """Why its key opens nothing; else the scope has what it opens."""
        try:
            access = await run_sync(
                self._admit, headers.get("authorization"), limiter=self._limiter
            )
        except TooManyRequests as error:
            return Refusal(429, error.message, {"Retry-After": str(error.retry_after)})
        except LivedataError as error:
            return Refusal(503, _told(error))
        if access is None:
            return _NO_KEY
        scope[_ACCESS] = access
        return None


class AgentServer:
    """A server of an endpoint, on a socket that listens."""

    def __init__(self, endpoint: AgentEndpoint, listening: socket) -> None:
        self._endpoint, self._listening = endpoint, listening
        # Connections inherit it. Else the second packet of each answer waits for 40 ms.
        listening.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        config = uvicorn.Config(
            endpoint,
            http="h11",  # whatever else is installed
            ws="none",
            lifespan="off",
            log_config=None,
            # Not a line for each request that is none: anybody may send those.
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=_GRACE,
        )
        self._server = _SignalledServer(config)

    async def run(self) -> None:
        """Serve until :meth:`stop`, then let the requests in flight end."""
        async with self._endpoint.sessions.run():
            await self._server.serve(sockets=[self._listening])

    def stop(self) -> None:
        """End soon. A signal handler may call this."""
        self._server.should_exit = True


class _SignalledServer(uvicorn.Server):
    """A server that leaves signals alone: uvicorn would raise them again, and end by them."""

    @override
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _access_of(asked: AgentRequest) -> DatasetAccess:
    request: Any = asked.request
    access: DatasetAccess = request.scope[_ACCESS]
    return access


async def _read(receive: Receive) -> bytes | Refusal:
    """The body of a request, or why it is not read to its end."""
    body = bytearray()
    with anyio.move_on_after(_PATIENCE):
        while len(body) <= LONGEST_BODY:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                return bytes(body) if len(body) <= LONGEST_BODY else _TOO_LONG
        return _TOO_LONG
    return _TOO_SLOW


def _replayed(body: bytes, receive: Receive) -> Receive:
    """What gives a body that was read, and then what comes after it."""
    read: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return read.pop() if read else await receive()

    return replay


def _told(error: LivedataError) -> str:
    """What an agent elsewhere may know of an error."""
    # The store's own sentences name files and machines of the server.
    if isinstance(error, StoreUnavailable | Damaged):
        _LOG.error("%s", error)
        return "The store of this server cannot be read now; its log says why."
    return error.message


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _length(headers: Headers) -> int:
    """How long the body is; 0 if that is not told, and is counted while it is read."""
    length = headers.get("content-length", "")
    return int(length) if length.isdecimal() else 0
