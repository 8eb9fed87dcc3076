"""Servers of a benchmark and their clients: connections that are kept alive, requests in turn."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from typing_extensions import override

from benchmarks.pair import environment

HOST = "127.0.0.1"
PATIENCE = 30.0
_BLOCK = 10


class Client:
    """A client with one connection to a server, and headers for each request."""

    def __init__(self, port: int, headers: Mapping[str, str] | None = None) -> None:
        self.port = port
        self.headers = dict(headers or {})
        self._connection = http.client.HTTPConnection(HOST, port, timeout=PATIENCE)

    def get(self, path: str) -> bytes:
        """The body at `path`; its status must be 200."""
        try:
            answer = self._answer(path)
        # Servers close connections that are idle for a while, such as during other measurements.
        except http.client.RemoteDisconnected:
            answer = self._answer(path)
        body = answer.read()
        assert answer.status == 200, (path, answer.status, body[:500])
        return body

    def _answer(self, path: str) -> http.client.HTTPResponse:
        self._connection.request("GET", path, headers=self.headers)
        return self._connection.getresponse()

    def asking(self, path: str) -> Asking:
        """A request for one path."""
        return lambda: self.get(path)

    def json(self, path: str) -> Any:
        """The body at `path`, as JSON."""
        return json.loads(self.get(path))


Asking = Callable[[], object]
"""A function that makes one request; its path may differ from call to call."""


@dataclass(frozen=True)
class Times:
    """The durations of requests, in milliseconds."""

    all: Sequence[float]

    @property
    def p50(self) -> float:
        """The median."""
        return median(self.all)

    @property
    def p99(self) -> float:
        """The 99th percentile."""
        return sorted(self.all)[int(len(self.all) * 0.99)]

    @override
    def __str__(self) -> str:
        return f"{self.p50:.2f} ms (p99 {self.p99:.2f})"


def in_turn(a: Asking, b: Asking, n: int) -> tuple[Times, Times]:
    """The times of `n` requests each, ten at a time in turn."""
    # In turn: when the speed of the machine drifts, both get their share of it.
    measured: tuple[list[float], list[float]] = ([], [])
    for asking in (a, b):
        _timed(asking)  # the first request opens the connection and warms the caches
    for _ in range(max(1, n // _BLOCK)):
        for asking, times in zip((a, b), measured, strict=True):
            times += [_timed(asking) for _ in range(_BLOCK)]
    return Times(measured[0]), Times(measured[1])


def _timed(asking: Asking) -> float:
    start = time.perf_counter()
    asking()
    return (time.perf_counter() - start) * 1000


@contextmanager
def serving(
    command: Sequence[str | Path], port: int, log: Path, env: Mapping[str, str], path: str = "/"
) -> Iterator[int]:
    """Run a server during the block, which begins as soon as it answers `path`; its process id."""
    with log.open("ab") as output:
        server = subprocess.Popen(
            command,
            env={**environment(), **env},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            _await(server, port, path, log)
            yield server.pid
        finally:
            server.terminate()
            server.wait()


def _await(server: subprocess.Popen[bytes], port: int, path: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < deadline:
        connection = http.client.HTTPConnection(HOST, port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
        except OSError:
            time.sleep(0.002)  # short: the time until the first answer is a goal of its own
        else:
            assert answer.status == 200, answer.status
            return
        finally:
            connection.close()
    raise RuntimeError(f"The server did not begin: {log.read_text()[-1000:]}")


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.create_server((HOST, 0)) as listening:
        port: int = listening.getsockname()[1]
    return port
