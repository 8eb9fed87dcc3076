"""`livedata.connect`: the tables of a server, and every way in which one does not answer."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any

import orjson
import pytest

import livedata
from livedata.model.errors import (
    FormUnavailable,
    Invalid,
    LivedataError,
    NotFound,
)
from livedata.python.client import ServerUnavailable
from livedata.services import accounts, datasets
from tests import faults, made
from tests.python.conftest import Doors
from tests.services.table import Table
from tests.site import Handler, Request, Site, head

KEY = "ld_" + "a" * 64
LONG_AGO = "2026-01-01T00:00:00.000Z"
SHOP = "01890000-0000-7000-8000-000000000000"
DATASET: dict[str, Any] = {
    "question": None,
    "columns": [],
    "schemaVersion": 1,
    "status": "draft",
    "schedule": None,
    "rowCount": 5,
    "lastRun": None,
    "createdAt": LONG_AGO,
    "updatedAt": LONG_AGO,
}
pytestmark = pytest.mark.one_database


def test_a_connection_lists_its_tables(shop: Table, doors: Doors) -> None:
    Table(doors.store, made.declared("books"))
    server = doors.server
    assert list(server) == ["books", "shop"]
    assert "shop" in server
    assert "shp" not in server
    assert server[shop.dataset["id"][-12:]].name == "shop"
    assert repr(server["shop"]) == f"<Table 'shop' of {doors.url}>"
    assert repr(server) == f"<Tables of {doors.url}>"
    with pytest.raises(NotFound, match=r"did you mean 'shop'\?"):
        server["shp"]


@pytest.mark.usefixtures("shop")
def test_the_address_may_be_that_of_the_api(doors: Doors) -> None:
    for url in (f"{doors.url}/", f"{doors.url}/v1", f"{doors.url}/v1/"):
        assert list(livedata.connect(url, key=doors.key)) == ["shop"]


def test_more_datasets_than_a_page_has_are_all_listed(doors: Doors) -> None:
    names = [f"d{number}" for number in range(103)]
    for name in names:
        Table(doors.store, made.declared(name))
    assert sorted(doors.server) == sorted(names)
    assert doors.server["d0"].name == "d0"


@pytest.mark.usefixtures("shop")
def test_bob_has_none_of_the_tables_of_another_owner(doors: Doors) -> None:
    key = accounts.create_key(doors.store, "bob", None, first_credits=0)["key"]
    with pytest.raises(NotFound):
        livedata.connect(doors.url, key=key)["shop"]


@pytest.mark.usefixtures("shop")
def test_a_key_that_is_unknown_is_said_and_not_shown(doors: Doors) -> None:
    server = livedata.connect(doors.url, key=KEY)
    with pytest.raises(LivedataError, match="does not know this key") as raised:
        list(server)
    assert raised.value.code == "unauthenticated"
    assert KEY not in f"{raised.value}{server!r}"


def test_a_dataset_that_is_deleted_is_no_more(shop: Table, doors: Doors) -> None:
    table = doors.server["shop"]
    datasets.remove(doors.store, "local", shop.id)
    for ask in (table.rows, table.changes, table.to_arrow, table._repr_html_):
        with pytest.raises(NotFound, match="There is no such dataset"):
            ask()


@pytest.mark.usefixtures("shop")
def test_a_notebook_shows_the_same_at_both_doors(doors: Doors) -> None:
    Table(doors.store, made.declared("empty"))
    for name in ("shop", "empty"):
        stored, served = doors.tables(name)
        assert served._repr_html_() == stored._repr_html_()


@pytest.mark.usefixtures("shop")
def test_what_is_lacking_here_says_how_to_install_it(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = doors.server["shop"]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FormUnavailable, match="pip install"):
        table.to_arrow()


@pytest.mark.usefixtures("shop")
def test_a_question_that_is_none_is_the_same_at_both_doors(doors: Doors) -> None:
    asked: tuple[tuple[dict[str, Any], str], ...] = (
        ({"where": ""}, "A clause of where has 1 to 500 characters, not 0; an example"),
        ({"where": "x" * 501}, "A clause of where has 1 to 500 characters, not 501;"),
        ({"columns": "title,"}, "columns must name columns, such as title,price"),
    )
    for table in doors.tables("shop"):
        for question, said in asked:
            with pytest.raises(Invalid, match=re.escape(said)):
                table.rows(**question)
        assert table.rows(columns=" title, price ", where=f" price < 20{' ' * 500}") == table.rows(
            columns=["title", "price"], where=["price < 20"]
        )


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("rows", {"where": "prize < 3"}, "is price meant?"),
    ("rows", {"columns": "prize"}, "There is no column 'prize'."),
    ("rows", {"at": 99}, "The sequence 99 is past the head of 'shop', which is 8."),
    ("changes", {"after": 99}, "after 99 is past the last sequence, which is 8."),
    ("changes", {"when": "price flies"}, "price flies"),
    ("diff", {"since": 3, "until": 2}, "3 is later than 2: write the earlier moment first."),
    ("to_arrow", {"where": "prize < 3"}, "is price meant?"),
    ("rows", {"where": "title = \ud800"}, r"where holds half a character, '\ud800', which"),
    ("changes", {"since": "\udfff"}, r"since holds half a character, '\udfff', which no text"),
]


@pytest.mark.usefixtures("shop")
def test_a_wrong_question_is_the_same_as_over_a_store(doors: Doors) -> None:
    for table in doors.tables("shop"):
        for method, asked, said in WRONG:
            with pytest.raises(Invalid) as raised:
                getattr(table, method)(**asked)
            assert said in str(raised.value)
            assert raised.value.code == "validation_failed"


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.org", "ftp://x", "http://", "http://u:p@x", "http://x?q=1", "http://a b"),
        *("http://x/pfäd", "http://ä.example", None),
    ],
)
def test_what_is_no_address_is_refused(url: Any) -> None:
    with pytest.raises(Invalid, match="url must be the address of a server"):
        livedata.connect(url, key=KEY)


@pytest.mark.parametrize("key", ["", "ld_ 1", "ld_\n1", "ld_é", None, 7])
def test_what_can_be_no_key_is_refused_and_not_shown(key: Any) -> None:
    with pytest.raises(Invalid, match="key must be an API key") as raised:
        livedata.connect("http://127.0.0.1:8000", key=key)
    assert not key or str(key) not in str(raised.value)


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan"), "60", None])
def test_a_time_that_is_none_is_refused(timeout: Any) -> None:
    with pytest.raises(Invalid, match="timeout must be a number of seconds above 0"):
        livedata.connect("http://127.0.0.1:8000", key=KEY, timeout=timeout)


def test_where_nobody_listens_is_said() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ServerUnavailable, match="cannot be reached: Connection refused"):
        list(livedata.connect(f"http://127.0.0.1:{port}", key=KEY))
    for url in ("https://nowhere.invalid", "http://a..b"):
        with pytest.raises(ServerUnavailable, match="cannot be reached"):
            list(livedata.connect(url, key=KEY))


@pytest.mark.usefixtures("shop")
def test_a_path_at_which_no_livedata_is_is_said(doors: Doors) -> None:
    with pytest.raises(ServerUnavailable, match="does not answer as livedata does;"):
        list(livedata.connect(f"{doors.url}/elsewhere", key=doors.key))


def test_a_key_is_given_to_no_proxy_that_could_read_it(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", site.url)
    with pytest.raises(ServerUnavailable, match="cannot be reached"):
        list(livedata.connect("http://nowhere.invalid", key=KEY))
    assert site.hits == []


STRANGERS: dict[str, tuple[Callable[[], Handler], str]] = {
    "a page": (lambda: faults.fixed(200, "<p>Welcome</p>"), "does not answer as livedata does;"),
    "other JSON": (lambda: faults.fixed(200, "[1]"), "does not answer as livedata does;"),
    "JSON of another service": (lambda: faults.fixed(200, "{}"), "does not answer as livedata"),
    "datasets of another service": (
        lambda: faults.fixed(200, '{"data": [{}], "nextCursor": null}'),
        "does not answer as livedata",
    ),
    "a page of errors": (lambda: faults.status(502), "as livedata does (status 502);"),
    "no HTTP": (faults.garbage, "does not answer as livedata does;"),
    "an answer that is cut": (faults.truncated, "broke its answer off; ask again."),
    "a reset": (faults.reset, "broke its answer off; ask again."),
    "a reset in between": (
        lambda: faults.reset(midway=True),
        "broke its answer off;",
    ),
    "silence": (faults.never, "was silent for 0.3 seconds; try again"),
    "another address": (
        lambda: faults.redirect("http://u:p@192.0.2.1/secret"),
        "sends on to http://192.0.2.1. A key is sent nowhere else",
    ),
}
"""What a server does -> what is said of it."""


@pytest.mark.parametrize("stranger", STRANGERS)
def test_a_server_that_does_not_answer_as_it_should_is_said(site: Site, stranger: str) -> None:
    handler, said = STRANGERS[stranger]
    site.route("/v1/datasets", handler())
    with pytest.raises(ServerUnavailable) as raised:
        list(livedata.connect(site.url, key=KEY, timeout=0.3))
    assert said in str(raised.value)
    assert str(raised.value).startswith(site.url)
    assert KEY not in str(raised.value)


@pytest.fixture
def table(site: Site) -> livedata.Table:
    """A table of a server of which each test says how it answers."""
    listed = {"data": [{**DATASET, "id": SHOP, "name": "shop"}], "nextCursor": None}
    site.page("/v1/datasets", orjson.dumps(listed), content_type="application/json")
    return livedata.connect(site.url, key=KEY, timeout=5)["shop"]


def test_datasets_behind_the_one_of_a_name_are_not_asked_for(site: Site) -> None:
    listed = {"data": [{**DATASET, "id": SHOP, "name": "shop"}], "nextCursor": "more"}
    site.page("/v1/datasets", orjson.dumps(listed), content_type="application/json")
    server = livedata.connect(site.url, key=KEY, timeout=5)
    assert server["shop"].name == "shop"
    assert "shop" in server
    assert len(site.paths) == 2


def test_of_an_answer_that_is_broken_off_no_line_is_given(
    site: Site, table: livedata.Table
) -> None:
    """Half of the changes would look like all of them."""
    line = b'{"sequence":1,"at":"","kind":"created","rowKey":"a","column":null}\n'

    def half(request: Request) -> None:
        headers = {"X-Livedata-Through": "8", "Transfer-Encoding": "chunked"}
        request.raw.write(head(200, headers) + b"%x\r\n%b\r\n" % (len(line), line))

    site.route(f"/v1/datasets/{SHOP}/table", half)
    site.page(
        f"/v1/datasets/{SHOP}", orjson.dumps({"dataset": {**DATASET, "id": SHOP, "name": ""}})
    )
    for ask in (table.changes, table.rows, table.to_arrow, table._repr_html_):
        with pytest.raises(ServerUnavailable, match="broke its answer off; ask again"):
            ask()


def test_changes_of_which_nothing_says_that_they_are_all_are_refused(
    site: Site, table: livedata.Table
) -> None:
    """As a proxy asks that speaks HTTP/1.0 to the server behind it."""

    def unmarked(request: Request) -> None:
        request.raw.write(head(200, {"X-Livedata-Through": "8", "Connection": "close"}))

    site.route(f"/v1/datasets/{SHOP}/table", unmarked)
    with pytest.raises(ServerUnavailable, match=r"let the proxy before it speak HTTP/1\.1"):
        table.changes()


def test_an_answer_of_another_service_is_no_table(site: Site, table: livedata.Table) -> None:
    ragged = b'{"columns": [], "rows": [[1]], "through": 8}'
    for body in (b"", b"<p>no</p>", b'{"columns": []}', ragged):
        site.page(f"/v1/datasets/{SHOP}/table", body)
        for ask in (table.changes, table.rows, table.to_arrow):
            with pytest.raises(ServerUnavailable, match="does not answer as livedata does"):
                ask()


def test_a_part_that_the_server_lacks_is_said_to_be_lacking_there(
    site: Site, table: livedata.Table
) -> None:
    body = {"error": {"code": "form_unavailable", "message": "Parquet is not installed."}}
    site.page(f"/v1/datasets/{SHOP}/table", orjson.dumps(body), status=406)
    with pytest.raises(FormUnavailable, match=f"On {site.url}: Parquet is not installed."):
        table.to_arrow()


def test_an_error_that_only_servers_have_keeps_its_code(site: Site, table: livedata.Table) -> None:
    body = {"error": {"code": "internal", "message": "Something went wrong."}}
    site.page(f"/v1/datasets/{SHOP}/table", orjson.dumps(body), status=500)
    with pytest.raises(LivedataError, match="Something went wrong") as raised:
        table.rows()
    assert raised.value.code == "internal"
