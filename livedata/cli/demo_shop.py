"""The small shop of ``demo``, served on loopback."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override


class Item(Struct, frozen=True):
    """Something that the shop sells."""

    sku: str
    name: str
    price: str


FIRST = (
    Item("K-100", "Kettle", "€ 34.90"),
    Item("L-200", "Desk lamp", "€ 59.00"),
    Item("M-300", "Mug", "€ 8.50"),
    Item("T-400", "Teapot", "€ 27.00"),
)
LATER = (
    replace(FIRST[0], price="€ 36.50"),
    replace(FIRST[1], price="€ 49.00"),
    FIRST[2],
    Item("W-500", "Whisk", "€ 6.20"),
)


class Shop(BaseHTTPRequestHandler):
    """Two pages of items; after a redesign the names stand in other tags."""

    items: ClassVar[Sequence[Item]] = FIRST
    heading: ClassVar[str] = "h2"

    def do_GET(self) -> None:
        """Answer a page of the shop; there is nothing else."""
        page = {"/1": self._page(self.items[:2], '<a class="next" href="/2">Next</a>')}
        page["/2"] = self._page(self.items[2:], "")
        body = page.get(self.path, "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _page(self, items: Sequence[Item], more: str) -> str:
        items_html = "".join(
            f'<li data-sku="{item.sku}"><{self.heading}>{item.name}</{self.heading}>'
            f'<span class="price">{item.price}</span></li>'
            for item in items
        )
        return f'<title>Demo shop</title><ul class="products">{items_html}</ul>{more}'

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the commands speak for themselves."""


@contextmanager
def served() -> Iterator[str]:
    """Serve the shop, and give its host."""
    # Port 0 is any free one, so the demo works next to every other server.
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
