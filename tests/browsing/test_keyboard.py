"""The pages by keyboard alone: Tab, Enter and arrows, with the focus in sight."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from livedata.model import ids
from livedata.services import accounts
from tests.api.serving import Serving
from tests.browsing.chromium import looking
from tests.browsing.test_unsent_forms import assert_sound
from tests.browsing.world import World
from tests.made import make_store

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

FOCUSED = r"""() => {
  const focused = document.activeElement, style = getComputedStyle(focused);
  const label = focused.labels?.length ? focused.labels[0].innerText : "";
  return {
    name: (focused.ariaLabel || label || focused.innerText).replace(/\s+/g, " ").trim(),
    only_scrolls: focused.getAttribute("role") === "region",
    seen: focused === document.body ||
      (style.outlineStyle !== "none" && focused.getBoundingClientRect().width > 1),
  };
}"""


def to(page: Page, name: str, *, to_activate: bool = False) -> None:
    """Press Tab until what has this name is reached; all that is passed shows that it has focus.

    ``to_activate`` passes a table that only scrolls, and may be named as the link to its page is.
    """
    for _ in range(150):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        assert focused["seen"], focused
        if to_activate and focused["only_scrolls"]:
            continue
        if f"{focused['name']} ".startswith(f"{name} "):
            return
    raise AssertionError(f"Tab does not reach {name!r}")


def go(page: Page, name: str) -> None:
    """Press Enter on what has this name."""
    to(page, name, to_activate=True)
    page.keyboard.press("Enter")


def test_a_whole_visit_needs_no_mouse(browser: Browser, tmp_path: Path) -> None:
    with closing(make_store(tmp_path)) as store:
        World(store).shop()
        key = accounts.create_key(store, "local", "mine")["key"]
        with Serving(tmp_path) as server:
            page = browser.new_page(viewport={"width": 320, "height": 640})
            page.goto(f"http://127.0.0.1:{server.port}/sign-in")
            expect(page.get_by_label("API key")).to_be_focused()
            page.keyboard.type(key)
            page.keyboard.press("Enter")
            expect(page.get_by_role("heading", name="Datasets")).to_be_visible()
            skip_to_the_content(page)
            look_at_other_days(page)
            go(page, "shop")
            narrow_and_scroll(page)
            accept_what_is_held(page)
            edit(page)
            change_the_settings(page)


def test_a_new_table_needs_no_mouse(browser: Browser, tmp_path: Path) -> None:
    with closing(make_store(tmp_path)) as store:
        path = f"/new/{ids.format_uuid(World(store).looks()[0])}"
        with Serving(tmp_path) as server:
            base = f"http://127.0.0.1:{server.port}"
            with looking(browser, base, store, viewport={"width": 320, "height": 640}) as visit:
                page = visit.page
                to(page, "Address of the page")
                page.keyboard.type("http://10.0.0.1/")
                page.keyboard.press("Enter")
                expect(page.get_by_role("alert")).to_contain_text("private address")
                visit.open(path)
                for name in ("Name of the table", "When it is read again", "Make the table"):
                    to(page, name)
                to(page, "Keep price")
                page.keyboard.press("Space")
                to(page, "Name of price")
                to(page, "Sku")
                page.keyboard.press("ArrowDown")
                go(page, "Try again")
                expect(page.get_by_role("alert")).to_contain_text("price is the key, or part")


def test_notices_shares_and_keys_need_no_mouse(browser: Browser, tmp_path: Path) -> None:
    with closing(make_store(tmp_path)) as store:
        path = f"/datasets/{ids.format_uuid(World(store).shop())}/shares"
        with Serving(tmp_path) as server:
            base = f"http://127.0.0.1:{server.port}"
            with looking(browser, base, store, viewport={"width": 320, "height": 640}) as visit:
                page = visit.page
                add_a_notice(page)
                go(page, "Keys")
                page.wait_for_url("**/keys")
                to(page, "What it is for")
                page.keyboard.type("a script")
                page.keyboard.press("Enter")
                expect(page.get_by_role("region", name="The new key")).to_contain_text("ld_")
                assert_sound(page, scripts=True)
                visit.open(path)
                go(page, "Share this table")
                to(page, "All, also later ones")
                page.keyboard.press("ArrowDown")
                to(page, "Title")
                page.keyboard.press("Space")
                go(page, "Make an address")
                made = page.get_by_role("region", name="The new address")
                expect(made).to_contain_text("/share/")
                assert_sound(page, scripts=True)
                go(page, "Revoke")
                to(page, "Revoke")
                page.keyboard.press("Enter")
                expect(page.locator("main")).to_contain_text("1 revoked")
                assert_sound(page, scripts=True)
    assert (visit.elsewhere, [each for each in visit.complaints if "422" not in each]) == ([], [])


def add_a_notice(page: Page) -> None:
    """Be told of some changes, after an address that gets no webhook; and see it in the list."""
    go(page, "Notices")
    page.wait_for_url("**/notices")
    to(page, "Name, such as")
    page.keyboard.type("deals")
    to(page, "Its address,")
    page.keyboard.type("http://10.0.0.1/k3y")
    go(page, "All changes:")
    to(page, "Column")
    page.keyboard.type("price")
    to(page, "Comparison")
    page.keyboard.type("is below")
    to(page, "Value")
    page.keyboard.type("20")
    go(page, "Add the notice")
    expect(page.get_by_role("alert")).to_contain_text("Nothing was saved")
    expect(page.get_by_label("Its address")).to_have_value("")
    expect(page.get_by_label("Value").first).to_have_value("20")
    assert_sound(page, scripts=True)
    to(page, "Its address,")
    page.keyboard.type("https://hooks.example/k3y")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Secret")).to_contain_text("whsec_")
    assert_sound(page, scripts=True)
    go(page, "What it would have told")
    page.wait_for_url("**/try")
    go(page, "Notices")
    page.wait_for_url("**/notices")
    expect(page.get_by_role("region", name="Notices")).to_contain_text("price < 20")


def skip_to_the_content(page: Page) -> None:
    page.reload()
    to(page, "Skip to the content")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    inside = page.evaluate("document.activeElement.closest('main') !== null")
    assert inside


def look_at_other_days(page: Page) -> None:
    """What is new, of the days of a link, and back."""
    page.goto(page.url.partition("#")[0])
    go(page, "What is new")
    page.wait_for_url("**/changes")
    go(page, "The last 7 days")
    page.wait_for_url("**/changes?since=*")
    expect(page.get_by_role("link", name="The last 7 days")).to_have_attribute(
        "aria-current", "page"
    )
    go(page, "Datasets")
    expect(page.get_by_role("heading", level=1)).to_have_text("Datasets")


def narrow_and_scroll(page: Page) -> None:
    """Choose the rows that are gone, and move the table, which is wider than the screen."""
    expect(page.get_by_role("heading", name="shop")).to_be_visible()
    go(page, "Filter")
    go(page, "More")
    to(page, "Rows of status")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    chosen = page.get_by_label("Rows of status").input_value()
    go(page, "Search the rows")
    page.wait_for_url(f"**status={chosen}**")
    expect(page.get_by_label("Rows of status")).to_have_value(chosen)
    to(page, "Rows")
    page.keyboard.press("ArrowRight")
    for _ in range(100):
        if page.evaluate("document.activeElement.scrollLeft"):
            return
        page.wait_for_timeout(20)
    raise AssertionError("The arrow does not move the table")


def accept_what_is_held(page: Page) -> None:
    page.reload()
    go(page, "Runs")
    page.wait_for_url("**/runs")
    to(page, "See the Run")
    held = page.get_by_role("row").filter(has_text="held").get_by_role("link")
    for _ in range(20):
        page.keyboard.press("Tab")
        if held.evaluate("link => link === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="held")).to_be_visible()
    to(page, "Yes, remove 37 rows")
    page.keyboard.press("Space")
    go(page, "Accept this output")
    expect(page.get_by_role("heading", name="succeeded")).to_be_visible()


def edit(page: Page) -> None:
    page.reload()
    go(page, "Table")
    page.wait_for_url("**/datasets/*")
    expect(page.get_by_role("heading", name="Rows")).to_be_visible()
    go(page, "by hand K000")
    expect(page.get_by_role("heading", name="K000")).to_be_visible()
    go(page, "Edit this row")
    to(page, "New value of Title")
    page.keyboard.press("Control+A")
    page.keyboard.type("By keyboard")
    go(page, "Save")
    title = page.get_by_role("row").filter(has_text="Title").first
    expect(title).to_contain_text("By keyboard")


def change_the_settings(page: Page) -> None:
    go(page, "Settings")
    page.wait_for_url("**/settings")
    to(page, "State")
    page.keyboard.type("active")
    to(page, "Schedule")
    page.keyboard.type("every 6")
    go(page, "Save")
    expect(page.get_by_role("status")).to_have_text("Saved.")
    expect(page.locator("main")).to_contain_text("Next Runs")
    go(page, "5 columns:")
    to(page, "Label of note")
    page.keyboard.press("Control+A")
    page.keyboard.type("Mine")
    go(page, "Save the columns")
    expect(page.get_by_label("Label of note")).to_have_value("Mine")
