"""What serve and worker have in common: crawl workers, looks, schedules that queue, notices."""

from __future__ import annotations

import logging
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from threading import Event, Thread
from types import TracebackType
from typing import IO

from livedata.model.errors import LivedataError
from livedata.model.problem import Problem, Remedy
from livedata.rules.network.targets import TargetPolicy
from livedata.services import interruptions, leases, processes
from livedata.services.interruptions import MAX_ATTEMPTS
from livedata.store.database.store import Store
from livedata.worker.delivery.courier import Courier
from livedata.worker.log import relay
from livedata.worker.looks import LookWorker
from livedata.worker.schedules import Schedules

SILENCE = 30.0
"""The seconds of silence after which a worker counts as stuck and is killed."""
GRACE = 10.0
"""The seconds in which a worker that is stopped gives its Runs back."""
LOOK = 1.0
"""The seconds between two looks at what a worker holds."""
ROUND = 1.0
"""The seconds between two looks at the outbox, and at the looks that wait."""
PAUSE = 1.0
"""The seconds between the starts of workers that die at once."""
# The crawler by name only: livedata never imports spiders. -P keeps the current folder out of the
# import path, where a file named like a library would be imported instead of it.
COMMAND = (sys.executable, "-P", "-m", "spiders")

_REASONS = {
    "run.stood_still": "said nothing for {seconds:g} s",
    "run.too_much_memory": "holds more than {megabytes} MB",
}
log = logging.getLogger("livedata.worker")
MOST_BY_DEFAULT = 4
KILLED_ABOVE = 2
"""A crawl worker makes room above what it may hold, and is killed above so many times as much."""


class CrawlWorker:
    """One process at a time; `environment` is that of the process, by default this one's.

    `memory` are the megabytes above which it is killed. With `json_log` all that the process writes
    to stderr goes through the log of this one.
    """

    def __init__(
        self,
        store: Store,
        memory: int,
        environment: Mapping[str, str] | None = None,
        *,
        json_log: bool = False,
    ) -> None:
        self._store = store
        self._memory = memory
        self._environment = environment
        self._json_log = json_log
        self._stopping = Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._relaying: Thread | None = None
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
            log.warning(
                "crawl worker %s did not end in time; it is killed",
                process.pid,
                extra=_about("crawl_worker.killed", process.pid),
            )
            process.kill()
        self._thread.join(PAUSE)

    def _supervise(self) -> None:
        while not self._stopping.is_set():
            started = time.monotonic()
            try:
                self._process = self._start_process()
            except (OSError, RuntimeError) as error:
                # The machine has no room for a process or a thread now; it may have some later.
                reason = error.strerror if isinstance(error, OSError) else error
                log.warning("a crawl worker cannot start: %s", reason)
                self._stopping.wait(PAUSE)
                continue
            if self._stopping.is_set():
                # It was told to stop while the process began, so nobody else has told the process.
                self._process.terminate()
            problem = self._listen(self._process)
            if problem is not None:
                self._kill(self._process, problem)
            code = self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
            if self._relaying is not None:
                self._relaying.join(PAUSE)
            if not self._stopping.is_set():
                _tell_end(self._process.pid, code)
            # A worker that dies at once must not keep a processor busy with its starts.
            if time.monotonic() - started < PAUSE:
                self._stopping.wait(PAUSE)

    def _start_process(self) -> subprocess.Popen[bytes]:
        command = (*COMMAND, "--log", "json") if self._json_log else COMMAND
        # The worker reads its stdin to notice that this process has died: then it ends too.
        process = subprocess.Popen(  # noqa: S603  (our own words)
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if self._json_log else None,
            env=self._environment,
        )
        if process.stderr is not None:
            self._relaying = Thread(target=_relay, args=(process.stderr, process.pid), daemon=True)
            try:
                self._relaying.start()
            except RuntimeError:
                with process:  # nobody reads what it says: it may not go on
                    process.kill()
                raise
        return process

    def _listen(self, process: subprocess.Popen[bytes]) -> Problem | None:
        """Wait until the worker ends; why it is to be killed, if it is."""
        assert process.stdout is not None
        heard = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                # A worker that a page has stopped says nothing, and may hold more and more.
                if selector.select(LOOK):
                    if not _read(process.stdout):
                        return None
                    heard = time.monotonic()
                elif time.monotonic() - heard > SILENCE:
                    return _problem("stood_still", "run_again", seconds=SILENCE)
                if processes.memory(process.pid) > self._memory:
                    return _problem("too_much_memory", "more_memory", megabytes=self._memory)

    def _kill(self, process: subprocess.Popen[bytes], problem: Problem) -> None:
        """Kill the worker, and take its Runs back with the reason."""
        log.warning(
            "crawl worker %s %s: it is killed",
            process.pid,
            _REASONS[problem.code].format_map(problem.params),
            extra=_about("crawl_worker.killed", process.pid, reason=problem.code),
        )
        holder = leases.lease_holder(process.pid)
        process.kill()
        try:
            # Any process would take them back, but none of them knows why this one is gone.
            interruptions.take_back(self._store, holder, problem)
        except LivedataError as error:
            log.warning("%s", error.message)
        except Exception:
            # Whoever asks next takes them back: this thread must go on, or no worker starts again.
            log.exception("the Runs of a killed crawl worker were not taken back")


