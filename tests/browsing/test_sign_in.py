"""Signing in by a key or by a link that works once, and what ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from livedata.services import accounts, queries
from livedata.services.pages import sessions
from tests.browsing.visitor import Visitor

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

    from livedata.store.database.store import Store


def test_who_is_not_signed_in_is_led_to_the_sign_in_and_back(app: Flask, store: Store) -> None:
    key = accounts.create_key(store, "alice", None)
    visitor = Visitor(app.test_client(), "alice", key["key"], key["id"])
    answer = visitor.client.get("/?after=x")
    assert (answer.status_code, answer.location) == (302, "/sign-in?next=/?after%3Dx")
    assert visitor.sign_in(next="/usage").location == "/usage"


def test_the_cookie_is_for_this_site_and_no_script(alice: Visitor) -> None:
    cookie = alice.sign_in().headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert alice.key not in cookie


def test_behind_tls_the_cookie_is_never_sent_without(app: Flask, alice: Visitor) -> None:
    # The fixture's public address begins with https.
    context = app.extensions["livedata"]
    app.extensions["livedata"] = replace(context, public_url="https://data.example")
    assert "Secure" in alice.sign_in().headers["Set-Cookie"]


@pytest.mark.parametrize("key", ["", "ld_0000", "nonsense", "ld_" + "0" * 64])
def test_a_key_that_opens_nothing_is_refused(app: Flask, key: str) -> None:
    visitor = Visitor(app.test_client(), "nobody", key, "")
    answer = visitor.sign_in()
    assert answer.status_code == 401
    assert "This key opens nothing" in answer.text
    assert visitor.client.get("/").status_code == 302


@pytest.mark.one_database
@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example", "//evil.example", "/\\evil.example", "evil", "/\n/x"]
)
def test_nobody_is_led_to_another_site(alice: Visitor, elsewhere: str) -> None:
    assert alice.sign_in(next=elsewhere).location == "/"


def test_revoking_the_key_ends_the_session(alice: Visitor, store: Store) -> None:
    alice.get("/")
    accounts.revoke_key(store, alice.key_id)
    alice.get("/", 302)


def test_signing_out_ends_the_session_of_this_browser_alone(app: Flask, alice: Visitor) -> None:
    other = Visitor(app.test_client(), "alice", alice.key, alice.key_id)
    other.sign_in()
    kept = alice.client.get_cookie("livedata")
    assert alice.post("/sign-out", alice.token("/")).status_code == 303
    alice.get("/", 302)
    other.get("/")
    assert kept is not None
    # Who has copied the cookie is out, too.
    alice.client.set_cookie("livedata", kept.value)
    alice.get("/", 302)


def test_a_session_ends_by_itself(alice: Visitor, clock: Callable[[int], None]) -> None:
    clock(29 * 86_400)
    alice.get("/")
    clock(31 * 86_400)
    alice.get("/", 302)


def test_who_sends_a_form_too_late_is_asked_to_sign_in_and_to_send_it_again(
    alice: Visitor, clock: Callable[[int], None]
) -> None:
    token = alice.token("/")
    clock(31 * 86_400)
    answer = alice.post("/datasets/x/runs", token)
    assert answer.status_code == 401
    assert '<input type="hidden" name="again" value="/datasets/x/runs">' in answer.text


def test_a_link_signs_in_once(app: Flask, store: Store) -> None:
    token = sessions.make_link(store, "alice", first_credits=10)
    first, second, late = (Visitor(app.test_client(), "alice", "", "") for _ in range(3))
    looked = second.client.get(f"/sign-in/link?token={token}").text
    assert "signs this browser in as <bdi>alice</bdi>" in looked
    answer = first.follow(token, next="/usage")
    assert (answer.status_code, answer.location) == (303, "/usage")
    assert first.client.get("/").status_code == 200
    for again in (second.press(looked), late.follow(token)):
        assert again.status_code in {401, 403}
        assert late.client.get("/").status_code == 302
    page = late.client.get(f"/sign-in/link?token={token}")
    assert page.status_code == 401
    assert "used already" in page.text
    assert second.client.get("/").status_code == 302


def test_a_link_ends_after_ten_minutes(
    app: Flask, store: Store, clock: Callable[[int], None]
) -> None:
    token = sessions.make_link(store, "alice")
    clock(601)
    assert app.test_client().get(f"/sign-in/link?token={token}").status_code == 401


def test_revoking_the_key_of_links_ends_what_they_began(app: Flask, store: Store) -> None:
    token, unused = sessions.make_link(store, "alice"), sessions.make_link(store, "alice")
    client = app.test_client()
    visitor = Visitor(client, "alice", "", "")
    visitor.follow(token)
    assert client.get("/").status_code == 200
    accounts.revoke_key(store, _browser_key(store))
    assert client.get("/").status_code == 302
    assert client.get(f"/sign-in/link?token={unused}").status_code == 401
    # The next link has a key of its own.
    visitor.follow(sessions.make_link(store, "alice"))
    assert client.get("/").status_code == 200


def _browser_key(store: Store) -> str:
    (key,) = [key for key in queries.keys(store) if key["label"] == sessions.KEY_LABEL]
    return key["id"]


def test_neither_link_nor_session_is_kept_as_it_is(store: Store) -> None:
    token = sessions.make_link(store, "alice")
    with store.reading() as reader:
        assert reader.value("SELECT hash FROM sign_in_links") != token.encode()
