"""Sources on pages that nobody here wrote, compared with what lxml finds on the same files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from lxml import html

from livedata.services import feed
from tests.crawling import Crawling
from tests.examples.test_examples import EXAMPLES, HOST, rows_of
from tests.site import Site

DOC = Path("/usr/share/doc")
MANUALS = EXAMPLES / "manuals"

BOOK = '//*[contains(@class, "toctree-wrapper")]/ul/li/a/@href'
"""The chapters of a book, as its own table of contents lists them."""

Row = dict[str, Any]


class Leaf:
    """A page of a manual, and its address on the site."""

    def __init__(self, path: str, site: Site) -> None:
        file = DOC / path
        assert file.is_file(), f"{file} is missing; ./tests/run installs the manuals."
        self.url = site.at(f"/{path}")
        self.root = html.fromstring(file.read_bytes())

    def all(self, xpath: str) -> list[Any]:
        nodes = self.root.xpath(xpath)
        assert isinstance(nodes, list)
        return nodes

    def link(self, href: str) -> str:
        return urljoin(self.url, href)


def first(element: Any, xpath: str) -> Any:
    """The first that an XPath finds below an element; None where it finds nothing."""
    return next(iter(element.xpath(xpath)), None)


def said(element: Any) -> str | None:
    """The text below an element with plain spaces; None where there is no element."""
    return None if element is None else " ".join(element.text_content().split())


def apache_directives(site: Site) -> Iterator[Row]:
    leaf = Leaf("apache2-doc/manual/en/mod/core.html", site)
    for part in leaf.all('//div[@class="directive-section"]'):
        yield {
            "directive": said(first(part, "./h2/*[@id]")),
            "purpose": said(first(part, './/th[.="Description:"]/following-sibling::td')),
            "explanation": said(first(part, "(.//p)[1]")),
            "link": leaf.link(first(part, './h2/a[@class="permalink"]/@href')),
        }


def apache_tls_variables(site: Site) -> Iterator[Row]:
    leaf = Leaf("apache2-doc/manual/en/mod/mod_ssl.html", site)
    for part in leaf.all('//div[@class="section"]/table//tr[td]'):
        name, kind, meaning = map(said, part.xpath("./td"))
        yield {"variable": name, "kind": kind, "meaning": meaning}


def python_functions(site: Site) -> Iterator[Row]:
    leaf = Leaf("python3-doc/html/library/functions.html", site)
    for part in leaf.all('//dl[starts-with(@class, "py ")][parent::section]'):
        anchor = first(part, "./dt/@id")
        yield {
            "name": said(first(part, './dt/*[contains(@class, "descname")]')),
            "purpose": said(first(part, "./dd/p[1]")),
            "link": anchor and leaf.link(f"#{anchor}"),
        }


def python_errors(site: Site) -> Iterator[Row]:
    leaf = Leaf("python3-doc/html/library/errno.html", site)
    for part in leaf.all('//dl[@class="py data"]'):
        code = first(part, './dd/p/a[starts-with(@href, "exceptions.html#")]')
        yield {
            "name": first(part, "./dt/@id").removeprefix("errno."),
            "meaning": said(first(part, "./dd/p[1]")),
            "exception": said(code),
        }


def http_status(site: Site) -> Iterator[Row]:
    leaf = Leaf("python3-doc/html/library/http.html", site)
    for part in leaf.all('//*[@id="http-status-codes"]//tbody/tr'):
        cells = [said(cell) for cell in part.xpath("./td")]
        rfc = first(part, './/a[contains(@class, "rfc")]')
        yield {
            "code": int(cells[0] or ""),
            "row": " ".join(cell or "" for cell in cells),
            "document": said(rfc),
            "link": None if rfc is None else rfc.get("href"),
        }


def python_faq(site: Site) -> Iterator[Row]:
    contents = Leaf("python3-doc/html/faq/index.html", site)
    for name in contents.all(BOOK):
        leaf = Leaf(f"python3-doc/html/faq/{name}", site)
        for part in leaf.all("//section/section"):
            yield {
                "link": leaf.link(f"#{part.get('id')}"),
                "question": said(first(part, './*[self::h2 or self::h3]/a[@role="doc-backlink"]')),
                "answer": said(first(part, "(.//p)[1]")),
            }


def debian_policy(site: Site) -> Iterator[Row]:
    contents = Leaf("debian-policy/policy.html/index.html", site)
    for name in contents.all(BOOK):
        leaf = Leaf(f"debian-policy/policy.html/{name}", site)
        for part in leaf.all('//*[@role="main"]//section'):
            yield {
                "number": said(first(part, './*/span[@class="section-number"]')),
                "anchor": part.get("id"),
                "opening": said(first(part, "(.//p)[1]")),
                "link": leaf.link(f"#{part.get('id')}"),
            }


def debian_policy_versions(site: Site) -> Iterator[Row]:
    leaf = Leaf("debian-policy/policy.html/upgrading-checklist.html", site)
    for part in leaf.all('//h2[starts-with(normalize-space(text()), "Version ")]/..'):
        yield {
            "version": part.get("id"),
            "released": said(first(part, "./p[1]")),
            "link": leaf.link("#" + part.get("id")),
        }


def debian_perl_policy(site: Site) -> Iterator[Row]:
    contents = Leaf("debian-policy/perl-policy.html/index.html", site)
    yield {"title": said(contents.all("//h1")[0]), "anchor": first(contents.root, "//h1/a/@id")}
    for part in contents.all('//div[@class="toc"]//dt//a'):
        anchor = part.get("href").partition("#")[2]
        chapter = Leaf("debian-policy/perl-policy.html/" + part.get("href").partition("#")[0], site)
        anchor = anchor or chapter.all("//h1/a/@id")[0]
        yield {"title": said(chapter.all(f'//a[@id="{anchor}"]/..')[0]), "anchor": anchor}


EXPECTED: Mapping[str, Callable[[Site], Iterator[Row]]] = {
    "apache-directives": apache_directives,
    "apache-tls-variables": apache_tls_variables,
    "debian-perl-policy": debian_perl_policy,
    "debian-policy": debian_policy,
    "debian-policy-versions": debian_policy_versions,
    "http-status": http_status,
    "python-errors": python_errors,
    "python-faq": python_faq,
    "python-functions": python_functions,
}


def lines(rows: list[Row]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True, ensure_ascii=False) for row in rows)


def test_every_manual_has_its_expectation() -> None:
    assert {file.stem for file in MANUALS.glob("*.toml")} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_manual_makes_the_rows_that_lxml_finds_and_again_none(
    crawling: Crawling, site: Site, name: str
) -> None:
    site.folder(DOC)
    expected = list(EXPECTED[name](site))
    assert len(expected) > 10
    written = (MANUALS / f"{name}.toml").read_text().replace(HOST, site.host)
    dataset = crawling.create(tomllib.loads(written), allow=site.host)

    first_run = crawling.run(dataset, allow=site.host)
    assert first_run["status"] == "succeeded", first_run["error"]
    assert lines(rows_of(crawling, dataset)) == lines(expected)

    head = feed.head(crawling.store, "local", dataset)
    again = crawling.run(dataset, allow=site.host)
    assert again["status"] == "succeeded", again["error"]
    assert again["rowDeltas"] == {"new": 0, "changed": 0, "gone": 0}
    assert feed.head(crawling.store, "local", dataset) == head
