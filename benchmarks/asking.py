"""Servers of a benchmark, and clients that ask them: kept-alive connections, two paths in turn."""

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
    """One connection to a server, and the headers that it sends."""

    def __init__(self, port: int, headers: Mapping[str, str] | None = None) -> None:
        self._headers = dict(headers or {})
        self._connection = http.client.HTTPConnection(HOST, port, timeout=PATIENCE)

    def get(self, path: str) -> bytes:
        """The body at `path`, which must be a 200."""
        try:
            answer = self._answer(path)
        except http.client.RemoteDisconnected:  # servers let go of who has not asked for a while
            answer = self._answer(path)
        found = answer.read()
        assert answer.status == 200, (path, answer.status, found[:500])
        return found

    def _answer(self, path: str) -> http.client.HTTPResponse:
        self._connection.request("GET", path, headers=self._headers)
        return self._connection.getresponse()

    def json(self, path: str) -> Any:
        """The same, read."""
        return json.loads(self.get(path))


Asking = Callable[[], object]
"""One request; which one may be another each time."""


@dataclass(frozen=True)
class Times:
    """How long requests took, in milliseconds."""

    all: Sequence[float]

    @property
    def p50(self) -> float:
        """Half of them took no longer."""
        return median(self.all)

    @property
    def p99(self) -> float:
        """99 of 100 took no longer."""
        return sorted(self.all)[int(len(self.all) * 0.99)]

    @override
    def __str__(self) -> str:
        return f"{self.p50:.2f} ms (p99 {self.p99:.2f})"


def in_turn(a: Asking, b: Asking, n: int) -> tuple[Times, Times]:
    """Ask `n` times each, ten at a time in turn, so that what drifts falls on both."""
    found: tuple[list[float], list[float]] = ([], [])
    for asking in (a, b):
        _timed(asking)
    for _ in range(max(1, n // _BLOCK)):
        for asking, times in zip((a, b), found, strict=True):
            times += [_timed(asking) for _ in range(_BLOCK)]
    return Times(found[0]), Times(found[1])


def _timed(asking: Asking) -> float:
    start = time.perf_counter()
    asking()
    return (time.perf_counter() - start) * 1000


@contextmanager
def serving(
    command: Sequence[str | Path], port: int, log: Path, env: Mapping[str, str], path: str = "/"
) -> Iterator[None]:
    """A server that is ended afterwards; the block begins as soon as `path` is answered."""
    with log.open("ab") as said:
        server = subprocess.Popen(
            command,
            env={**environment(), **env},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        )
        try:
            _await(server, port, path, log)
            yield
        finally:
            server.terminate()
            server.wait()


def _await(server: subprocess.Popen[bytes], port: int, path: str, log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < until:
        connection = http.client.HTTPConnection(HOST, port, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
        except OSError:
            time.sleep(0.002)
        else:
            assert answer.status == 200, answer.status
            return
        finally:
            connection.close()
    raise RuntimeError(f"The server did not begin: {log.read_text()[-1000:]}")


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server((HOST, 0)) as found:
        port: int = found.getsockname()[1]
    return port
