"""Cells as whole Runs read them: values, reasons, evidence."""

from __future__ import annotations

import gzip
import hashlib
from typing import Any

import pytest

from livedata.model import ids
from livedata.model.row import Row, RowDetail
from livedata.model.run import Run
from livedata.services import queries
from tests import faults
from tests.crawling import Crawling
from tests.runs.test_pagination_none import failed_checks
from tests.site import Site

pytestmark = pytest.mark.one_database

BASE = "http://elsewhere.example/deep/"


def declared(url: str, read: dict[str, object], kind: str = "string") -> dict[str, Any]:
    """A table of one cell, `value`, by the id of its item."""
    return {
        "name": "cells",
        "columns": [
            {"name": "key", "type": "string", "key": True},
            {"name": "value", "type": kind},
        ],
        "source": {
            "version": 1,
            "url": url,
            "itemSelector": "li",
            "fields": [
                {"name": "key", "read": {"kind": "attribute", "attribute": "id"}},
                {"name": "value", "read": read},
            ],
            "identity": {"kind": "source-key", "field": "key"},
            "pagination": {"kind": "none"},
        },
    }


class Cell:
    """One item that a Run has read."""

    def __init__(self, crawling: Crawling, dataset: ids.DatasetId, run: Run) -> None:
        assert run["status"] == "succeeded", run["error"]
        store = crawling.store
        about = queries.dataset(store, "local", dataset)
        self.field = next(c["id"] for c in about["columns"] if c["name"] == "value")
        self.row: Row = queries.rows(store, "local", dataset, 1)[0][0]
        self.detail: RowDetail = queries.row(
            store, "local", dataset, ids.RowId(ids.raw_id(self.row["id"]))
        )
        self.value = self.row["data"][self.field]
        self.reason = self.row["missingReasons"].get(self.field)

    def excerpts(self) -> list[tuple[str, bool]]:
        """The evidence of the value: each text, and whether it was cut."""
        entries = {
            (seen["id"], entry["id"]): (entry["excerpt"], entry["truncated"])
            for seen in self.detail["observations"]
            for entry in seen["entries"]
        }
        wanted = self.detail["evidence"].get(self.field, [])
        return [entries[name["observationId"], name["entryId"]] for name in wanted]


def read_cell(
    crawling: Crawling,
    site: Site,
    item: str,
    read: dict[str, object],
    kind: str = "string",
    *,
    head: str = "",
) -> Cell:
    site.page("/", f"<!doctype html><head>{head}</head><ul><li id=one>{item}</li></ul>")
    dataset = crawling.create(declared(site.at("/"), read, kind), allow=site.host)
    return Cell(crawling, dataset, crawling.run(dataset, allow=site.host))


@pytest.mark.parametrize(
    ("item", "selector", "kind", "value"),
    [
        ("<b><span style='display:none'>000519</span>519 km</b>", "b", "number", 519),
        ("<b><i hidden>was $9</i>$5</b>", "b", "number", 5),
        ("<b><i class=key>0007</i>Lamp</b>", "b", "string", "Lamp"),
        ("<b><i class=key>0007</i>Lamp</b>", ".key", "string", "0007"),
        ("<b hidden>Lamp</b>", "b", "string", "Lamp"),
        ("<b><i aria-hidden=true>$12</i></b>", "b", "number", 12),
        ("<b><i class=key>only this</i></b>", "b", "string", None),
    ],
)
def test_what_a_person_does_not_see_is_no_part_of_a_cell(
    crawling: Crawling, site: Site, item: str, selector: str, kind: str, value: object
) -> None:
    head = "<style>.key{display:none}</style>"
    cell = read_cell(crawling, site, item, {"selector": selector}, kind, head=head)
    assert cell.value == value
    assert cell.reason == (None if value else "not_found")


def attribute(name: str, selector: str = "a") -> dict[str, object]:
    return {"selector": selector, "kind": "attribute", "attribute": name}


