"""HTTP requests to a server, and what its answers are made of (rules 18.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPException, HTTPResponse, IncompleteRead
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final, TypeVar, cast
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener, getproxies

import msgspec
from msgspec import Struct
from typing_extensions import override

from livedata.config import USER_AGENT
from livedata.messages.controls import escape_controls
from livedata.model.errors import Conflict, FormUnavailable, Invalid, LivedataError, NotFound

T = TypeVar("T")
Params = Mapping[str, str | Sequence[str]]
"""The query of a request."""
_PIECE: Final = 64 * 1024
"""So many bytes of an answer are read at once."""
_IN_MEMORY: Final = 4 * 1024 * 1024
"""An answer that is longer, in bytes, waits in a file."""
_ERRORS: Final[Mapping[str, type[LivedataError]]] = {
    "bad_request": Invalid,
    "validation_failed": Invalid,
    "not_found": NotFound,
    "conflict": Conflict,
}
"""The code of an error -> what a store raises for it."""


class ServerUnavailable(LivedataError):
    """A server cannot be reached, or does not answer as livedata does."""

    code = "server_unavailable"


class _NoRedirect(HTTPRedirectHandler):
    """Follows nothing: a key must reach no other address than the one that it was given for."""

    @override
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class Client:
    """What is asked of a server, and what its answers are made of."""

    def __init__(self, base: str, key: str, timeout: float) -> None:
        self.base = base
        self._headers = {"Authorization": f"Bearer {key}", "User-Agent": USER_AGENT}
        self._timeout = timeout
        # Through a proxy of https nobody reads the key; one of http would be given it.
        proxies = {kind: url for kind, url in getproxies().items() if kind in {"https", "no"}}
        self._opener = build_opener(_NoRedirect, ProxyHandler(proxies))

    def read(self, path: str, params: Params, shape: type[T]) -> T:
        """An answer in JSON. Raises ServerUnavailable for another shape."""
        with self.body(path, params) as file:
            return self.parsed(file.read(), shape)

    @contextmanager
    def body(self, path: str, params: Params) -> Iterator[IO[bytes]]:
        """The body of an answer that tells by itself whether it is whole."""
        with self.answer(path, params) as answer, closing(self.whole(answer)) as file:
            yield file

    @contextmanager
    def answer(self, path: str, params: Params) -> Iterator[HTTPResponse]:
        """An answer whose body is still to be read. Raises LivedataError for all that is none."""
        query = f"?{urlencode(params, doseq=True)}" if params else ""
        request = Request(f"{self.base}{path}{query}", headers=self._headers)  # noqa: S310
        with self._reached():
            answer = self._opener.open(request, timeout=self._timeout)
        with closing(answer):
            yield answer

    def piece(self, answer: HTTPResponse) -> bytes:
        """The next bytes of an answer, none at its end. Raises ServerUnavailable if it is cut."""
        with self._reached():
            return answer.read(_PIECE)

    def whole(self, answer: HTTPResponse, *, is_marked: bool = True) -> IO[bytes]:
        """The body of an answer, from its start. Raises ServerUnavailable if it ends too early.

        Of a body that is not `is_marked`, no end of its own says that it is whole.
        """
        announced = answer.headers.get("Content-Length", "")
        if not (is_marked or announced or answer.chunked):
            raise ServerUnavailable(
                f"{self.base} does not say where its answer ends, so a part would look like all: "
                "let the proxy before it speak HTTP/1.1 to livedata."
            )
        with ExitStack() as stack:
            spooled = stack.enter_context(SpooledTemporaryFile(max_size=_IN_MEMORY))
            while piece := self.piece(answer):
                spooled.write(piece)
            # http.client is silent about a body that ends too early, if it is read in pieces.
            if announced.isdecimal() and spooled.tell() != int(announced):
                raise self._broken_off()
            spooled.seek(0)
            stack.pop_all()
        return cast("IO[bytes]", spooled)

    def through(self, answer: HTTPResponse) -> int:
        """The sequence of the last change in a table (rules 17.5)."""
        told: str = answer.headers.get("X-Livedata-Through", "")
        if not told.isdecimal():
            raise self.stranger()
        return int(told)

    def parsed(self, body: bytes, shape: type[T]) -> T:
        """A value in JSON. Raises ServerUnavailable for another shape."""
        try:
            return msgspec.json.decode(body, type=shape)
        except (ValueError, msgspec.MsgspecError):
            raise self.stranger() from None

    def stranger(self, detail: str = "") -> ServerUnavailable:
        """What is raised for an answer that no livedata gives."""
        return ServerUnavailable(
            f"{self.base} does not answer as livedata does{detail}; check the address."
        )

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except HTTPError as error:
            with closing(error):
                raise self._refused(error) from None
        except URLError as error:
            raise self._unreachable(error.reason) from None
        except TimeoutError:
            raise ServerUnavailable(
                f"{self.base} was silent for {self._timeout:g} seconds; try again, or wait longer "
                "with timeout=300."
            ) from None
        except (IncompleteRead, ConnectionResetError):
            raise self._broken_off() from None
        except HTTPException:
            raise self.stranger() from None
        except (OSError, UnicodeError) as error:
            raise self._unreachable(error) from None

    def _refused(self, error: HTTPError) -> LivedataError:
        """What an answer says that is no success."""
        if 300 <= error.code < 400:
            # Without its path: that may be a secret of somebody.
            place = urlsplit(error.headers.get("Location", ""))
            to = escape_controls(f" to {place.scheme}://{place.hostname}" if place.hostname else "")
            return ServerUnavailable(
                f"{self.base} sends on{to}. A key is sent nowhere else: connect to the address at "
                "which livedata itself answers."
            )
        if error.code == 401:
            return _coded(
                "unauthenticated",
                f"{self.base} does not know this key, or it was revoked; `livedata key create` on "
                "the server makes another.",
            )
        try:
            told = msgspec.json.decode(error.read(_IN_MEMORY), type=_ErrorAnswer).error
        except (ValueError, msgspec.MsgspecError, OSError, HTTPException):
            return self.stranger(f" (status {error.code})")
        message = escape_controls(told.message)
        if told.code == FormUnavailable.code:
            return FormUnavailable(f"On {self.base}: {message}")
        known = _ERRORS.get(told.code)
        return known(message) if known else _coded(told.code, message)

    def _unreachable(self, reason: object) -> ServerUnavailable:
        if isinstance(reason, ConnectionResetError):
            return self._broken_off()
        told = reason.strerror if isinstance(reason, OSError) and reason.strerror else reason
        return ServerUnavailable(
            f"{self.base} cannot be reached: {told}. Check the address, and that `livedata serve` "
            "runs there."
        )

    def _broken_off(self) -> ServerUnavailable:
        return ServerUnavailable(f"{self.base} broke its answer off; ask again.")


class _Error(Struct):
    code: str
    message: str


class _ErrorAnswer(Struct):
    error: _Error


def _coded(code: str, message: str) -> LivedataError:
    error = LivedataError(message)
    error.code = code
    return error
