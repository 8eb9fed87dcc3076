"""Pictures of every page in four variants: python -m tests.browsing.screenshots FOLDER"""

from __future__ import annotations

import sys
from contextlib import closing
from itertools import chain, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from tests.api.serving import Serving
from tests.browsing import addresses
from tests.browsing.chromium import chromium, kind_of, looking
from tests.browsing.extremes import Extremes
from tests.browsing.picture import month
from tests.browsing.world import World
from tests.made import make_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Browser

    from livedata.model.ids import DatasetId
    from livedata.store.database.store import Store
    from tests.browsing.chromium import Looking

SIZES: Final[dict[str, Any]] = {
    "wide": {"width": 1280, "height": 800},
    "phone": {"width": 390, "height": 844},
}
SCHEMES: Final[tuple[Any, ...]] = ("light", "dark")
HEIGHT: Final = 2_000
"""So much of a long page is in its picture."""


def main(folder: Path) -> None:
    """Write the picture of each page, ``0-PAGE-SIZE-SCHEME.png``, and what it weighs.

    The last pages are those of a table that was read for a month, and of one with 40 columns and
    1,000 rows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as home, closing(make_store(Path(home))) as store:
        tables = [month(store), Extremes(store).large()]
        World(store).fill()
        with Serving(Path(home)) as server, chromium() as browser:
            base = f"http://127.0.0.1:{server.port}"
            for name, weight in pictures(browser, base, store, folder, tables):
                print(f"{name} {weight / 1000:.0f} KB")  # noqa: T201


def pictures(
    browser: Browser, base: str, store: Store, folder: Path, tables: Sequence[DatasetId]
) -> Iterator[tuple[str, int]]:
    """The name of each picture, once it is there, and the bytes of its page."""
    for (size, viewport), scheme in product(SIZES.items(), SCHEMES):
        with looking(browser, base, store, viewport=viewport, color_scheme=scheme) as visit:
            # Denser rows are those of the same pages.
            linked = (path for path in visit.crawl(most=1) if "density" not in path)
            for number, path in enumerate(chain(linked, opened(visit, store, tables))):
                kind = kind_of(path).strip("/").replace("/", "-").replace("?", "+") or "first"
                name = f"{number:02}-{kind}-{size}-{scheme}.png"
                height = min(visit.page.evaluate("document.body.scrollHeight"), HEIGHT)
                tall: Any = {**viewport, "height": max(height, viewport["height"])}
                visit.page.set_viewport_size(tall)
                visit.page.screenshot(path=folder / name)
                visit.page.set_viewport_size(viewport)
                yield name, len(visit.page.content().encode())


def opened(visit: Looking, store: Store, tables: Sequence[DatasetId]) -> Iterator[str]:
    """The pages of each table and of one of its rows, and what a search finds, while it is open."""
    paths = ["/search?q=lamp"]
    for dataset, of_it in addresses.of_datasets(store, "local"):
        if dataset in tables:
            paths += [*of_it, *addresses.of_rows(store, "local", dataset)[:1]]
    for path in paths:
        visit.open(path)
        yield path


if __name__ == "__main__":
    main(Path(sys.argv[1]))
