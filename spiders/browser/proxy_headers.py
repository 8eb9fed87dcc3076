"""Heads of requests and answers as a proxy passes them on."""

from __future__ import annotations

from asyncio import IncompleteReadError, LimitOverrunError, StreamReader
from urllib.parse import urlsplit

from livedata.rules.network.installation import Proxy
from livedata.rules.network.targets import split_place
from spiders.fetch.errors import HeaderTooLong
from spiders.fetch.heads import LONGEST_HEAD

# transfer-encoding is not one of them here: a body is passed on as it comes.
_OF_ONE_CONNECTION = {
    b"connection",
    b"keep-alive",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"proxy-connection",
    b"te",
    b"upgrade",
}
_CLOSE = b"Connection: close"


class Refused(Exception):
    """A connection that is not made, with the answer that the browser gets instead."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status


async def read_head(source: StreamReader) -> bytes:
    """The next head, its lines ended as they should be; what comes instead as it is.

    Sites end their lines with a bare LF too. Raises HeaderTooLong.
    """
    lines: list[bytes] = []
    taken = 0
    while not lines or lines[-1]:
        try:
            line = await source.readuntil(b"\n")
        except IncompleteReadError as error:
            return b"\r\n".join([*lines, error.partial])
        except LimitOverrunError as error:
            raise HeaderTooLong from error
        # Each line is bounded by the stream; many short ones fill the memory just as well.
        taken += len(line)
        if taken > LONGEST_HEAD:
            raise HeaderTooLong
        if not lines and not line.startswith(b"HTTP/"):
            return line
        lines.append(line.rstrip(b"\r\n"))
    return b"\r\n".join([*lines, b""])


def place_of(url: str) -> str:
    """The place of a URL as the records of an `Egress` name it."""
    host, port = split_place(url)
    return f"{host}:{port}"


def proxy_form(head: bytes, proxy: Proxy) -> bytes:
    """A request as the operator's proxy is asked, with its credentials and no other ones."""
    if proxy.authorization is None:
        return without_connection(head)
    return without_connection(head, b"Proxy-Authorization: " + proxy.authorization.encode())


def origin_form(head: bytes, target: str) -> bytes:
    """A request for a proxy as the site itself is asked."""
    method, _, rest = head.partition(b" ")
    parts = urlsplit(target)
    # Cut out as it stands: taken apart and put together, "/a?" would lose its empty query.
    path = target.partition("//")[2].partition(parts.netloc)[2]
    wanted = (path if path.startswith("/") else f"/{path}").encode("latin-1")
    version_and_headers = rest.partition(b" ")[2]
    return without_connection(b"%b %b %b" % (method, wanted, version_and_headers))


def without_connection(head: bytes, *more: bytes) -> bytes:
    """A head without what concerns one connection only, saying that this one is then closed."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    kept = [line for line in lines if line.partition(b":")[0].lower() not in _OF_ONE_CONNECTION]
    return b"\r\n".join([first, *kept, *more, _CLOSE, b"", b""])


def length_of(head: bytes) -> int:
    """The bytes of the body that follow a request's head. Raises Refused if it does not say."""
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        # Chunks would have to be parsed to know where the request ends.
        if name.lower() == b"transfer-encoding":
            raise Refused("411 Length Required", "Requests of unknown length are not sent.")
        if name.lower() == b"content-length":
            return int(value)
    return 0
