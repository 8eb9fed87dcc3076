"""The tables that agents are asked about, and the website behind them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest import mock

from livedata.services import accounts
from livedata.store.database.store import Store
from tests import made
from tests.services.table import Item, Table
from tests.shop import shop, some_items
from tests.site import Site

PER_PAGE = 10
CREDITS = 1_000


class Known(NamedTuple):
    """What an agent knows before it asks: up to which sequence of the lamps it has asked before.

    `page` is the address of the first page of a list of 60 lamps.
    """

    asked: int
    page: str


class World(NamedTuple):
    """A store with the tables ``lamps``, which is well, and ``chairs``, which failed.

    `page_bytes` are the bytes of all pages of the list that may be watched.
    """

    store: Store
    known: Known
    page_bytes: int


def _lamp(number: int, price: float) -> Item:
    return {"sku": f"L-{number:02}", "title": f"Lamp No. {number}", "price": price, "stock": True}


@contextmanager
def world() -> Iterator[World]:
    """All of it, in a folder of its own."""
    with TemporaryDirectory(prefix="livedata-agents-") as folder, Site() as site:
        pages = shop(some_items(60), per_page=PER_PAGE)
        site.pages(pages)
        url = f"sqlite:///{Path(folder) / 'livedata.db'}"
        settings = {
            "LIVEDATA_HOME": folder,
            "LIVEDATA_DATABASE_URL": url,
            "LIVEDATA_ALLOW_HOSTS": site.host,
        }
        with mock.patch.dict(environ, settings), closing(Store(url)) as store:
            accounts.grant(store, "local", CREDITS)
            asked = _lamps(store)
            chairs = Table(store, made.declared("chairs"))
            chairs.take({"sku": "C-1", "title": "Stool", "price": 30})
            chairs.take()
            listed = sum(len(body) for path, body in pages.items() if path != "/")
            yield World(store, Known(asked, site.at("/page/1.html")), listed)


def _lamps(store: Store) -> int:
    """Sixty lamps: three fall in price, one of them little, one is edited, one goes, one comes."""
    table = Table(store, made.declared("lamps"))
    first = [_lamp(number, 10 + number) for number in range(1, 61)]
    table.take(*first)
    asked = len(table.feed())
    moved = {7: 12.0, 20: 29.5, 33: 20.0}
    second = [
        {**lamp, "price": moved.get(number, lamp["price"])}
        for number, lamp in enumerate(first, 1)
        if number != 50
    ]
    table.take(*second, _lamp(61, 5))
    table.edit("L-03", {"title": "Reading lamp"})
    return asked
