"""Makes the picture of the README: python -m tests.browsing.picture"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests import made
from tests.api.serving import Serving
from tests.browsing.chromium import chromium, looking
from tests.browsing.world import World

PICTURE: Final = Path(__file__).parents[2] / "docs" / "table.png"
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


def main() -> None:
    """Take a picture of a table in which something has changed."""
    with TemporaryDirectory() as folder, closing(made.make_store(Path(folder))) as store:
        dataset = made.make_dataset(store, name="kitchen", columns=COLUMNS)
        kettle, lamp, mug, _, whisk = ITEMS
        made.take(store, dataset, ITEMS)
        World(store).edit(dataset, "title", "Kettle of grandmother's")
        made.take(store, dataset, [kettle, {**lamp, "price": 49}, mug, whisk])
        with Serving(Path(folder)) as server, chromium() as browser:
            size = {"width": 1000, "height": 480}
            base = f"http://127.0.0.1:{server.port}"
            with looking(browser, base, store, viewport=size) as visit:
                visit.page.get_by_role("link", name="kitchen").click()
                visit.page.screenshot(path=PICTURE, full_page=True)


if __name__ == "__main__":
    main()
