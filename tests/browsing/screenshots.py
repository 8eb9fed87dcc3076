"""Pictures of every page in four variants: python -m tests.browsing.screenshots FOLDER"""

from __future__ import annotations

import sys
from contextlib import closing
from itertools import chain, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from livedata.model import ids
from tests.api.serving import Serving
from tests.browsing.chromium import chromium, kind_of, looking
from tests.browsing.extremes import Extremes
from tests.made import make_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from tests.browsing.chromium import Looking

SIZES: Final[dict[str, Any]] = {
    "wide": {"width": 1280, "height": 800},
    "phone": {"width": 390, "height": 844},
}
SCHEMES: Final[tuple[Any, ...]] = ("light", "dark")


def main(folder: Path) -> None:
    """Write the first screen of each page, ``0-PAGE-SIZE-SCHEME.png``, and what it weighs.

    The last pages are those of a table with 40 columns and 1,000 rows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as home, closing(make_store(Path(home))) as store:
        large = f"/datasets/{ids.format_uuid(Extremes(store).fill().large())}"
        with Serving(Path(home)) as server, chromium() as browser:
            base = f"http://127.0.0.1:{server.port}"
            for name, weight in pictures(browser, base, store, folder, large):
                print(f"{name} {weight / 1000:.0f} KB")  # noqa: T201


def pictures(
    browser: Browser, base: str, store: Any, folder: Path, large: str
) -> Iterator[tuple[str, int]]:
    """The name of each picture, once it is there, and the bytes of its page."""
    for (size, viewport), scheme in product(SIZES.items(), SCHEMES):
        with looking(browser, base, store, viewport=viewport, color_scheme=scheme) as visit:
            for number, path in enumerate(chain(visit.crawl(most=1), opened(visit, large))):
                kind = kind_of(path).strip("/").replace("/", "-").replace("?", "+") or "first"
                name = f"{number:02}-{kind}-{size}-{scheme}.png"
                visit.page.screenshot(path=folder / name)
                yield name, len(visit.page.content().encode())


def opened(visit: Looking, table: str) -> Iterator[str]:
    """The pages of one table, each while it is open."""
    for path in (table, f"{table}/settings"):
        visit.open(path)
        yield path


if __name__ == "__main__":
    main(Path(sys.argv[1]))
