"""What is found in a browser: filtered, counted, drawn and searched, with scripts and without."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from livedata.services import queries
from tests.api.serving import Serving
from tests.browsing.chromium import looking, serious_faults
from tests.browsing.test_every_page import NARROW, OUTLINE, PHONE, base_of
from tests.browsing.test_keyboard import go, to
from tests.browsing.world import World
from tests.made import make_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from livedata.store.database.store import Store

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with a table that has a story, and others."""
    with closing(make_store(tmp_path_factory.mktemp("home"))) as opened:
        opened.ensure()
        World(opened).fill()
        yield opened


@pytest.fixture
def views(store: Store) -> list[str]:
    """The addresses of what people find, that no link of a fresh page leads to."""
    shop = next(each for each in queries.datasets(store, "local", 9) if each["name"] == "shop")
    column = {each["name"]: each["id"] for each in shop["columns"]}
    path = f"/datasets/{shop['id']}"
    return [
        f"{path}?where=price+%3E+20&where=title+contains+lamp",
        f"{path}?where=prise+%3E+20&where=stock+%3D+true",
        f"{path}?filter={column['price']}&operator=%3C&value=cheap",
        f"{path}?filter={column['stock']}",
        *(f"{path}?facet={field}" for field in column.values()),
        f"{path}?line={column['price']}&where=price+%3E+1",
        "/search?q=lamp",
        "/search?q=nothing+like+it",
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_found_is_read_by_all_in_order_and_on_a_narrow_screen(
    browser: Browser, server: Serving, store: Store, views: list[str], scheme: Any
) -> None:
    faults = []
    options: dict[str, Any] = {"viewport": NARROW, "color_scheme": scheme}
    with looking(browser, base_of(server), store, **options) as visit:
        for path in views:
            page = visit.open(path)
            faults += [f"{path}: {fault}" for fault in serious_faults(page, scheme)]
            faults += [f"{path}: {fault}" for fault in page.evaluate(OUTLINE)]
            width = page.evaluate("document.documentElement.scrollWidth")
            faults += [f"{path}: {width}"] if width > NARROW["width"] else []
    assert faults == []
    assert (visit.elsewhere, visit.complaints) == ([], [])


@pytest.mark.parametrize("scripts", [True, False])
def test_a_clause_is_added_and_taken_away_with_scripts_and_without(
    browser: Browser, server: Serving, store: Store, views: list[str], scripts: bool
) -> None:
    options: dict[str, Any] = {"java_script_enabled": scripts}
    with looking(browser, base_of(server), store, **options) as visit:
        page = visit.open(views[0].partition("?")[0])
        page.get_by_text("Filter", exact=True).click()
        page.locator("select[name=filter]").select_option(label="Price")
        page.locator("select[name=operator]").select_option(label="is below …")
        page.locator("input[name=value]").fill("3")
        page.get_by_role("button", name="Apply").click()
        chips = page.get_by_role("list", name="Filter")
        expect(chips).to_contain_text("Price is below 3")
        expect(page.locator("#hits")).to_have_text("2 of 40 rows")
        page.get_by_role("link", name="Take away: Price is below 3").click()
        expect(chips).to_have_count(0)


@pytest.mark.parametrize("viewport", [{"width": 1280, "height": 800}, PHONE, NARROW])
def test_what_opens_lies_over_the_table_and_nothing_moves(
    browser: Browser, server: Serving, store: Store, views: list[str], viewport: Any
) -> None:
    places = """[...document.querySelectorAll(".tools > *, .scrolling")]
        .map(each => each.getBoundingClientRect()).map(each => [each.x, each.y])"""
    with looking(browser, base_of(server), store, viewport=viewport) as visit:
        page = visit.open(views[0].partition("?")[0])
        before = page.evaluate(places)
        for name in ("Filter", "Columns", "Export"):
            page.locator("summary", has_text=name).click()
            expect(page.locator(".menu[open] > summary")).to_have_text(name)
            assert page.evaluate(places) == before
            assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        page.keyboard.press("Escape")
        expect(page.locator(".menu[open]")).to_have_count(0)
        page.locator("summary", has_text="Filter").click()
        page.get_by_text("39 rows").first.click()
        expect(page.locator(".menu[open]")).to_have_count(0)


def test_a_table_is_filtered_and_searched_by_keyboard(
    browser: Browser, server: Serving, store: Store, views: list[str]
) -> None:
    with looking(browser, base_of(server), store, viewport=NARROW) as visit:
        page = visit.open(views[0].partition("?")[0])
        go(page, "Filter")
        to(page, "Column")
        page.keyboard.type("Stock")
        go(page, "Show its values")
        expect(page.get_by_role("heading", name="Values of Stock")).to_be_visible()
        go(page, "no")
        expect(page.get_by_role("list", name="Filter")).to_contain_text("Stock is no")
        go(page, "Take away:")
        expect(page.get_by_role("list", name="Filter")).to_have_count(0)
        go(page, "Close the values")
        expect(page.get_by_role("heading", name="Values of Stock")).to_have_count(0)
        go(page, "Search")
        expect(page.get_by_role("heading", name="Search")).to_be_visible()
        to(page, "Text in all datasets")
        page.keyboard.type("basel")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="makers")).to_be_visible()


def test_on_a_phone_the_field_of_the_search_and_its_button_fill_a_line_below_their_label(
    browser: Browser, server: Serving, store: Store
) -> None:
    with looking(browser, base_of(server), store, viewport=PHONE) as visit:
        page = visit.open("/search")
        label = page.locator(".find label").bounding_box()
        field = page.locator(".find input").bounding_box()
        button = page.locator(".find button").bounding_box()
        assert label is not None
        assert field is not None
        assert button is not None
        assert field["y"] - label["y"] > field["height"] / 3
        assert abs(field["y"] - button["y"]) < field["height"] / 3
        assert button["x"] + button["width"] - field["x"] > 0.9 * (PHONE["width"] - 24)
