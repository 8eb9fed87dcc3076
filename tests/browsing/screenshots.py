"""Pictures of every page in four variants: python -m tests.browsing.screenshots FOLDER"""

from __future__ import annotations

import sys
from contextlib import closing
from itertools import chain, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from livedata.model import ids
from livedata.model.look import ListOnPage, LookWish, PageLook, ProvenKey
from livedata.rules.declaration.notices import ChangeFilter
from livedata.rules.network.targets import TargetPolicy
from livedata.services import attempts, looks, queries, runs
from livedata.services.attempts import Attempt
from livedata.services.notices import subscriptions
from livedata.store.notices import Subscription
from livedata.store.shown_runs import Progress
from tests import made
from tests.api.serving import Serving
from tests.browsing import addresses
from tests.browsing.chromium import chromium, kind_of, looking
from tests.browsing.extremes import Extremes
from tests.browsing.picture import month
from tests.browsing.world import World
from tests.made import make_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from playwright.sync_api import Browser

    from livedata.model.ids import DatasetId
    from livedata.model.row import Scalar
    from livedata.store.database.store import Store
    from tests.browsing.chromium import Looking

SIZES: Final[dict[str, Any]] = {
    "wide": {"width": 1280, "height": 800},
    "phone": {"width": 390, "height": 844},
}
SCHEMES: Final[tuple[Any, ...]] = ("light", "dark")
HEIGHT: Final = 2_000
"""So much of a long page is in its picture."""
NEW: Final = "nobody"
"""An owner without anything."""
ENDS: Final = ("failed", "blocked", "held", "queued")
BOOKS: Final[tuple[Mapping[str, Scalar], ...]] = tuple(
    {"code": f"B-{number:03}", "title": title, "author": author, "price": price}
    for number, (title, author, price) in enumerate(
        (
            ("Emma", "Jane Austen", 8.5),
            ("Middlemarch", "George Eliot", 12),
            ("Bleak House", "Charles Dickens", 11.25),
            ("Villette", "Charlotte Brontë", None),
            ("Silas Marner", "George Eliot", 7.9),
        ),
        101,
    )
)


