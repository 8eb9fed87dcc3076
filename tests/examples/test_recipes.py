"""What docs/how-to tells of other tools is what they do, over a server that runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlsplit

import duckdb
import duckdb_extension_httpfs
import pytest

from livedata.model.ids import DatasetId
from livedata.services import accounts, shares
from livedata.store.database.store import Store
from tests import made
from tests.api.serving import Serving
from tests.services.table import Item, Table
from tests.test_readme import blocks

pytestmark = [pytest.mark.slow, pytest.mark.one_database]
ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "how-to"
THERE = "https://data.example.org/share/TOKEN/"
COLUMNS = (
    {"name": "number", "type": "string", "key": True},
    {"name": "title", "type": "string"},
    {"name": "price", "type": "number"},
    {"name": "due", "type": "date", "ownership": "user"},
)
BOOKS: list[Item] = [
    {"number": "B-1", "title": "Middlemarch", "price": 10},
    {"number": "B-2", "title": '=SUM("x")', "price": 25.5},
    {"number": "B-3", "title": "Emma", "price": 7},
]
EDITED = 4
"""The sequence after the first Run and an edit."""
HEAD = 7


@pytest.fixture
def books(store: Store) -> DatasetId:
    """A dataset of two Runs and an edit: a price falls, a book is gone, and one is new."""
    table = Table(store, made.declared("books", COLUMNS))
    table.take(*BOOKS)
    table.edit("B-1", {"due": "2026-12-01"})
    table.take(
        {**BOOKS[0], "price": 8}, BOOKS[1], {"number": "B-4", "title": "Persuasion", "price": 12}
    )
    return table.id


class Recipes:
    """A folder in which the blocks of a page are run, and a server with a shared table."""

    def __init__(self, folder: Path, served: Serving, token: str, home: Path) -> None:
        self.folder, self.served = folder, served
        self.here = f"http://127.0.0.1:{served.port}/share/{token}/"
        self._environ = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder),
            "LIVEDATA_HOME": str(home),
            "RUNTIME__DLTHUB_TELEMETRY": "false",
            # Of root, dlt keeps what it knows of a pipeline beside HOME, for the next test to find.
            "DLT_DATA_DIR": str(folder / "dlt"),
        }

    def page(self, name: str) -> str:
        """A page, with the address of the server that runs, and moments that there are here."""
        text = (PAGES / f"{name}.md").read_text().replace(THERE, self.here)
        days = {"2026-10-31": EDITED, "2026-11-30": HEAD}
        return re.sub("|".join(days), lambda day: str(days[day[0]]), text)

    def python(self, code: str) -> str:
        """What a program prints."""
        return self._run([sys.executable, "-c", code])

    def shell(self, block: str) -> None:
        """Run the commands of livedata in a block."""
        kept = [line for line in block.splitlines() if not line.startswith("uvx")]
        self._run(["bash", "-ec", "\n".join(kept)])

    def _run(self, command: list[str]) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=self._environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def datasette(self, path: str, *words: str) -> Any:
        """What Datasette answers."""
        return json.loads(self._run(["datasette", *words, "--get", path]))


@pytest.fixture
def recipes(store: Store, books: DatasetId, tmp_path: Path) -> Iterator[Recipes]:
    folder = tmp_path / "recipes"
    folder.mkdir()
    _, token = shares.add(store, "local", books, (), (), None)
    with Serving(tmp_path) as served:
        yield Recipes(folder, served, token, tmp_path)


def test_duckdb_reads_a_table_where_it_is_and_an_export(recipes: Recipes) -> None:
    # Where the network is reached DuckDB fetches what reads HTTP by itself.
    _install_httpfs(recipes.folder)
    page = recipes.page("duckdb")
    recipes.shell(*blocks(page, "sh"))
    shared, fell, exported = map(recipes.python, blocks(page, "python"))
    cheapest = ["Middlemarch", "Persuasion", '=SUM("x")']
    for told in (shared, exported):
        assert sorted(cheapest, key=told.index) == cheapest
        assert "Emma" not in told
    assert re.search(r"B-1 .*10(\.0)? .* 8(\.0)? ", fell.replace("│", " "))
    assert "B-4" not in fell


def _install_httpfs(home: Path) -> None:
    (kept,) = Path(duckdb_extension_httpfs.__file__).parent.rglob("httpfs.duckdb_extension")
    ((platform,),) = duckdb.sql("PRAGMA platform").fetchall()
    folder = home / ".duckdb" / "extensions" / f"v{duckdb.__version__}" / str(platform)
    folder.mkdir(parents=True)
    shutil.copy(kept, folder)


def test_pandas_and_pyarrow_read_a_table_where_it_is_and_an_export(recipes: Recipes) -> None:
    page = recipes.page("notebooks")
    recipes.shell(blocks(page, "sh")[0])
    shared, exported, about = map(recipes.python, blocks(page, "python"))
    assert re.search(r"^count +3\.0", shared, re.MULTILINE)
    assert re.search(r"^min +8\.0", shared, re.MULTILINE)
    types = dict(line.split(maxsplit=1) for line in exported.splitlines() if "[pyarrow]" in line)
    assert types["price"] == "double[pyarrow]"
    assert types["due"].startswith("timestamp[us, tz=UTC]")
    assert '"sequence":7' in about
    recipes.shell(blocks(page, "sh")[1])
    recipes.shell("frictionless validate books.zip")


def test_polars_reads_each_form(recipes: Recipes) -> None:
    code = """
