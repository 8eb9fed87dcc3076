"""What a hostile page or program asks for: a refusal in a sentence, and nothing happens."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from livedata.model import ids
from livedata.services import accounts, looks, queries, shares
from livedata.services.notices import subscriptions
from livedata.services.pages import sessions
from tests.browsing.test_forms import FORGED
from tests.browsing.visitor import Visitor
from tests.browsing.world import World
from tests.made import make_dataset

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.test import TestResponse

    from livedata.store.database.store import Store

SAFE = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
HUGE = 10**26
FORMS = {
    "/datasets/<dataset>/columns",
    "/datasets/<dataset>/delete",
    "/datasets/<dataset>/edits",
    "/datasets/<dataset>/feed",
    "/datasets/<dataset>/preview",
    "/datasets/<dataset>/preview/stop",
    "/datasets/<dataset>/preview/use",
    "/datasets/<dataset>/rows/<row>",
    "/datasets/<dataset>/runs",
    "/datasets/<dataset>/settings",
    "/datasets/<dataset>/shares",
    "/datasets/<dataset>/shares/<share>/revoke",
    "/datasets/<dataset>/source",
    "/new",
    "/new/<look>/again",
    "/new/<look>/create",
    "/new/<look>/stop",
    "/new/<look>/try",
    "/keys",
    "/keys/<key>/revoke",
    "/notices",
    "/notices/<notice>",
    "/notices/<notice>/again",
    "/notices/<notice>/remove",
    "/notices/<notice>/state",
    "/notices/<notice>/test",
    "/runs/<run>/accept",
    "/runs/<run>/cancel",
    "/sign-in",
    "/sign-in/link",
    "/sign-out",
}
FILES = {"/datasets/<dataset>/rows.<form>", "/runs/<run>/screenshot"}
"""Those that are no HTML, and no JSON on wish."""
OPEN_FORMS = {"/sign-in", "/sign-in/link", "/sign-out"}
"""Those that stand for no thing of an owner."""
PAGES = {
    "/",
    "/search",
    "/changes",
    "/usage",
    "/new",
    "/new/<look>",
    "/datasets/<dataset>",
    "/datasets/<dataset>/changes",
    "/datasets/<dataset>/edits",
    "/datasets/<dataset>/compare",
    "/datasets/<dataset>/preview",
    "/datasets/<dataset>/rows.<form>",
    "/datasets/<dataset>/rows/<row>",
    "/datasets/<dataset>/runs",
    "/datasets/<dataset>/settings",
    "/datasets/<dataset>/shares",
    "/keys",
    "/notices",
    "/notices/<notice>",
    "/notices/<notice>/try",
    "/runs/<run>",
    "/runs/<run>/screenshot",
}


@pytest.fixture
def shop(store: Store, alice: Visitor) -> dict[str, str]:
    """The ids of a dataset of Alice with a held Run, by their names in a path."""
    world = World(store, alice.owner)
    dataset, look = world.shop(), world.looks()[0]
    world.preview(dataset)
    held = [run for run in queries.runs(store, alice.owner, dataset, 30) if run["status"] == "held"]
    rows = queries.rows(store, alice.owner, dataset, 100)[0]
    columns = queries.dataset(store, alice.owner, dataset)["columns"]
    return {
        "dataset": ids.format_uuid(dataset),
        "form": "csv",
        "row": min(rows, key=lambda row: row["rowKey"])["id"],
        "run": held[0]["id"],
        "field": columns[1]["id"],
        "look": ids.format_uuid(look),
        "key": world.keys(),
        "share": world.share(dataset),
        "notice": ids.format_uuid(world.notices(dataset)[0]),
    }


def filled(path: str, shop: dict[str, str]) -> str:
    """A path with the ids of a shop."""
    for name, value in shop.items():
        path = path.replace(f"<{name}>", value)
    return path


def routes(app: Flask, method: str) -> set[str]:
    """The paths of the pages that know a method."""
    rules = app.url_map.iter_rules()
    return {
        rule.rule
        for rule in rules
        if rule.endpoint.startswith("pages.") and method in (rule.methods or ())
    }


def _open_keys(store: Store, owner: str) -> list[str]:
    keys = queries.keys(store, ids.OwnerName(owner))
    return [key["id"] for key in keys if key["revokedAt"] is None]


def all_of(store: Store, owner: str) -> list[Any]:
    """What forms of an owner could change."""
    every: list[Any] = [queries.usage(store, owner)["balance"], *looks.kept(store, owner)]
    every += [subscriptions.listed(store, owner), *_open_keys(store, owner)]
    for dataset in queries.datasets(store, owner, 10):
        raw = ids.DatasetId(ids.raw_id(dataset["id"]))
        every += [
            dataset,
            queries.source(store, owner, raw),
            queries.runs(store, owner, raw, 30),
            queries.rows(store, owner, raw, 50)[0],
            shares.list_shares(store, owner, raw),
        ]
    return every


@pytest.mark.one_database
def test_the_tables_here_have_every_page_and_form(app: Flask) -> None:
    assert routes(app, "POST") == FORMS
    others = {"/sign-in", "/sign-in/link", "/assets/<path:filename>"}
    assert routes(app, "GET") == PAGES | others


@pytest.mark.one_database
@pytest.mark.parametrize("case", FORGED)
def test_a_forged_form_changes_nothing(
    alice: Visitor, store: Store, shop: dict[str, str], case: str
) -> None:
    headers, token = FORGED[case]
    form = {} if token is None else {"token": alice.token("/") if token == "own" else token}
    before = all_of(store, alice.owner)
    for path in sorted(FORMS - OPEN_FORMS):
        answer = alice.client.post(filled(path, shop), data=form, headers=headers)
        assert answer.status_code == 403, path
        assert all_of(store, alice.owner) == before, path


@pytest.mark.one_database
def test_whoever_is_not_signed_in_changes_nothing(
    app: Flask, alice: Visitor, store: Store, shop: dict[str, str]
) -> None:
    stranger = Visitor(app.test_client(), "nobody", "", "")
    before = all_of(store, alice.owner)
    for path in sorted(FORMS - OPEN_FORMS):
        answer = stranger.post(filled(path, shop), stranger.token("/sign-in"))
        assert answer.status_code == 401, path
        assert all_of(store, alice.owner) == before, path


def test_the_forms_of_alice_are_not_there_for_bob(
    alice: Visitor, bob: Visitor, store: Store, shop: dict[str, str]
) -> None:
    before = all_of(store, alice.owner)
    for path in sorted(path for path in FORMS if "<" in path):
        assert bob.post(filled(path, shop), bob.token("/")).status_code == 404, path
        assert all_of(store, alice.owner) == before, path


@pytest.mark.one_database
@pytest.mark.parametrize("more", ["", "?as=json", "?as=json&after=x", "?sort=x&kind=x&since=x"])
def test_the_pages_of_alice_are_not_there_for_bob(
    bob: Visitor, shop: dict[str, str], more: str
) -> None:
    for path in sorted(path for path in PAGES if "<" in path):
        page = bob.get(filled(path, shop) + more, 404)
        assert "There is no such" in page, path
        assert "lamp" not in page.lower(), path


def test_a_row_of_another_dataset_is_not_there(
    alice: Visitor, store: Store, shop: dict[str, str]
) -> None:
    other = ids.format_uuid(make_dataset(store, alice.owner, "other"))
    alice.get(f"/datasets/{other}/rows/{shop['row']}", 404)


@pytest.mark.one_database
@pytest.mark.parametrize(
    "path", ["/nothing", "/datasets/", "/%0d%0aX:%20y", "/assets/", "/sign-out", "/runs/x/accept"]
)
@pytest.mark.parametrize("accept", ["text/html,*/*;q=0.8", "application/json", "*/*"])
def test_where_no_page_is_a_browser_is_told_what_it_may_do(
    alice: Visitor, path: str, accept: str
) -> None:
    answer = alice.client.get(path, headers={"Accept": accept})
    assert answer.status_code == (405 if path.endswith(("out", "accept")) else 404)
    assert answer.mimetype == ("text/html" if "html" in accept else "application/json")
    assert answer.headers.get("Allow", "OPTIONS, POST") in {"OPTIONS, POST", "POST, OPTIONS"}
    assert_safe(answer)


@pytest.mark.one_database
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "STRANGE"])
def test_no_page_knows_another_method(alice: Visitor, shop: dict[str, str], method: str) -> None:
    for path in sorted(FORMS | PAGES):
        answer = alice.client.open(filled(path, shop), method=method)
        assert answer.status_code == 405, path
        assert_safe(answer)


@pytest.mark.one_database
def test_the_api_answers_as_without_pages(alice: Visitor) -> None:
    answer = alice.client.get("/v1/datasets", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.mimetype) == (401, "application/json")


@pytest.mark.one_database
def test_each_page_as_json_is_json(alice: Visitor, shop: dict[str, str]) -> None:
    for path in sorted(PAGES - FILES):
        answer = alice.client.get(f"{filled(path, shop)}?as=json")
        assert (answer.status_code, answer.mimetype) == (200, "application/json"), path
        assert answer.headers["Cache-Control"] == "no-store"
        assert_safe(answer)


BODIES: dict[str, tuple[dict[str, Any], int]] = {
    "ten megabytes": ({"data": {"key": "x" * 10_000_000}}, 413),
    "ten megabytes in parts": (
        {"data": b"x" * 10_000_000, "content_type": "multipart/form-data; boundary=x"},
        413,
    ),
    "no boundary": ({"data": b"x", "content_type": "multipart/form-data"}, 403),
    "no parts": ({"data": b"x", "content_type": "multipart/form-data; boundary=x"}, 403),
    "JSON": ({"json": {"token": "x", "key": "x"}}, 403),
    "a page as text": ({"data": "token=x", "content_type": "text/plain"}, 403),
    "no text": ({"data": b"token=\xff&key=\xff\x00"}, 403),
}


@pytest.mark.parametrize("case", BODIES)
def test_a_form_that_is_none_is_refused(alice: Visitor, case: str) -> None:
    body, status = BODIES[case]
    answer = alice.client.post("/sign-in", **body)
    assert answer.status_code == status
    assert_safe(answer)


@pytest.mark.parametrize(
    "key", ["\x00", "x" * 500_000, "ld_" + "0" * 64 + "\n", "' OR 1=1 --", "\u202e", "%s"]
)
def test_a_strange_key_opens_nothing(alice: Visitor, key: str) -> None:
    answer = alice.post("/sign-in", alice.token("/"), key=key)
    assert answer.status_code == 401
    alice.get("/")


def test_a_strange_id_of_a_form_is_replaced(
    alice: Visitor, store: Store, shop: dict[str, str]
) -> None:
    path = f"/datasets/{shop['dataset']}/rows/{shop['row']}"
    for strange in ("\x00", "a\x00b", "\n", "x" * 1000):
        raw = ids.DatasetId(ids.raw_id(shop["dataset"]))
        row = queries.row(store, alice.owner, raw, ids.RowId(ids.raw_id(shop["row"])))
        answer = alice.post(
            path,
            alice.token("/"),
            revision=str(row["revisionId"]),
            request=strange,
            **{f"value-{shop['field']}": f"with {len(strange)}"},
        )
        assert answer.status_code == 303
    with store.reading() as reader:
        kept = reader.rows("SELECT request_id FROM revisions WHERE request_id IS NOT NULL")
    assert len(kept) >= 4
    assert all(str(given).isprintable() and len(given) <= 128 for (given,) in kept)


def test_an_end_of_a_page_that_is_none_is_refused(alice: Visitor, shop: dict[str, str]) -> None:
    path = filled("/datasets/<dataset>/runs", shop)
    for end in (
        *(f"{HUGE}_ID", f"-{HUGE}_ID", "-1_ID", "9223372036854775808_ID", "1_ID_2", "_", "1", ""),
        *("x" * 100_000, "1e3_ID", "1_\x00", "[" * 1000, "0x1_ID", "9" * 5000 + "_ID"),
    ):
        after = end.replace("ID", shop["run"])
        answer = alice.client.get(path, query_string={"after": after})
        assert answer.status_code == 400, end[:50]
        assert "begin at the first page again" in answer.text


@pytest.mark.one_database
@pytest.mark.parametrize("name", ["next", "after", "strange"])
def test_a_long_address_is_answered(alice: Visitor, name: str) -> None:
    answer = alice.client.get("/sign-in", query_string={name: "/" + "x" * 100_000})
    assert answer.status_code == 200


@pytest.mark.one_database
def test_an_id_has_one_form(alice: Visitor, shop: dict[str, str]) -> None:
    identifier = shop["dataset"]
    for form in ("{ID}", "IDx", "%20ID", "ID%0a", "urn:uuid:ID", "ID/", "..%2fID", "%00", "HEX"):
        given = form.replace("ID", identifier).replace("HEX", identifier.replace("-", ""))
        alice.get(f"/datasets/{given}", 404)


@pytest.mark.one_database
@pytest.mark.parametrize(
    "path", ["../pages.py", "%2e%2e/row.py", "..%2frow.py", "..%5crow.py", "/etc/passwd", "%00"]
)
def test_no_other_file_is_an_asset(alice: Visitor, path: str) -> None:
    answer = alice.client.get(f"/assets/{path}")
    assert answer.status_code == 404
    assert_safe(answer)


@pytest.mark.one_database
@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-Host": "evil.example"},
        {"Forwarded": "host=evil.example"},
        {"X-Original-URL": "/usage"},
        {"X-HTTP-Method-Override": "POST"},
    ],
)
def test_what_only_a_proxy_says_is_not_heard(alice: Visitor, headers: dict[str, str]) -> None:
    page = alice.get("/", headers=headers)
    assert "<h1>Your first table</h1>" in page
    assert "evil" not in page


@pytest.mark.one_database
@pytest.mark.parametrize(
    "host",
    [
        *("", "127.0.0.1:80@evil.example", "evil@127.0.0.1", "[::1", "[evil.example]", "127.1"),
        *("2130706433", "0x7f000001", "evil.example, localhost", "localhost, evil.example"),
        *("localhost/evil", "localhost\\evil", "localhost\t", "[fe80::1%25eth0]"),
    ],
)
def test_a_strange_name_is_none_of_this_server(alice: Visitor, host: str) -> None:
    answer = alice.client.get("/", headers={"Host": host})
    assert answer.status_code == 421
    assert_safe(answer)


@pytest.mark.one_database
@pytest.mark.parametrize(
    "cookie", ["x" * 100_000, '"\\000\\377"', "\xff\xfe", "", "; livedata=", "a,b", "=", "%00"]
)
def test_a_cookie_that_is_none_opens_nothing(app: Flask, cookie: str) -> None:
    answer = app.test_client().get("/", headers={"Cookie": f"livedata={cookie}"})
    assert (answer.status_code, answer.location) == (302, "/sign-in?next=/")


def test_a_session_never_begins_with_what_the_browser_had(app: Flask, alice: Visitor) -> None:
    other = Visitor(app.test_client(), "alice", alice.key, alice.key_id)
    planted = "planted-by-another-program-on-this-host-name"
    other.client.set_cookie("livedata", planted)
    assert other.sign_in().status_code == 303
    kept = other.client.get_cookie("livedata")
    assert kept is not None
    assert kept.value != planted
    stranger = app.test_client()
    stranger.set_cookie("livedata", planted)
    assert stranger.get("/").status_code == 302


@pytest.mark.parametrize("by_link", [True, False])
def test_signing_in_again_ends_the_session_before(
    app: Flask, alice: Visitor, store: Store, by_link: bool
) -> None:
    before = alice.client.get_cookie("livedata")
    assert before is not None
    if by_link:
        assert alice.follow(sessions.make_link(store, "alice")).status_code == 303
    else:
        alice.sign_in()
    alice.get("/")
    copied = app.test_client()
    copied.set_cookie("livedata", before.value)
    assert copied.get("/").status_code == 302


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_whoever_only_looks_at_a_link_does_not_use_it_up(
    app: Flask, store: Store, method: str
) -> None:
    token = sessions.make_link(store, "alice")
    preview = app.test_client()
    for headers in ({}, {"Sec-Purpose": "prefetch"}, {"Sec-Fetch-Site": "cross-site"}):
        path = f"/sign-in/link?token={token}"
        assert preview.open(path, method=method, headers=headers).status_code == 200
    assert preview.get("/").status_code == 302
    assert Visitor(app.test_client(), "alice", "", "").follow(token).status_code == 303


@pytest.mark.one_database
@pytest.mark.parametrize("path", ["/sign-in/link?token=TOKEN", "/sign-in"])
def test_a_page_elsewhere_that_leads_here_swaps_no_session(
    app: Flask, alice: Visitor, store: Store, path: str
) -> None:
    mine = alice.client.get_cookie("livedata")
    assert mine is not None
    path = path.replace("TOKEN", sessions.make_link(store, "mallory"))
    # The browser keeps the cookie back, and keeps what the answer sets.
    answer = app.test_client().get(path, headers={"Sec-Fetch-Site": "cross-site"})
    set_cookies = [each.partition("=")[0] for each in answer.headers.getlist("Set-Cookie")]
    assert "livedata" not in set_cookies


@pytest.mark.one_database
@pytest.mark.parametrize("case", FORGED)
def test_no_page_elsewhere_signs_a_browser_in_by_a_link_of_its_own(
    app: Flask, alice: Visitor, store: Store, case: str
) -> None:
    headers, token = FORGED[case]
    link = sessions.make_link(store, "mallory")
    form = {"link": link}
    if token is not None:
        form["token"] = alice.token("/") if token == "own" else token
    answer = alice.client.post("/sign-in/link", data=form, headers=headers)
    assert answer.status_code == 403
    assert sessions.owner_of_link(store, link) == "mallory"
    assert '<bdi class="owner">alice</bdi>' in alice.get("/")
    # Of a form that a person sends, the browser sends both of its cookies.
    stranger = app.test_client()
    page = stranger.get(f"/sign-in/link?token={link}").text
    kept = alice.client.get_cookie("livedata")
    assert kept is not None
    stranger.set_cookie("livedata", kept.value)
    mallory = Visitor(stranger, "mallory", "", "")
    assert mallory.press(page).status_code == 303
    assert '<bdi class="owner">mallory</bdi>' in mallory.get("/")


def test_guesses_wait_for_nobody_who_writes(app: Flask, store: Store) -> None:
    stranger = Visitor(app.test_client(), "nobody", "ld_" + "0" * 64, "")
    token = stranger.token("/sign-in")
    with store.writing():
        assert stranger.post("/sign-in", token, key=stranger.key).status_code == 401
        assert stranger.client.get("/sign-in/link?token=guess").status_code == 401


@pytest.mark.one_database
def test_neither_key_nor_link_nor_session_is_in_the_log(
    alice: Visitor, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    link = sessions.make_link(store, "alice")
    alice.follow(link)
    cookie = alice.client.get_cookie("livedata")
    form = alice.token("/")
    alice.sign_in()
    alice.client.get(f"/{alice.key}")
    assert cookie is not None
    assert "/sign-in/link" in caplog.text
    for secret in (link, cookie.value, alice.key, form):
        assert secret not in caplog.text


def test_a_revoked_key_ends_each_of_its_sessions_at_once(
    app: Flask, alice: Visitor, store: Store, shop: dict[str, str]
) -> None:
    other = Visitor(app.test_client(), "alice", alice.key, alice.key_id)
    other.sign_in()
    token = other.token("/")
    accounts.revoke_key(store, alice.key_id)
    before = all_of(store, alice.owner)
    for path in sorted(FORMS - OPEN_FORMS):
        assert other.post(filled(path, shop), token).status_code == 401
    assert all_of(store, alice.owner) == before


def assert_safe(answer: TestResponse) -> None:
    """A browser frames, sniffs and runs nothing of an answer."""
    assert {name: answer.headers.get(name) for name in SAFE} == SAFE
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "Access-Control-Allow-Origin" not in answer.headers
