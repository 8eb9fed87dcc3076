"""A form acts only if it was on a page of ours, in this browser, under a name of this server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tests.browsing.visitor import Visitor

if TYPE_CHECKING:
    from flask import Flask

pytestmark = pytest.mark.one_database

HOSTS = [
    *("localhost", "localhost:8000", "127.0.0.1", "127.0.0.1:8000", "[::1]:8000", "192.168.1.5"),
    *("data.example", "intranet.example:8443", "DATA.example", "data.example."),
]
FOREIGN = [
    "evil.example",
    "evildata.example",
    "a.data.example",
    "evil.example:8000",
    "127.0.0.1.evil.example",
    "localhost.evil",
    "data",
]


@pytest.mark.parametrize("host", HOSTS)
def test_a_name_of_this_server_is_answered(alice: Visitor, host: str) -> None:
    assert alice.client.get("/sign-in", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize("path", ["/", "/sign-in", "/assets/style.css"])
def test_another_name_that_leads_here_is_refused(alice: Visitor, host: str, path: str) -> None:
    answer = alice.client.get(path, headers={"Host": host})
    assert answer.status_code == 421
    assert "LIVEDATA_HOSTS" in answer.text


FORGED = {
    "no token": ({}, None),
    "another token": ({}, "0" * 64),
    "a token of nothing but letters": ({}, "zzz"),
    "another origin": ({"Origin": "https://evil.example"}, "own"),
    "another port": ({"Origin": "http://localhost:9999"}, "own"),
    "no origin that has a name": ({"Origin": "null"}, "own"),
    "another site": ({"Sec-Fetch-Site": "cross-site"}, "own"),
    "a neighbour of the site": ({"Sec-Fetch-Site": "same-site"}, "own"),
}


@pytest.mark.parametrize("case", FORGED)
@pytest.mark.parametrize("path", ["/sign-out", "/sign-in"])
def test_a_forged_form_does_nothing(alice: Visitor, case: str, path: str) -> None:
    headers, token = FORGED[case]
    form = {"key": alice.key}
    if token is not None:
        form["token"] = alice.token("/") if token == "own" else token
    answer = alice.client.post(path, data=form, headers=headers)
    assert answer.status_code == 403
    assert "not one of this browser" in answer.text
    assert "<title>403 · livedata</title>" in answer.text
    alice.get("/")


@pytest.mark.parametrize("origin", ["https://data.example", "http://localhost"])
def test_a_form_is_taken_from_the_public_address_too(
    app: Flask, alice: Visitor, origin: str
) -> None:
    shared = app.extensions["livedata"]
    app.extensions["livedata"] = replace(shared, public_url="https://data.example")
    form = {"token": alice.token("/")}
    answer = alice.client.post("/sign-out", data=form, headers={"Origin": origin})
    assert answer.status_code == 303


def test_the_token_of_another_browser_is_worth_nothing(alice: Visitor, bob: Visitor) -> None:
    assert alice.post("/sign-out", bob.token("/")).status_code == 403


def test_without_any_visit_no_form_is_taken(app: Flask, alice: Visitor) -> None:
    form = {"key": alice.key, "token": alice.token("/sign-in")}
    assert app.test_client().post("/sign-in", data=form).status_code == 403


def test_a_link_from_a_mail_asks_again_with_the_cookie(app: Flask) -> None:
    answer = app.test_client().get("/", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 200
    assert 'http-equiv="refresh"' in answer.text


def test_every_answer_says_what_a_browser_may_do(alice: Visitor) -> None:
    for path in ("/", "/sign-in", "/assets/style.css", "/assets/none.css"):
        with alice.client.get(path) as answer:
            headers = answer.headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"


def test_pages_are_kept_by_no_cache(alice: Visitor) -> None:
    assert alice.client.get("/").headers["Cache-Control"] == "no-store"