import io, polars, urllib.request
read = {"csv": polars.read_csv, "jsonl": polars.read_ndjson, "parquet": polars.read_parquet}
for form, reader in read.items():
    with urllib.request.urlopen(f"HERE.{form}") as answer:
        print(reader(io.BytesIO(answer.read()))["title"].to_list())
"""
    told = recipes.python(code.replace("HERE", f"{recipes.here}books")).splitlines()
    assert told == [str(["Middlemarch", '=SUM("x")', "Persuasion"])] * 3


def test_datasette_shows_what_fell_and_two_days_side_by_side(recipes: Recipes) -> None:
    page = recipes.page("datasette")
    now, then = [
        block for block in blocks(page, "sh") if "export books --" in block and "run" not in block
    ]
    recipes.shell(now)
    recipes.shell(then)
    fell, between = (quote(block.strip().rstrip(";")) for block in blocks(page, "sql"))
    told = recipes.datasette(f"/books.json?_shape=array&sql={fell}", "books.db")
    assert [(row["rowKey"], row["before"], row["after"]) for row in told] == [("B-1", 10, 8)]
    both = ("october.db", "november.db", "--crossdb")
    told = recipes.datasette(f"/_memory.json?_shape=array&sql={between}", *both)
    assert told == [{"title": "Middlemarch", "october": 10, "november": 8}]


def test_dlt_loads_the_changes_that_it_does_not_have(recipes: Recipes) -> None:
    (code,) = blocks(recipes.page("dlt"), "python")
    count = "\nwith pipeline.sql_client() as client:\n" + "".join(
        f"    print(client.execute_sql('SELECT {what}'))\n"
        for what in ("count(*), max(sequence) FROM changes", "row_key FROM rows ORDER BY row_key")
    )
    first = recipes.python(code + count).splitlines()[-2:]
    lines = _ask(recipes, "books.changes.jsonl")[1].splitlines()
    rows = "[('B-1',), ('B-2',), ('B-4',)]"
    assert first == [f"[({len(lines)}, {HEAD})]", rows]
    assert recipes.python(code + count).splitlines()[-2:] == first


@pytest.mark.parametrize("door", ["the store", "a server"])
def test_python_reads_what_its_page_says_at_both_doors(
    recipes: Recipes, store: Store, door: str
) -> None:
    page = recipes.page("python").replace("after=120", f"after={HEAD - 1}")
    page = page.replace("2026-03-01", str(EDITED))
    opened, connected, asked, went_on, failed = blocks(page, "python")
    if door == "a server":
        key = accounts.create_key(store, "local", None, first_credits=0)["key"]
        there = recipes.here.partition("/share/")[0]
        connected = connected.replace("http://127.0.0.1:8000", there)
        opened = f"KEY = {key!r}\nimport livedata\n{connected}{opened.partition(chr(10) * 2)[2]}"
        opened = opened.replace('books = livedata.open("books")\n', "")
        failed = failed.replace('livedata.open("boks")', 'server["boks"]')
    told = "\nprint(march)\nprint(fallen)\nprint(prices.tolist())\n"
    lines = recipes.python(opened + asked + told + went_on + failed).splitlines()
    assert lines[: -len(PYTHON_SAYS)] == ([] if door == "the store" else ["['books']"])
    assert lines[-len(PYTHON_SAYS) :] == PYTHON_SAYS


PYTHON_SAYS = [
    "Middlemarch 8",
    "Persuasion 12",
    str([{"title": book["title"], "price": book["price"]} for book in BOOKS]),
    "['B-1']",
    "[8.0, 25.5, 12.0]",
    "missing B-3 None None None",
    "7",
    "not_found There is no dataset 'boks'; did you mean 'books'? There is: books.",
]
"""What the programs of docs/how-to/python.md print of the books."""

SPREADSHEETS = {
    "IMPORTDATA": (
        "GET",
        "books.csv?safe=1",
        {
            "User-Agent": "Mozilla/5.0 (compatible; GoogleDocs; apps-spreadsheets; "
            "+http://docs.google.com)",
            "Accept-Encoding": "gzip,deflate,br",
        },
    ),
    "From Web": (
        "GET",
        "books.csv",
        {
            "User-Agent": "Microsoft.Data.Mashup (https://go.microsoft.com/fwlink/?LinkID=304225)",
            "Accept": "text/*, */*;q=0.1",
            "Accept-Encoding": "gzip, deflate",
            "Connection": "Keep-Alive",
        },
    ),
    "existence": (
        "HEAD",
        "books.xlsx",
        {
            "User-Agent": "Microsoft Office Existence Discovery",
            "Content-Length": "0",
            "Proxy-Connection": "Keep-Alive",
            "Pragma": "no-cache",
        },
    ),
    "a browser": (
        "GET",
        "books.xlsx",
        {
            "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "Cookie": "livedata=nonsense; other=1",
            "Sec-Fetch-Mode": "navigate",
        },
    ),
    "LibreOffice": ("GET", "books.csv", {"Accept": "", "User-Agent": "LibreOffice"}),
}
"""What asks -> the method, the path and the headers that it sends."""


@pytest.mark.parametrize("asker", SPREADSHEETS)
def test_a_spreadsheet_gets_the_table_at_once_without_a_redirect_or_a_cookie(
    recipes: Recipes, asker: str
) -> None:
    method, path, headers = SPREADSHEETS[asker]
    status, body, answered = _ask(recipes, path, method, headers)
    assert status == 200
    assert not {"Set-Cookie", "Location", "Content-Encoding", "WWW-Authenticate"} & answered.keys()
    assert (body == b"") == (method == "HEAD")
    if path.endswith("safe=1"):
        assert b"'=SUM" in body


def test_office_that_looks_for_a_folder_to_save_to_is_told_that_there_is_none(
    recipes: Recipes,
) -> None:
    for method, path in (("OPTIONS", ""), ("OPTIONS", "books.xlsx"), ("PROPFIND", "books.xlsx")):
        headers = {"User-Agent": "Microsoft Office Protocol Discovery"}
        assert _ask(recipes, path, method, headers)[0] in {404, 405}


def test_each_query_of_grafana_is_answered(recipes: Recipes) -> None:
    page = recipes.page("grafana").replace("${__from:date:iso}", "2026-01-01T00:00:00.000Z")
    queries = re.findall(
        rf"\| (CSV|JSON)[^|]*\| `{re.escape(recipes.here)}(\S+)` \|([^|]*)\|", page
    )
    assert len(queries) == 4
    accepted = {"CSV": "text/csv; charset=utf-8", "JSON": "application/json;q=0.9,text/plain"}
    for kind, path, named in queries:
        headers = {"User-Agent": "Grafana", "Accept": accepted[kind]}
        status, body, answered = _ask(recipes, path.replace("<", "%3C"), "GET", headers)
        assert status == 200
        assert answered["Content-Type"].startswith(
            "text/csv" if kind == "CSV" else accepted["JSON"][:16]
        )
        wanted = set(re.findall(r"`(\w+)`", named))
        there = json.loads(body) if kind == "JSON" else body.decode().splitlines()[0].split(",")
        assert wanted <= set(there)


def _ask(
    recipes: Recipes,
    path: str,
    method: str = "GET",
    headers: Mapping[str, str] = MappingProxyType({}),
) -> tuple[int, bytes, dict[str, str]]:
    with closing(recipes.served.connect()) as connection:
        where = f"{urlsplit(recipes.here).path}{path}"
        connection.request(method, where, headers=dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
