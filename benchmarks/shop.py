"""A shop of 50 pages with 20 items of 8 fields, about 43 KB a page, the same on every machine.

Revision 1 is the shop on another day: 10 % of the prices are changed and 1 % of the items are gone.

    python -m benchmarks.shop --port 8765    # serves it; each line on stdin is a revision to show
"""

from __future__ import annotations

import argparse
import asyncio
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import IO

from typing_extensions import override

PAGES = 50
PER_PAGE = 20
CHANGED = 100
GONE = 10
SIZE = 43_000

FIELDS = ("sku", "title", "brand", "price", "rating", "reviews", "stock", "link")

_BRANDS = ("Ashby", "Birch & Co", "Corvin", "Delmar", "Eastmoor", "Falk", "Grovely", "Hasper")
_MAKES = ("Forged", "Telescopic", "Stainless", "Ergonomic", "Two-handed", "Compact", "Classic")
_TOOLS = ("Spade", "Rake", "Hedge Shears", "Watering Can", "Trowel", "Pruning Saw", "Garden Fork")
_STOCKS = ("In stock", "Only a few left", "Back in two weeks")
_TEXT = (
    "a strong and light tool for beds borders pots and lawns with an ash handle that lies well in "
    "the hand made to be sharpened oiled and kept for years tested by gardeners in rain and frost"
)
_WORDS = _TEXT.split()

DECLARATION = """\
name = "shop"

[[columns]]
name = "sku"
type = "string"
key = true

[[columns]]
name = "title"
type = "string"

[[columns]]
name = "brand"
type = "string"

[[columns]]
name = "price"
type = "number"

[[columns]]
name = "rating"
type = "number"

[[columns]]
name = "reviews"
type = "number"

[[columns]]
name = "stock"
type = "string"

[[columns]]
name = "link"
type = "string"

[source]
version = 1
url = "@URL@"
maxPages = 50
maxItems = 1000
itemSelector = "article.tile"
identity = { kind = "source-key", field = "sku" }
pagination = { kind = "next-link", selector = "a.pages__next" }

[[source.fields]]
name = "sku"
read = { kind = "attribute", attribute = "data-sku" }
required = true

[[source.fields]]
name = "title"
read = { selector = ".tile__name a" }
required = true

[[source.fields]]
name = "brand"
read = { selector = "p.tile__brand" }

[[source.fields]]
name = "price"
read = { kind = "attribute", attribute = "data-amount", selector = ".tile__price > .now" }

[[source.fields]]
name = "rating"
read = { selector = ".tile__stars .value" }

[[source.fields]]
name = "reviews"
read = { selector = ".tile__stars .count" }

[[source.fields]]
name = "stock"
read = { selector = "p.availability" }

[[source.fields]]
name = "link"
read = { kind = "attribute", attribute = "href", selector = "a.tile__image" }
"""
"""The source of the shop; ``@URL@`` is a placeholder for the address of its first page."""

# Markup as shops have it: most of a page is not read, and attributes and text are mixed.
_TILE = """\
<li class="shelf__place" data-place="{place}">
<article class="tile js-tile" data-sku="{sku}" data-list="garden" data-seen='{{"sku":"{sku}"}}'>
<a class="tile__image" href="{link}" aria-label="{title}"><picture>
<source type="image/avif"
srcset="/pic/{sku}@1x.avif 1x, /pic/{sku}@2x.avif 2x, /pic/{sku}@3x.avif 3x">
<img src="/pic/{sku}.jpg" alt="{title}" width="280" height="280" loading="lazy"></picture></a>
<button class="button button--heart" type="button" data-sku="{sku}" aria-pressed="false">
<svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
<path d="M10 17C4 12 2 9 2 6.500A4 4 0 0 1 10 5a4 4 0 0 1 8 1.500C18 9 16 12 10 17z"/></svg>
<span class="for-readers">Remember {title}</span></button>
<div class="tile__text">
<p class="tile__brand">{brand}</p>
<h2 class="tile__name"><a href="{link}">{title}</a></h2>
<p class="tile__about">{about}</p>
<div class="tile__stars" role="img" aria-label="{rating} of 5 stars">
<i class="stars" data-full="{rating}"></i>
<span class="value">{rating}</span> <span class="count">{reviews}</span></div>
<div class="tile__price"><span class="now" data-amount="{price}">£&nbsp;{price}</span>
<s class="before">£&nbsp;{before}</s></div>
<p class="tile__stock availability">{stock}</p>
<form class="tile__buy" action="/basket" method="post">
<input type="hidden" name="sku" value="{sku}">
<label>Number <input type="number" name="number" value="1" min="1" max="20"></label>
<button class="button button--buy" type="submit">Put into the basket</button></form>
</div></article></li>
"""

_PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Garden tools, page {number}</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/shop.css">
<script>window.shop = {{"page": {number}, "basket": [], "remembered": []}};</script></head>
<body><header class="top"><a class="logo" href="/">Garden tools</a><nav><ul class="menu">
{menu}</ul></nav></header>
<main><aside><form class="filters" action="/list"><ul>
{filters}</ul></form></aside>
<section class="list"><h1>Garden tools</h1><ol class="shelf">
{tiles}</ol><nav class="pages">{following}</nav></section></main>
<footer><ul class="links">
{menu}</ul></footer></body></html>
"""


@dataclass(frozen=True)
class Item:
    """A thing on sale, with the text of each field."""

    sku: str
    title: str
    brand: str
    price: str
    rating: str
    reviews: str
    stock: str
    link: str


@cache
def items(revision: int = 0) -> Sequence[Sequence[Item]]:
    """The items on sale, page by page."""
    chance = random.Random(2)  # a fixed seed: the shop is the same on every machine
    numbered = [_item(number, chance) for number in range(PAGES * PER_PAGE)]
    moved = random.Random(3).sample(range(len(numbered)), CHANGED + GONE) if revision else []
    for number in moved[:CHANGED]:
        price = float(numbered[number].price) * 1.1
        numbered[number] = replace(numbered[number], price=f"{price:.2f}")
    # An item that is gone leaves a gap on its page; the others stay on theirs.
    gone = set(moved[CHANGED:])
    return [
        [numbered[number] for number in range(start, start + PER_PAGE) if number not in gone]
        for start in range(0, len(numbered), PER_PAGE)
    ]


@cache
def pages(revision: int = 0) -> Sequence[bytes]:
    """The bodies of the pages."""
    return [_page(number, on_page) for number, on_page in enumerate(items(revision), 1)]


def path(number: int) -> str:
    """The path of a page; the first is 1."""
    return f"/list/{number}.html"


def declaration(origin: str) -> str:
    """The text of ``source.toml`` for the shop at `origin`."""
    return DECLARATION.replace("@URL@", f"{origin}{path(1)}")


def numbered(origin: str) -> str:
    """The declaration of a dataset ``pages``, which counts the pages and follows no links."""
    pattern = f"{origin}{path(1)}".replace("1.html", "{page}.html")
    counted = (
        f'{{ kind = "url-pattern", pattern = "{pattern}", startPage = 1, '
        'endSelector = ".pages__end" }'
    )
    linked = '{ kind = "next-link", selector = "a.pages__next" }'
    return declaration(origin).replace(linked, counted).replace('"shop"', '"pages"')


def _item(number: int, chance: random.Random) -> Item:
    sku = f"GT-{number:05}"
    brand, make, tool = chance.choice(_BRANDS), chance.choice(_MAKES), chance.choice(_TOOLS)
    slug = f"{make}-{tool}-{number}".lower().replace(" ", "-")
    return Item(
        sku=sku,
        title=f"{make} {tool} No. {number}",
        brand=brand.replace("&", "and"),
        price=f"{chance.randrange(500, 30_000) / 100:.2f}",
        rating=f"{chance.randrange(20, 51) / 10:.1f}",
        reviews=str(chance.randrange(3000)),
        stock=chance.choice(_STOCKS),
        link=f"/tool/{slug}.html",
    )


def _page(number: int, on_page: Sequence[Item]) -> bytes:
    chance = random.Random(number)
    tiles = "".join(_tile(place, item, chance) for place, item in enumerate(on_page, 1))
    # Menus and filters fill the page up; a page with fewer items is smaller, as in a real shop.
    left = SIZE - PER_PAGE * len(tiles) // len(on_page)
    following = f'<a class="pages__next" rel="next" href="{path(number + 1)}">Next page</a>'
    text = _PAGE.format(
        number=number,
        menu=_menu(chance, left // 4),
        filters=_filters(chance, left // 2),
        tiles=tiles,
        following=following if number < PAGES else '<p class="pages__end">That is all.</p>',
    )
    return text.encode()


def _tile(place: int, item: Item, chance: random.Random) -> str:
    before = f"{float(item.price) * 1.3:.2f}"
    shown = {field: getattr(item, field) for field in FIELDS}
    return _TILE.format(place=place, about=_words(chance, 16), before=before, **shown)


def _menu(chance: random.Random, size: int) -> str:
    text = ""
    while len(text) < size:
        text += (
            f'<li class="menu__place"><a class="menu__link" href="/to/{chance.randrange(10_000)}" '
            f'data-from="menu">{_words(chance, 2)}</a></li>\n'
        )
    return text


def _filters(chance: random.Random, size: int) -> str:
    text = ""
    while len(text) < size:
        number = chance.randrange(10_000)
        text += (
            f'<li class="filter"><label><input type="checkbox" name="with" value="{number}"> '
            f"<span>{_words(chance, 2)}</span> <small>{chance.randrange(300)}</small>"
            "</label></li>\n"
        )
    return text


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(_WORDS, k=count)).capitalize()


class Served:
    """The shop as served on loopback."""

    def __init__(self, server: subprocess.Popen[str], origin: str) -> None:
        self._server = server
        self.origin = origin
        self.host = origin.removeprefix("http://")
        self.url = f"{origin}{path(1)}"

    def show(self, revision: int) -> None:
        """Serve this revision of the shop from now on."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(f"{revision}\n")
        self._server.stdin.flush()
        self._server.stdout.readline()  # the server says when it is ready


