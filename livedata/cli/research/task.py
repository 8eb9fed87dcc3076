"""A task for ``research eval``: a folder with a plan, pages, and the table that is right."""

from __future__ import annotations

import json
import mimetypes
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, quote, unquote, urlsplit

import msgspec
from msgspec import Struct
from typing_extensions import override

from livedata.cli.source.source_file import read_declaration
from livedata.model.errors import Invalid
from livedata.model.research.declaration import PlanFile

EXAMPLE = '{"Acme": {"City": ["Lyon"]}}'


class EvalTask(Struct, frozen=True):
    """What is asked, of which pages, and name -> label -> the values that are right."""

    name: str
    plan: Path
    pages: Mapping[str, Path]
    gold: Mapping[str, Mapping[str, list[str]]]


def read_task(folder: Path) -> EvalTask:
    """The task in a folder. Raises Invalid if a part of it is missing or cannot be read."""
    plan, pages, gold = (folder / name for name in ("plan.toml", "pages", "gold.json"))
    if not plan.is_file():
        raise Invalid(
            f"{folder} is no task: it has no plan.toml. livedata research plan makes one."
        )
    declared = read_declaration(PlanFile, plan)
    if declared.urls:
        raise Invalid(
            f"{plan} names addresses, but a task reads its own pages; take `urls` out of it."
        )
    files = sorted(file for file in pages.rglob("*") if file.is_file())
    if not files:
        raise Invalid(f"{folder} is no task: there is no page in {pages}. Save some there.")
    served = {f"/{file.relative_to(pages).as_posix()}": file for file in files}
    labels = [attribute.label for attribute in declared.plan.attributes]
    return EvalTask(folder.name, plan, served, _gold(gold, labels))


def _gold(file: Path, labels: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    try:
        gold = msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, list[str]]])
    except FileNotFoundError:
        raise Invalid(f"{file} is missing: it says what is right, such as {EXAMPLE}.") from None
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise Invalid(f"{file} cannot be read: {error}. It is JSON such as {EXAMPLE}.") from None
    if not gold:
        raise Invalid(f"{file} holds no row: write what is right, such as {EXAMPLE}.")
    strange = next((label for row in gold.values() for label in row if label not in labels), None)
    if strange is not None:
        raise Invalid(
            f"{file} has values for {strange!r}, and the plan no such label; it has "
            f"{', '.join(labels)}."
        )
    return gold


SEARCH = "/search"
MOST_RESULTS = 50
_MARKUP = re.compile(
    r"<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>", re.DOTALL | re.IGNORECASE
)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.DOTALL | re.IGNORECASE)
_WORD = re.compile(r"\w+")


class _Page:
    """A page with the words by which it is searched."""

    def __init__(self, path: str, file: Path) -> None:
        self.path = path
        self.body = file.read_bytes()
        self.content_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        markup = self.body.decode("utf-8", "replace")
        title = _TITLE.search(markup)
        self.title = path if title is None else " ".join(title[1].split())
        self.words = frozenset(_WORD.findall(_MARKUP.sub(" ", markup).lower()))


@contextmanager
def served(pages: Mapping[str, Path]) -> Iterator[str]:
    """Host and port of a server with these pages, by path; /search finds the pages of a query."""
    by_path = {path: _Page(path, file) for path, file in pages.items()}

    class Handler(_Handler):
        pages = by_path

    # Port 0 is any free one.
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def rank(pages: Sequence[_Page], query: str) -> list[_Page]:
    """The pages that have words of a query, those with most of them first."""
    wanted = set(_WORD.findall(query.lower()))
    hits = [(len(wanted & page.words), page) for page in pages]
    # Pages with as many words are in the order of their paths: a search finds the same each time.
    hits.sort(key=lambda hit: (-hit[0], hit[1].path))
    return [page for count, page in hits[:MOST_RESULTS] if count]


class _Handler(BaseHTTPRequestHandler):
    pages: Mapping[str, _Page] = {}

    def do_GET(self) -> None:
        """Answer a page or a search."""
        address = urlsplit(self.path)
        path = unquote(address.path)
        if path == SEARCH:
            self._answer(200, "application/json", self._search(address.query))
        elif (page := self.pages.get(path)) is not None:
            self._answer(200, page.content_type, page.body)
        else:
            self._answer(404, "text/plain", b"There is no such page.")

    def _search(self, query: str) -> bytes:
        words = " ".join(parse_qs(query).get("q", []))
        host = f"http://{self.headers['Host']}"
        ranked = rank(list(self.pages.values()), words)
        results = [{"url": host + quote(page.path), "title": page.title} for page in ranked]
        return json.dumps({"query": words, "results": results}).encode()

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the command says what matters."""
