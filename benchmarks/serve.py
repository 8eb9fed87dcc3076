"""Goals 15 to 21 and 29: the API over stores with a long past, asked by kept-alive clients.

python -m benchmarks.serve [-n 500] [--changes 1000000] [--folder FOLDER] [--datasette PATH]

The stores take a minute to make; with --folder they are kept, and used again the next time.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import history, spliced
from benchmarks.asking import Asking, Client, Times, free_port, in_turn, serving
from benchmarks.goals import Report
from benchmarks.pair import Command, compiled, environment, once
from benchmarks.past import A_TENTH, DENSE, RARE, ROWS
from benchmarks.stage import STORE, argument_parser, program
from livedata.model import ids

SMALL = 1000
LIMIT = 100
SPLICED = 100_000  # enough for a fair table, and soon copied
PLAIN = "plain.db"


@dataclass(frozen=True)
class Api:
    """A served store: a client with its key, and the ids of its datasets and fields."""

    client: Client
    datasets: Mapping[str, str]
    fields: Mapping[str, str]
    head: int

    def changes(self, after: int, more: str = "", dataset: str = "history") -> str:
        """The path of a page of changes."""
        return f"/v1/datasets/{self.datasets[dataset]}/changes?limit={LIMIT}&after={after}{more}"

    def rows(self, limit: int = LIMIT, cursor: str | None = None, dataset: str = "wide") -> str:
        """The path of a page of rows."""
        more = f"&cursor={cursor}" if cursor else ""
        return f"/v1/datasets/{self.datasets[dataset]}/rows?limit={limit}{more}"

    def asking(self, path: str) -> Asking:
        """A request for one path."""
        return lambda: self.client.get(path)

    def at_random(self, more: str = "", start: int = ROWS) -> Asking:
        """Requests for pages of changes at random places after `start`."""
        chance = random.Random(6)  # a fixed seed: both sides of a pair get the same places
        return lambda: self.client.get(
            self.changes(chance.randrange(start, self.head - LIMIT), more)
        )


def _every_dataset(client: Client) -> Iterator[Any]:
    """The datasets that an owner has, newest first, which may be more than a page holds."""
    path = "/v1/datasets?limit=100"
    answer = client.json(path)
    yield from answer["data"]
    while answer.get("nextCursor"):
        answer = client.json(f"{path}&cursor={answer['nextCursor']}")
        yield from answer["data"]


@contextmanager
def served(home: Path) -> Iterator[Api]:
    """Serve the store of a home by ``livedata serve`` during the block."""
    port, env = free_port(), {"LIVEDATA_HOME": str(home)}
    created = subprocess.run(
        (program("livedata"), "key", "create", "--json"),
        env=environment() | env,
        capture_output=True,
        check=True,
    )
    client = Client(port, {"Authorization": f"Bearer {json.loads(created.stdout)['key']}"})
    command = (program("livedata"), "serve", "--no-worker", "--port", str(port))
    # Without a worker: nothing but the requests should use the processor.
    with serving(command, port, home / "serve.log", env, "/healthz"):
        listed = list(_every_dataset(client))
        datasets = {dataset["name"]: dataset["id"] for dataset in listed}
        (columns,) = (dataset["columns"] for dataset in listed if dataset["name"] == "history")
        fields = {column["name"]: column["id"] for column in columns}
        page = client.json(f"/v1/datasets/{datasets['history']}/changes?limit=1")
        yield Api(client, datasets, fields, page["through"])


@dataclass(frozen=True)
class Figures:
    """A report for figures, each of `n` requests."""

    report: Report
    n: int

    def compare(self, goal: int | str, a: Asking, b: Asking, what: str) -> tuple[Times, Times]:
        """Measure a goal on the p50 of two requests in turn."""
        first, second = in_turn(a, b, self.n)
        detail = f"{what}: {first} against {second}"
        self.report.figure(goal, first.p50 / second.p50, detail)
        return first, second


def start(home: Path, report: Report, n: int) -> None:
    """Measure goal 15."""
    importing = Command((sys.executable, "-c", "import flask, sqlmodel, waitress"))
    # The first pair fills the caches of the disk, and does not count.
    measured = [(_first_answer(home), once(importing).wall) for _ in range(n + 1)][1:]
    ours, floor = map(median, zip(*measured, strict=True))
    ratio = median(a / b for a, b in measured)
    report.figure(15, ratio, f"{ours * 1000:.0f} ms against {floor * 1000:.0f} ms")


def _first_answer(home: Path) -> float:
    port, began = free_port(), time.perf_counter()
    command = (program("livedata"), "serve", "--no-worker", "--port", str(port))
    env = {"LIVEDATA_HOME": str(home)}
    with serving(command, port, home / "serve.log", env, "/healthz"):
        return time.perf_counter() - began


def size_of_history(large: Api, small: Api, figures: Figures) -> None:
    """Measure goal 16: the first page holds new rows, the others hold changes."""
    for name, share in (("first", None), ("middle", 0.5), ("last", 1.0)):
        a, b = (
            api.asking(api.changes(0 if share is None else _place(api, share)))
            for api in (large, small)
        )
        figures.compare(16, a, b, f"the {name} page")


def _place(api: Api, share: float) -> int:
    return ROWS + int((api.head - LIMIT - ROWS) * share)


def drain(api: Api, figures: Figures) -> None:
    """Measure goal 17: both tenths page by page in turn."""
    tenth = api.head // 10
    ending, beginning = _Walk(api, api.head - tenth), _Walk(api, ROWS)
    # Ten pages fewer: in_turn asks for one more, and counts in blocks of ten.
    last, first = in_turn(ending.step, beginning.step, tenth // LIMIT - 10)
    seconds = f"{sum(last.all) / 1000:.2f} s against {sum(first.all) / 1000:.2f} s"
    pages = len(last.all)
    figures.report.figure(
        17, sum(last.all) / sum(first.all), f"{seconds} for {pages} pages; p50 {last}, {first}"
    )


@dataclass
class _Walk:
    """A reader that goes through the feed page by page."""

    api: Api
    after: int

    def step(self) -> None:
        """Read the next page."""
        self.after = self.api.client.json(self.api.changes(self.after))["nextAfter"]


def floors(api: Api, home: Path, datasette: Path | None, figures: Figures) -> None:
    """Measure goals 18 and 19, both on the same changes: the newest 100,000."""
    dataset = ids.DatasetId(ids.raw_id(api.datasets["history"]))
    last = min(SPLICED, api.head // 2)
    begin = spliced.copy(home / STORE, home / PLAIN, history.OWNER, dataset, last)
    port = free_port()
    command = (sys.executable, "-m", "benchmarks.spliced", home / PLAIN, "--port", str(port))
    with serving(command, port, home / "spliced.log", {}, "/changes?after=0&limit=1"):
        floor = _at_random(port, begin, api.head, f"/changes?limit={LIMIT}&after=")
        figures.compare(18, api.at_random(start=begin), floor, "anywhere")
        sizes = (len(api.client.get(api.changes(begin))), len(floor()))
        figures.report.note(f"{sizes[0] >> 10} KiB against {sizes[1] >> 10} KiB a page")
    if datasette is None:
        print(" 19  left out: --datasette names a datasette")
    else:
        _against_datasette(api, home, begin, datasette, figures)


def _against_datasette(api: Api, home: Path, begin: int, datasette: Path, figures: Figures) -> None:
    port = free_port()
    command = (datasette, "serve", "-i", home / PLAIN, "--port", str(port))
    with serving(command, port, home / "datasette.log", {}, "/-/versions.json"):
        table = f"/plain/{spliced.TABLE}.json?_size={LIMIT}&_sort=sequence&sequence__gt="
        theirs = _at_random(port, begin, api.head, table)
        a, b = figures.compare("19a", api.at_random(start=begin), theirs, "anywhere")
        figures.report.figure("19b", a.p99 / b.p99, f"{a.p99:.2f} ms against {b.p99:.2f} ms")


def _at_random(port: int, begin: int, head: int, path: str) -> Callable[[], bytes]:
    client, chance = Client(port), random.Random(6)
    return lambda: client.get(f"{path}{chance.randrange(begin, head - LIMIT)}")


def rows(api: Api, figures: Figures) -> None:
    """Measure goal 20."""
    # The last page would hold fewer rows than the first, so it begins LIMIT before the end.
    cursor, left = None, _count(api) - LIMIT
    while left:
        limit = min(500, left)
        cursor, left = api.client.json(api.rows(limit, cursor))["nextCursor"], left - limit
    last, first = api.rows(cursor=cursor), api.rows()
    assert all(len(api.client.json(page)["data"]) == LIMIT for page in (last, first))
    figures.compare(20, api.asking(last), api.asking(first), "the last page")


def _count(api: Api) -> int:
    changes = api.client.json(api.changes(0, dataset="wide"))["through"]
    # Every row has two changes, created and missing, but those of the last Run have one.
    return int(changes + ROWS) // 2


def timelines(api: Api, figures: Figures) -> None:
    """Measure goal 21."""
    # The row that was updated last: it has changes up to the end of the feed.
    row = api.client.json(api.rows(limit=1, dataset="history"))["data"][0]["id"]
    first = api.client.json(api.changes(0, f"&rowId={row}"))["data"]
    assert first[0]["kind"] == "created"
    plain = api.at_random()
    figures.compare("21a", api.at_random(f"&rowId={row}"), plain, "a row")
    for name, what in ((DENSE, "a field that nearly every change has"), (RARE, "a rare field")):
        more = f"&fieldId={api.fields[name]}"
        figures.compare("21b", api.at_random(more), plain, what)
    more = f"&rowId={row}&fieldId={api.fields[DENSE]}"
    figures.compare("21b", api.at_random(more), plain, "a field of a row")


def ledgers(long: Api, home: Path, figures: Figures) -> None:
    """Measure goal 29, against a copy of the store without a ledger, but with the same balance."""
    other = home.with_name(f"{home.name}-no-ledger")
    if not (other / STORE).exists():
        other.mkdir()
        shutil.copyfile(home / STORE, other / STORE)
        with closing(sqlite3.connect(other / STORE)) as copied:
            copied.execute("DELETE FROM ledger")
            copied.commit()
    with served(other) as empty:
        row = long.client.json(long.rows(limit=1))["data"][0]["id"]
        run = long.client.json(f"/v1/datasets/{long.datasets['history']}/runs")["data"][0]["id"]
        paths = {
            "changes": long.changes(long.head // 2),
            "rows": long.rows(),
            "a row": f"/v1/datasets/{long.datasets['wide']}/rows/{row}",
            "datasets": "/v1/datasets",
            "a Run": f"/v1/runs/{run}",
            "usage": "/v1/usage",
        }
        for what, path in paths.items():
            figures.compare(29, long.asking(path), empty.asking(path), what)


def prepare(
    home: Path, changes: int, rows: int, ledger: int, moving: tuple[int, int] = A_TENTH
) -> Path:
    """The home, with a store that is built if it is not there yet."""
    if not (home / STORE).exists():
        history.build(home / STORE, changes, rows, ledger, moving)
    return home


def measure(folder: Path, changes: int, datasette: Path | None, figures: Figures) -> None:
    """Measure everything on the stores in a folder."""
    large = prepare(folder / f"{changes}", changes, changes // 10, changes // 10)
    small = prepare(folder / f"{SMALL}-alone", SMALL, 0, 0)
    start(large, figures.report, 11)
    with ExitStack() as stack:
        api, other = (stack.enter_context(served(home)) for home in (large, small))
        size_of_history(api, other, figures)
        drain(api, figures)
        floors(api, large, datasette, figures)
        rows(api, figures)
        timelines(api, figures)
        ledgers(api, large, figures)


def main() -> None:
    """Measure, and exit with 1 if a figure is over its bound."""
    parser = argument_parser(__doc__, 500)
    parser.add_argument("--changes", type=int, default=1_000_000, help="fewer, for a quick look")
    parser.add_argument("--folder", type=Path, help="where the stores are kept")
    parser.add_argument("--datasette", type=Path, metavar="PATH", help="the datasette of goal 19")
    options = parser.parse_args()
    compiled()
    figures = Figures(Report(), options.n)
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
        measure(options.folder, options.changes, options.datasette, figures)
    else:
        with TemporaryDirectory(prefix="livedata-benchmarks-") as folder:
            measure(Path(folder), options.changes, options.datasette, figures)
    sys.exit(figures.report.over)


if __name__ == "__main__":
    main()
