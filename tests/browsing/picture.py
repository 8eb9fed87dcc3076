"""Makes the pictures of the README: python -m tests.browsing.picture"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from livedata.model.requests import UpdateDataset
from livedata.services import datasets
from tests import made
from tests.api.serving import Serving
from tests.browsing.chromium import chromium, looking
from tests.browsing.world import World

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

    from livedata.model.ids import DatasetId
    from livedata.model.row import Scalar
    from livedata.store.database.store import Store

DOCS: Final = Path(__file__).parents[2] / "docs"
COLUMNS: Final = (
    {"name": "sku", "label": "SKU", "type": "string", "key": True},
    {"name": "title", "label": "Title", "type": "string"},
    {"name": "price", "label": "Price", "type": "number"},
    {"name": "stock", "label": "In stock", "type": "boolean"},
    {"name": "note", "label": "Note", "type": "string", "ownership": "user"},
)
ITEMS: Final = tuple(
    {"sku": sku, "title": title, "price": price, "stock": stock}
    for sku, title, price, stock in (
        ("K-100", "Kettle, enamelled", 34.9, True),
        ("L-200", "Desk lamp", 59, True),
        ("M-300", "Mug", 8.5, True),
        ("T-400", "Teapot", 27, False),
        ("W-500", "Whisk", 6.2, True),
    )
)


DAY: Final = 86_400 * 1_000_000
SIZE: Final[ViewportSize] = {"width": 1000, "height": 480}


def main() -> None:
    """Take a picture of what is new, and one of a table in which something has changed."""
    with TemporaryDirectory() as folder, closing(made.make_store(Path(folder))) as store:
        kitchen, lamps = make(store)
        age(store)
        change(store, kitchen, lamps)
        with Serving(Path(folder)) as server, chromium() as browser:
            base = f"http://127.0.0.1:{server.port}"
            with looking(browser, base, store, viewport=SIZE) as visit:
                visit.open("/")
                visit.page.screenshot(path=DOCS / "news.png", full_page=True)
                visit.page.get_by_role("link", name="kitchen").first.click()
                visit.page.screenshot(path=DOCS / "table.png", full_page=True)


def make(store: Store) -> tuple[DatasetId, DatasetId]:
    """Make a table that stays alike, one that will change, and one whose site will break."""
    rows: list[Mapping[str, Scalar]] = [
        {"sku": f"{number:03}", "title": f"Lamp {number}", "price": 20} for number in range(40)
    ]
    made.take(store, made.make_dataset(store, name="events", columns=COLUMNS), ITEMS[:3])
    lamps = made.make_dataset(store, name="lamps", columns=COLUMNS)
    made.take(store, lamps, rows)
    kitchen = made.make_dataset(store, name="kitchen", columns=COLUMNS)
    made.take(store, kitchen, ITEMS[:4])
    return kitchen, lamps


def month(store: Store) -> DatasetId:
    """The same tables, read again and again for a month; one of them."""
    kitchen, lamps = make(store)
    for week in range(1, 7):
        age(store, days=5)
        items = [{**item, "price": float(item["price"] or 0) + week} for item in ITEMS]
        made.take(store, kitchen, items[: 4 + week % 2])
    datasets.update(store, "local", kitchen, UpdateDataset(schedule="0 */6 * * *"))
    age(store, days=1)
    change(store, kitchen, lamps)
    return kitchen


def age(store: Store, days: float = 10) -> None:
    """Let all that happened so far be so many days older."""
    moments = {
        "runs": ("queued_at", "started_at", "completed_at"),
        "attempts": ("started_at", "ended_at"),
        "rows": ("updated_at",),
        "revisions": ("created_at",),
        "observations": ("observed_at",),
    }
    with store.writing() as writer:
        for table, columns in moments.items():
            moved = ", ".join(f"{column} = {column} - {int(days * DAY)}" for column in columns)
            writer.execute(f"UPDATE {table} SET {moved}")


def change(store: Store, kitchen: DatasetId, lamps: DatasetId) -> None:
    """Let a row be edited and others change, come and vanish; a Run of the other table is held."""
    kettle, lamp, mug, _, whisk = ITEMS
    World(store).edit(kitchen, "title", "Kettle of grandmother's")
    made.take(store, kitchen, [kettle, {**lamp, "price": 49}, mug, whisk])
    made.take(store, lamps, ITEMS[:1])


if __name__ == "__main__":
    main()
