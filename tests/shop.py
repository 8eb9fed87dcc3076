"""A small believable shop as a set of listing pages."""

from __future__ import annotations

import random
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = ("Green", "Small", "Oak", "Enamel", "Folding", "Café", "Travel", "Wool", "Copper", "Plain")
THINGS = ("kettle", "lamp", "chair", "mug", "blanket", "shelf", "clock", "basket", "tray", "stool")


@dataclass(frozen=True)
class Item:
    """One thing on sale; without a URL it links to its own item page."""

    sku: str
    name: str
    price: str
    stock: str = "in stock"
    url: str | None = None

    @property
    def link(self) -> str:
        """Where the name leads."""
        return f"/item/{self.sku}.html" if self.url is None else self.url


def shop(
    items: Sequence[Item],
    *,
    per_page: int = 5,
    next_link: bool = True,
    end_marker: bool = True,
) -> dict[str, str]:
    """The listing as path -> page: ``/page/1.html`` and on, and ``/``, which is page 1 again."""
    shelves = [items[index : index + per_page] for index in range(0, len(items), per_page)] or [()]
    last = len(shelves)
    pages = {}
    for number, shelf in enumerate(shelves, 1):
        following = path(number + 1) if next_link and number < last else None
        pages[path(number)] = page(number, shelf, following, end=end_marker and number == last)
    return {"/": pages[path(1)], **pages}


def path(number: int) -> str:
    """The path of a page of the listing."""
    return f"/page/{number}.html"


def page(number: int, items: Sequence[Item], following: str | None, *, end: bool) -> str:
    """One page of the listing."""
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        f'<head><meta charset="utf-8"><title>Shop, page {number}</title></head>',
        "<body>",
        "<h1>Everything for the house</h1>",
        '<ul class="products">',
        *(row(item) for item in items),
        "</ul>",
    ]
    if following is not None:
        lines.append(f'<a class="next" rel="next" href="{escape(following)}">Next page</a>')
    if end:
        lines.append('<p class="end">That is all.</p>')
    return "\n".join([*lines, "</body>", "</html>", ""])


def row(item: Item) -> str:
    """One item as it stands in the list."""
    return (
        f'<li class="product" data-sku="{escape(item.sku)}">'
        f'<h2><a href="{escape(item.link)}">{escape(item.name)}</a></h2>'
        f'<span class="price">{escape(item.price)}</span>'
        f'<span class="stock">{escape(item.stock)}</span></li>'
    )


def some_items(n: int, *, seed: int = 0) -> list[Item]:
    """Items with distinct names, the same for the same seed; SKUs depend on the place only."""
    chance = random.Random(seed)
    return [
        Item(
            sku=f"S{number:04}",
            name=f"{chance.choice(KINDS)} {chance.choice(THINGS)} {100 + number}",
            price=f"£{chance.randrange(1, 200)}.{chance.choice(('00', '49', '50', '95', '99'))}",
            stock=chance.choice(("in stock", "in stock", "in stock", "out of stock")),
        )
        for number in range(n)
    ]
