"""Agents elsewhere: a key opens what its owner has, and nothing else is answered."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from mcp import Client

from livedata.services import accounts
from livedata.store.database.store import Store
from tests.made import make_dataset, make_store, meet_owner, take
from tests.mcp.over_http import MODERN, OLDER, AgentsServed, with_key
from tests.patience import LONG, until
from tests.served import ROOT

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
VERSIONS: tuple[dict[str, str], ...] = (
    {},
    {"MCP-Protocol-Version": "2025-11-25"},
    {"MCP-Protocol-Version": MODERN},
)
MEGABYTE = 1024 * 1024
both_eras = pytest.mark.parametrize("mode", [MODERN, OLDER, "auto"])


@pytest.fixture
def alice(store: Store) -> str:
    """The key of Alice, who has the tables lamps and shared."""
    for name in ("lamps", "shared"):
        take(store, make_dataset(store, "alice", name), owner="alice")
    return key_of(store, "alice")


@pytest.fixture
def bob(store: Store) -> str:
    """The key of Bob, who has the tables mugs and shared."""
    take(store, make_dataset(store, "bob", "mugs"), owner="bob")
    make_dataset(store, "bob", "shared")
    return key_of(store, "bob")


@pytest.fixture
def served(tmp_path: Path, store: Store, alice: str) -> Iterator[AgentsServed]:
    """A server over the fixture `store`, in which Alice has a key."""
    assert accounts.authenticate(store, alice) is not None
    with AgentsServed(tmp_path) as serving:
        yield serving


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a store is that knows Carol, who has no table."""
    home = tmp_path_factory.mktemp("lasting")
    with closing(make_store(home)) as store:
        meet_owner(store, "carol", 0)
    return home


@pytest.fixture(scope="module")
def carol(home: Path) -> str:
    """The key of Carol."""
    with closing(make_store(home)) as store:
        return key_of(store, "carol")


@pytest.fixture(scope="module")
def lasting(home: Path) -> Iterator[AgentsServed]:
    """A server that many tests ask, each of which leaves its store and its log as they are."""
    with AgentsServed(home) as serving:
        yield serving


def key_of(store: Store, owner: str) -> str:
    return accounts.create_key(store, owner, None)["key"]


def calling(tool: str, **arguments: object) -> Callable[[Client], Awaitable[Any]]:
    """What calls a tool; the answer, or the sentence of an error."""

    async def call(agent: Client) -> Any:
        result = await agent.call_tool(tool, arguments)
        return result.content[0].text if result.is_error else result.structured_content  # type: ignore[union-attr]

    return call


def names_in(answer: Any) -> list[str]:
    return [dataset["dataset"] for dataset in answer["datasets"]]


@both_eras
def test_each_owner_sees_their_own_tables_and_no_others(
    served: AgentsServed, alice: str, bob: str, mode: str
) -> None:
    asked = calling("list_datasets")
    assert names_in(served.as_agent(alice, mode, asked)) == ["lamps", "shared"]
    assert names_in(served.as_agent(bob, mode, asked)) == ["mugs", "shared"]
    rows = served.as_agent(alice, mode, calling("query_rows", dataset="lamps"))
    assert [row[0] for row in rows["rows"]] == ["A1", "B2", "C3"]
    assert served.as_agent(bob, mode, calling("query_rows", dataset="shared"))["rows"] == []
    refused = served.as_agent(bob, mode, calling("query_rows", dataset="lamps"))
    assert refused == "There is no dataset 'lamps'. There is: mugs, shared."


@both_eras
def test_a_client_learns_the_era_it_asks_for_and_the_same_tools(
    lasting: AgentsServed, carol: str, mode: str
) -> None:
    async def look(agent: Client) -> tuple[str, list[str]]:
        return agent.protocol_version, [tool.name for tool in (await agent.list_tools()).tools]

    version, tools = lasting.as_agent(carol, mode, look)
    assert version == ("2025-11-25" if mode == OLDER else MODERN)
    assert tools[:3] == ["list_datasets", "describe_dataset", "query_rows"]


