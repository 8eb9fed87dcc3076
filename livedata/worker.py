"""Supervises a crawl worker: starts it, replaces it when it dies or falls silent, stops it."""

from __future__ import annotations

import logging
import selectors
import subprocess
import sys
import time
from threading import Event, Thread
from typing import IO

SILENCE = 30.0
"""A worker that has said nothing for so many seconds is stuck, and killed."""
PAUSE = 1.0

log = logging.getLogger("livedata.worker")


class Worker:
    """One crawl worker process at a time. It knows the crawler by name only."""

    def __init__(self, command: tuple[str, ...] = (sys.executable, "-P", "-m", "spiders")) -> None:
        self._command = command
        self._stopping = Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = Thread(target=self._supervise, name="supervisor", daemon=True)

    def start(self) -> None:
        """Start the worker, and go on starting it when it ends."""
        self._thread.start()

    def stop(self, grace: float = 10.0) -> None:
        """Let the worker give its Runs back; after `grace` seconds end it all the same."""
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
            if time.monotonic() - started < PAUSE:
                self._stopping.wait(PAUSE)

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        """Until the worker ends; one that falls silent is killed."""
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while selector.select(SILENCE):
                if not _read(process.stdout):
                    return
        log.warning("the crawl worker was silent for %s s; it is killed", SILENCE)
        process.kill()


def _read(stream: IO[bytes]) -> bytes:
    read1: bytes = stream.read1(4096)  # type: ignore[attr-defined]  # a buffered reader
    return read1
