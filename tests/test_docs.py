"""The pages of docs as a site: it is whole, needs no other host, and its links lead somewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import expect
from typing_extensions import override

from livedata.messages.render import entry
from livedata.model.problem import Problem
from tests.browsing.chromium import chromium
from tests.errors_page import TABLES
from tests.test_readme import LINK

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
OUTSIDE = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")]
NAMED = re.compile(r"\bdocs/[\w/-]+\.md(?:#[\w.-]+)?")
"""How messages and docstrings name a page, and a place in it."""
FOLDERS = ("livedata", "spiders", "tests", "benchmarks", "examples", "docs")
KINDS = ["Tutorial", "How-to", "Reference", "Explanation"]


class Page(HTMLParser):
    """What a built page has: anchors, what it loads, the kinds of its tabs, and its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag says."""
        given = dict(attrs)
        if name := given.get("id"):
            self.anchors.add(name)
        loaded = given.get("href") if tag == "link" else given.get("src")
        if loaded and given.get("rel") not in {"canonical", "next", "prev"}:
            self.loads.append(loaded)


def build(folder: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Build the pages in a folder, strictly."""
    config = folder / "site" / "mkdocs.yml"
    words = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(
        [*words, "-f", str(config), "-d", str(target)],
        env={"PATH": "", "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once."""
    target = tmp_path_factory.mktemp("site")
    done = build(DOCS, target)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    """The built pages, by the path of what each is made of."""
    built = {path: _built(site, path) for path in DOCS.rglob("*.md")}
    return {str(path.relative_to(ROOT)): Page(file) for path, file in built.items()}


def _built(site: Path, path: Path) -> Path:
    page = path.relative_to(DOCS)
    stem = "index" if page.stem == "README" else page.stem
    return site / page.with_name(f"{stem}.html")


def leads(pages: dict[str, Page], address: str) -> bool:
    """Whether an address such as ``docs/errors.md#checks.no_items`` leads to a page and a place."""
    path, _, anchor = address.partition("#")
    return path in pages and (not anchor or anchor in pages[path].anchors)


def test_the_pages_are_ordered_as_tutorial_how_to_reference_and_explanation(site: Path) -> None:
    front = (site / "index.html").read_text(encoding="utf-8")
    tabs = re.findall(r'<li class="md-tabs__item.*?<a [^>]*>(.*?)</a>', front, re.DOTALL)
    assert [tab.strip() for tab in tabs][1:] == KINDS


def test_each_place_that_a_problem_names_is_there(pages: dict[str, Page]) -> None:
    codes = [code for _, table in TABLES.values() for code in table]
    assert len(codes) > 200
    assert [code for code in codes if not leads(pages, entry(Problem(code)))] == []


def test_each_page_and_place_that_the_code_names_is_there(pages: dict[str, Page]) -> None:
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.*")]
    named = {
        (address, str(file.relative_to(ROOT)))
        for file in [*files, *OUTSIDE]
        if file.suffix in {".py", ".md", ".html"} and file != Path(__file__).resolve()
        for address in NAMED.findall(file.read_text(encoding="utf-8"))
    }
    assert len(named) > 5
    assert sorted(each for each in named if not leads(pages, each[0])) == []


@pytest.mark.parametrize("page", OUTSIDE, ids=lambda page: page.stem)
def test_each_link_from_beside_the_pages_leads_to_one(page: Path, pages: dict[str, Page]) -> None:
    links = [link for link in LINK.findall(page.read_text()) if link.startswith("docs/")]
    texts = [link for link in links if link.partition("#")[0].endswith(".md")]
    assert [link for link in texts if not leads(pages, link)] == []


def test_no_page_loads_anything_from_elsewhere(pages: dict[str, Page]) -> None:
    loads = {load for page in pages.values() for load in page.loads}
    assert len(loads) > 5
    assert [load for load in loads if re.match(r"(\w+:)?//", load)] == []


def test_each_list_is_read_as_a_list(site: Path) -> None:
    unread = []
    for file in site.rglob("*.html"):
        text = re.sub(r"<pre\b.*?</pre>", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        for words in re.findall(r"<(?:p|li)>(.*?)(?=</?(?:p|li|ul|ol)>)", text, re.DOTALL):
            lines = re.findall(r"^ *(?:[-*|]|\d+\.) .*", words, re.MULTILINE)
            unread += [f"{file.name}: {line}" for line in lines]
    assert unread == []


BREACHES = {
    "a link to no page": ("cells.md", "[x](none.md)", "'none.md'"),
    "a link to no place": ("cells.md", "[x](errors.md#none)", "'errors.md#none'"),
    "a link to no file of the repository": ("cells.md", "[x](../none.py)", "'../none.py'"),
    "a link that only GitHub understands": ("cells.md", "[x](/docs/errors.md)", "absolute"),
    "a page that stands nowhere": ("lost.md", "# Lost", "lost.md"),
}


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a build of pages with each of the breaches says."""
    folder = tmp_path_factory.mktemp("planted") / "docs"
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("*.png", "reference", "how-to"))
    shutil.copy(ROOT / "pyproject.toml", folder.parent)
    for page, text, _ in BREACHES.values():
        with (folder / page).open("a", encoding="utf-8") as file:
            file.write(f"\n{text}\n")
    done = build(folder, folder.parent / "site")
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize("planted", BREACHES.values(), ids=BREACHES.keys())
def test_a_planted_breach_ends_the_build(complaints: str, planted: tuple[str, str, str]) -> None:
    page, _, said = planted
    assert [line for line in complaints.splitlines() if page in line and said in line]


@pytest.mark.slow
def test_the_search_finds_a_code_in_files_without_a_server(site: Path) -> None:
    asked: list[str] = []
    with chromium() as browser:
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.get_by_placeholder("Search").click()
        page.keyboard.type("cause.field_gone")
        expect(page.locator("a[href*='errors.html'][href$='#causes']")).to_be_visible()
    assert {address.partition(":")[0] for address in asked} <= {"file", "data", "blob"}
