"""``livedata`` as a process that serves until its test has ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.patience import until

ROOT = Path(__file__).parents[1]


class ServedCommand:
    """A command that is ready when what it has written to stderr has the pattern `ready`.

    `said` is what matched. At the end of the block it is stopped, and must exit with 0 without a
    word on stdout.
    """

    def __init__(self, home: Path, *words: str, ready: str, **settings: str) -> None:
        # Files and no pipes: a full pipe would stop the server.
        self._out, self._log = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        command = [sys.executable, "-m", "livedata", *words]
        environ = {**os.environ, "LIVEDATA_HOME": str(home), "PYTHONPATH": str(ROOT), **settings}
        self.process = subprocess.Popen(command, env=environ, stdout=self._out, stderr=self._log)
        until(lambda: self.process.poll() is not None or bool(re.search(ready, self.log())))
        said = re.search(ready, self.log())
        assert said is not None, self.log()
        self.said = said

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.end()
        code = self.process.wait(20)
        log, out = self.log(), _written(self._out.fileno())
        self._out.close()
        self._log.close()
        # After an error of the test itself, its own message matters more.
        assert kind is not None or (code, out) == (0, ""), log

    def end(self, number: int = signal.SIGTERM) -> None:
        """Send the server a signal, by default to end."""
        self.process.send_signal(number)

    def log(self) -> str:
        """All that the server has written to stderr."""
        return _written(self._log.fileno())


def _written(file: int) -> str:
    # pread leaves the file's position alone, at which the server goes on to write.
    return os.pread(file, 10_000_000, 0).decode()
