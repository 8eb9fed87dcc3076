"""Ready handlers for ``Site.route``: each function returns one way in which a site goes wrong."""

from __future__ import annotations

import functools
import http.client
import itertools
import socket
import struct
import zlib
from typing import TYPE_CHECKING

from tests.site import HTML, Answer, head

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.site import Handler, Request

PAGE = "<!doctype html><html><head><title>Page</title></head><body><p>A page.</p></body></html>"
MEBIBYTE = 1 << 20
PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
)


def fixed(
    status: int = 200, body: str | bytes = PAGE, headers: Mapping[str, str] | None = None
) -> Handler:
    """Always the same answer."""
    answer = Answer(status, body, headers or {})
    return lambda _: answer


def status(code: int) -> Handler:
    """A small page with this status."""
    words = f"{code} {http.client.responses.get(code, 'Unknown')}"
    return fixed(code, f"<!doctype html><title>{words}</title><h1>{words}</h1>")


def challenge() -> Handler:
    """A page that wants to see a browser at work first."""
    body = "<!doctype html><title>Just a moment...</title><script>window._cf_chl_opt={};</script>"
    return fixed(403, body, {"Server": "cloudflare", "cf-mitigated": "challenge"})


def empty() -> Handler:
    """200 and nothing."""
    return fixed(body=b"")


def redirect(to: str | None, code: int = 302) -> Handler:
    """A redirect, or one that says not where when ``to`` is None."""
    return fixed(code, b"", {} if to is None else {"Location": to})


def redirect_loop() -> Handler:
    """A redirect to the page itself."""
    return lambda request: Answer(302, b"", {"Location": request.target})


def login_redirect(to: str = "/login") -> Handler:
    """A redirect to where ``login_page`` should stand."""
    return redirect(to)


def login_page() -> Handler:
    """A page with a password to fill in."""
    form = (
        '<form method="post"><input name="user"><input type="password" name="password">'
        "<button>Sign in</button></form>"
    )
    return fixed(body=f"<!doctype html><html><head><title>Sign in</title></head>{form}</html>")


def refresh_loop() -> Handler:
    """Pages without end that each refresh to the next one."""

    def handle(request: Request) -> Answer:
        to = f"{request.target}1" if "?" in request.target else f"{request.target}?1"
        meta = f'<meta http-equiv="refresh" content="0; url={to}">'
        return Answer(200, f"<!doctype html><html><head>{meta}</head><body></body></html>")

    return handle


def meta_refresh(to: str, seconds: int = 0) -> Handler:
    """A page whose head sends the reader on."""
    refresh = f'<meta http-equiv="refresh" content="{seconds}; url={to}">'
    return fixed(body=f"<!doctype html><html><head>{refresh}</head><body></body></html>")


def never() -> Handler:
    """No answer for as long as the site lives."""

    def handle(request: Request) -> None:
        request.wait()

    return handle


def slow_headers(seconds: float, then: str | bytes = PAGE) -> Handler:
    """The status line at once, the rest later."""

    def handle(request: Request) -> None:
        body = _bytes(then)
        first, end, rest = head(200, _sized(body)).partition(b"\r\n")
        request.raw.write(first + end)
        request.wait(seconds)
        request.raw.write(rest + body)

    return handle


def drip(seconds_per_byte: float, then: str | bytes = PAGE) -> Handler:
    """The headers at once, then the body byte by byte."""

    def handle(request: Request) -> None:
        body = _bytes(then)
        request.raw.write(head(200, _sized(body)))
        for number in range(len(body)):
            request.raw.write(body[number : number + 1])
            if request.wait(seconds_per_byte):
                return

    return handle


def endless() -> Handler:
    """A chunked page without end."""
    text = b"<p>and more</p>\n" * 1000
    chunk = b"%x\r\n%b\r\n" % (len(text), text)

    def handle(request: Request) -> None:
        request.raw.write(head(200, {"Content-Type": HTML, "Transfer-Encoding": "chunked"}))
        while not request.stopping.is_set():
            request.raw.write(chunk)

    return handle


def truncated() -> Handler:
    """A body shorter than announced, then the end of the connection."""

    def handle(request: Request) -> None:
        request.raw.write(head(200, _sized(PAGE.encode(), more=1000)) + PAGE.encode())

    return handle


def reset(*, midway: bool = False) -> Handler:
    """The connection is reset, before the answer or after half of the body."""

    def handle(request: Request) -> None:
        if midway:
            request.raw.write(head(200, _sized(PAGE.encode(), more=1000)) + PAGE.encode())
            # A reset overtakes what the client has not read yet: let it have the headers.
            request.wait(0.05)
        linger = struct.pack("ii", 1, 0)
        request.raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    return handle


