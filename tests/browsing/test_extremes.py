"""The pages of tables that strain them: wide, long, empty, from right to left; on any screen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from livedata.model import ids
from livedata.pages.report import write
from livedata.services import queries
from livedata.services.pages.report import report
from tests.api.serving import Serving
from tests.browsing import addresses
from tests.browsing.chromium import looking, serious_faults
from tests.browsing.extremes import ADDRESS, ARABIC, HEBREW, LONGEST, strained_store
from tests.browsing.test_every_page import NARROW, OUTLINE, base_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from livedata.store.database.store import Store

pytestmark = pytest.mark.slow

PAPER = {"width": 794, "height": 1123}
"""A sheet of A4 without margins."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with what strains the pages."""
    with strained_store(tmp_path_factory.mktemp("home")) as opened:
        yield opened


def pages(store: Store) -> Iterator[str]:
    """The pages of each dataset, with that of its row of the first key."""
    yield from addresses.ALONE
    for dataset, of_it in addresses.of_datasets(store, "local"):
        yield from (*of_it, *addresses.of_rows(store, "local", dataset)[:1])


def width(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth"))


def test_no_page_moves_sideways_and_each_table_that_does_is_reached_by_keys(
    browser: Browser, server: Serving, store: Store
) -> None:
    faults = []
    with looking(browser, base_of(server), store, viewport=NARROW) as visit:
        for path in pages(store):
            page = visit.open(path)
            if width(page) > NARROW["width"]:
                faults.append(f"{path}: {width(page)}")
            faults += page.evaluate(
                "[...document.querySelectorAll('*')].filter(each => each.scrollWidth >"
                " each.clientWidth && getComputedStyle(each).overflowX === 'auto' &&"
                " each.tabIndex < 0).map(each => each.outerHTML.slice(0, 200))"
            )
    assert faults == []


def test_paper_cuts_nothing_off_and_has_nothing_to_press(
    browser: Browser, server: Serving, store: Store
) -> None:
    faults = []
    with looking(browser, base_of(server), store, viewport=PAPER) as visit:
        visit.page.emulate_media(media="print")
        for path in pages(store):
            page = visit.open(path)
            pressed = page.locator("button, input, select, textarea").locator("visible=true")
            if width(page) > PAPER["width"] or pressed.count():
                faults.append(f"{path}: {width(page)} wide, {pressed.count()} to press")
    assert faults == []


@pytest.mark.timeout(400)  # a hundred pages, and axe takes a second for each
def test_axe_finds_nothing_serious_in_what_strains_the_pages(
    browser: Browser, server: Serving, store: Store
) -> None:
    faults = []
    with looking(browser, base_of(server), store, color_scheme="dark") as visit:
        met: set[str] = set()
        for path in pages(store):
            # The values of another column are the same markup.
            kind, _, _ = path.partition("=")
            if path.endswith(("/runs", "/changes")) or kind in met:
                continue
            met.add(kind)
            visit.open(path)
            faults += [f"{path}: {fault}" for fault in serious_faults(visit.page)]
    assert faults == []


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_no_number_is_shown_as_another_one(
    browser: Browser, server: Serving, store: Store, scripts: bool
) -> None:
    base = base_of(server)
    with looking(browser, base, store, locale="de-DE", java_script_enabled=scripts) as visit:
        visit.follow("numbers")
        rows = visit.page.get_by_role("row")
        cells = [
            rows.filter(has_text=f"N{number}").get_by_role("cell").first for number in range(2, 10)
        ]
        shown = [cell.inner_text() for cell in cells]
        # Without scripts a number is plain text, and exact.
        numbers = [cell.locator("data") for cell in cells]
        titled = [number.get_attribute("title") for number in numbers] if scripts else []
    exact = ("1e+308", "5e-324", "-1e-06", "0.1", "1234567.89", "0", "-17", "19.990000000000002")
    told = ("1e+308", "5e-324", "-0,000001", "0,1", "1.234.567,89", "0", "-17")
    assert shown == ([*told, "19,990000000000002"] if scripts else list(exact))
    # Whatever stands otherwise than it is has the exact number at hand.
    if scripts:
        assert titled == [None, None, *exact[2:]]


def test_texts_from_right_to_left_begin_at_the_right(
    browser: Browser, server: Serving, store: Store
) -> None:
    with looking(browser, base_of(server), store) as visit:
        visit.follow("מנורות")
        directions = {
            text: visit.page.locator("tbody :is(th, td)")
            .filter(has_text=text)
            .first.evaluate("cell => getComputedStyle(cell).direction")
            for text in (HEBREW[:6], ARABIC[:6], "lamp", "https://shop.example")
        }
        visit.follow("א-100")
        story = visit.page.get_by_role("row", name="סיפור").first.get_by_role("cell").first
        story.get_by_text("all 1,200 characters").click()
        directions["story"] = story.get_by_text(HEBREW * 40).last.evaluate(
            "part => getComputedStyle(part).direction"
        )
    assert list(directions.values()) == ["rtl", "rtl", "ltr", "ltr", "rtl"]


def test_a_long_text_opens_to_all_of_it_and_a_long_address_leads_there(
    browser: Browser, server: Serving, store: Store
) -> None:
    with looking(browser, base_of(server), store, java_script_enabled=False) as visit:
        page = visit.page
        visit.follow("Donau")
        address = page.get_by_role("link", name="https://x.example").get_attribute("href")
        assert address == ADDRESS
        visit.follow("L1")
        cell = page.get_by_role("row", name="Without spaces").first.get_by_role("cell").first
        assert len(cell.inner_text()) < 500
        cell.get_by_text("all 32,768 characters").click()
        expect(cell).to_contain_text("Donaudampf")
        assert len(cell.inner_text()) > LONGEST


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_opens_from_a_file_reads_well_and_asks_for_nothing(
    browser: Browser, store: Store, tmp_path: Path, scheme: Any
) -> None:
    page = browser.new_page(color_scheme=scheme)
    page.set_viewport_size({"width": NARROW["width"], "height": NARROW["height"]})
    asked, said, faults = list[str](), list[str](), []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    files = list(reports(store, tmp_path))
    for file in files:
        page.goto(file)
        faults += page.evaluate(OUTLINE)
        faults += [f"{width(page)} wide"] if width(page) > NARROW["width"] else []
        faults += [f"{file}: {fault}" for fault in serious_faults(page, scheme)]
    page.close()
    assert (faults, said, asked) == ([], [], files)


def reports(store: Store, folder: Path) -> Iterator[str]:
    """The address of the file with the report of each dataset."""
    for dataset in queries.datasets(store, "local", 100):
        # Of longer ones axe would look at each cell.
        if dataset["rowCount"] in range(1, 11) and dataset["name"] != "restless":
            told = report(store, "local", ids.DatasetId(ids.raw_id(dataset["id"])), ids.Micros(0))
            file = folder / f"{dataset['id']}.html"
            file.write_text(write(told, dataset["createdAt"]))
            yield file.as_uri()


def test_the_rows_of_a_table_of_many_columns_are_low(
    browser: Browser, server: Serving, store: Store
) -> None:
    (dataset,) = [
        each for each in queries.datasets(store, "local", 99) if each["name"] == "fifty columns"
    ]
    for viewport in ({"width": 1280, "height": 800}, NARROW):
        with looking(browser, base_of(server), store, viewport=viewport) as visit:
            page = visit.open(f"/datasets/{dataset['id']}")
            highest = page.evaluate(
                "Math.max(...[...document.querySelectorAll('.wide tbody td > :is(bdi, a)')]"
                ".map(each => each.offsetHeight / parseFloat(getComputedStyle(each).lineHeight)))"
            )
            assert 0 < highest < 1.5


def test_a_table_of_many_columns_says_how_many_are_in_view_where_it_is_moved(
    browser: Browser, server: Serving, store: Store
) -> None:
    (dataset,) = [
        each for each in queries.datasets(store, "local", 99) if each["name"] == "fifty columns"
    ]
    with looking(browser, base_of(server), store) as visit:
        page = visit.open(f"/datasets/{dataset['id']}")
        told = page.locator(".view")
        expect(told).to_have_text(re.compile(r"^[1-9]\d? of \d\d columns in view$"))
        first = told.inner_text()
        page.get_by_role("region", name="Rows").evaluate("table => table.scrollBy(9_999, 0)")
        expect(told).not_to_have_text(first)
