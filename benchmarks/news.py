"""Goals 59 to 61: what is new over 100 datasets that have had a million changes together.

python -m benchmarks.news [-n 30] [--changes 1000000] [--folder FOLDER]

For goal 61 sixteen browsers load the first page all the while that another client asks for rows.
Both pages are asked for as by a browser whose last visit was before the last Run of each dataset,
a day of Runs ago, or before the first. Its store takes two minutes to make, and its copy on
PostgreSQL as long; with --folder the store is kept.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Final

from benchmarks.asking import HOST, PATIENCE, Client, Times
from benchmarks.databases import LEFT_OUT, POSTGRES, SQLITE, has_server
from benchmarks.goals import Report
from benchmarks.history import OWNER, build
from benchmarks.pages import signed_in, weight
from benchmarks.past import A_TENTH, HOUR, START
from benchmarks.serve import Api, served
from benchmarks.stage import STORE, argument_parser
from livedata.model import ids
from livedata.model.ids import OwnerName
from livedata.pages.news import cookie_name
from livedata.store.database.store import Store
from livedata.store.tables import metadata
from tests.databases import running_server

DATASETS: Final = 100
"""So many have the changes."""
A_DAY: Final = 24
PAGES: Final = ("/", "/changes")
BROWSERS: Final = 16
"""So many load a page at once for goal 61."""
_COOKIE: Final = cookie_name(OwnerName(OWNER))


def visits(changes: int) -> Mapping[str, int]:
    """What a browser comes back after -> the moment of its last visit."""
    runs = changes // DATASETS // A_TENTH[0]
    return {
        "one Run of each": START + runs * HOUR,
        "a day of Runs": START + max(0, runs - A_DAY) * HOUR,
        "all Runs": START - 1,
    }


def measure(home: Path, changes: int, where: str, report: Report, n: int) -> None:
    """Measure both goals on the store of a home; only those of SQLite are bound."""
    with served(home) as api:
        for after, since in visits(changes).items():
            browser = signed_in(api, home)
            # As if the last look was just now: each request belongs to that visit.
            seen = f"{_COOKIE}={since}.{ids.now()}"
            cookies = f"{browser.headers['Cookie']}; {seen}"
            looking = Client(api.client.port, {"Cookie": cookies})
            for page in PAGES:
                first = first_byte(looking, page, n) * 1000
                kilobytes = weight(looking, page) / 1000
                detail = f"{page} after {after}, on {where}"
                if where != SQLITE:
                    report.note(f"{detail}: {first:.0f} ms, {kilobytes:.0f} KB")
                    continue
                report.figure(59, first, detail)
                report.figure(60, kilobytes, detail)
        if where == SQLITE:
            report.figure(61, beside_browsers(api, looking, PAGES[0], n), "50 rows, of one owner")


def beside_browsers(api: Api, browser: Client, page: str, n: int) -> float:
    """The 99th percentile of the milliseconds in which the API answers while others load a page."""
    over = Event()

    def load() -> None:
        # A connection of its own, as each browser has.
        client = Client(browser.port, browser.headers)
        while not over.is_set():
            client.get(page)

    threads = [Thread(target=load) for _ in range(BROWSERS)]
    for thread in threads:
        thread.start()
    path = f"/v1/datasets/{next(iter(api.datasets.values()))}/rows?limit=50"
    seconds = []
    try:
        for _ in range(20 * n):
            began = time.perf_counter()
            api.client.get(path)
            seconds.append(time.perf_counter() - began)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    return Times([1000 * each for each in seconds]).p99


def first_byte(client: Client, page: str, n: int) -> float:
    """The median of the seconds until the first byte of a page is there."""
    client.get(page)  # fills the caches
    connection = HTTPConnection(HOST, client.port, timeout=PATIENCE)
    seconds = []
    for _ in range(n):
        began = time.perf_counter()
        connection.request("GET", page, headers=client.headers)
        answer = connection.getresponse()
        answer.read(1)
        seconds.append(time.perf_counter() - began)
        answer.read()
    connection.close()
    return median(seconds)


@contextmanager
def on_postgres(store: Path) -> Iterator[Path]:
    """A home whose store is a copy of a file on a server, which lives as long as the block."""
    with running_server() as server, TemporaryDirectory(prefix="livedata-benchmarks-") as folder:
        url, home = server.url(server.create()), Path(folder)
        with closing(Store(url)) as made:
            made.ensure()
        copy(store, url)
        (home / "config.toml").write_text(f'database_url = "{url}"\n')
        yield home


def copy(store: Path, url: str) -> None:
    """Copy all tables of a file to a server that has them empty."""
    import psycopg

    with closing(sqlite3.connect(store)) as source, psycopg.connect(url) as target:
        # Rows refer to each other in circles: nothing is checked until all are there.
        target.execute("SET session_replication_role = replica")
        for table in metadata.sorted_tables:
            # A file has no booleans.
            truths = {
                i for i, column in enumerate(table.columns) if column.type.python_type is bool
            }
            names = ", ".join(f'"{column.name}"' for column in table.columns)
            rows = source.execute(f"SELECT {names} FROM {table.name}")
            with target.cursor().copy(f"COPY {table.name} ({names}) FROM STDIN") as copying:
                for row in rows:
                    values = (
                        bool(v) if i in truths and v is not None else v for i, v in enumerate(row)
                    )
                    copying.write_row([*values])
        target.commit()
        target.autocommit = True
        target.execute("ANALYZE")


def main() -> None:
    """Measure, and exit with 1 if a figure is over its bound."""
    parser = argument_parser(__doc__, 30)
    parser.add_argument("--changes", type=int, default=1_000_000, help="fewer, for a quick look")
    parser.add_argument("--folder", type=Path, help="where the store is kept")
    options = parser.parse_args()
    report = Report()
    with ExitStack() as stack:
        folder = options.folder or Path(
            stack.enter_context(TemporaryDirectory(prefix="livedata-benchmarks-"))
        )
        home = folder / f"{DATASETS} datasets, {options.changes}"
        if not (home / STORE).exists():
            build(home / STORE, options.changes, datasets=DATASETS)
        measure(home, options.changes, SQLITE, report, options.n)
        if has_server():
            other = stack.enter_context(on_postgres(home / STORE))
            measure(other, options.changes, POSTGRES, report, options.n)
        else:
            report.note(f"on {POSTGRES}: {LEFT_OUT}")
    sys.exit(report.over)


if __name__ == "__main__":
    main()