def garbage() -> Handler:
    """Bytes that are not HTTP."""

    def handle(request: Request) -> None:
        request.raw.write(b"SSH-2.0-server\r\n\r\n")

    return handle


def huge_headers(size: int) -> Handler:
    """One header of this many bytes."""
    return fixed(headers={"X-Padding": "x" * size})


def endless_headers() -> Handler:
    """Headers without end."""
    lines = (b"X-Padding: " + b"x" * 1000 + b"\r\n") * 100

    def handle(request: Request) -> None:
        request.raw.write(b"HTTP/1.1 200 OK\r\n")
        while not request.stopping.is_set():
            request.raw.write(lines)

    return handle


def endless_hints() -> Handler:
    """Interim answers without end."""
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 100

    def handle(request: Request) -> None:
        while not request.stopping.is_set():
            request.raw.write(hints)

    return handle


def big(size: int) -> Handler:
    """A page of exactly this many bytes, announced."""
    piece = b" " * 65_536

    def handle(request: Request) -> None:
        request.raw.write(head(200, {"Content-Type": HTML, "Content-Length": str(size)}))
        for number in range(0, size, len(piece)):
            request.raw.write(piece[: size - number])

    return handle


def gzip_bomb(mebibytes: int, *, layers: int = 1) -> Handler:
    """A page of so many MiB of spaces, about a thousandth of that on the wire."""
    body = _gzip_bomb(mebibytes)
    for _ in range(layers - 1):
        body = zlib.compress(body, 9, 31)
    return fixed(body=body, headers={"Content-Encoding": ", ".join(["gzip"] * layers)})


def deflate_bomb(mebibytes: int) -> Handler:
    """The same bomb as ``Content-Encoding: deflate``."""
    return fixed(body=_deflate_bomb(mebibytes), headers={"Content-Encoding": "deflate"})


def bad_gzip() -> Handler:
    """A page that says it is compressed and is not."""
    return fixed(headers={"Content-Encoding": "gzip"})


def retry_after(seconds: int | str, code: int = 429, then: str | bytes = PAGE) -> Handler:
    """The first answer asks for patience, later ones are the page; a date will do as well."""
    refusal = Answer(code, "<!doctype html><p>Later.</p>", {"Retry-After": str(seconds)})
    return _first(1, lambda _: refusal, fixed(body=then))


def flaky(n: int, then: str | bytes = PAGE) -> Handler:
    """The first n requests are reset, later ones get the page."""
    return _first(n, reset(), fixed(body=then))


def pdf() -> Handler:
    """A document that is not a page."""
    return fixed(body=PDF, headers={"Content-Type": "application/pdf"})


def wrong_charset() -> Handler:
    """Windows-1252 that is announced as UTF-8."""
    body = "<!doctype html><title>Café</title><p>Crème brûlée, 5 €</p>".encode("cp1252")
    return fixed(body=body)


def _first(n: int, early: Handler, late: Handler) -> Handler:
    calls = itertools.count()  # next() on it is atomic: requests come on many threads
    return lambda request: (early if next(calls) < n else late)(request)


def _bytes(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body


def _sized(body: bytes, more: int = 0) -> dict[str, str]:
    return {"Content-Type": HTML, "Content-Length": str(len(body) + more)}


@functools.cache
def _gzip_bomb(mebibytes: int) -> bytes:
    size = struct.pack("<I", mebibytes * MEBIBYTE % (1 << 32))
    check = struct.pack("<I", _checksum(zlib.crc32, 0, mebibytes))
    return b"\x1f\x8b\x08\0\0\0\0\0\x02\xff" + _deflated(mebibytes) + check + size


@functools.cache
def _deflate_bomb(mebibytes: int) -> bytes:
    check = struct.pack(">I", _checksum(zlib.adler32, 1, mebibytes))
    return b"\x78\xda" + _deflated(mebibytes) + check


def _deflated(mebibytes: int) -> bytes:
    # After a full flush nothing refers back, so one compressed MiB can be repeated: a bomb of a
    # GiB costs milliseconds.
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(b" " * MEBIBYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    return piece * mebibytes + packer.flush(zlib.Z_FINISH)


def _checksum(add: Callable[[bytes, int], int], start: int, mebibytes: int) -> int:
    piece = b" " * MEBIBYTE
    return functools.reduce(lambda so_far, _: add(piece, so_far), range(mebibytes), start)
