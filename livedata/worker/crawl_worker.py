"""A crawl worker in a process of its own: started, replaced if it dies or is silent, stopped."""

from __future__ import annotations

import logging
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping
from threading import Event, Thread
from typing import IO

SILENCE = 30.0
"""The seconds of silence after which a worker counts as stuck and is killed."""
GRACE = 10.0
"""The seconds in which a worker that is stopped gives its Runs back."""
PAUSE = 1.0
"""The seconds between the starts of workers that die at once."""
# The crawler by name only: livedata never imports spiders. -P keeps the current folder out of the
# import path, where a file named like a library would be imported instead of it.
COMMAND = (sys.executable, "-P", "-m", "spiders")

log = logging.getLogger("livedata.worker")


class CrawlWorker:
    """One process at a time; `environment` is that of the process, by default this one's."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = environment
        self._stopping = Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = Thread(target=self._supervise, name="crawl worker", daemon=True)

    def start(self) -> None:
        """Start the worker. It is started again whenever it ends."""
        self._thread.start()

    def begin_stop(self) -> None:
        """Tell the worker to give its Runs back and end, and wait for nothing."""
        # Set first, or the thread would start another process in place of this one.
        self._stopping.set()
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()

    def finish_stop(self, deadline: float) -> None:
        """Wait until the worker has ended; at the `deadline`, of the monotonic clock, kill it."""
        self._thread.join(max(0.0, deadline - time.monotonic()))
        process = self._process
        if self._thread.is_alive() and process is not None:
            log.warning("crawl worker %s did not end in time; it is killed", process.pid)
            process.kill()
        self._thread.join(PAUSE)

    def _supervise(self) -> None:
        while not self._stopping.is_set():
            started = time.monotonic()
            # The worker reads its stdin to notice that this process has died: then it ends too.
            self._process = subprocess.Popen(  # noqa: S603  (our own words)
                COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self._environment
            )
            if self._stopping.is_set():
                # It was told to stop while the process began, so nobody else has told the process.
                self._process.terminate()
            self._listen(self._process)
            code = self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            if not self._stopping.is_set():
                pid = self._process.pid
                log.warning("crawl worker %s ended with %s; another starts", pid, code)
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
        log.warning("crawl worker %s was silent for %s s; it is killed", process.pid, SILENCE)
        process.kill()


def _read(stream: IO[bytes]) -> bytes:
    # read1 returns what is there; read would wait for all 4,096 bytes.
    read1: bytes = stream.read1(4096)  # type: ignore[attr-defined]  # a buffered reader
    return read1
