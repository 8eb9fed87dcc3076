"""Questions about manuals that nobody wrote for livedata, with answers from another parser.

A task has the plan, the pages as a server sends them, and the gold: what lxml finds in the markup
by paths that livedata does not know. Each entity has a heading, the words by which a person would
find it on its page.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import html

from tests.site import Answer

DOC = Path("/usr/share/doc")
APACHE = "apache2-doc/manual/en/mod"
LIBRARY = "python3-doc/html/library"
LONG = 60_000
"""The characters of the longest page, where a task has no longer one."""


@dataclass(frozen=True)
class Entity:
    """What a perfect reader finds: the name, the words around it, and a value for each label."""

    name: str
    heading: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class Task:
    """A question: its plan as the wire has it, the pages by path, and the entities by page.

    `start` are the paths that are given, or that a search finds.
    """

    name: str
    plan: Mapping[str, Any]
    pages: Mapping[str, Answer]
    start: Sequence[str]
    entities: Mapping[str, Sequence[Entity]]
    searched: bool = False

    @property
    def gold(self) -> dict[str, dict[str, str]]:
        """Name -> label -> value, over all pages."""
        return {
            entity.name: dict(entity.values)
            for entities in self.entities.values()
            for entity in entities
        }


def tasks() -> list[Task]:
    """All three, the easy ones first."""
    return [apache_modules(), http_statuses(), python_names()]


def apache_modules(most: int = 40) -> Task:
    """A page for each module, which a search finds."""
    pages: dict[str, Answer] = {}
    entities: dict[str, list[Entity]] = {}
    for file in sorted((DOC / APACHE).glob("mod_*.html"))[:most]:
        path = f"/{APACHE}/{file.name}"
        root = _tree(file)
        cells = {
            said(row[0]).rstrip(":"): said(row[1])
            for row in root.xpath('//table[@class="module"]//tr')
        }
        heading = said(root.xpath("//h1")[0])
        values = {label: cells[label] for label in ("Description", "Status", "Source File")}
        pages[path] = Answer(body=file.read_bytes(), headers={"Content-Type": "text/html"})
        entities[path] = [Entity(heading.removeprefix("Apache Module "), heading, values)]
    plan = _plan(
        "Modules of the Apache server",
        "One module of the Apache HTTP server",
        "product",
        {
            "Description": "What the module is for",
            "Status": "Base, Core, MPM, Extension or Experimental",
            "Source File": "The file that the module is compiled from",
        },
    )
    return Task("apache-modules", plan, pages, sorted(pages), entities, searched=True)


def http_statuses() -> Task:
    """One table on one page, longer than what one answer may hold."""
    file = DOC / LIBRARY / "http.html"
    path = f"/{LIBRARY}/http.html"
    rows = _tree(file).xpath('//*[@id="http-status-codes"]//tbody/tr')
    entities = [
        Entity(
            said(row[1]),
            f"{said(row[0])} {said(row[1])}",
            {"Code": said(row[0]), "Details": said(row[2])},
        )
        for row in rows
    ]
    labels = {"Code": "The number", "Details": "The document that defines it, with the section"}
    plan = _plan("HTTP status codes", "One status of HTTP", "other", labels)
    return Task("http-statuses", plan, {path: _sent(file)}, [path], {path: entities})


def python_names() -> Task:
    """Three pages by a server that makes it hard.

    One is in Latin-1 and packed, one stands behind a meta refresh, and one has 60,000 characters.
    """
    errno, exceptions, functions = (
        f"/{LIBRARY}/{name}.html" for name in ("errno", "exceptions", "functions")
    )
    moved = '<meta http-equiv="refresh" content="0; url=exceptions.html"><p>Moved.</p>'
    start = f"/{LIBRARY}/errors.html"
    shortened = _shortened(_tree(DOC / LIBRARY / "functions.html"))
    pages = {
        errno: _packed(DOC / LIBRARY / "errno.html"),
        start: Answer(body=moved, headers={"Content-Type": "text/html"}),
        exceptions: _sent(DOC / LIBRARY / "exceptions.html"),
        functions: Answer(body=html.tostring(shortened, encoding="utf-8"), headers=_HTML),
    }
    entities = {
        errno: list(_described(_tree(DOC / LIBRARY / "errno.html"), "data")),
        exceptions: list(_described(_tree(DOC / LIBRARY / "exceptions.html"), "exception")),
        functions: list(_described(shortened, "function", "class")),
    }
    labels = {"Purpose": "The first sentences on what it is for"}
    plan = _plan("Names of Python's library", "One name with its purpose", "other", labels)
    return Task("python-names", plan, pages, [errno, start, functions], entities)


def python_functions() -> Task:
    """One page of 69,000 characters, with rows up to its end."""
    file = DOC / LIBRARY / "functions.html"
    path = f"/{LIBRARY}/functions.html"
    entities = list(_described(_tree(file), "function", "class"))
    labels = {"Purpose": "The first sentences on what it is for"}
    plan = _plan("Functions of Python", "One built-in function", "other", labels)
    return Task("python-functions", plan, {path: _sent(file)}, [path], {path: entities})


_HTML = {"Content-Type": "text/html; charset=utf-8"}


def _tree(file: Path) -> Any:
    assert file.is_file(), f"{file} is missing; ./tests/run installs the manuals."
    return html.fromstring(file.read_bytes())


def _sent(file: Path) -> Answer:
    return Answer(body=file.read_bytes(), headers=_HTML)


def _packed(file: Path) -> Answer:
    text = file.read_text(encoding="utf-8").replace("utf-8", "iso-8859-1")
    body = gzip.compress(text.encode("iso-8859-1", "xmlcharrefreplace"), mtime=0)
    headers = {"Content-Type": "text/html; charset=ISO-8859-1", "Content-Encoding": "gzip"}
    return Answer(body=body, headers=headers)


def _shortened(root: Any) -> Any:
    """A page without its last descriptions, until it has no more than LONG characters."""
    parts = root.xpath('//dl[starts-with(@class, "py ")][parent::section]')
    while len(root.text_content()) > LONG:
        parts.pop().drop_tree()
    return root


def _described(root: Any, *kinds: str) -> Iterator[Entity]:
    """The names of a page of Python's manual with the first paragraph of each."""
    for kind in kinds:
        for part in root.xpath(f'//dl[@class="py {kind}"][parent::section]'):
            name = part.xpath('./dt[1]//*[contains(@class, "descname")]')
            purpose = part.xpath("./dd/p[1]")
            if name and purpose and said(purpose[0]):
                heading = said(part.xpath("./dt[1]")[0])
                yield Entity(said(name[0]), heading, {"Purpose": said(purpose[0])})


def said(element: Any) -> str:
    """The text below an element with plain spaces."""
    return " ".join(element.text_content().replace("¶", " ").split())


def _plan(title: str, meaning: str, kind: str, labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "title": title,
        "rowMeaning": meaning,
        "nameLabel": "Name",
        "query": title,
        "rowIdentity": {"description": meaning, "kind": kind, "scopeFields": []},
        "attributes": [
            {"label": label, "description": description} for label, description in labels.items()
        ],
    }