def test_many_agents_ask_at_once_and_each_has_its_own(
    served: AgentsServed, alice: str, bob: str
) -> None:
    async def ask(http: httpx2.AsyncClient, key: str) -> list[str]:
        call = {**LIST, "method": "tools/call", "params": {"name": "list_datasets"}}
        answer = await http.post(served.address, content=orjson.dumps(call), headers=with_key(key))
        return names_in(answer.json()["result"]["structuredContent"])

    async def ask_all() -> list[list[str]]:
        async with httpx2.AsyncClient(timeout=60) as http:
            return await asyncio.gather(*[ask(http, key) for key in [alice, bob] * 20])

    assert asyncio.run(ask_all()) == [["lamps", "shared"], ["mugs", "shared"]] * 20


def test_named_datasets_are_those_of_each_owner_who_has_them(
    tmp_path: Path, alice: str, bob: str
) -> None:
    with AgentsServed(tmp_path, "--datasets", "lamps,shared") as serving:
        asked = calling("list_datasets")
        assert names_in(serving.as_agent(alice, MODERN, asked)) == ["lamps", "shared"]
        assert names_in(serving.as_agent(bob, MODERN, asked)) == ["shared"]


def test_a_request_without_a_valid_key_is_refused_in_one_sentence(
    served: AgentsServed, alice: str
) -> None:
    headers = with_key(alice)
    del headers["Authorization"]
    wrong = (
        "",
        "Bearer",
        "Bearer ",
        f"Basic {alice}",
        alice,
        f"Bearer {alice}0",
        f"Bearer x{alice}",
    )
    for given in ({}, *({"Authorization": text} for text in wrong)):
        for method in ("POST", "GET", "DELETE", "OPTIONS"):
            answer = served.send(LIST, headers | given, method=method)
            assert answer.status == 401, given
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert answer.sentence == (
                'A valid API key is required: send it as "Authorization: Bearer <key>".'
            )


@both_eras
def test_a_client_without_a_valid_key_is_told_why(lasting: AgentsServed, mode: str) -> None:
    with pytest.raises(Exception, match=r"unhandled|valid API key") as refused:
        lasting.as_agent("ld_wrong", mode, calling("list_datasets"))
    assert "A valid API key is required" in _all_of(refused.value)


def _all_of(error: BaseException) -> str:
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return " ".join([str(error), *map(_all_of, inner)])


def test_no_other_path_has_anything_and_no_oauth_is_announced(
    lasting: AgentsServed, carol: str
) -> None:
    known = ("oauth-protected-resource", "oauth-protected-resource/mcp")
    paths = [f"/.well-known/{name}" for name in (*known, "oauth-authorization-server")]
    for path in (*paths, "/register", "/", "/mcp/", "/sse", "/v1/datasets"):
        for method in ("GET", "POST"):
            answer = lasting.send(LIST, with_key(carol), method=method, path=path)
            assert answer.status == 404
            assert answer.sentence == "There is nothing at this path; agents ask at /mcp."


def test_a_revoked_key_is_refused_at_its_next_request_and_others_stay(
    served: AgentsServed, store: Store, alice: str
) -> None:
    other = accounts.create_key(store, "alice", None)

    async def ask(agent: Client) -> None:
        assert names_in(await calling("list_datasets")(agent)) == ["lamps", "shared"]
        accounts.revoke_key(store, other["id"])
        with pytest.raises(Exception, match="A valid API key is required"):
            await agent.call_tool("list_datasets", {})

    served.as_agent(other["key"], MODERN, ask)
    assert served.send(LIST, with_key(other["key"])).status == 401
    assert served.send(LIST, with_key(alice)).status == 200


def test_the_use_of_a_key_is_recorded(tmp_path: Path, store: Store, alice: str) -> None:
    with AgentsServed(tmp_path) as serving:
        assert serving.send(LIST, with_key(alice)).status == 200
    caller = accounts.authenticate(store, alice)
    assert caller is not None
    assert caller.last_used_at is not None


