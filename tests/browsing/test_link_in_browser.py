"""A link that signs in, in real Chromium: led to by a file, looked at, pressed, and forged."""

from __future__ import annotations

from contextlib import closing
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from livedata.cli.open_pages import write_lead
from livedata.services.pages import sessions
from tests.api.serving import Serving
from tests.browsing.chromium import looking
from tests.made import make_store, meet_owner

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_file_leads_to_a_button_that_swaps_the_session_once_it_is_pressed(
    browser: Browser, tmp_path: Path, scripts: bool
) -> None:
    with closing(make_store(tmp_path)) as store, Serving(tmp_path) as server:
        meet_owner(store, "bob", 0)
        base = f"http://127.0.0.1:{server.port}"
        with looking(browser, base, store, java_script_enabled=scripts) as visit:
            token = sessions.make_link(store, "bob")
            lead = write_lead(tmp_path, f"{base}/sign-in/link?token={token}&next=/usage")
            other = visit.page.context.new_page()
            other.goto(lead.as_uri())
            expect(other.get_by_text("signs this browser in as bob")).to_be_visible()
            visit.open("/")
            expect(owner(visit.page)).to_have_text("local")
            other.get_by_role("button", name="Sign in").click()
            expect(other.get_by_role("heading", name="Usage")).to_be_visible()
            expect(owner(other)).to_have_text("bob")
            visit.open("/")
            expect(owner(visit.page)).to_have_text("bob")


def test_a_page_elsewhere_neither_signs_a_browser_in_nor_out(
    browser: Browser, tmp_path: Path
) -> None:
    with closing(make_store(tmp_path)) as store, Serving(tmp_path) as server:
        meet_owner(store, "mallory", 0)
        base = f"http://127.0.0.1:{server.port}"
        with looking(browser, base, store) as visit:
            token = sessions.make_link(store, "mallory")
            address = escape(f"{base}/sign-in/link")
            foreign = tmp_path / "foreign.html"
            foreign.write_text(
                f'<!doctype html><img src="{address}?token={token}"><img src="{base}/sign-in">'
                f'<form method="post" action="{address}"><input name="link" value="{token}">'
                "</form><script>setTimeout(() => document.forms[0].submit(), 200)</script>"
            )
            other = visit.page.context.new_page()
            other.goto(foreign.as_uri())
            expect(other.get_by_role("alert")).to_contain_text("not one of this browser's pages")
            for path in ("/sign-in", f"/sign-in/link?token={token}"):
                foreign.write_text(f'<a href="{escape(base + path)}">there</a>')
                other.goto(foreign.as_uri())
                other.get_by_role("link", name="there").click()
                expect(other.get_by_role("button", name="Sign in")).to_be_visible()
            assert sessions.owner_of_link(store, token) == "mallory"
            visit.open("/")
            expect(owner(visit.page)).to_have_text("local")


def owner(page: Page) -> Locator:
    return page.locator(".owner")
