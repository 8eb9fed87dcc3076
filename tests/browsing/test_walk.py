"""A person in real Chromium: why a Run was held, what it would change, and an edit of one's own."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from livedata.services import accounts
from tests.api.serving import Serving
from tests.browsing.chromium import looking
from tests.browsing.world import World
from tests.made import make_store

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_from_the_sign_in_to_an_accepted_run_and_an_edited_cell(
    browser: Browser, tmp_path: Path, scripts: bool
) -> None:
    with closing(make_store(tmp_path)) as store:
        store.ensure()
        World(store).shop()
        key = accounts.create_key(store, "local", "mine")["key"]
        with Serving(tmp_path) as server:
            context = browser.new_context(java_script_enabled=scripts)
            page = context.new_page()
            page.goto(f"http://127.0.0.1:{server.port}/")
            sign_in(page, key)
            accept_what_is_held(page)
            edit_against_somebody_else(page)
            reset(page)
            page.get_by_role("button", name="Sign out").click()
            expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
            context.close()


def test_typing_in_two_cells_and_saving_one_saves_both(browser: Browser, tmp_path: Path) -> None:
    with closing(make_store(tmp_path)) as store:
        World(store).shop()
        with Serving(tmp_path) as server:
            base = f"http://127.0.0.1:{server.port}"
            with looking(browser, base, store, java_script_enabled=False) as visit:
                page = visit.open("/")
                listed(page, "shop").click()
                page.get_by_role("link", name="K001").click()
                page.get_by_text("Edit this row").click()
                for column, text in (("Title", "Torch"), ("Note", "mine")):
                    page.get_by_label(f"New value of {column}").fill(text)
                # As whoever presses Enter in the last field.
                page.get_by_label("New value of Note").press("Enter")
                rows = page.get_by_role("region", name="Cells").get_by_role("row")
                expect(rows.filter(has_text="Note").first).to_contain_text("mine")
                expect(rows.filter(has_text="Title").first).to_contain_text("Torch")


def sign_in(page: Page, key: str) -> None:
    page.get_by_label("API key").fill("ld_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("This key opens nothing")
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Datasets")).to_be_visible()


def listed(page: Page, name: str) -> Locator:
    """The link of a dataset in the list of all, above which what is new may have one too."""
    region = page.get_by_role("region", name="Datasets")
    return region.get_by_role("link", name=name, exact=True)


def accept_what_is_held(page: Page) -> None:
    """See why, see what it would change, accept it, and see the change."""
    listed(page, "shop").click()
    page.get_by_role("navigation", name="Dataset").get_by_role("link", name="Runs").click()
    held = page.get_by_role("row").filter(has_text="held")
    held.get_by_role("link").click()
    expect(page.get_by_text("39 rows would go")).to_be_visible()
    page.get_by_text("37 gone: Lamp 2").click()
    expect(page.get_by_role("link", name="K038")).to_be_visible()
    page.get_by_role("button", name="Accept this output").click()
    # A browser asks first, since rows go.
    expect(page.get_by_role("heading", name="held")).to_be_visible()
    page.get_by_label("Yes, remove 37 rows").check()
    page.get_by_role("button", name="Accept this output").click()
    expect(page.get_by_role("heading", name="succeeded")).to_be_visible()
    page.get_by_role("link", name="see all", exact=True).click()
    gone = page.get_by_role("row").filter(has_text="K038")
    expect(gone.first).to_contain_text("gone")


def edit_against_somebody_else(page: Page) -> None:
    """Type into a form, while somebody else edits the same row."""
    page.get_by_role("navigation", name="Dataset").get_by_role("link", name="Table").click()
    page.get_by_role("link", name="K000").click()
    other = page.context.new_page()
    other.goto(page.url)
    for typing, text in ((page, "Mine"), (other, "Of somebody else")):
        typing.get_by_text("Edit this row").click()
        typing.get_by_label("New value of Title").fill(text)
    save(other)
    expect(other.get_by_role("row").filter(has_text="Title").first).to_contain_text(
        "Of somebody else"
    )
    other.close()
    save(page)
    expect(page.get_by_role("alert")).to_contain_text("has changed since you opened it")
    expect(page.get_by_role("alert")).to_contain_text("Of somebody else")
    expect(page.get_by_label("New value of Title")).to_have_value("Mine")
    save(page)
    expect(page.get_by_role("row").filter(has_text="Title").first).to_contain_text("Mine")


def reset(page: Page) -> None:
    """Give the cell back to its source."""
    page.get_by_text("Edit this row").click()
    title = page.get_by_role("row").filter(has_text="Title").first
    title.get_by_role("button", name="Reset to the source").click()
    expect(page.get_by_role("row").filter(has_text="Title").first).not_to_contain_text(
        "edited by hand"
    )


def save(page: Page) -> None:
    page.get_by_role("button", name="Save the row").click()
