"""Real list pages, as they were found on the web, with a declaration of each.

`tests/pages/README.md` says where they are from. A page is taken apart into its shell and its
items, so that a test can change either of them and serve it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from selectolax.lexbor import LexborHTMLParser

PAGES = Path(__file__).parent / "pages"
PLACE = "@@items@@"
"""Where the items were in a shell."""


@dataclass(frozen=True)
class Read:
    """How a field is read within an item; without a selector, of the item itself."""

    selector: str | None
    attribute: str | None = None
    type: str = "string"


@dataclass
class ListPage:
    """One page of a list, in parts that may be changed."""

    shell: str
    items: list[str]

    @property
    def markup(self) -> str:
        """The whole page."""
        return self.shell.replace(PLACE, "\n".join(self.items))


@dataclass(frozen=True)
class Listing:
    """A list page and its declaration.

    `key` identifies a row, `title` is in every row, `extra` is a field that most rows have, and
    `price` a number. With a `following` link the items are on two pages.
    """

    name: str
    items: str
    fields: Mapping[str, Read]
    key: str = "url"
    title: str = "title"
    extra: str = ""
    price: str = ""
    following: str = ""

    @property
    def image(self) -> str:
        """The field of an image, if there is one."""
        return "image" if "image" in self.fields else ""

    @property
    def small(self) -> bool:
        """Whether it has too few rows for that."""
        return not self.guarded

    @property
    def guarded(self) -> bool:
        """Whether it has so many rows that a loss of most of them is held."""
        return self.name not in {"sport", "paper"}

    @property
    def key_attribute(self) -> bool:
        """Whether the key is an attribute."""
        return self.read_of("key").attribute is not None

    @property
    def key_below(self) -> bool:
        """Whether the key is read below the item, and not of itself."""
        return self.read_of("key").selector is not None

    @property
    def renames_title(self) -> bool:
        """Whether the title has a class, which the key does not need."""
        title = self.read_of("title").selector or ""
        return "." in title and title != self.read_of("key").selector

    def read_of(self, role: str) -> Read:
        """How the field in a role (`key`, `title`, ...) is read."""
        return self.fields[getattr(self, role)]

    def declared(self, url: str, **changes: Any) -> dict[str, Any]:
        """The dataset as it is created; `changes` are the source's."""
        columns = [
            {"name": name, "type": read.type, "key": name == self.key}
            for name, read in self.fields.items()
        ]
        pagination = {"kind": "next-link", "selector": self.following}
        source = {
            "version": 1,
            "url": url,
            "itemSelector": self.items,
            "fields": [self._field(name, read) for name, read in self.fields.items()],
            "identity": {"kind": "source-key", "field": self.key},
            "pagination": pagination if self.following else {"kind": "none"},
            **changes,
        }
        return {"name": self.name, "columns": columns, "source": source}

    def _field(self, name: str, read: Read) -> dict[str, Any]:
        declared: dict[str, Any] = {"kind": "attribute" if read.attribute else "text"}
        if read.selector:
            declared["selector"] = read.selector
        if read.attribute:
            declared["attribute"] = read.attribute
        return {"name": name, "read": declared, "required": name in {self.key, self.title}}

    def pages(self) -> list[ListPage]:
        """The pages of the list, for the caller to change."""
        shell, last, items = _parts(self)
        if not self.following:
            return [ListPage(last, list(items))]
        half = len(items) // 2
        return [ListPage(shell, list(items[:half])), ListPage(last, list(items[half:]))]


@cache
def _parts_of(name: str, items: str, following: str) -> tuple[str, str, tuple[str, ...]]:
    tree = LexborHTMLParser((PAGES / f"{name}.html").read_text(encoding="utf-8"))
    nodes = tree.css(items)
    texts = tuple(node.html or "" for node in nodes)
    nodes[0].insert_before(PLACE)
    for node in nodes:
        node.decompose()
    links = tree.css(following) if following else []
    for link in links:
        link.attrs["href"] = "/list?page=2"
    shell = tree.html or ""
    for link in links:
        link.decompose()
    return shell, tree.html or "", texts


def _parts(listing: Listing) -> tuple[str, str, Sequence[str]]:
    """The shell with a next link, the shell without one, and the items."""
    return _parts_of(listing.name, listing.items, listing.following)


LISTINGS = (
    Listing(
        "garden",
        "div.searchResult",
        {
            "title": Read(".productTitle"),
            "url": Read(".productImage a", "href"),
            "price": Read(".FinalPriceText", type="number"),
            "image": Read(".productImage img", "src"),
        },
        extra="price",
        price="price",
    ),
    Listing(
        "shampoo",
        "div.product-item",
        {
            "title": Read(".product_grid_info_top_text_container"),
            "url": Read("a.product_grid_link", "href"),
            "size": Read(".product_grid_info_subtitle"),
            "price": Read(".product_grid_price"),
        },
        extra="size",
        following="a#next",
    ),
    Listing(
        "ebooks",
        "div.w3-card-2",
        {
            "title": Read("a.desc"),
            "url": Read("a", "href"),
            "formats": Read("p.desc"),
            "image": Read("img", "src"),
        },
    ),
    Listing(
        "packages",
        "tr[class]",
        {
            "title": Read("td a"),
            "url": Read("td a", "href"),
            "updated": Read("td"),
        },
    ),
    Listing(
        "questions",
        "article.Question",
        {
            "id": Read(None, "id"),
            "title": Read("h2 a"),
            "url": Read("h2 a", "href"),
            "answers": Read(".answers a"),
        },
        key="id",
        extra="answers",
        following="span.next a",
    ),
    Listing(
        "pubs",
        "div.propbox",
        {
            "reference": Read(".ref_no"),
            "title": Read(".precislist"),
            "region": Read(".propboxleft"),
            "link": Read(".propboxright a", "href"),
        },
        key="reference",
        extra="region",
        following=".propnavright a",
    ),
    Listing(
        "news",
        "li.post",
        {
            "url": Read("a", "href"),
            "title": Read("h1.heading"),
            "excerpt": Read("p.excerpt"),
            "comments": Read(".comment-count", type="number"),
        },
        extra="excerpt",
    ),
    Listing(
        "tenders",
        "tr.lst-rw",
        {
            "url": Read("a.lst-lnk-notice", "href"),
            "title": Read(".solt"),
            "number": Read(".soln"),
            "agency": Read(".pagency"),
            "posted": Read("td[headers='lh_current_posted_date']"),
        },
        extra="agency",
        following="a[title='next page']",
    ),
    Listing(
        "sport",
        "ul.products-grid li.item",
        {
            "title": Read(".product-name"),
            "url": Read("h3 a", "href"),
            "price": Read(".price", type="number"),
            "image": Read("img", "src"),
        },
        extra="price",
        price="price",
    ),
    Listing(
        "paper",
        "div.product-wrapper",
        {
            "title": Read("a.product-image-link"),
            "url": Read("a.product-link", "href"),
            "price": Read(".grid-product-price span", type="number"),
            "quantity": Read(".grid-case-info"),
        },
        extra="quantity",
        price="price",
    ),
)