def test_a_name_that_is_not_of_this_server_is_refused_whoever_asks(
    lasting: AgentsServed, carol: str
) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example:80", "shop.localhost", ""):
        for headers in (with_key(carol, Host=host), {"Host": host}):
            answer = lasting.send(LIST, headers)
            assert answer.status == 421, host
            assert answer.sentence == (
                "This server is not known by this name; LIVEDATA_HOSTS lists the names that it "
                "answers to."
            )


@pytest.mark.one_database
def test_the_names_of_the_settings_are_of_this_server(tmp_path: Path, alice: str) -> None:
    names = {"LIVEDATA_HOSTS": "tables.lan", "LIVEDATA_PUBLIC_URL": "https://data.example.org"}
    with AgentsServed(tmp_path, **names) as serving:
        for host in ("tables.lan:8000", "data.example.org", "localhost:1", "[::1]:1", "10.0.0.1"):
            assert serving.send(LIST, with_key(alice, Host=host)).status == 200, host
        # A proxy asks by a name of its own, for a page of the public address.
        own = with_key(alice, Host="tables.lan", Origin="https://data.example.org")
        assert serving.send(LIST, own).status == 200


def test_a_page_of_another_site_is_refused_and_one_of_this_server_is_not(
    lasting: AgentsServed, carol: str
) -> None:
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "http://[", ""):
        answer = lasting.send(LIST, with_key(carol, Origin=origin))
        assert answer.status == 403, origin
        assert answer.sentence == "This was asked from a page of another site, which may not ask."
    own = with_key(carol, Origin=f"http://127.0.0.1:{lasting.port}")
    assert lasting.send(LIST, own).status == 200


def test_no_stream_is_opened_and_only_posts_are_read(lasting: AgentsServed, carol: str) -> None:
    for method in ("GET", "DELETE", "PUT", "OPTIONS", "HEAD"):
        answer = lasting.send(LIST, with_key(carol), method=method)
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")


def test_an_answer_is_plain_json(lasting: AgentsServed, carol: str) -> None:
    listening = {**LIST, "method": "subscriptions/listen", "params": {"notifications": {}}}
    for version in VERSIONS:
        for body in (LIST, listening):
            answer = lasting.send(body, with_key(carol, **version))
            assert answer.headers["Content-Type"] == "application/json"
            assert "Mcp-Session-Id" not in answer.headers


def test_a_body_that_is_too_long_is_refused_unread(lasting: AgentsServed, carol: str) -> None:
    head = with_key(carol) | {"Content-Length": str(MEGABYTE + 1)}
    answer = lasting.send(b"", head)
    assert (answer.status, answer.sentence) == (413, "The body is larger than 1 MiB.")
    assert lasting.send(b" " * (MEGABYTE - 1000) + b"{", with_key(carol)).status == 400