@pytest.mark.parametrize(
    ("item", "selector", "value"),
    [
        ("<b>first</b> <b>second</b>", "b", "first"),
        ("<b></b><b>second</b>", "b", None),
        ("<p>a</p>b<br>c", None, "a b c"),
        ("\n a <b>b</b>c&nbsp;\u2003d ", None, "a bc d"),
        ("x<script>y</script><style>z</style><template>t</template>", None, "x"),
        ("<b> &nbsp; </b>", "b", None),
        ("<i>x</i>", "b", None),
        ("<b>caf\u00e9 \u20ac5</b>", "b", "caf\u00e9 \u20ac5"),
    ],
)
def test_text_is_the_first_match_as_a_person_sees_it(
    crawling: Crawling, site: Site, item: str, selector: str | None, value: str | None
) -> None:
    read = {} if selector is None else {"selector": selector}
    cell = read_cell(crawling, site, item, dict(read))
    assert cell.value == value
    assert cell.reason == (None if value else "not_found")
    assert cell.excerpts() == ([(value, False)] if value else [])


@pytest.mark.parametrize(
    ("item", "name", "value"),
    [
        ("<a title='  x \n y '>t</a><a title=z>u</a>", "title", "x \n y"),
        ("<a title='  '>t</a>", "title", None),
        ("<a>t</a>", "title", None),
        ("<a href=' /x '>t</a>", "href", "http://elsewhere.example/x"),
        ("<a href='x?a=b#c'>t</a>", "href", BASE + "x?a=b#c"),
        ("<a href='//other.example/y'>t</a>", "href", "http://other.example/y"),
        ("<a href=''>t</a>", "href", None),
        ("<a data-href='/x'>t</a>", "data-href", "/x"),
        ("<a HREF='/x'>t</a>", "HREF", "http://elsewhere.example/x"),
        ("<a href='http://[broken'>t</a>", "href", "http://[broken"),
    ],
)
def test_an_attribute_is_trimmed_and_made_absolute_where_it_is_a_url(
    crawling: Crawling, site: Site, item: str, name: str, value: str | None
) -> None:
    cell = read_cell(crawling, site, item, attribute(name), head=f'<base href="{BASE}">')
    assert cell.value == value
    assert cell.reason == (None if value else "not_found")


def test_without_a_selector_the_attribute_is_the_items_own(crawling: Crawling, site: Site) -> None:
    read: dict[str, object] = {"kind": "attribute", "attribute": "id"}
    assert read_cell(crawling, site, "<b id=other>x</b>", read).value == "one"


@pytest.mark.parametrize(
    ("item", "value", "reason"),
    [
        ("<input disabled>", True, None),
        ("<input disabled=false>", True, None),
        ("<input>", False, None),
        ("<b>x</b>", None, "not_found"),
    ],
)
def test_a_boolean_attribute_is_true_by_its_presence(
    crawling: Crawling, site: Site, item: str, value: bool | None, reason: str | None
) -> None:
    cell = read_cell(crawling, site, item, attribute("disabled", "input"), "boolean")
    assert (cell.value, cell.reason) == (value, reason)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("number", "1.234", 1.234),
        ("number", "1,234", 1234),
        ("number", "1.234,50 €", 1234.5),
        ("number", "£1,234.50", 1234.5),
        ("number", "−5 °C", -5),
        ("number", "10.0", 10),
        ("boolean", "In Stock", True),
        ("boolean", "OFF", False),
        ("boolean", "1", True),
    ],
)
def test_numbers_and_booleans_are_read_from_the_text(
    crawling: Crawling, site: Site, kind: str, text: str, value: float
) -> None:
    cell = read_cell(crawling, site, text, {}, kind)
    assert (cell.value, cell.reason) == (value, None)
    assert cell.excerpts() == [(text, False)]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("number", "3 for 2"),
        ("number", "free"),
        ("number", "9007199254740993"),
        ("number", "1e999"),
        ("boolean", "maybe"),
    ],
)
def test_what_cannot_be_read_is_extraction_failed_and_the_text_is_evidence(
    crawling: Crawling, site: Site, kind: str, text: str
) -> None:
    cell = read_cell(crawling, site, text, {}, kind)
    assert (cell.value, cell.reason) == (None, "extraction_failed")
    assert cell.excerpts() == [(text, False)]


