"""A form of a session that is over: nothing is done, and nothing that was typed is lost."""

from __future__ import annotations

import re
from contextlib import closing
from html import escape, unescape
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from livedata.model import ids
from livedata.services import accounts, queries
from tests import made
from tests.api.serving import Serving
from tests.browsing.chromium import looking, serious_faults
from tests.browsing.payloads import ALL
from tests.browsing.test_every_page import NARROW, OUTLINE
from tests.browsing.test_settings import form_of
from tests.browsing.visitor import Visitor

if TYPE_CHECKING:
    from pathlib import Path

    from flask import Flask
    from playwright.sync_api import Browser, Page

    from livedata.store.database.store import Store

_HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')
TYPED = "What does it cost?\r\nAnd why?"
OURS = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def path(store: Store, alice: Visitor) -> str:
    """The settings of a dataset of Alice."""
    return f"/datasets/{ids.format_uuid(made.make_dataset(store, alice.owner))}/settings"


@pytest.fixture
def form(alice: Visitor, path: str) -> dict[str, str]:
    """What Alice has typed there."""
    return {**form_of(alice.get(path), path), "question": TYPED}


def question(store: Store) -> str | None:
    return queries.datasets(store, ids.OwnerName("alice"), 1)[0]["question"]


def sent(visitor: Visitor, page: str, action: str, **typed: str) -> tuple[int, str]:
    """The answer to a form of a page that holds nothing but what is hidden."""
    (inside,) = re.findall(rf'<form [^>]*action="{action}">(.*?)</form>', page, re.DOTALL)
    fields = {name: unescape(value) for name, value in _HIDDEN.findall(inside)}
    answer = visitor.client.post(action, data={**fields, **typed}, headers=OURS)
    return answer.status_code, answer.text


def test_what_was_typed_is_sent_after_another_sign_in(
    alice: Visitor, store: Store, path: str, form: dict[str, str]
) -> None:
    accounts.revoke_key(store, alice.key_id)
    answer = alice.client.post(path, data=form)
    assert answer.status_code == 401
    assert "You were signed out before this was sent" in answer.text
    status, page = sent(alice, answer.text, "/sign-in", key="ld_wrong")
    assert status == 401
    key = accounts.create_key(store, alice.owner, None)["key"]
    status, page = sent(alice, page, "/sign-in", key=key)
    assert status == 200
    assert "And why?" in page
    assert question(store) is None
    assert sent(alice, page, path)[0] == 303
    assert question(store) == TYPED.replace("\r\n", "\n")


def test_whoever_has_signed_in_within_another_window_goes_on(
    alice: Visitor, store: Store, path: str, form: dict[str, str]
) -> None:
    alice.post("/sign-out", alice.token("/"))
    refused = alice.client.post(path, data=form, headers=OURS)
    assert refused.status_code == 401
    assert sent(alice, refused.text, path)[0] == 401
    alice.sign_in()
    status, page = sent(alice, refused.text, path)
    assert status == 409
    assert "Not sent yet" in page
    assert question(store) is None
    assert sent(alice, page, path)[0] == 303
    assert question(store) is not None


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"}])
def test_only_a_form_of_ours_is_kept(
    alice: Visitor, path: str, form: dict[str, str], headers: dict[str, str]
) -> None:
    form["token"] = "0" * 64
    for _ in range(2):
        answer = alice.client.post(path, data=form, headers=headers)
        assert answer.status_code == 403
        assert "And why?" not in answer.text
        alice.client.delete_cookie("livedata")


def test_what_is_kept_of_alice_is_not_there_for_bob(
    bob: Visitor, alice: Visitor, store: Store, path: str, form: dict[str, str]
) -> None:
    accounts.revoke_key(store, alice.key_id)
    page = alice.client.post(path, data=form).text
    status, page = sent(alice, page, "/sign-in", key=bob.key)
    assert (status, sent(alice, page, path)[0]) == (200, 404)
    assert question(store) is None


@pytest.mark.one_database
@pytest.mark.parametrize("again", ["//evil.example/", "https://evil.example/", "/\\evil", "", "/"])
def test_no_form_is_sent_to_another_site(app: Flask, alice: Visitor, again: str) -> None:
    stranger = Visitor(app.test_client(), "alice", alice.key, alice.key_id)
    token = stranger.token("/sign-in")
    answer = stranger.post("/sign-in", token, key=alice.key, again=again, **{"kept-x": "y"})
    assert (answer.status_code, answer.location) == (303, "/")


def test_texts_that_are_kept_are_text(alice: Visitor, store: Store, path: str) -> None:
    accounts.revoke_key(store, alice.key_id)
    token = alice.token("/sign-in")
    form = {"token": token, **{text: text for text in ALL}}
    page = alice.client.post(path, data=form).text
    for text in ALL:
        sanitized = escape(text.replace("\r\n", "\n"))
        assert page.count(sanitized.replace("&#x27;", "&#39;").replace("&quot;", "&#34;")) >= 2
    assert "<script>window" not in page


@pytest.mark.slow
@pytest.mark.one_database
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_person_signs_out_in_one_window_and_saves_in_another(
    browser: Browser, tmp_path: Path, scripts: bool
) -> None:
    with closing(made.make_store(tmp_path)) as store, Serving(tmp_path) as server:
        raw = made.make_dataset(store, "local")
        key = accounts.create_key(store, "local", None)["key"]
        base = f"http://127.0.0.1:{server.port}"
        with looking(browser, base, store, viewport=NARROW, java_script_enabled=scripts) as visit:
            page = visit.open(f"/datasets/{ids.format_uuid(raw)}/settings")
            page.get_by_label("Name", exact=True).fill("mine")
            other = page.context.new_page()
            other.goto(base)
            other.get_by_role("button", name="Sign out").click()
            expect(other.get_by_role("heading", name="Sign in")).to_be_visible()
            page.get_by_role("button", name="Save", exact=True).click()
            expect(page.get_by_role("alert")).to_contain_text("What you typed is kept here")
            assert_sound(page, scripts)
            page.get_by_label("API key").fill(key)
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_role("list", name="What it says")).to_contain_text("mine")
            assert_sound(page, scripts)
            page.get_by_role("button", name="Send it now").press("Enter")
            expect(page.get_by_role("heading", level=1)).to_have_text("mine")


def assert_sound(page: Page, scripts: bool) -> None:
    """A page is no wider than its screen, and has an order, names and labels."""
    # What it says can be read before its styles are there, and is as wide as it is long until then.
    page.wait_for_load_state()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert page.evaluate(OUTLINE) == []
    if scripts:
        assert serious_faults(page) == []
