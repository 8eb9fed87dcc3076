"""Pages with lists of a known kind, made of a few words."""

from __future__ import annotations

from collections.abc import Callable

from livedata.extraction.lists.page_lists import Lists, find_lists
from livedata.extraction.lists.proposal import ProposedList, propose
from livedata.extraction.page import Page

URL = "https://shop.example/list"
NAMES = (
    "Kettle", "Desk lamp", "Mug", "Teapot", "Whisk", "Ladle", "Sieve", "Grater", "Colander", "Jug",
    "Tray", "Bowl",
)  # fmt: skip
MENU = (
    "<nav><ul><li><a href=/a>Home</a><li><a href=/b>About us</a><li><a href=/c>Contact</a>"
    "<li><a href=/d>Jobs</a></ul></nav>"
)


def card(number: int, name: str) -> str:
    """A product with an address, a name, a price and a button."""
    address = f"/p/{name.lower().replace(' ', '-')}"
    return (
        f'<li class="product item-{number}"><h2><a href="{address}">{name}</a></h2>'
        f'<span class="price">{number * 3 + 4}.50 €</span><button>Buy</button></li>'
    )


def cards(between: str = "", make: Callable[[int, str], str] = card) -> str:
    """A list of all products, with something else after every fourth."""
    made = [make(number, name) for number, name in enumerate(NAMES, 1)]
    return "".join(
        each + (between if number % 4 == 0 else "") for number, each in enumerate(made, 1)
    )


def table_of(rows: int, cells: int) -> str:
    """A table with a header and so many cells in each row."""
    head = "".join(f"<th>Head {number}" for number in range(cells))
    made = (
        f"<tr>{''.join(f'<td>{row}.{number}' for number in range(cells))}" for row in range(rows)
    )
    return f"<table><tr>{head}{''.join(made)}</table>"


def page_of(body: str, title: str = "Shop") -> Page:
    """A page with a menu around its body."""
    markup = f"<!doctype html><title>{title}</title>{MENU}<main>{body}</main>"
    return Page(markup.encode(), "text/html; charset=utf-8", URL)


def lists_of(body: str, *like: str) -> Lists:
    """The lists of a page with this body."""
    return find_lists(page_of(body), like)


def proposed(body: str) -> ProposedList:
    """What is proposed of the first list of a page."""
    lists = lists_of(body)
    return propose(lists, lists.seen[0])


def listed(*records: str) -> ProposedList:
    """What is proposed of these records."""
    return proposed(f"<ul>{''.join(f'<li class=hit>{record}' for record in records)}</ul>")


def values(proposal: ProposedList, name: str) -> list[object]:
    """The values of a column."""
    place = [column.name for column in proposal.columns].index(name)
    return [row.values[place] for row in proposal.rows]
