"""Where things stand on a screen: a table begins at its top, and stays usable when it is large."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from livedata.services import queries
from tests.api.serving import Serving
from tests.browsing.chromium import looking
from tests.browsing.extremes import strained_store
from tests.browsing.test_every_page import base_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

    from livedata.store.database.store import Store

pytestmark = pytest.mark.slow

SCREEN = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with what strains the pages."""
    with strained_store(tmp_path_factory.mktemp("home")) as opened:
        yield opened


def path_of(store: Store, name: str) -> str:
    """The path of a dataset."""
    listed = queries.datasets(store, "local", 100)
    return next(f"/datasets/{each['id']}" for each in listed if each["name"] == name)


def box(locator: Locator) -> Any:
    """Where something stands on the screen."""
    found_at = locator.bounding_box()
    assert found_at is not None
    return found_at


def rows(page: Page) -> Locator:
    return page.get_by_role("region", name="Rows").locator("tbody tr")


@pytest.mark.parametrize("name", ["shop", "a thousand rows", "fifty columns"])
def test_a_table_begins_in_the_upper_third_of_a_screen(
    browser: Browser, server: Serving, store: Store, name: str
) -> None:
    with looking(browser, base_of(server), store, viewport=SCREEN) as visit:
        page = visit.open(path_of(store, name))
        assert box(page.get_by_role("region", name="Rows"))["y"] <= 260


@pytest.mark.parametrize("name", ["shop", "a thousand rows", "fifty columns"])
def test_the_first_screen_of_a_phone_has_three_rows(
    browser: Browser, server: Serving, store: Store, name: str
) -> None:
    with looking(browser, base_of(server), store, viewport=PHONE) as visit:
        page = visit.open(path_of(store, name))
        third = box(rows(page).nth(2))
        assert third["y"] + third["height"] <= PHONE["height"]


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_the_header_and_the_first_column_stay_where_a_table_is_moved(
    browser: Browser, server: Serving, store: Store, scripts: bool
) -> None:
    base = base_of(server)
    with looking(browser, base, store, viewport=SCREEN, java_script_enabled=scripts) as visit:
        page = visit.open(path_of(store, "fifty columns"))
        region = page.get_by_role("region", name="Rows")
        region.evaluate("each => each.scrollTo(2000, 400)")
        area = box(region)
        head = box(region.get_by_role("columnheader").nth(30))
        assert abs(head["y"] - area["y"]) < 3
        name = box(rows(page).nth(12).get_by_role("rowheader"))
        assert abs(name["x"] - area["x"]) < 3


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_columns_are_chosen_and_kept_for_that_table(
    browser: Browser, server: Serving, store: Store, scripts: bool
) -> None:
    def heads(page: Page) -> list[str]:
        return page.locator("thead th").all_inner_texts()

    base, shop = base_of(server), path_of(store, "shop")
    with looking(browser, base, store, java_script_enabled=scripts) as visit:
        page = visit.open(shop)
        every = heads(page)
        page.get_by_text("Columns", exact=True).click()
        page.get_by_role("checkbox", name="Stock").uncheck()
        page.get_by_role("button", name="Apply").click()
        expect(page.get_by_text("Columns 2/3")).to_be_visible()
        chosen = ["Row", "Price", "Note", "Status", "Updated"]
        assert heads(page) == chosen
        assert heads(visit.open(shop)) == chosen
        assert len(heads(visit.open(path_of(store, "fifty columns")))) == 51
        visit.open(shop)
        page.get_by_text("Columns 2/3").click()
        page.get_by_role("link", name="All columns").click()
        expect(page.locator("thead th")).to_have_count(len(every))
        assert heads(visit.open(shop)) == every


def test_rows_stand_closer_on_wish_on_every_page(
    browser: Browser, server: Serving, store: Store
) -> None:
    with looking(browser, base_of(server), store, viewport=SCREEN) as visit:
        page = visit.open(path_of(store, "a thousand rows"))
        roomy = box(rows(page).first)["height"]
        visit.follow("Denser rows")
        dense = box(rows(page).first)["height"]
        assert dense < 0.9 * roomy
        page = visit.open(path_of(store, "fifty columns"))
        expect(page.get_by_role("link", name="Roomier rows")).to_be_visible()
        visit.follow("Roomier rows")
        page = visit.open(path_of(store, "a thousand rows"))
        assert box(rows(page).first)["height"] == roomy


def test_the_name_of_a_tab_says_how_a_dataset_is(
    browser: Browser, server: Serving, store: Store
) -> None:
    shop = path_of(store, "shop")
    with looking(browser, base_of(server), store) as visit:
        icons = set()
        for path, title in (
            ("/", "(2) Datasets · livedata"),
            (f"{shop}/changes", "… shop: Changes · livedata"),
            (path_of(store, "never read"), "✗ never read: Table · livedata"),
            (path_of(store, "fifty columns"), "fifty columns: Table · livedata"),
        ):
            page = visit.open(path)
            expect(page).to_have_title(title)
            icon = str(page.locator("link[rel=icon]").get_attribute("href"))
            assert page.request.get(f"{visit.base}{icon}").ok
            icons.add(icon)
    assert len(icons) == 3


def test_the_decimals_of_a_column_stand_below_each_other(
    browser: Browser, server: Serving, store: Store
) -> None:
    with looking(browser, base_of(server), store, locale="en-GB") as visit:
        page = visit.open(path_of(store, "restless"))
        assert page.locator("td.number > data").all_inner_texts() == ["10.00", "123.67"]
