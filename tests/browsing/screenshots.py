"""Pictures of every page in four variants: python -m tests.browsing.screenshots FOLDER"""

from __future__ import annotations

import sys
from contextlib import closing
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from tests.api.serving import Serving
from tests.browsing.chromium import chromium, kind_of, looking
from tests.browsing.extremes import Extremes
from tests.made import make_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

SIZES: Final[dict[str, Any]] = {
    "wide": {"width": 1280, "height": 800},
    "phone": {"width": 390, "height": 844},
}
SCHEMES: Final[tuple[Any, ...]] = ("light", "dark")


def main(folder: Path) -> None:
    """Write the first screen of each page, ``0-PAGE-SIZE-SCHEME.png``, and what it weighs."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as home, closing(make_store(Path(home))) as store:
        Extremes(store).fill()
        with Serving(Path(home)) as server, chromium() as browser:
            for name in pictures(browser, f"http://127.0.0.1:{server.port}", store, folder):
                print(name)  # noqa: T201


def pictures(browser: Browser, base: str, store: Any, folder: Path) -> Iterator[str]:
    """The name of each picture, once it is there."""
    for (size, viewport), scheme in product(SIZES.items(), SCHEMES):
        with looking(browser, base, store, viewport=viewport, color_scheme=scheme) as visit:
            for number, path in enumerate(visit.crawl(most=1)):
                kind = kind_of(path).strip("/").replace("/", "-").replace("?", "+") or "first"
                name = f"{number:02}-{kind}-{size}-{scheme}.png"
                visit.page.screenshot(path=folder / name)
                yield name


if __name__ == "__main__":
    main(Path(sys.argv[1]))
