"""Rules 19.9: what renderers of Markdown make of a report has nothing that a site wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html.parser import HTMLParser

import marko
import pytest
from markdown import markdown
from markdown_it import MarkdownIt
from marko.ext.gfm import gfm
from typing_extensions import override

from livedata.mcp.access import DatasetAccess
from livedata.mcp.resources import inert, report
from livedata.store.database.store import Store
from tests import made
from tests.services.table import A, B, Table

RENDERERS: Mapping[str, Callable[[str], str]] = {
    "the one of mkdocs": lambda text: markdown(text, extensions=["extra", "sane_lists"]),
    "that one without tables": markdown,
    "CommonMark": lambda text: MarkdownIt("commonmark", {"html": True}).render(text),
    "CommonMark with tables": lambda text: (
        MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    ),
    "GitHub's": gfm.convert,
    "marko": marko.convert,
}
HOSTILE = [
    "![](http://evil.example/p.png)",
    "[click](http://evil.example/ 'now')",
    "<img src=http://evil.example/p.png onerror=alert(1)>",
    "<script src=//evil.example/x.js></script>",
    "http://evil.example/ and www.evil.example and me@evil.example",
    "<http://evil.example/> <me@evil.example>",
    "[x]: http://evil.example/\n\n[x] [x][x] ![x]",
    "` ![](http://evil.example/a.png) `` ![](http://evil.example/b.png) ``` <b>",
    "\\` ![](http://evil.example/a.png) \\`",
    "a\\|b | ![](http://evil.example/a.png) \\\\| <iframe src=//evil.example>",
    "|\n\n<style>@import '//evil.example/x.css'</style>\n# Heading",
    "<!-- --><a href='javascript:alert(1)'>x</a><![CDATA[ ]]><?php ?>",
    "&lt;img src=x&gt; &#60;img src=//evil.example&#62;",
    "</code></td></table><base href=//evil.example>",
    "*[HTML]: x\n[^1]: ![](//evil.example)\nx[^1] {: onclick=alert(1) }",
    "ends with \\",
    "``",
]
WRITTEN = {
    *("h1", "h2", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "code", "hr"),
}
"""The elements that a report is made of."""


class Rendered(HTMLParser):
    """What elements a rendered report has, with which attributes, and its texts in code."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self._is_code = False
        self.feed(html)
        self.close()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._is_code = tag == "code"
        if self._is_code:
            self.texts.append("")

    @override
    def handle_endtag(self, tag: str) -> None:
        self._is_code = False

    @override
    def handle_comment(self, data: str) -> None:
        self.elements.add(f"<!--{data}-->")

    @override
    def unknown_decl(self, data: str) -> None:
        self.elements.add(data)

    @override
    def handle_data(self, data: str) -> None:
        if self._is_code:
            self.texts[-1] += data


def told(store: Store, text: str) -> str:
    """The report of a dataset in which all that others write is a text."""
    table = Table(store, {**made.declared(f"{text} shop"), "question": text})
    table.take({**A, "sku": f"k {text}", "title": text}, {**B, "title": f"{text} {text}"})
    table.take({**A, "sku": f"k {text}", "title": f"{text}!"}, B)
    access = DatasetAccess.of(store, "local", "UTC", ())
    with access.every("") as datasets:
        (name,) = [each.name for each in datasets]
    return report(access, name)


@pytest.mark.one_database
@pytest.mark.parametrize("text", HOSTILE)
def test_no_renderer_loads_or_links_what_a_site_wrote(store: Store, text: str) -> None:
    written = told(store, text)
    for name, render in RENDERERS.items():
        seen = Rendered(render(written))
        assert seen.elements <= WRITTEN, (name, seen.elements - WRITTEN)
        assert seen.attributes <= {"style", "align"}, (name, seen.attributes)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_is_shown_as_it_is_written_out(text: str) -> None:
    written = text.replace("\n", r"\x0a")
    code = inert(written)
    for name, render in RENDERERS.items():
        (shown,) = Rendered(render(f"- A text: {code} and more")).texts
        assert shown.strip() == written.replace("|", r"\x7c").strip(), name


@pytest.mark.parametrize("text", ["Lamp", "Travel clock 100", "11.5", "-3", "Löwe, Maus", ""])
def test_words_and_numbers_are_left_as_they_are(text: str) -> None:
    assert inert(text) == text


@pytest.mark.parametrize(
    "text", ["_x_", "evil.example", "a*b*c", "x:y", "--", "1.2.3", "#x", "x@y", "~x~", "$x$", "1."]
)
def test_what_a_renderer_may_read_otherwise_is_code(text: str) -> None:
    assert inert(text) == f"`{text}`"
