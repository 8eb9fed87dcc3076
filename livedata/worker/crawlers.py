"""The processes of the crawler that a supervisor keeps alive, and watches."""

from __future__ import annotations

import logging
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import SimpleQueue
from threading import Event, Thread
from typing import IO

from livedata.model import ids
from livedata.model.errors import Damaged, LivedataError, StoreUnavailable
from livedata.model.ids import RunId
from livedata.model.problem import Problem, Remedy
from livedata.services import interruptions, leases, processes, runs
from livedata.services.interruptions import MAX_ATTEMPTS
from livedata.store.database.store import Store
from livedata.worker.log import ALONE, APART, relay

SILENCE = 30.0
"""The seconds of silence after which a worker counts as stuck and is killed."""
LOOK = 1.0
"""The seconds between two looks at what a worker holds."""
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


class CrawlProcess:
    """Runs one process of the crawler at a time, and watches it until it ends.

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
        self.stopping = Event()
        self.process: subprocess.Popen[bytes] | None = None
        self._relaying: Thread | None = None

    def begin_stop(self) -> None:
        """Tell the process to give its Runs back and end; no other begins."""
        # Set first, or another process would start in place of this one.
        self.stopping.set()
        process = self.process
        if process is not None and process.poll() is None:
            process.terminate()

    def kill(self) -> None:
        """Kill the process, which was told to end and has not."""
        process = self.process
        if process is not None and process.poll() is None:
            log.warning(
                "crawl worker %s did not end in time; it is killed",
                process.pid,
                extra=_about("crawl_worker.killed", process.pid),
            )
            process.kill()

    def run(self, hear: Callable[[str], None], *words: str) -> int | None:
        """Start a process with these words and watch it; its exit code, if it could start.

        `hear` is told each line that says more than that the process is alive.
        """
        started = time.monotonic()
        try:
            process = self.process = self.start(*words)
        except (OSError, RuntimeError) as error:
            # The machine has no room for a process or a thread now; it may have some later.
            reason = error.strerror if isinstance(error, OSError) else error
            log.warning("a crawl worker cannot start: %s", reason)
            self.stopping.wait(PAUSE)
            return None
        # Asked now: of one that has died nobody can tell when it started.
        holder = leases.lease_holder(process.pid)
        if self.stopping.is_set():
            # It was told to stop while the process began, so nobody else has told the process.
            process.terminate()
        problem = self._listen(process, hear)
        if problem is not None:
            _tell_killed(process, problem)
            process.kill()
            self._take_back(holder, problem)
        code = process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        if self._relaying is not None:
            self._relaying.join(PAUSE)
        if problem is None and code != 0 and not self.stopping.is_set():
            self._take_back(holder)
        # A worker that dies at once must not keep a processor busy with its starts.
        if time.monotonic() - started < PAUSE:
            self.stopping.wait(PAUSE)
        return code

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """A new process, which nobody watches yet. Raises OSError, RuntimeError."""
        command = (*COMMAND, *(("--log", "json") if self._json_log else ()), *words)
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

    def _listen(
        self, process: subprocess.Popen[bytes], hear: Callable[[str], None]
    ) -> Problem | None:
        """Wait until the process ends; why it is to be killed, if it is."""
        assert process.stdout is not None
        heard, rest = time.monotonic(), b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                # A worker that a page has stopped says nothing, and may hold more and more.
                if selector.select(LOOK):
                    if not (said := _read(process.stdout)):
                        return None
                    heard = time.monotonic()
                    *lines, rest = (rest + said).split(b"\n")
                    for line in lines:
                        if line != b".":
                            hear(line.decode(errors="backslashreplace"))
                elif time.monotonic() - heard > SILENCE:
                    return _problem("stood_still", "run_again", seconds=SILENCE)
                if processes.memory(process.pid) > self._memory:
                    return _problem("too_much_memory", "more_memory", megabytes=self._memory)

    def _take_back(self, holder: str, problem: Problem | None = None) -> None:
        """Take the Runs of the process back, with the reason if it was killed."""
        try:
            # Any process would take them back, but none of them knows why this one is gone.
            interruptions.take_back(self._store, holder, problem)
        except LivedataError as error:
            log.warning("%s", error.message)
        except Exception:
            # Whoever asks next takes them back: this thread must go on, or no worker starts again.
            log.exception("the Runs of a crawl worker that is gone were not taken back")


class CrawlWorker:
    """A worker process, and beside it one for each isolated Run that it meets, one after another.

    So a Run that may fell its process fells no other, and the worker goes on with the others.
    `environment` is that of the processes, by default this one's; `memory` the megabytes above
    which one is killed.
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
        self._main, self._apart = (
            CrawlProcess(store, memory, environment, json_log=json_log) for _ in range(2)
        )
        # Of a kind into which a signal handler may put something. None: there is nothing more.
        self._isolated: SimpleQueue[RunId | None] = SimpleQueue()
        self._asked: set[RunId] = set()
        self._threads = [
            Thread(target=self._supervise, name="crawl worker", daemon=True),
            Thread(target=self._execute_apart, name="isolated Runs", daemon=True),
        ]

    @property
    def pid(self) -> int | None:
        """The process that executes what is not isolated; None if none has begun."""
        process = self._main.process
        return None if process is None else process.pid

    def start(self) -> None:
        """Start the worker. It is started again whenever it ends."""
        for thread in self._threads:
            thread.start()

    def begin_stop(self) -> None:
        """Tell both processes to give their Runs back and end, and wait for nothing."""
        self._main.begin_stop()
        self._apart.begin_stop()
        self._isolated.put(None)

    def finish_stop(self, deadline: float) -> None:
        """Wait until both have ended; at the `deadline`, of the monotonic clock, kill them."""
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        for process in (self._main, self._apart):
            process.kill()
        for thread in self._threads:
            thread.join(PAUSE)

    def _supervise(self) -> None:
        while not self._main.stopping.is_set():
            code = self._main.run(self._hear)
            if self.pid is not None and code is not None and not self._main.stopping.is_set():
                _tell_end(self.pid, code)

    def _hear(self, line: str) -> None:
        """Note that a process of its own is wanted for some Runs."""
        words = line.split()
        if words[:1] != [APART]:
            return
        for name in words[1:]:
            with suppress(ValueError):
                run = RunId(ids.raw_id(name))
                # The worker says it each second, until nobody need execute the Run.
                if run not in self._asked:
                    self._asked.add(run)
                    self._isolated.put(run)

    def _execute_apart(self) -> None:
        while (asked := self._isolated.get()) is not None:
            # Whoever asks for it while it is executed is heard: it may die, and be queued again.
            self._asked.discard(asked)
            if not self._apart.stopping.is_set() and self._waits(asked):
                code = self._apart.run(lambda _: None, ALONE, ids.format_uuid(asked))
                if code and not self._apart.stopping.is_set():
                    _tell_lost(asked, code)

    def _waits(self, run: RunId) -> bool:
        """Whether nobody has begun a Run yet: several workers may have asked for it."""
        try:
            queued = runs.next_beside(self._store, run)
        except (StoreUnavailable, Damaged):
            return False  # crawl workers say so, and one of them asks again
        except Exception:
            log.exception("an isolated Run could not be looked at")
            return False
        return queued is not None and queued.isolated and queued.run == run


def _problem(code: str, remedy: str, **params: float) -> Problem:
    """Why a worker is killed, as its Run will say after the last attempt."""
    told = {"attempts": MAX_ATTEMPTS, **params}
    return Problem(f"run.{code}", told, remedies=(Remedy(remedy),))


def _tell_killed(process: subprocess.Popen[bytes], problem: Problem) -> None:
    log.warning(
        "crawl worker %s %s: it is killed",
        process.pid,
        _REASONS[problem.code].format_map(problem.params),
        extra=_about("crawl_worker.killed", process.pid, reason=problem.code),
    )


def _tell_lost(run: RunId, code: int) -> None:
    about = {"run": ids.format_uuid(run), "code": code}
    log.warning(
        "the process of the isolated Run %s ended with %s",
        about["run"],
        code,
        extra={"event": "crawl_worker.isolated_ended", "fields": about},
    )


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
