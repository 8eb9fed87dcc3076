"""``livedata serve`` as a process, and requests to it over real HTTP."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

ROOT = Path(__file__).parents[2]


class Serving:
    """A running server. At the end of the block it is stopped, and must exit with 0."""

    def __init__(self, home: Path, key: str = "", *, worker: bool = False) -> None:
        self.key = key
        # A file and no pipe: a full pipe would stop the server.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (closed on leaving)
        command = [sys.executable, "-m", "livedata", "serve", "--port", "0"]
        command += [] if worker else ["--no-worker"]
        environ = {**os.environ, "LIVEDATA_HOME": str(home), "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(command, env=environ, stderr=self._log)
        self.port = self._port()

    def __enter__(self) -> Serving:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.end()
        code = self.process.wait(20)
        log = self.log()
        self._log.close()
        # After an error of the test itself, its own message matters more.
        assert kind is not None or code == 0, log

    def end(self, number: int = signal.SIGTERM) -> None:
        """Send the server a signal, by default to end."""
        self.process.send_signal(number)

    def log(self) -> str:
        """All that the server has written to stderr."""
        # pread leaves the file's position alone, at which the server goes on to write.
        return os.pread(self._log.fileno(), 10_000_000, 0).decode()

    def connect(self) -> HTTPConnection:
        """A new connection to the server."""
        return HTTPConnection("127.0.0.1", self.port, timeout=30)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and body of a request over a connection of its own."""
        connection = self.connect()
        try:
            return ask(connection, self.key, method, path, body)
        finally:
            connection.close()

    def _port(self) -> int:
        # Port 0 lets the system choose; the server prints what it got.
        while self.process.poll() is None:
            match = re.search(r"http://127\.0\.0\.1:(\d+)/v1;", self.log())
            if match:
                return int(match[1])
            time.sleep(0.02)
        raise AssertionError(self.log())


def ask(
    connection: HTTPConnection, key: str, method: str, path: str, body: Any = None
) -> tuple[int, Any]:
    """Status and body of a request; `body` is bytes, or a value to send as JSON."""
    sent = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request(method, path, sent, headers)
    answer = connection.getresponse()
    return answer.status, orjson.loads(answer.read())
