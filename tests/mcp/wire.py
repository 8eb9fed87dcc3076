"""``livedata mcp`` as a process that a test speaks with line by line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import orjson

ROOT = Path(__file__).parents[2]
HELLO: Mapping[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class Wire:
    """Both pipes of the process; what it writes to stderr is in `log`."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self.log = process, log
        self._idle = 0

    def send(self, lines: Iterable[bytes]) -> Thread:
        """Write lines while the test goes on: the pipe may be full."""

        def write() -> None:
            assert self.process.stdin is not None
            try:
                for line in lines:
                    self.process.stdin.write(line + b"\n")
                self.process.stdin.flush()
            except OSError:
                return  # The process has ended.

        writer = Thread(target=write, daemon=True)
        writer.start()
        return writer

    def hear(self) -> dict[str, Any]:
        """The next line that the process writes, which is a message."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        message: dict[str, Any] = orjson.loads(line)
        assert message["jsonrpc"] == "2.0", line
        return message

    def greet(self) -> None:
        """Begin the connection."""
        self.send([request(0, "initialize", HELLO)]).join()
        assert self.hear()["id"] == 0
        self.send([b'{"jsonrpc":"2.0","method":"notifications/initialized"}']).join()

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool."""
        self.send([tool_call(1, name, arguments)]).join()
        return self.answer_to(1)

    def answer_to(self, number: int) -> dict[str, Any]:
        """The result of a request, whatever else is said before."""
        while True:
            message = self.hear()
            if message.get("id") == number:
                result: dict[str, Any] = message["result"]
                return result

    def warm_up(self, name: str, **arguments: Any) -> None:
        """Have a tool answer once, and remember how much memory the process had by then."""
        self.call(name, **arguments)
        self._idle = self._most_memory()

    def grown(self) -> int:
        """So many bytes more than when it was warm the process has had at most."""
        return self._most_memory() - self._idle

    def _most_memory(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) * 1024


@contextmanager
def wire(home: Path, *options: str, python: Iterable[str] = ()) -> Iterator[Wire]:
    """The process over the store in a home, greeted; it is ended afterwards."""
    log = home / "mcp.log"
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [sys.executable, *python, "-m", "livedata", "mcp", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, "LIVEDATA_HOME": str(home), "PYTHONPATH": str(ROOT)},
        ) as process,
    ):
        try:
            opened = Wire(process, log)
            opened.greet()
            yield opened
        finally:
            process.kill()
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()  # There may be lines that were never read.


def request(number: int, method: str, params: object) -> bytes:
    """The line of a request."""
    return orjson.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def tool_call(number: int, name: str, arguments: object) -> bytes:
    """The line that calls a tool."""
    return request(number, "tools/call", {"name": name, "arguments": arguments})
