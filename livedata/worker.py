"""The supervisor of a crawl worker: starts it, replaces it if it dies or is silent, stops it."""

from __future__ import annotations

import logging
import selectors
import subprocess
import sys
import time
from threading import Event, Thread
from typing import IO

SILENCE = 30.0
"""The seconds of silence after which a worker counts as stuck and is killed."""
PAUSE = 1.0
"""The seconds between the starts of workers that die at once."""

log = logging.getLogger("livedata.worker")


class Worker:
    """A crawl worker in a process of its own, one at a time."""

    # The crawler by name only: livedata never imports spiders. -P keeps the current folder out
    # of the import path, where a file named like a library would be imported instead of it.
    def __init__(self, command: tuple[str, ...] = (sys.executable, "-P", "-m", "spiders")) -> None:
        self._command = command
        self._stopping = Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = Thread(target=self._supervise, name="supervisor", daemon=True)

    def start(self) -> None:
        """Start the worker. It is started again whenever it ends."""
        self._thread.start()

    def stop(self, grace: float = 10.0) -> None:
        """End the worker. It has `grace` seconds to give its Runs back, then it is killed."""
        # Set first, or the supervisor would start another worker in place of this one.
        self._stopping.set()
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(grace)
            except subprocess.TimeoutExpired:
                process.kill()
        self._thread.join(grace)

    def _supervise(self) -> None:
        while not self._stopping.is_set():
            started = time.monotonic()
            # The worker reads its stdin to notice that this process has died: then it ends too.
            self._process = subprocess.Popen(  # noqa: S603  (our own words)
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            self._listen(self._process)
            code = self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            if not self._stopping.is_set():
                log.warning("the crawl worker ended with %s; starting another", code)
            # A worker that dies at once must not keep a processor busy with its starts.
            if time.monotonic() - started < PAUSE:
                self._stopping.wait(PAUSE)

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until the worker ends; kill it if it is silent for too long."""
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while selector.select(SILENCE):
                if not _read(process.stdout):
                    return
        log.warning("the crawl worker was silent for %s s; it is killed", SILENCE)
        process.kill()


def _read(stream: IO[bytes]) -> bytes:
    # read1 returns what is there; read would wait for all 4,096 bytes.
    read1: bytes = stream.read1(4096)  # type: ignore[attr-defined]  # a buffered reader
    return read1
