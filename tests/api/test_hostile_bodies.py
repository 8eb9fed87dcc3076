"""Hostile bodies: each gets an error in a sentence, and nothing is written."""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from werkzeug.test import TestResponse

from livedata.model.ids import format_uuid
from livedata.services import accounts
from livedata.store.database.store import Store
from tests.api.person import Person
from tests.api.serving import Serving
from tests.made import declared, make_dataset, make_store

pytestmark = pytest.mark.one_database

MIB = 1024 * 1024
DATASET = orjson.dumps(declared())


@pytest.fixture(scope="module")
def one_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store for all requests over real HTTP."""
    with closing(make_store(tmp_path_factory.mktemp("served"))) as store:
        yield store


@pytest.fixture(scope="module")
def served(one_store: Store) -> Iterator[Serving]:
    """A server of it that lives through all of them, with a key of Alice."""
    key = accounts.create_key(one_store, "alice", None, first_credits=1000)["key"]
    with Serving(Path(one_store.place).parent, key) as serving:
        yield serving


def with_name(name: bytes) -> bytes:
    """The body of a new dataset, with this JSON in place of its name."""
    return DATASET.replace(b'"name":"shop"', b'"name":' + name)


# Texts that readers of JSON treat differently, or not at all: none may be guessed at.
UNREADABLE = {
    "NaN": with_name(b"NaN"),
    "Infinity": with_name(b"Infinity"),
    "-Infinity": with_name(b"-Infinity"),
    "1e999": with_name(b"1e999"),
    "-1e999": with_name(b"-1e999"),
    "10,000 digits": with_name(b"1" * 10_000),
    "a key twice": with_name(b'"a","name":"a"'),
    "a key twice, once escaped": with_name(b'"a","n\\u0061me":"a"'),
    "half a surrogate pair": with_name(b'"\\ud800"'),
    "the other half": with_name(b'"\\udfff"'),
    "half a pair in a key": with_name(b'"a","\\ud800":1'),
    "half a pair in UTF-8": with_name(b'"\xed\xa0\x80"'),
    "not UTF-8": with_name(b'"\xff"'),
    "UTF-16": DATASET.decode().encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + DATASET,
    "100,000 lists": b"[" * 100_000,
    "100,000 closed lists": b"[" * 100_000 + b"]" * 100_000,
    "100,000 objects": b'{"a":' * 100_000,
    "65 lists in a value": with_name(b"[" * 65 + b"]" * 65),
    "a comma too many": with_name(b'"a",'),
    "two values": DATASET + b"{}",
    "a comment": b"/* */" + DATASET,
    "single quotes": with_name(b"'a'"),
    "a raw line break in a string": with_name(b'"a\nb"'),
    "half of it": DATASET[: len(DATASET) // 2],
    "nothing": b"",
    "white space": b" \n",
    "NUL": b"\x00",
    "a form": b"name=shop",
}
RULE_BREAKING = {
    "2**63": with_name(b"9223372036854775808"),
    "-2**63-1": with_name(b"-9223372036854775809"),
    "10**25 for an integer": DATASET.replace(
        b'"version":1', b'"version":1,"maxPages":1' + b"0" * 25
    ),
    "1e25 for an integer": DATASET.replace(b'"version":1', b'"version":1,"maxPages":1e25'),
    "true for a number": DATASET.replace(b'"version":1', b'"version":true'),
    "a text for a number": DATASET.replace(b'"version":1', b'"version":"1"'),
    "1.5 for an integer": DATASET.replace(b'"version":1', b'"version":1,"maxPages":1.5'),
    "true for an integer": DATASET.replace(b'"version":1', b'"version":1,"maxPages":true'),
    "2**63-1 for an integer": DATASET.replace(
        b'"version":1', b'"version":1,"maxPages":9223372036854775807'
    ),
    "1 for a boolean": DATASET.replace(b'"version":1', b'"version":1,"ignoreRobots":1'),
    "NUL in a name": with_name(b'"a\\u0000b"'),
    "a list for a name": with_name(b'["a"]'),
    "an object for a name": with_name(b'{"a":1}'),
    "__proto__": with_name(b'"a","__proto__":{}'),
    "a name by its Python name": DATASET.replace(b'"itemSelector"', b'"item_selector"'),
    "10 MB of rules below 1 MiB": with_name(b'"' + b"x" * (MIB - len(DATASET) - 10) + b'"'),
}


def send(alice: Person, body: bytes) -> Any:
    return alice.ask("POST", "/datasets", data=body, content_type="application/json")


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_is_422_where_no_400_is_declared(alice: Person, body: bytes) -> None:
    assert send(alice, body).status_code == 422
    assert alice.get("/datasets")["data"] == []


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_is_400_where_that_is_declared(alice: Person, body: bytes) -> None:
    table = alice.table()
    path = f"{table}/rows/{alice.row(table)['id']}"
    answer = alice.ask("PATCH", path, data=body, content_type="application/json")
    assert answer.status_code == 400
    assert alice.get(f"{table}/changes")["through"] == 3


@pytest.mark.parametrize("body", RULE_BREAKING.values(), ids=RULE_BREAKING.keys())
def test_what_breaks_a_rule_is_422_with_the_place(alice: Person, body: bytes) -> None:
    answer = send(alice, body)
    assert answer.status_code == 422
    assert answer.json["error"]["details"]
    assert alice.get("/datasets")["data"] == []


def repeated(part: bytes, whole: bytes = b"[%s]", size: int = 900_000) -> bytes:
    """`whole` with as many of `part` as `size` bytes hold."""
    return whole % b",".join(part for _ in range(size // (len(part) + 1)))


def numbered(size: int = 900_000) -> bytes:
    """An object with as many properties as `size` bytes hold."""
    return b"{%s}" % b",".join(b'"k%d":1' % number for number in range(size // 11))


def with_columns(columns: bytes) -> bytes:
    return b'{"name":"shop","source":{},"columns":%s}' % columns


COSTLY = {
    "300,000 columns": with_columns(repeated(b"{}")),
    "columns of lists": with_columns(repeated(b"[]")),
    "unknown properties": numbered(),
    "unknown properties of a column": with_columns(b"[%s]" % numbered()),
    "a long name of a property": b'{"%s":1}' % (b"x" * 900_000),
    "a long odd name of a property": b'{"%s":1}' % (b"x " * 450_000),
    "a long name in a long name": with_columns(b'[{"%s":1}]' % (b"x" * 900_000)),
    "values of an edit": b'{"requestId":"x","values":%s}' % numbered(),
    "resets of an edit": b'{"requestId":"x","resetFieldIds":%s}' % repeated(b'"x"'),
    "names of an identity": b'{"source":{"identity":{"kind":"composite","fields":%s}}}'
    % repeated(b"1"),
}


def error_of(answer: TestResponse) -> Any:
    return orjson.loads(answer.data)["error"]


@pytest.mark.timed
@pytest.mark.parametrize("body", COSTLY.values(), ids=COSTLY.keys())
def test_many_wrong_places_cost_little_and_are_told_briefly(alice: Person, body: bytes) -> None:
    table = alice.table()
    row = f"{table}/rows/{alice.row(table)['id']}"
    for method, path in (("POST", "/datasets"), ("PATCH", table), ("PATCH", row)):
        began = time.process_time()
        answer = alice.ask(method, path, data=body, content_type="application/json")
        assert time.process_time() - began < 2  # 0.6 alone; it was 3.9
        assert answer.status_code == 422
        assert len(answer.data) < 40_000
        assert len(error_of(answer)["details"]) <= 100


@pytest.mark.timed
@pytest.mark.parametrize(
    "query",
    [
        "&".join(f"k{number}=1" for number in range(28_000)),
        "&".join("after=1" for _ in range(28_000)),
        "x" * 200_000,
        f"after={'x' * 200_000}",
    ],
    ids=["28,000 names", "a name 28,000 times", "a long name", "a long value"],
)
def test_many_wrong_parameters_cost_little_and_are_told_briefly(alice: Person, query: str) -> None:
    path = f"{alice.dataset()}/changes?{query}"
    began = time.process_time()
    answer = alice.ask("GET", path)
    assert time.process_time() - began < 2  # 0.6 alone; it was 3.9
    assert answer.status_code == 400
    assert len(answer.data) < 40_000


def test_a_list_that_is_too_long_is_told_as_one_wrong_place(alice: Person) -> None:
    details = send(alice, COSTLY["300,000 columns"]).json["error"]["details"]
    assert {"path": "columns", "message": "must have at most 50 entries, not 300000"} in details
    assert len([detail for detail in details if detail["path"].startswith("columns")]) == 1


def test_ten_to_the_25th_is_no_value_however_it_is_written(alice: Person) -> None:
    table = alice.table()
    row, price = alice.row(table), alice.fields(table)["price"]
    for number in (b"1" + b"0" * 25, b"1e25"):
        body = b'{"expectedRevisionId":"%s","requestId":"x","values":{"%s":%s}}' % (
            *(row["revisionId"].encode(), price.encode(), number),
        )
        path = f"{table}/rows/{row['id']}"
        answer = alice.ask("PATCH", path, data=body, content_type="application/json")
        assert answer.status_code == 422
        assert error_of(answer)["details"][0]["path"] == f"values.{price}"


def test_ten_point_zero_is_the_integer_10(alice: Person) -> None:
    body = DATASET.replace(b'"version":1', b'"version":1.0,"maxPages":1e1')
    assert send(alice, body).status_code == 201


def test_what_is_unusual_but_sound_is_taken(alice: Person) -> None:
    name = '"\\ud83d\\ude00 \u202e‮ \\u0007"'.encode()
    answer = send(alice, with_name(name))
    assert answer.status_code == 201
    assert answer.json["dataset"]["name"] == "😀 \u202e‮ \x07"


@pytest.mark.parametrize(("size", "status"), [(MIB, 422), (MIB + 1, 413), (10_000_000, 413)])
def test_a_body_of_over_1_mib_is_413(alice: Person, size: int, status: int) -> None:
    assert send(alice, b" " * size).status_code == status


@pytest.mark.parametrize(("size", "status"), [(MIB, 422), (MIB + 1, 413)])
def test_a_body_that_does_not_say_its_length_has_the_same_limit(
    alice: Person, size: int, status: int
) -> None:
    answer = alice.ask(
        "POST",
        "/datasets",
        input_stream=io.BytesIO(b" " * size),
        content_type="application/json",
        # As a server passes a chunked body on: the end of the stream is its end.
        environ_overrides={"wsgi.input_terminated": True},
    )
    assert answer.status_code == status


def chunks(size: int) -> Iterator[bytes]:
    for _ in range(size // 50_000):
        yield b" " * 50_000


@pytest.mark.parametrize(("size", "status"), [(50_000, 422), (1_100_000, 413), (10_000_000, 413)])
def test_a_chunked_body_has_the_same_limit_and_the_same_answer(
    served: Serving, size: int, status: int
) -> None:
    connection = served.connect()
    headers = {"Authorization": f"Bearer {served.key}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/datasets", chunks(size), headers, encode_chunked=True)
    answer = connection.getresponse()
    body = orjson.loads(answer.read())
    connection.close()
    assert answer.status == status
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["X-Request-Id"]
    assert body["error"]["code"] == {422: "validation_failed", 413: "payload_too_large"}[status]


def test_10_mb_over_real_http_are_413_and_the_server_lives(served: Serving) -> None:
    # Several times: such a request must not cost the server anything that lasts.
    for _ in range(5):
        status, body = served.ask("POST", "/v1/datasets", b" " * 10_000_000)
        assert (status, body["error"]["code"]) == (413, "payload_too_large")
    assert served.ask("GET", "/v1/usage")[0] == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /v1/usage HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET /v1/usage HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
        b"GET /v1/usage HTTP/1.1\r\nbad header\r\n\r\n",
        b"POST /v1/datasets HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /v1/usage HTTP/1.1\r\nX: " + b"x" * 300_000 + b"\r\n\r\n",
    ],
    ids=["negative length", "no length", "no header", "bad chunk", "long header"],
)
def test_what_is_not_http_gets_an_error_in_the_same_form(served: Serving, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
        connection.sendall(sent)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith((b"HTTP/1.0 4", b"HTTP/1.1 4"))
    assert b"X-Request-Id: " in head
    assert orjson.loads(body)["error"]["code"] == "bad_request"


def exchange(served: Serving, head: str, *, body: bytes = b"") -> tuple[bytes, Any]:
    """The first line and the body of the answer to a request that is sent as it is."""
    lines = [head, "Host: x", f"Authorization: Bearer {served.key}", "", ""]
    with socket.create_connection(("127.0.0.1", served.port), timeout=5) as connection:
        connection.sendall("\r\n".join(lines).encode() + body)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    head_of_answer, _, rest = answer.partition(b"\r\n\r\n")
    assert b"X-Credits-Remaining: 1000" in head_of_answer
    return head_of_answer.partition(b"\r\n")[0], orjson.loads(rest)


@pytest.mark.parametrize("size", [MIB + 1, 10_000_000_000])
def test_a_client_that_asks_first_is_refused_a_large_body_at_once(
    served: Serving, size: int
) -> None:
    head = f"POST /v1/datasets HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: {size}"
    status, body = exchange(served, head)
    assert status.startswith(b"HTTP/1.1 413 ")
    assert body["error"]["code"] == "payload_too_large"


@pytest.mark.parametrize(
    "about",
    [
        *(f"Content-Length: {MIB + 1}", "Content-Length: 10000000000"),
        *("Expect: 100-continue\r\nContent-Length: 10000000000", "Transfer-Encoding: chunked"),
        "Expect: 100-continue\r\nContent-Length: 10",
    ],
)
def test_a_run_is_asked_for_without_a_look_at_the_body(
    served: Serving, one_store: Store, about: str
) -> None:
    path = f"/v1/datasets/{format_uuid(make_dataset(one_store, 'alice', repr(about)))}/runs"
    # The body looks like a request: it must not be taken for the next one.
    body = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {served.key}\r\n\r\n".encode()
    status, answer = exchange(served, f"POST {path} HTTP/1.1\r\n{about}", body=body)
    assert status.startswith(b"HTTP/1.1 202 ")
    assert answer["creditsRemaining"] == 1000
