"""Goals 7, 8 and 9: the parts of a Run within one process, against the floors.

python -m benchmarks.within [-n 15]
"""

from __future__ import annotations

import gc
import shutil
import sys
import time
import tomllib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks import floors, shop
from benchmarks.goals import Report
from benchmarks.stage import argument_parser
from livedata.extraction.page import Page
from livedata.extraction.records import Extractor
from livedata.extraction.selectors import parse
from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.harvest import Harvest, PageRead, StopReason
from livedata.model.recipe import Recipe
from livedata.model.requests import CreateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import attempts, datasets, runs
from livedata.services.attempts import Attempt
from livedata.services.commit import AcceptancePolicy, DatasetAtEnd, accept_harvest
from livedata.services.notices import notifying
from livedata.store import revisions, rows
from livedata.store.database.store import Store
from livedata.store.datasets import lock_dataset

ORIGIN = "https://shop.example"
KIND = "text/html; charset=utf-8"


def in_turn(n: int, a: Callable[[], float], b: Callable[[], float]) -> tuple[float, float, float]:
    """The medians of both in CPU seconds, and of their ratios. The first time does not count."""
    measured = [(a(), b()) for _ in range(n + 1)][1:]
    ratio = median(x / y for x, y in measured)
    return median(x for x, _ in measured), median(y for _, y in measured), ratio


def cpu(act: Callable[[], object]) -> float:
    """The CPU seconds of a call."""
    gc.collect()  # the garbage of what came before is not part of this cost
    start = time.process_time()
    act()
    return time.process_time() - start


def harvest_of(recipe: Recipe) -> Harvest:
    """The harvest that a crawl of the shop would hand over."""
    extractor = Extractor(recipe)
    pages = []
    for number, body in enumerate(shop.pages(), 1):
        url = f"{ORIGIN}{shop.path(number)}"
        page = Page(body, KIND, url)
        records, matches = extractor.records(page)
        read_ = (number, url, url, url, 200, page.title, page.digest, ids.now(), records, matches)
        pages.append(PageRead(*read_))
    return Harvest(pages, StopReason("natural_end"), attempts=len(pages))


def url_of(path: Path) -> str:
    """The database URL of a store's file."""
    return f"sqlite:///{path}"


def begin(path: Path) -> Attempt:
    """A started attempt at a Run of the shop, in the store at `path`."""
    with closing(Store(url_of(path))) as store:
        with store.reading() as reader:
            dataset = reader.value("SELECT id FROM datasets")
        if dataset is None:
            body = read(CreateDataset, tomllib.loads(shop.declaration(ORIGIN)))
            created = datasets.create(store, "local", body, TargetPolicy(), first_credits=1_000_000)
            dataset = ids.raw_id(created["id"])
        run, _ = runs.enqueue(store, "local", dataset)
        attempt = attempts.begin(store, ids.RunId(ids.raw_id(run)))
    assert attempt is not None
    return attempt


@dataclass(frozen=True)
class Taking:
    """A measurement of accepting a harvest, each time into a fresh copy of a store."""

    prepared: Path
    attempt: Attempt
    harvest: Harvest
    # Kept from time to time, with its compiled statements, as in a process that executes more
    # than one Run. The cost of the first Run of a process is part of goals 1 and 4.
    stores: list[Store] = field(default_factory=list)

    @property
    def path(self) -> Path:
        """The copy that the last call wrote to."""
        return self.prepared.with_suffix(".copy")

    def cost(self) -> float:
        """The CPU seconds of comparing and writing, which is one transaction."""
        return self._cost(self._take)

    def whole(self) -> float:
        """The CPU seconds of all work after the crawl: also the Checks and the facts of the Run."""
        return self._cost(self._finish)

    def cold(self) -> float:
        """The CPU seconds of :meth:`cost` for the first Run of a process."""
        self.stores.clear()
        return self.cost()

    def _cost(self, act: Callable[[Store], None]) -> float:
        shutil.copyfile(self.prepared, self.path)
        if not self.stores:
            self.stores.append(Store(url_of(self.path)))
        with closing(self.stores[0]) as store:
            with store.writing():  # connected and migrated before the clock starts
                pass
            return cpu(lambda: act(store))

    def _take(self, store: Store) -> None:
        attempt = self.attempt
        with store.writing() as writer:
            at_end = DatasetAtEnd(
                lock_dataset(writer, attempt.dataset),
                revisions.ask_standing(writer, attempt.dataset, attempt.owner)(),
                rows.current(writer, attempt.dataset),
            )
            outcome, _ = accept_harvest(writer, attempt.run, at_end, attempt.recipe, self.harvest)
            notifying.settle(writer, attempt.run, at_end, outcome)
        assert outcome.status == "succeeded"

    def _finish(self, store: Store) -> None:
        assert attempts.finish(store, self.attempt, self.harvest, AcceptancePolicy()) == "succeeded"


