"""Edits of a list page: what the people behind a site change on it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from tests.listings import PLACE, Listing, ListPage

Edit = Callable[[Listing, list[ListPage]], None]

_LINK = re.compile(r'<a\b[^>]*href="/list\?page=2"[^>]*>')
_WHOLE_LINK = re.compile(r'<a\b[^>]*href="/list\?page=2"[^>]*>.*?</a>', re.DOTALL)


def both(*edits: Edit) -> Edit:
    """Several edits, one after the other."""

    def edit(listing: Listing, pages: list[ListPage]) -> None:
        for each in edits:
            each(listing, pages)

    return edit


def in_items(change: Callable[[str], str], *, each: int = 1) -> Edit:
    """An edit of the items, or of one in so many."""

    def edit(_: Listing, pages: list[ListPage]) -> None:
        for page in pages:
            page.items = [
                change(item) if number % each == 0 else item
                for number, item in enumerate(page.items)
            ]

    return edit


def in_shells(change: Callable[[str], str]) -> Edit:
    """An edit of what stands around the items."""

    def edit(_: Listing, pages: list[ListPage]) -> None:
        for page in pages:
            page.shell = change(page.shell)

    return edit


def of_items(change: Callable[[list[str]], list[str]], *, page: int | None = None) -> Edit:
    """An edit of the list of items, on each page or on one."""

    def edit(_: Listing, pages: list[ListPage]) -> None:
        for number, each in enumerate(pages, 1):
            if page in {None, number}:
                each.items = change(each.items)

    return edit


def rename_items(listing: Listing, pages: list[ListPage]) -> None:
    """Another class for the items; of `tr[class]`, none at all."""
    names = _classes(listing.items)[-1:]
    for page in pages:
        if names:
            page.items = [_renamed(item, names) for item in page.items]
        else:
            page.items = [item.replace("class=", "data-class=", 1) for item in page.items]


def rename_field(role: str, *, each: int = 1) -> Edit:
    """Other classes for the place of a field."""

    def edit(listing: Listing, pages: list[ListPage]) -> None:
        names = _classes(listing.read_of(role).selector)
        in_items(lambda item: _renamed(item, names), each=each)(listing, pages)

    return edit


def rewrite_price(written: Callable[[float], str]) -> Edit:
    """The same prices, written in another way."""

    def edit(listing: Listing, pages: list[ListPage]) -> None:
        name = _classes(listing.read_of("price").selector)[-1]
        place = re.compile(rf'(class="{name}"[^>]*>(?:[^<]*<span>)?)([^<]+)')

        def replaced(match: re.Match[str]) -> str:
            return match[1] + written(_number(match[2]))

        in_items(lambda item: place.sub(replaced, item))(listing, pages)

    return edit


def translate_titles(listing: Listing, pages: list[ListPage]) -> None:
    """Other words at the place of the title."""
    name = _classes(listing.read_of("title").selector)[-1]
    place = re.compile(rf'(class="[^"]*\b{name}\b[^"]*"[^>]*>)')
    in_items(lambda item: place.sub(r"\1Das ist ", item))(listing, pages)


def as_another(item: str) -> str:
    """An item like this one, of another thing: with other addresses, ids and numbers."""
    item = re.sub(r'\b(href|id)="([^"#]*)', r'\1="\2-another', item)
    return item.replace("Ref: ", "Ref: 9")


def ids_for_classes(_: Listing, pages: list[ListPage]) -> None:
    """An id of its own for each item in place of the class."""
    for number, page in enumerate(pages):
        page.items = [
            re.sub(r'\sclass="[^"]*"', f' id="item-{number}-{index}"', item, count=1)
            for index, item in enumerate(page.items)
        ]


def link(change: Callable[[str], str]) -> Edit:
    """An edit of the links to the second page."""
    return in_shells(lambda shell: _LINK.sub(lambda match: change(match[0]), shell))


def other_link(_: Listing, pages: list[ListPage]) -> None:
    """The link to the second page in another place and dress."""
    shell = _WHOLE_LINK.sub("", pages[0].shell)
    pages[0].shell = _after_body(shell, '<p><a class="onwards" href="/list?page=2">More</a></p>')


def at_top(markup: str) -> Edit:
    """Something at the top of the body."""
    return in_shells(lambda shell: _after_body(shell, markup))


def above_items(markup: str) -> Edit:
    """Something above the page's content; a table would move it there too."""
    return in_shells(lambda shell: _after_body(shell, f"<main>{markup}</main>"))


def in_head(markup: str) -> Edit:
    """Something at the end of the head."""
    return in_shells(lambda shell: shell.replace("</head>", f"{markup}</head>", 1))


def scripted(_: Listing, pages: list[ListPage]) -> None:
    """The items as data in a script, with an empty place for them."""
    for page in pages:
        data = json.dumps(page.items).replace("</", "<\\/")
        page.items = ['<div id="app"></div>']
        page.shell = page.shell.replace("</body>", f"<script>window.data={data}</script></body>")


def only(body: str, title: str = "Welcome") -> Edit:
    """Another page in place of each."""

    def edit(_: Listing, pages: list[ListPage]) -> None:
        for page in pages:
            page.shell = f"<!doctype html><title>{title}</title><body>{body}</body>"

    return edit


def repeat_first_page(_: Listing, pages: list[ListPage]) -> None:
    """The second page shows what the first one shows."""
    pages[1].items = list(pages[0].items)


def out_of_items(role: str) -> Edit:
    """A field's place behind its item."""

    def edit(listing: Listing, pages: list[ListPage]) -> None:
        names = _classes(listing.read_of(role).selector)
        marked = [f'<p class="{names[-1]}">elsewhere</p>'] if names else []
        rename_field(role)(listing, pages)
        for page in pages:
            page.shell = page.shell.replace(PLACE, PLACE + "".join(marked))

    return edit


def _classes(selector: str | None) -> list[str]:
    """The classes that a selector names."""
    return re.findall(r"\.([\w-]+)", selector or "")


def _renamed(markup: str, names: Sequence[str]) -> str:
    """The markup with other names for some classes."""

    def renamed(match: re.Match[str]) -> str:
        tokens = [f"{token}-v2" if token in names else token for token in match[1].split()]
        return f'class="{" ".join(tokens)}"'

    return re.sub(r'class="([^"]*)"', renamed, markup)


def _after_body(shell: str, markup: str) -> str:
    return re.sub(r"<body\b[^>]*>", lambda match: match[0] + markup, shell, count=1)


def _number(text: str) -> float:
    """The number of a price such as "$1,174.99" or "129,98 €"."""
    digits = re.sub(r"[^\d.,]", "", text)
    whole, _, cents = digits.replace(",", ".").rpartition(".")
    return float(f"{whole.replace('.', '')}.{cents}") if whole else float(digits)
