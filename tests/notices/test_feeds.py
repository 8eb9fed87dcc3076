"""The feed of a dataset: an entry for each accepted Run, for who has the address."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import feedparser
import pytest
from flask.testing import FlaskClient

from livedata.api import close_app, create_app
from livedata.model import ids
from livedata.rules.network.installation import hosts
from livedata.services import datasets
from livedata.services.audit.check import check_store
from livedata.services.notices import feeds
from livedata.store.database.store import Store
from tests import made
from tests.cli.shell import Shell
from tests.services.conftest import Clock
from tests.services.table import A, B, C, Table

HOSTILE = "<script>alert(1)</script> & ]]> \x0c\x00 \ud83d\ude00".encode("utf-16", "surrogatepass")
TITLE = HOSTILE.decode("utf-16")


@pytest.fixture
def client(store: Store) -> Iterator[FlaskClient]:
    """A client without a key."""
    app = create_app(store)
    yield app.test_client()
    close_app(app)


def address(table: Table, form: str = "atom") -> str:
    token = feeds.open_feed(table.store, "local", table.id)
    return f"/feeds/{ids.format_uuid(table.id)}.{form}?token={token}"


def test_each_accepted_run_that_changed_something_is_an_entry(
    table: Table, client: FlaskClient
) -> None:
    first = table.take(A, B)
    table.take(A, B)
    table.edit("A1", {"title": "Edited"})
    table.edit("A1", {"title": "Again"})
    second = table.take({**A, "price": 5}, C)
    answer = client.get(address(table))
    assert answer.content_type == "application/atom+xml; charset=utf-8"
    read = feedparser.parse(answer.data)
    assert not read.bozo
    assert [(entry.id, entry.title) for entry in read.entries] == [
        (f"urn:uuid:{second['id']}", "1 new, 1 changed, 1 gone"),
        (f"urn:uuid:{first['id']}", "2 new, 0 changed, 0 gone"),
    ]
    assert (read.feed.title, read.feed.id) == ("shop", f"urn:uuid:{table.dataset['id']}")
    content = answer.text.replace("&lt;", "<").replace("&gt;", ">")
    called = "<td>Again <small>(A1)</small></td>"
    assert f"{called}<td>updated</td><td>price: {A['price']} → 5</td>" in content
    told = json.loads(client.get(address(table, "json")).data)
    assert told["version"] == "https://jsonfeed.org/version/1.1"
    assert [item["id"] for item in told["items"]] == [entry.id for entry in read.entries]
    assert told["items"][0]["content_html"].startswith("<table><tr><th>row</th>")
    assert told["feed_url"].endswith(address(table, "json"))
    assert [item["date_published"] for item in told["items"]] == [
        entry.updated for entry in read.entries
    ]


def test_a_dataset_without_rows_has_an_empty_feed(table: Table, client: FlaskClient) -> None:
    read = feedparser.parse(client.get(address(table)).data)
    assert (bool(read.bozo), read.entries) == (False, [])


def test_what_a_site_writes_stays_text(store: Store, client: FlaskClient) -> None:
    table = Table(store, made.declared(name="a <b> & c"))
    title = TITLE.replace("\x00", "")
    table.take({**A, "title": title})
    answer = client.get(address(table))
    read = feedparser.parse(answer.data, sanitize_html=False)
    assert not read.bozo
    assert read.feed.title_detail.value == "a <b> & c"
    (content,) = read.entries[0].content
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; ]]&gt;" in content.value
    told = json.loads(client.get(address(table, "json")).data)
    assert "<script" not in told["items"][0]["content_html"]


def test_long_histories_show_the_newest_twenty_runs_and_the_first_changes(
    table: Table, client: FlaskClient
) -> None:
    table.take(*({**A, "sku": f"K{number}"} for number in range(40)))
    read = json.loads(client.get(address(table, "json")).data)
    assert read["items"][0]["content_html"].endswith("<p>and 15 more</p>")
    assert read["items"][0]["content_html"].count("<tr>") == 26
    for number in range(21):
        table.take(
            *({**A, "sku": f"K{index}", "price": number if index else 0} for index in range(2))
        )
    assert len(json.loads(client.get(address(table, "json")).data)["items"]) <= 20


def test_who_has_no_address_finds_nothing(table: Table, client: FlaskClient) -> None:
    table.take(A)
    path, _, token = address(table).partition("?token=")
    nowhere = f"/feeds/{made_id()}.atom?token={token}"
    wrong = (path, f"{path}?token=", f"{path}?token={token}x", f"{path}?token=ü", nowhere)
    answers = [client.get(each) for each in (*wrong, "/feeds/nonsense.atom?token=x")]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.data for answer in answers}) == 1
    assert client.post(f"{path}?token={token}").status_code == 405
    # A key of the API opens no feed, and a token of a feed no API.
    header = {"Authorization": f"Bearer {token}"}
    assert client.get("/v1/datasets", headers=header).status_code == 401


def made_id() -> str:
    return ids.format_uuid(ids.new_id())


def test_what_has_not_changed_is_not_sent_again(
    table: Table, client: FlaskClient, step: Clock
) -> None:
    table.take(A)
    first = client.get(address(table))
    known = {"If-None-Match": first.headers["ETag"]}
    again = client.get(address(table), headers=known)
    assert (again.status_code, again.data) == (304, b"")
    since = {"If-Modified-Since": first.headers["Last-Modified"]}
    assert client.get(address(table), headers=since).status_code == 304
    step(60)
    table.take({**A, "price": 7})
    assert client.get(address(table), headers=known).status_code == 200
    assert client.get(address(table), headers=since).status_code == 200
    assert client.head(address(table)).status_code == 200


def test_a_dataset_that_is_deleted_takes_its_feed_along(table: Table, client: FlaskClient) -> None:
    place = address(table)
    datasets.remove(table.store, "local", table.id)
    assert client.get(place).status_code == 404
    assert check_store(table.store).problems == []


@pytest.mark.one_database
def test_the_public_address_is_a_setting(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    livedata, public = Shell(tmp_path), "https://data.example/x"
    monkeypatch.setenv("LIVEDATA_PUBLIC_URL", f"{public}/")
    atom, form = livedata.out("feed", "shop").splitlines()
    assert atom.startswith(f"{public}/feeds/")
    assert livedata.json("feed", "shop", "--base", "http://a:1")["atom"].startswith("http://a:1/f")
    # Behind a proxy, what a reader has asked is not what arrives.
    app = create_app(table.store, public_url=public)
    client, inside = app.test_client(), {"base_url": "http://10.0.0.1:8000"}
    read = feedparser.parse(client.get(atom.removeprefix(public), **inside).data)
    told = json.loads(client.get(form.removeprefix(public), **inside).data)
    close_app(app)
    assert (read.feed.links[0].href, told["feed_url"]) == (atom, form)


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("host", "told"),
    [
        *(("intranet.example:8443", True), ("localhost", True), ("192.168.1.5:8000", True)),
        *(("evil.example", False), ("intranet.example.evil", False), ("", False)),
    ],
)
def test_a_feed_names_itself_by_no_host_that_is_not_its_server_s(
    table: Table, host: str, told: bool
) -> None:
    table.take(A)
    app = create_app(table.store, hosts=hosts("127.0.0.1", "", "intranet.example"))
    client, asked = app.test_client(), {"headers": {"Host": host}}
    atom, form = (client.get(address(table, kind), **asked).text for kind in ("atom", "json"))
    close_app(app)
    assert ("evil" in atom + form) is False
    links = [link.href for link in feedparser.parse(atom).feed.get("links", [])]
    assert links == ([f"http://{host}{address(table)}"] if told else [])
    assert json.loads(form).get("feed_url") == (
        f"http://{host}{address(table, 'json')}" if told else None
    )


@pytest.mark.parametrize(
    "wrong", ["data.example", "ftp://data.example", "https://a:pw@data.example"]
)
@pytest.mark.one_database
def test_a_public_address_that_is_none_is_said_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setenv("LIVEDATA_PUBLIC_URL", wrong)
    error = Shell(tmp_path).error("feed", "shop")
    assert "LIVEDATA_PUBLIC_URL must be an address" in error
    assert "such as https://data.example.org" in error
    assert "pw" not in error


@pytest.mark.one_database
def test_the_address_is_printed_and_ended(
    table: Table, client: FlaskClient, tmp_path: Path
) -> None:
    livedata = Shell(tmp_path)
    atom, form = livedata.out("feed", "shop").splitlines()
    base = "http://127.0.0.1:8000"
    assert re.fullmatch(rf"{base}/feeds/[0-9a-f-]{{36}}\.atom\?token=[\w-]{{32}}", atom)
    assert livedata.json("feed", "shop") == {"atom": atom, "json": form}
    moved = livedata.json("feed", "shop", "--base", "https://data.example/x/")
    assert moved["atom"] == atom.replace(base, "https://data.example/x")
    assert client.get(atom.removeprefix(base)).status_code == 200
    assert livedata.out("feed", "shop", "--revoke") == "The address is ended.\n"
    assert livedata.out("feed", "shop", "--revoke") == "There was no address.\n"
    assert client.get(atom.removeprefix(base)).status_code == 404
    assert livedata.json("feed", "shop")["atom"] != atom
    for wrong in ("data.example", "https://", "https://a@data.example", "https://data.example?x"):
        assert "is no address" in livedata.error("feed", "shop", "--base", wrong, code=2)
    assert "did you mean 'shop'?" in livedata.error("feed", "shopp")
    assert table.feed() == []