def by_name(harvest: Harvest) -> floors.Items:
    """The items of a harvest in the form that the floors take."""
    return [
        [dict(zip(shop.FIELDS, record.values, strict=True)) for record in page.records]
        for page in harvest.pages
    ]


def around(taking: Taking, floor: Callable[[], float], report: Report, n: int) -> None:
    """Print figures for what the goals on the store leave out."""
    ours, _, ratio = in_turn(n, taking.whole, floor)
    report.note(f"{ratio:.2f} x with the Checks and what explains the Run, {ours * 1000:.1f} ms")
    ours, _, ratio = in_turn(n, taking.cold, floor)
    report.note(f"{ratio:.2f} x where no Run of the process came before, {ours * 1000:.1f} ms")


def new_rows(taking: Taking, items: floors.Items, report: Report, n: int) -> None:
    """Measure goal 7."""
    plain, bare = taking.prepared.with_suffix(".plain"), taking.prepared.with_suffix(".bare")

    def floor() -> float:
        with closing(floors.plain_store(plain)) as store:
            return cpu(lambda: floors.write_new(store, items))

    ours, theirs, ratio = in_turn(n, taking.cost, floor)
    report.figure(7, ratio, f"{ours * 1000:.1f} ms against {theirs * 1000:.1f} ms")
    around(taking, floor, report, n)
    copy = floors.copy_of(taking.path)

    def bare_floor() -> float:
        shutil.copyfile(taking.prepared, bare)
        return cpu(lambda: floors.write_copy(bare, copy))

    ours, theirs, ratio = in_turn(n, taking.cost, bare_floor)
    rows = sum(map(len, copy.values()))
    report.note(f"{ratio:.2f} x the {theirs * 1000:.1f} ms of copying the {rows} rows, ready made")


def unchanged_rows(taking: Taking, items: floors.Items, report: Report, n: int) -> None:
    """Measure goal 8."""
    with closing(floors.plain_store(taking.prepared.with_suffix(".plain"))) as store:
        floors.write_new(store, items)
        floor = lambda: cpu(lambda: floors.see_again(store, items))  # noqa: E731
        ours, theirs, ratio = in_turn(n, taking.cost, floor)
        report.figure(8, ratio, f"{ours * 1000:.1f} ms against {theirs * 1000:.1f} ms")
        around(taking, floor, report, n)


def extraction(recipe: Recipe, report: Report, n: int) -> None:
    """Measure goal 9."""
    following = parse("a.pages__next")

    def ours() -> None:
        extractor = Extractor(recipe)
        for body in shop.pages():
            page = Page(body, KIND, ORIGIN)
            records, _ = extractor.records(page)
            link = page.first(following)
            assert len(records) == shop.PER_PAGE
            assert link is None or page.attribute(link, "href")

    def theirs() -> None:
        for body in shop.pages():
            items, _ = floors.read_page(body)
            assert len(items) == shop.PER_PAGE

    a, b, ratio = in_turn(n, lambda: cpu(ours), lambda: cpu(theirs))
    report.figure(9, ratio, f"{a * 20:.2f} ms a page against {b * 20:.2f} ms")


def main() -> None:
    """Measure, and exit with 1 if a figure is over its bound."""
    n = argument_parser(__doc__, 15).parse_args().n
    report = Report()
    with TemporaryDirectory(prefix="livedata-benchmarks-") as folder:
        first = Path(folder) / "first.db"
        attempt = begin(first)
        assert isinstance(attempt.recipe, Recipe)
        harvest = harvest_of(attempt.recipe)
        items = by_name(harvest)
        gc.freeze()  # the items of both sides live on: no collection should visit them
        taking = Taking(first, attempt, harvest)
        new_rows(taking, items, report, n)
        taking.whole()
        later = Path(folder) / "later.db"
        shutil.copyfile(taking.path, later)
        unchanged_rows(Taking(later, begin(later), harvest), items, report, n)
        extraction(attempt.recipe, report, n)
    sys.exit(report.over)


if __name__ == "__main__":
    main()