def main(folder: Path) -> None:
    """Write the picture of each page, ``0-PAGE-SIZE-SCHEME.png``, and what it weighs.

    Behind the pages to which links lead are those of a table that was read for a month, and of one
    with 40 columns and 1,000 rows; the last are those that only an act or an accident shows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as home, closing(make_store(Path(home))) as store:
        tables = [month(store), Extremes(store).large()]
        world = World(store)
        world.fill()
        rare = Rare(world, tables[0])
        with Serving(Path(home)) as server, chromium() as browser:
            base = f"http://127.0.0.1:{server.port}"
            for name, weight in pictures(browser, base, rare, folder, tables):
                print(f"{name} {weight / 1000:.0f} KB")  # noqa: T201


def pictures(
    browser: Browser, base: str, rare: Rare, folder: Path, tables: Sequence[DatasetId]
) -> Iterator[tuple[str, int]]:
    """The name of each picture, once it is there, and the bytes of its page."""
    store = rare.world.store
    for (size, viewport), scheme in product(SIZES.items(), SCHEMES):
        look: dict[str, Any] = {"viewport": viewport, "color_scheme": scheme}
        with (
            looking(browser, base, store, **look) as visit,
            looking(browser, base, store, NEW, **look) as first,
        ):
            # Denser rows are those of the same pages.
            linked = (path for path in visit.crawl(most=1) if "density" not in path)
            named = ((_name(path), visit) for path in chain(linked, opened(visit, store, tables)))
            for number, (name, shown) in enumerate(chain(named, rare.opened(visit, first))):
                file = f"{number:02}-{name}-{size}-{scheme}.png"
                page = shown.page
                height = min(page.evaluate("document.body.scrollHeight"), HEIGHT)
                tall: Any = {**viewport, "height": max(height, viewport["height"])}
                page.set_viewport_size(tall)
                page.screenshot(path=folder / file)
                page.set_viewport_size(viewport)
                yield file, len(page.content().encode())


def _name(path: str) -> str:
    """What a picture of a path is called."""
    return kind_of(path).strip("/").replace("/", "-").replace("?", "+") or "first"


def opened(visit: Looking, store: Store, tables: Sequence[DatasetId]) -> Iterator[str]:
    """The pages of each table and of one of its rows, and what a search finds, while it is open."""
    paths = ["/search?q=lamp"]
    for dataset, of_it in addresses.of_datasets(store, "local"):
        if dataset in tables:
            paths += [*of_it, *addresses.of_rows(store, "local", dataset)[:1]]
    for path in paths:
        visit.open(path)
        yield path


class Rare:
    """Pages that no link leads to at once: what is in progress, opened, chosen, or not there."""

    def __init__(self, world: World, table: DatasetId) -> None:
        self.world, self.table = world, ids.format_uuid(table)
        self.attempt = self._begin()
        self.look = self._books()
        wanted = ChangeFilter([], ["updated"], ["price"])
        wish = ("prices", "webhook", "https://hooks.example/T2/k3y", ("changes",), [self.table])
        told = subscriptions.add(world.store, "local", Subscription(*wish, 2, None, wanted))
        self.notice = ids.format_uuid(told.id)

    def _begin(self) -> Attempt:
        """A Run in progress, of a table that had one before."""
        store = self.world.store
        dataset = made.make_dataset(store, "local", "garden")
        made.take(store, dataset, self.world.items(120))
        queued, _ = runs.enqueue(store, "local", dataset)
        attempt = attempts.begin(store, ids.RunId(ids.raw_id(queued)))
        assert attempt is not None
        return attempt

    def _books(self) -> str:
        """The path of a page whose list was read and tried."""
        store, address = self.world.store, "https://books.example/catalogue"
        names = list(BOOKS[0])
        rows = [list(book.values()) for book in BOOKS]
        columns: list[dict[str, object]] = [
            {"name": name, "label": name.title(), "type": "number" if name == "price" else "string"}
            for name in names
        ]
        columns[0]["key"] = True
        declared = made.declared("Books of the catalogue", columns, required=["code"])
        menu = ListOnPage(2, "nav li", 9, "Home, New, Bestsellers")
        key = ProvenKey(["code"], "is a number or a code of the record", sure=True)
        seen = PageLook(
            [ListOnPage(1, "article.book", 40, "Emma", names, rows), menu],
            *(1, declared, names, rows),
            *([80, 80, 78, 76], 80, [(address, 40), (f"{address}?page=2", 40)], [key]),
        )
        look = looks.ask(store, "local", LookWish(address), TargetPolicy())
        self._end_look(seen=seen)
        looks.try_out(store, "local", look, declared, TargetPolicy())
        counts = {"matched": 40, "extractionFailed": 0, "firstUnreadable": None}
        fields = [
            {"name": name, "filled": filled, **counts}
            for name, filled in zip(names, (40, 40, 39, 38), strict=True)
        ]
        page = {"url": address, "finalUrl": address, "status": 200, "items": 40, "nextLinks": []}
        told: dict[str, object] = {
            "outcome": "accept",
            "error": None,
            "checks": [],
            "odd": [],
            "complete": False,
        }
        self._end_look(tried={**told, "pages": [page], "fields": fields, "rows": list(BOOKS)})
        return f"/new/{ids.format_uuid(look)}"

    def _end_look(self, **came: Any) -> None:
        attempt = looks.begin(self.world.store)
        assert attempt is not None
        looks.finish(self.world.store, attempt, **came)

    def opened(self, visit: Looking, first: Looking) -> Iterator[tuple[str, Looking]]:
        """The name of each of these pages, and the visit that shows it."""
        table = f"/datasets/{self.table}"
        # A Run is in progress as long as somebody says so.
        attempts.heartbeat(self.world.store, self.attempt, Progress(3, 96))
        paths = {
            **self._runs(),
            "new-tried": self.look,
            "notice-tried": f"/notices/{self.notice}/try?since=2020-01-01",
            "rows-chosen": f"{table}?edit=all",
        }
        for name, path in paths.items():
            visit.open(path)
            yield name, visit
        visit.page.locator("#chosen button").click()
        visit.page.get_by_label("Value").wait_for()
        yield "rows-edited", visit
        for summary in ("Filter", "Columns"):
            visit.open(table).locator("summary", has_text=summary).first.click()
            yield f"table-{summary.lower()}", visit
        visit.page.goto(f"{visit.base}/datasets/nothing")
        yield "not-there", visit
        yield "first-visit", first
        first.page.get_by_role("button", name="Sign out").click()
        first.page.get_by_label("API key").wait_for()
        yield "sign-in", first

    def _runs(self) -> dict[str, str]:
        """The page of the Run in progress, of one of each other end, and of one of research."""
        store = self.world.store
        paths = {"run-running": f"/runs/{ids.format_uuid(self.attempt.run)}"}
        for dataset in queries.datasets(store, "local", 100):
            raw = ids.DatasetId(ids.raw_id(dataset["id"]))
            for run in queries.runs(store, "local", raw, 100):
                if run["status"] in ENDS:
                    paths.setdefault(f"run-{run['status']}", f"/runs/{run['id']}")
                if dataset["name"] == "makers":
                    paths.setdefault("run-research", f"/runs/{run['id']}")
        return paths


if __name__ == "__main__":
    main(Path(sys.argv[1]))
