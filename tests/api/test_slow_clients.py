"""Clients that never finish their requests keep nobody else waiting."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack

import pytest

from tests.api.serving import Serving

pytestmark = pytest.mark.timed

SLOW = 100
ASKED = 40
PATIENCE = 2.0
"""Seconds; far above what an answer takes, and far below what a blocked one would."""


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
        assert max(waited) < PATIENCE, sorted(waited)[-5:]
