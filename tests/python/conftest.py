"""What tests of Python share: a table of a shop, at both doors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import livedata
from livedata.services import accounts
from livedata.store.database.store import Store
from tests import made
from tests.api.serving import Serving
from tests.services.table import Item, Table

COLUMNS = (
    {"name": "sku", "type": "string", "key": True},
    {"name": "title", "type": "string", "label": "Title"},
    {"name": "price", "type": "number", "description": "In euros."},
    {"name": "due", "type": "date", "ownership": "user"},
)
LAMP: Item = {"sku": "A1", "title": "Lamp", "price": 10}
DESK: Item = {"sku": "B2", "title": "=Desk <b>", "price": 25.5}
MUG: Item = {"sku": "C3", "title": None, "price": None}
HEAD = 8


@dataclass(frozen=True)
class Doors:
    """The home of a store, and a server over it with a key of `local`."""

    store: Store
    home: Path
    serving: Serving
    key: str

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self.serving.port}"

    @property
    def server(self) -> livedata.Tables:
        """The tables of the server."""
        return livedata.connect(self.url, key=self.key)

    def tables(self, name: str) -> tuple[livedata.Table, livedata.Table]:
        """A table of the store, and the same of the server."""
        return livedata.open(name, home=self.home), self.server[name]


@pytest.fixture
def doors(store: Store, tmp_path: Path) -> Iterator[Doors]:
    """Both doors of a store."""
    key = accounts.create_key(store, "local", None, first_credits=0)["key"]
    with Serving(tmp_path) as serving:
        yield Doors(store, tmp_path, serving, key)


@pytest.fixture
def shop(store: Store) -> Table:
    """A dataset of two Runs and an edit: a price falls, the desk is gone, a mug is new."""
    table = Table(store, made.declared("shop", COLUMNS))
    table.take(LAMP, DESK)
    table.edit("A1", {"due": "2026-12-01"})
    table.take({**LAMP, "price": 8}, MUG)
    table.edit("C3", {"title": "Mine"})
    table.take({**LAMP, "price": 8}, {**MUG, "price": 3})
    return table


@pytest.fixture(params=["store", "server"])
def table(request: pytest.FixtureRequest, shop: Table, tmp_path: Path) -> livedata.Table:
    """The table of the shop at each of the doors."""
    name = shop.dataset["name"]
    if request.param == "store":
        return livedata.open(name, home=tmp_path)
    doors: Doors = request.getfixturevalue("doors")
    return doors.server[name]