def test_a_body_of_untold_length_is_read_no_further_than_it_may_be(
    lasting: AgentsServed, carol: str
) -> None:
    lines = [f"{name}: {value}" for name, value in with_key(carol).items()]
    head = "\r\n".join(["POST /mcp HTTP/1.1", "Host: 127.0.0.1", *lines])
    with socket.create_connection(("127.0.0.1", lasting.port), timeout=30) as connection:
        connection.sendall(f"{head}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        for _ in range(17):
            connection.sendall(chunk)
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


@pytest.mark.slow
@pytest.mark.one_database
def test_a_request_that_does_not_come_whole_is_refused_and_holds_up_no_end(
    served: AgentsServed, alice: str
) -> None:
    sent = with_key(alice, Content_Length="9", Expect="100-continue")
    lines = [f"{name}: {value}" for name, value in sent.items()]
    head = "\r\n".join(["POST /mcp HTTP/1.1", "Host: 127.0.0.1", *lines])
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        connection.sendall(f"{head}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        connection.sendall(b"{")
        served.end()
        assert connection.recv(100).startswith(b"HTTP/1.1 408 ")
    until(lambda: served.process.poll() is not None, LONG)
    assert served.log().count("\n") == 1, served.log()


def test_a_body_that_says_nothing_is_refused_and_the_next_is_answered(
    lasting: AgentsServed, carol: str
) -> None:
    batch = b'[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]'
    garbage = (b"", b"{", b"\xff\xfe", b"null", b"[]", b"1" * 5000, b"[" * 100_000, b'"text"')
    for version in VERSIONS:
        for body in (*garbage, b'{"jsonrpc": "2.0"}', batch):
            answer = lasting.send(body, with_key(carol, **version))
            assert answer.status == 400, (body[:20], version)
    assert lasting.send(LIST, with_key(carol)).status == 200
    assert lasting.log().count("\n") == 1, lasting.log()


def test_what_is_no_http_is_refused_without_a_word_in_the_log(lasting: AgentsServed) -> None:
    with socket.create_connection(("127.0.0.1", lasting.port), timeout=30) as connection:
        connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
    assert lasting.log().count("\n") == 1, lasting.log()


@pytest.mark.sqlite
def test_agents_are_not_told_where_a_store_is_that_cannot_be_read(
    served: AgentsServed, alice: str, tmp_path: Path
) -> None:
    lose(tmp_path, "datasets")
    sentence = "The store of this server cannot be read now; its log says why."
    assert served.as_agent(alice, MODERN, calling("list_datasets")) == sentence
    lose(tmp_path, "api_keys")
    answer = served.send(LIST, with_key(alice))
    assert (answer.status, answer.sentence) == (503, sentence)
    told = [line for line in served.log().splitlines() if str(tmp_path) in line]
    assert len(told) == 2, served.log()


@pytest.mark.one_database
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_success(served: AgentsServed, alice: str, number: int) -> None:
    connected = socket.create_connection(("127.0.0.1", served.port))
    with connected:
        assert served.send(LIST, with_key(alice)).status == 200
        served.end(number)
        until(lambda: served.process.poll() is not None, LONG)
    assert served.process.returncode == 0
    assert served.log().count("\n") == 1, served.log()


def test_an_owner_cannot_be_named_beside_keys(tmp_path: Path) -> None:
    ended = command(tmp_path, "--http", "127.0.0.1:0", "--owner", "alice")
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1] == (
        "Error: --owner says nothing with --http: the key of each request says whose datasets it "
        "is about."
    )


def test_what_is_no_address_is_a_usage_error(tmp_path: Path) -> None:
    for address in ("8000", "127.0.0.1:99999", "a:b"):
        ended = command(tmp_path, "--http", address)
        assert ended.returncode == 2
        assert f"'{address}' is no address; give one such as" in ended.stderr


def test_an_address_that_is_taken_is_said_with_its_option(
    lasting: AgentsServed, home: Path
) -> None:
    ended = command(home, "--http", f"127.0.0.1:{lasting.port}")
    assert ended.returncode == 1
    assert "is taken by another program; choose one with --http." in ended.stderr


def test_without_a_store_nothing_is_served_and_none_is_made(tmp_path: Path) -> None:
    home = tmp_path / "nowhere"
    ended = command(home, "--http", "127.0.0.1:0")
    assert ended.returncode != 0
    assert "There is no store at" in ended.stderr
    assert not home.exists()


def lose(home: Path, table: str) -> None:
    """Let a table be gone from a store, as a backup that was cut short leaves it."""
    with closing(sqlite3.connect(home / "livedata.db")) as database:
        database.execute(f"ALTER TABLE {table} RENAME TO lost_{table}")
        database.commit()


def command(home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """``livedata mcp`` that is to end by itself."""
    environ = {**os.environ, "LIVEDATA_HOME": str(home), "PYTHONPATH": str(ROOT)}
    arguments = [sys.executable, "-m", "livedata", "mcp", *options]
    return subprocess.run(
        arguments, env=environ, capture_output=True, text=True, timeout=60, check=False
    )


def test_who_asks_more_often_than_the_limit_says_is_told_when_to_ask_again(
    tmp_path: Path, alice: str, bob: str
) -> None:
    with AgentsServed(tmp_path, LIVEDATA_OWNER_REQUESTS="1") as serving:
        answers = (serving.send(LIST, with_key(alice)) for _ in range(100))
        refused = next(answer for answer in answers if answer.status != 200)
        assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
        assert refused.sentence.startswith("More requests came for this owner")
        assert serving.send(LIST, with_key(bob)).status == 200
