"""A table that is sent: of one moment, whole or broken off, and no thread waits for its reader."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection, IncompleteRead
from typing import TYPE_CHECKING

import pytest
from flask.testing import FlaskClient

from livedata.api import close_app, create_app
from livedata.api.turns import THREADS
from livedata.services import shares
from livedata.store.database.store import Store
from tests.api.serving import Serving
from tests.patience import AT_ONCE, until
from tests.services.table import A, Item, Table

if TYPE_CHECKING:
    from werkzeug.test import TestResponse

MANY = 1_500
"""More rows than are read together."""
LONG = "x" * 9_000


@pytest.fixture
def table(store: Store) -> Table:
    return Table(store)


@pytest.fixture
def client(store: Store) -> Iterator[FlaskClient]:
    app = create_app(store)
    yield app.test_client()
    close_app(app)


def items(count: int, **cells: str) -> list[Item]:
    return [{**A, "sku": f"k{number:05}", **cells} for number in range(count)]


def share(table: Table, form: str = "csv") -> str:
    _, token = shares.add(table.store, "local", table.id, (), (), None)
    return f"/share/{token}/shop.{form}"


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "changes.csv"])
def test_what_is_written_meanwhile_is_not_in_it(
    table: Table, client: FlaskClient, form: str
) -> None:
    table.take(*items(MANY))
    path = share(table, form)
    whole = client.get(path).data
    answer: TestResponse = client.get(path)
    pieces = answer.iter_encoded()
    first = next(pieces)
    table.take(*items(MANY, title="Changed"))
    assert first + b"".join(pieces) == whole
    answer.close()
    assert b"Changed" in client.get(path).data


def test_an_answer_that_is_left_lets_go_of_the_store(table: Table, client: FlaskClient) -> None:
    table.take(*items(MANY))
    path = share(table)
    for _ in range(2 * THREADS):
        answer = client.get(path)
        next(answer.iter_encoded())
        answer.close()
    assert client.get(path).status_code == 200
    table.take(A)


def test_a_table_that_cannot_be_read_to_its_end_is_broken_off_and_logged_without_its_token(
    served: Serving, table: Table
) -> None:
    table.take(*items(MANY))
    with table.store.writing() as writer:
        writer.execute("UPDATE rows SET data = 'no JSON' WHERE row_key = 'k01200'")
    path = share(table)
    with closing(served.connect()) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == 200
        with pytest.raises(IncompleteRead):
            answer.read()
        request = answer.headers["X-Request-Id"]
    # The server itself says last that the answer is broken off.
    until(lambda: "Exception while serving /share/.../shop.csv" in served.log())
    log = served.log()
    assert f"request {request}: The store is damaged: in the table rows" in log
    assert path.split("/")[2] not in log


@pytest.mark.timed
@pytest.mark.one_database
def test_clients_that_read_nothing_keep_nobody_waiting(served: Serving, table: Table) -> None:
    # More than a socket takes, and than the server keeps in memory for one.
    table.take(*items(MANY, title=LONG))
    path = share(table)
    with ExitStack() as stack:
        for _ in range(THREADS):
            slow = socket.create_connection(("127.0.0.1", served.port), timeout=20)
            stack.enter_context(slow)
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        # When all are answered, nothing waits for a thread.
        until(lambda: served.log().count("GET /share/.../shop.csv 200") == THREADS)
        waited = []
        for each in ("/v1/usage", path, path):
            began = time.monotonic()
            with closing(served.connect()) as connection:
                _ask(connection, served.key, each)
            waited.append(time.monotonic() - began)
    assert waited[0] < AT_ONCE, waited
    assert waited[2] < 2 * max(waited[1], AT_ONCE), waited


def _ask(connection: HTTPConnection, key: str, path: str) -> None:
    connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
    answer = connection.getresponse()
    assert answer.status == 200
    answer.read()
