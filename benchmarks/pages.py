"""Goals 48 to 50: the pages for people, over stores with a long past and a short one.

python -m benchmarks.pages [-n 200] [--changes 1000000] [--folder FOLDER]

The stores take a minute to make; with --folder they are kept, and benchmarks.serve uses the long
one.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from email.message import Message
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode
from urllib.request import urlopen

from benchmarks.asking import HOST, Client
from benchmarks.goals import Report
from benchmarks.pair import compiled, environment
from benchmarks.serve import SMALL, Api, Figures, prepare, served
from benchmarks.stage import argument_parser, program

FULL = (20, 20)
"""In the short past the same rows change with each Run, so that no page has less to show."""
_HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
_FORM = "application/x-www-form-urlencoded"
_LOADED = re.compile(rb'(?:href|src)="(/assets/[^"]+)"')


def signed_in(api: Api, home: Path) -> Client:
    """A client with the cookie of a browser, at the same server."""
    base = f"http://{HOST}:{api.client.port}"
    made = subprocess.run(
        (program("livedata"), "open", "--url", base, "--json"),
        env=environment() | {"LIVEDATA_HOME": str(home)},
        capture_output=True,
        check=True,
    )
    # The link shows a button, and who presses it is signed in.
    with urlopen(json.loads(made.stdout)["link"]) as answer:
        cookies = _cookies(answer.headers)
        form = urlencode(_HIDDEN.findall(answer.read().decode()))
    connection = HTTPConnection(HOST, api.client.port)
    headers = {"Cookie": cookies, "Origin": base, "Content-Type": _FORM}
    connection.request("POST", "/sign-in/link", form, headers)
    pressed = connection.getresponse()
    assert pressed.status == HTTPStatus.SEE_OTHER, (pressed.status, pressed.read()[:500])
    return Client(api.client.port, {"Cookie": _cookies(pressed.headers)})


def _cookies(headers: Message) -> str:
    return "; ".join(cookie.partition(";")[0] for cookie in headers.get_all("Set-Cookie", []))


def pages(api: Api) -> Mapping[str, str]:
    """What a page shows -> its path, for the dataset with the history."""
    dataset = f"/datasets/{api.datasets['history']}"
    row = api.client.json(api.rows(limit=1, dataset="history"))["data"][0]["id"]
    run = api.client.json(f"/v1{dataset}/runs")["data"][0]["id"]
    sorted_by = api.fields[min(api.fields)]
    return {
        "the datasets": "/",
        "a table": dataset,
        "a table, sorted": f"{dataset}?sort={sorted_by}",
        "a row": f"{dataset}/rows/{row}",
        "changes": f"{dataset}/changes",
        "Runs": f"{dataset}/runs",
        "a Run": f"/runs/{run}",
        "usage": "/usage",
    }


def measure(folder: Path, changes: int, figures: Figures) -> None:
    """Measure everything on the stores in a folder."""
    large = prepare(folder / f"{changes}", changes, changes // 10, changes // 10)
    small = prepare(folder / f"{SMALL}-full", SMALL, 0, 0, FULL)
    with ExitStack() as stack:
        long, short = (stack.enter_context(served(home)) for home in (large, small))
        looking, other = signed_in(long, large), signed_in(short, small)
        of_long, of_short = pages(long), pages(short)
        for what, path in of_long.items():
            figures.compare(48, looking.asking(path), other.asking(of_short[what]), what)
        table, answer = of_long["a table"], long.rows(dataset="history")
        figures.compare(49, looking.asking(table), long.asking(answer), "100 rows")
        figures.report.figure(50, weight(looking, table) / 1000, "with all that it loads")


def weight(client: Client, path: str) -> int:
    """The bytes of a page, and of all that it loads."""
    page = client.get(path)
    return len(page) + sum(len(client.get(asset.decode())) for asset in set(_LOADED.findall(page)))


def main() -> None:
    """Measure, and exit with 1 if a figure is over its bound."""
    parser = argument_parser(__doc__, 200)
    parser.add_argument("--changes", type=int, default=1_000_000, help="fewer, for a quick look")
    parser.add_argument("--folder", type=Path, help="where the stores are kept")
    options = parser.parse_args()
    compiled()
    figures = Figures(Report(), options.n)
    with ExitStack() as stack:
        folder = options.folder or Path(
            stack.enter_context(TemporaryDirectory(prefix="livedata-benchmarks-"))
        )
        folder.mkdir(parents=True, exist_ok=True)
        measure(folder, options.changes, figures)
    sys.exit(figures.report.over)


if __name__ == "__main__":
    main()