@contextmanager
def serve(delay: float = 0.0) -> Iterator[Served]:
    """Serve the shop on a free port during the block, with `delay` seconds before each answer."""
    # In a process of its own: its CPU time must not count as that of the program measured.
    command = [sys.executable, "-m", "benchmarks.shop", "--delay", str(delay)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        # The first line is the address, which a free port makes unknown before.
        assert server.stdout is not None
        try:
            yield Served(server, server.stdout.readline().strip())
        finally:
            server.terminate()


class _Connection(asyncio.Protocol):
    def __init__(self, answers: dict[bytes, bytes], delay: float) -> None:
        self._answers = answers
        self._delay = delay
        self._received = b""

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    @override
    def data_received(self, data: bytes) -> None:
        # A packet may hold a part of a request, or several; a GET has no body.
        *complete, self._received = (self._received + data).split(b"\r\n\r\n")
        for head in complete:
            target = head.split(b" ", 2)[1]
            answer = self._answers.get(target) or _answer("404 Not Found", b"None")
            if self._delay:
                asyncio.get_running_loop().call_later(self._delay, self._transport.write, answer)
            else:
                self._transport.write(answer)


def _answer(status: str, body: bytes, kind: str = "text/html; charset=utf-8") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _answers(revision: int) -> dict[bytes, bytes]:
    answers = {
        path(number).encode(): _answer("200 OK", page)
        for number, page in enumerate(pages(revision), 1)
    }
    robots = b"User-agent: *\nDisallow: /basket\n"
    return {**answers, b"/robots.txt": _answer("200 OK", robots, "text/plain")}


async def _serve(port: int, delay: float, lines: IO[str]) -> None:
    answers = _answers(0)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(answers, delay), "127.0.0.1", port)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)

    while line := await asyncio.to_thread(lines.readline):
        answers.update(_answers(int(line)))
        print(f"revision {int(line)}", flush=True)
    server.close()


def main() -> None:
    """Serve the shop until stdin ends."""
    # So the server ends with the process that started it, even if that one is killed.
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one (the default)")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    options = parser.parse_args()
    asyncio.run(_serve(options.port, options.delay, sys.stdin))


if __name__ == "__main__":
    main()