def _problem(code: str, remedy: str, **params: float) -> Problem:
    """Why a worker is killed, as its Run will say after the last attempt."""
    told = {"attempts": MAX_ATTEMPTS, **params}
    return Problem(f"run.{code}", told, remedies=(Remedy(remedy),))


def _tell_end(pid: int, code: int) -> None:
    if code == 0:
        about = _about("crawl_worker.renewed", pid)
        log.info("crawl worker %s makes room for a fresh one", pid, extra=about)
    else:
        about = _about("crawl_worker.ended", pid, code=code)
        log.warning("crawl worker %s ended with %s; another starts", pid, code, extra=about)


def _about(event: str, pid: int, **fields: object) -> dict[str, object]:
    """What a line of the log is about, for programs that read it."""
    return {"event": event, "fields": {"pid": pid, **fields}}


def _relay(stream: IO[bytes], pid: int) -> None:
    with stream:
        for line in stream:
            if text := line.decode(errors="backslashreplace").strip():
                relay(text, pid)


def _read(stream: IO[bytes]) -> bytes:
    # read1 returns what is there; read would wait for all 4,096 bytes.
    read1: bytes = stream.read1(4096)  # type: ignore[attr-defined]  # a buffered reader
    return read1


def default_crawlers() -> int:
    """How many crawl workers suit this machine: one per core, at most 4."""
    return min(os.cpu_count() or 1, MOST_BY_DEFAULT)


class Dispatcher:
    """A thread that goes round every second: each of `rounds` begins what waits, and never blocks.

    One for all of them, since what an idle process costs is that it wakes.
    """

    def __init__(self, *rounds: Callable[[], None]) -> None:
        self._rounds = rounds
        self._stopping = Event()
        self._thread = Thread(target=self._work, name="dispatcher", daemon=True)

    def start(self) -> None:
        """Start; the first round is at once."""
        self._thread.start()

    def begin_stop(self) -> None:
        """Stop after the round in hand, and wait for nothing."""
        self._stopping.set()

    def finish_stop(self, deadline: float) -> None:
        """Wait until it has stopped; `deadline` is of the monotonic clock."""
        self._thread.join(max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        while not self._stopping.is_set():
            for dispatch in self._rounds:
                dispatch()
            self._stopping.wait(ROUND)


class Supervisor:
    """Works while its block is open; at its end every Run goes back into the queue."""

    def __init__(
        self,
        store: Store,
        zone: str,
        crawlers: int,
        memory: int,
        targets: TargetPolicy,
        *,
        schedules: bool,
        json_log: bool = False,
        public_url: str = "",
    ) -> None:
        # Taken before `Schedules` sets this process to UTC: a browser shows pages by the local
        # time, so crawl workers keep it.
        environment = dict(os.environ)
        self._crawlers = [
            CrawlWorker(store, memory, environment, json_log=json_log) for _ in range(crawlers)
        ]
        self._looks = LookWorker(store, memory, environment)
        self._schedules = Schedules(store, zone) if schedules else None
        self._courier = Courier(store, targets, public_url=public_url)
        self._dispatcher = Dispatcher(self._courier.dispatch, self._looks.dispatch)
        self._deadline: float | None = None

    def __enter__(self) -> Supervisor:
        for crawler in self._crawlers:
            crawler.start()
        if self._schedules:
            self._schedules.start()
        self._dispatcher.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        deadline = self.begin_stop()
        if self._schedules:
            self._schedules.finish_stop(deadline)
        self._dispatcher.finish_stop(deadline)
        self._courier.finish_stop(deadline)
        self._looks.finish_stop(deadline)
        for crawler in self._crawlers:
            crawler.finish_stop(deadline)

    def begin_stop(self) -> float:
        """Tell all to end, and wait for nothing; until when they may take, by the monotonic clock.

        A signal handler may call this.
        """
        # All are told before one is waited for: they end side by side.
        if self._deadline is None:
            self._deadline = time.monotonic() + GRACE
            if self._schedules:
                self._schedules.begin_stop()
            self._dispatcher.begin_stop()
            self._courier.begin_stop()
            self._looks.begin_stop()
            for crawler in self._crawlers:
                crawler.begin_stop()
        return self._deadline