@pytest.mark.parametrize(
    ("markup", "value"),
    [
        ("€ 19<sup>99</sup>", None),
        ("19 <sup> 99</sup>", None),
        ("<sup>1</sup>2", None),
        ("<b>19</b><sup><i>99</i></sup>", None),
        ("1,234<sub>5</sub>", None),
        ("$19<sup>.99</sup>", 19.99),
        ("120 m<sup>2</sup>", 120),
        ("<sup>€</sup>19", 19),
        ("<sup>19</sup>", 19),
        ("1<b>9</b>", 19),
    ],
)
def test_digits_that_the_page_sets_off_are_no_part_of_a_number(
    crawling: Crawling, site: Site, markup: str, value: float | None
) -> None:
    cell = read_cell(crawling, site, markup, {}, "number")
    assert (cell.value, cell.reason) == (value, None if value else "extraction_failed")
    assert "\x00" not in str(cell.excerpts())


def test_text_that_the_page_sets_off_stays(crawling: Crawling, site: Site) -> None:
    assert read_cell(crawling, site, "€ 19<sup>99</sup>", {}).value == "€ 1999"


def test_a_cell_of_32768_characters_is_read_and_one_more_is_too_many(
    crawling: Crawling, site: Site
) -> None:
    assert read_cell(crawling, site, "x" * 32_768, {}).value == "x" * 32_768
    site.page("/more", "<ul><li id=one>" + "x" * 32_769 + "</ul>")
    body = {**declared(site.at("/more"), {}), "name": "more"}
    dataset = crawling.create(body, allow=site.host)
    cell = Cell(crawling, dataset, crawling.run(dataset, allow=site.host))
    assert (cell.value, cell.reason) == (None, "extraction_failed")
    assert cell.excerpts() == [("x" * 2048, True)]


def test_a_long_attribute_is_extraction_failed_too(crawling: Crawling, site: Site) -> None:
    cell = read_cell(crawling, site, f"<a title={'x' * 40_000}>", attribute("title"))
    assert (cell.value, cell.reason) == (None, "extraction_failed")


def test_evidence_is_cut_between_two_characters(crawling: Crawling, site: Site) -> None:
    cell = read_cell(crawling, site, "x" + "€" * 1000, {})
    assert cell.excerpts() == [("x" + "€" * 682, True)]


def test_over_32_mib_of_text_fail_extraction_and_the_selector_is_named(
    crawling: Crawling, site: Site
) -> None:
    # Nested items read the same text again and again: no large page is needed.
    depth, text = 1100, "x" * 32_000
    opened = "".join(f"<div class=item id=i{number}>" for number in range(depth))
    site.page("/", f"<main>{opened}<b>{text}</b></main>")
    body = declared(site.at("/"), {"selector": "b"})
    body["source"]["itemSelector"] = ".item"
    body["source"]["maxItems"] = 1000
    run = crawling.run(crawling.create(body, allow=site.host), allow=site.host)
    assert run["status"] == "failed"
    assert failed_checks(run) == ["coverage", "extraction"]
    assert "32 MiB" in str(run["error"])
    assert "'b'" in str(run["error"])


def test_an_observation_says_what_page_the_cells_are_from(crawling: Crawling, site: Site) -> None:
    page = "<!doctype html><ul><li id=one>caf\u00e9</ul>".encode("cp1252")
    site.page("/new", page, content_type="text/html; charset=windows-1252")
    site.route("/", faults.redirect("/new"))
    dataset = crawling.create(declared(site.at("/"), {}), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    cell = Cell(crawling, dataset, run)
    assert cell.value == "café"
    [seen] = cell.detail["observations"]
    assert seen["contentDigest"] == hashlib.sha256(page).hexdigest()
    assert seen["sourceUrl"] == cell.row["sourceUrl"] == site.at("/new")
    assert (seen["method"], seen["runId"]) == ("deterministic", run["id"])


def test_the_digest_is_that_of_the_decompressed_body(crawling: Crawling, site: Site) -> None:
    page = b"<ul><li id=one>x</ul>"
    site.page("/", gzip.compress(page), headers={"Content-Encoding": "gzip"})
    dataset = crawling.create(declared(site.at("/"), {}), allow=site.host)
    cell = Cell(crawling, dataset, crawling.run(dataset, allow=site.host))
    [seen] = cell.detail["observations"]
    assert seen["contentDigest"] == hashlib.sha256(page).hexdigest()
