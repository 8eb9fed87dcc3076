"""``demo``: the main job in a minute, over a small shop that changes."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar, NamedTuple

import click
from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from livedata.cli.output.streams import print_text
from livedata.hints import quoted


@click.command()
@click.option("--keep", is_flag=True, help="Keep the folder with the store and the source.")
def demo(keep: bool) -> None:
    """Show what livedata does, without any set-up or network.

    Serves a small shop on loopback, makes a table of it, changes the shop, and shows what the
    table and its history become, with the commands that you would type. Nothing is left behind.
    """
    with _folder(keep) as folder, serving(Shop) as host:
        shell = _Shell(folder, host)
        (folder / "source.toml").write_text(SOURCE.format(url=f"http://{host}"), encoding="utf-8")
        print_text("A small shop is served on loopback, and source.toml says how to read it.")
        shell.types("dataset create source.toml")
        shell.types("run demo-shop")
        shell.types("rows list demo-shop")
        print_text("\nYou know a better price of the kettle, and write it into the table.")
        shell.types("rows edit demo-shop K-100 price=29.90")
        # The server makes a handler per request, so the class has what the shop sells.
        Shop.items = LATER
        print_text("\nThe shop changes: lamp cheaper, kettle dearer, teapot gone, a whisk is new.")
        shell.types("run demo-shop")
        # The first Run wrote a revision for each of the four items, the edit one more.
        shell.types("changes demo-shop --after 5")
        print_text("\nYour edit stays. Each cell has the text and the page that it was read from:")
        shell.types("rows show demo-shop L-200")
        Shop.heading = "h3"
        print_text("\nThe shop is redesigned: names stand in <h3> now, so a selector died.")
        shell.types("run demo-shop", expected=3)
        shell.types("runs explain demo-shop")
        print_text("\nNothing of it was accepted: the rows are as they were.")
        shell.types("rows list demo-shop")
        shell.types("check")
        if keep:
            print_text(
                f"\nKept: {folder}. Look around: LIVEDATA_HOME={quoted(str(folder))} "
                "livedata dataset list"
            )


SOURCE = """\
name = "demo-shop"

[[columns]]
name = "sku"
type = "string"
key = true

[[columns]]
name = "name"
type = "string"

[[columns]]
name = "price"
type = "number"

[source]
version = 1
url = "{url}/1"
itemSelector = "ul.products > li"
identity = {{ kind = "source-key", field = "sku" }}
pagination = {{ kind = "next-link", selector = "a.next" }}

[[source.fields]]
name = "sku"
read = {{ kind = "attribute", attribute = "data-sku" }}

[[source.fields]]
name = "name"
read = {{ selector = "h2" }}
required = true

[[source.fields]]
name = "price"
read = {{ selector = ".price" }}
"""


class _Shell(NamedTuple):
    folder: Path
    host: str

    def types(self, line: str, expected: int = 0) -> None:
        """Show a command and run it as the person at the shell would."""
        print_text(f"\n$ livedata {line}")
        environment = {
            **os.environ,
            "LIVEDATA_HOME": str(self.folder),
            # The demo must never touch the store of the person who tries it.
            "LIVEDATA_DATABASE_URL": "",
            # Runs read no addresses of this machine unless they are allowed by name.
            "LIVEDATA_ALLOW_HOSTS": self.host,
        }
        # A process each, as at a shell: what is shown then went through the store.
        # -P: nothing in the working folder may stand in for the package.
        words = [sys.executable, "-P", "-m", "livedata", *shlex.split(line)]
        code = subprocess.run(words, cwd=self.folder, env=environment, check=False).returncode  # noqa: S603  (our own words)
        if code != expected:
            raise click.ClickException(f"livedata {line} ended with {code} instead of {expected}.")


@contextmanager
def _folder(keep: bool) -> Iterator[Path]:
    if keep:
        yield Path(tempfile.mkdtemp(prefix="livedata-demo-"))
        return
    with tempfile.TemporaryDirectory(prefix="livedata-demo-") as name:
        yield Path(name)


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
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve on this machine, and give the host."""
    # Port 0 is any free one, so it works next to every other server.
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
