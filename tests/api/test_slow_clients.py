"""Clients that never finish their requests keep nobody else waiting, and have an end."""

from __future__ import annotations

import re
import resource
import socket
import time
from contextlib import ExitStack, suppress

import orjson
import pytest

from livedata.api.connection import MOST_OF_ONE_PEER, REQUEST_SECONDS, peer_of
from tests.api.serving import Serving, ask
from tests.patience import AT_ONCE

pytestmark = [pytest.mark.timed, pytest.mark.one_database]

SLOW = 100
ASKED = 40
PATIENCE = 2.0
"""Seconds above a time that is given."""


def test_others_are_answered_beside_300_slow_clients(served: Serving) -> None:
    headers = b"GET /v1/usage HTTP/1.1\r\nHost: x\r\nX-Slow: "
    body = b"POST /v1/datasets HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n{"
    with ExitStack() as stack:
        for start in (b"", headers, body):
            for _ in range(SLOW):
                slow = socket.create_connection(("127.0.0.1", served.port), timeout=20)
                stack.enter_context(slow)
                slow.sendall(start)
        waited = []
        for _ in range(ASKED):
            began = time.monotonic()
            assert served.ask("GET", "/v1/usage")[0] == 200
            waited.append(time.monotonic() - began)
        assert max(waited) < AT_ONCE, sorted(waited)[-5:]


@pytest.mark.slow
def test_2300_sockets_of_one_address_that_drip_deny_nobody_else(served: Serving) -> None:
    _allow_files(3000)
    body = (
        "POST /v1/datasets HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n"
        f"Authorization: Bearer {served.key}\r\n\r\n"
    )
    dripping: list[socket.socket] = []
    with ExitStack() as stack:
        for number in range(2300):
            slow = socket.create_connection(
                ("127.0.0.1", served.port), timeout=20, source_address=("127.0.0.2", 0)
            )
            slow.sendall(b"GET" if number % 2 else body.encode())
            dripping.append(stack.enter_context(slow))
        until = time.monotonic() + REQUEST_SECONDS + 2 * PATIENCE
        while time.monotonic() < until:
            for slow in dripping:
                with suppress(OSError):
                    slow.send(b"G")
            asked = time.monotonic()
            assert served.ask("GET", "/v1/usage")[0] == 200
            assert time.monotonic() - asked < AT_ONCE
            time.sleep(2)
        answers = [answer for slow in dripping if (answer := _received(slow))]
    # Those above the cap were closed at once, the others when their time was over.
    assert 0 < len(answers) <= MOST_OF_ONE_PEER
    assert {re.search(rb"Credits-Remaining: (\d+)", answer)[1] for answer in answers} == {  # type: ignore[index]
        *(b"0", b"1000")
    }
    errors = [orjson.loads(answer.partition(b"\r\n\r\n")[2])["error"] for answer in answers]
    why = "The request cannot be read: it took more than 20 seconds."
    assert all(error == {"code": "bad_request", "message": why} for error in errors)


@pytest.mark.slow
def test_a_connection_that_is_used_again_has_time_for_each_request(served: Serving) -> None:
    connection = served.connect()
    until = time.monotonic() + REQUEST_SECONDS + PATIENCE
    while time.monotonic() < until:
        assert ask(connection, served.key, "GET", "/v1/usage")[0] == 200
        time.sleep(5)
    assert ask(connection, served.key, "GET", "/v1/usage")[0] == 200
    connection.close()


@pytest.mark.parametrize(
    ("address", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        # A host has a whole network of 64 bits, and so as many addresses as it wants.
        ("2001:db8::1", "2001:db8:0:0:ffff::2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
    ],
)
def test_a_peer_is_an_ipv4_address_or_the_network_of_an_ipv6_one(
    address: str, other: str, *, same: bool
) -> None:
    assert (peer_of(address) == peer_of(other)) is same


def _received(slow: socket.socket) -> bytes:
    """What has arrived at a socket; nothing if it was closed without an answer."""
    slow.settimeout(PATIENCE)
    answer = b""
    with suppress(ConnectionError):
        while part := slow.recv(65_536):
            answer += part
    return answer


def _allow_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Root may raise the hard limit too. For others this fails, and so does the test: it is never
    # left out.
    most = hard if hard == resource.RLIM_INFINITY else max(hard, count)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), most))
