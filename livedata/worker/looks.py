"""Executes looks at pages: each in a process of its own, which reads websites as a Run does.

So neither a page nor its lists can hurt the server, or the Runs of a crawl worker.
"""

from __future__ import annotations

import logging
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Event, Semaphore, Thread

import msgspec

from livedata.model.errors import Damaged, LostLease, StoreUnavailable
from livedata.model.look import LookAnswer
from livedata.services import looks, processes
from livedata.services.looks import LookAttempt
from livedata.store.database.store import Store

# By name only: livedata never imports spiders.
COMMAND = (sys.executable, "-P", "-m", "spiders.cli.page_look")
AT_ONCE = 2
"""So many looks does a worker execute at the same time; each owner has one."""
LONGEST = 120.0
"""So many seconds may a look take: some pages, and the pauses that their site wishes."""
LONGEST_LIST = 86_400.0
"""So many a whole list, which ends after as many as a Run may take: nobody may take more."""
LONGEST_ANSWER = 4_000_000
"""So many bytes may the process say."""
BLIND_POLL = 2.0
"""The seconds between two questions of a store that does not say whether somebody wrote: each is a
transaction."""
LOOK = 0.25
"""The seconds between two looks at a process."""
HEARD = 1.0
"""So many seconds after a person has stopped a look it ends, at the latest."""
HEARTBEAT = 15.0
TOO_LONG = (
    "The site did not answer within {seconds:g} seconds. Try it later, or another page of the site."
)
TOO_MUCH = "The page takes more memory than livedata gives to one: look at one that shows fewer."

log = logging.getLogger("livedata.worker")


class LookWorker:
    """Takes looks when it is asked to; `memory` are the megabytes above which one is ended."""

    def __init__(
        self,
        store: Store,
        memory: int,
        environment: Mapping[str, str] | None = None,
        *,
        longest: float = LONGEST,
    ) -> None:
        self._store = store
        self._memory = memory
        self._environment = environment
        self._longest = longest
        self._stopping = Event()
        self._places = Semaphore(AT_ONCE)
        self._executing: list[Thread] = []
        self._idle_at: int | None = None
        self._next_question = 0.0

    def begin_stop(self) -> None:
        """Give back what is executed, and wait for nothing."""
        self._stopping.set()

    def finish_stop(self, deadline: float) -> None:
        """Wait until all has been given back; `deadline` is of the monotonic clock."""
        for thread in self._executing:
            thread.join(max(0.0, deadline - time.monotonic()))

    def dispatch(self) -> None:
        """Begin the looks that wait, and take back those that are lost.

        Always in the same thread: whether a store was written is known of one connection alone.
        """
        if time.monotonic() < self._next_question:
            return
        try:
            while not self._stopping.is_set() and (attempt := self._taken()) is not None:
                self._start(attempt)
        except (StoreUnavailable, Damaged):
            pass  # crawl workers and schedules say so
        except Exception:
            log.exception("a look could not be taken")

    def _taken(self) -> LookAttempt | None:
        """The look that waits longest, begun; None if nothing is to be begun."""
        writes = self._store.writes()
        if writes is None:
            self._next_question = time.monotonic() + BLIND_POLL
        # While no look is open, none is lost either, until somebody writes.
        elif writes == self._idle_at:
            return None
        open_looks = looks.take_back(self._store)
        self._idle_at = None if open_looks.queued or open_looks.running else writes
        return self._begun() if open_looks.queued else None

    def _begun(self) -> LookAttempt | None:
        """The look that waits longest, begun; None if none waits, or there is no place for it."""
        if not self._places.acquire(blocking=False):
            return None
        attempt = None
        try:
            attempt = looks.begin(self._store)
        finally:
            if attempt is None:
                self._places.release()
        return attempt

    def _start(self, attempt: LookAttempt) -> None:
        self._executing = [thread for thread in self._executing if thread.is_alive()]
        thread = Thread(target=self._execute, args=(attempt,), name="look", daemon=True)
        self._executing.append(thread)
        try:
            thread.start()
        except RuntimeError:
            # The machine has no room for a thread now: the look is taken again after its lease.
            self._executing.remove(thread)
            self._places.release()
            raise

    def _execute(self, attempt: LookAttempt) -> None:
        try:
            with LookProcess(attempt, self._environment) as process:
                self._follow(attempt, process)
        except LostLease:
            pass  # a person has stopped it, or another worker has it: that one decides
        except (StoreUnavailable, Damaged) as error:
            log.warning("%s", error.message)
        except Exception:
            # Its lease runs out, and it is taken again.
            log.exception("a look failed")
        finally:
            self._places.release()

    def _follow(self, attempt: LookAttempt, process: LookProcess) -> None:
        """Tell how far a process is until it has ended, and what came of it. Raises LostLease."""
        beat = Beat(self._store, attempt)
        while process.read_on():
            if self._stopping.is_set():
                process.end()
                looks.give_back(self._store, attempt)
                return
            longest = self._longest if attempt.task.dataset is None else LONGEST_LIST
            if process.seconds > longest:
                looks.finish(self._store, attempt, error=TOO_LONG.format(seconds=longest))
                return
            if process.memory > self._memory or process.said > LONGEST_ANSWER:
                looks.finish(self._store, attempt, error=TOO_MUCH)
                return
            beat.beat(process.far)
        answer = process.answer
        if answer is None:
            looks.lose(self._store, attempt)
        else:
            seen, tried, error = answer.seen, answer.tried, answer.error
            looks.finish(self._store, attempt, seen=seen, tried=tried, error=error)


class Beat:
    """Keeps the lease of an attempt, tells how far it is, and hears whether it is to go on."""

    def __init__(self, store: Store, attempt: LookAttempt) -> None:
        self._store, self._attempt = store, attempt
        self._told, self._heard, self._beaten = "", time.monotonic(), time.monotonic()

    def beat(self, far: str) -> None:
        """Do what is due. Raises LostLease; a store that is away for a moment costs nothing."""
        now = time.monotonic()
        with suppress(StoreUnavailable):
            if far != self._told or now - self._beaten >= HEARTBEAT:
                looks.renew(self._store, self._attempt, far or None)
                self._told, self._beaten, self._heard = far, now, now
            elif now - self._heard >= HEARD:
                self._heard = now
                if not looks.is_wanted(self._store, self._attempt):
                    raise LostLease


class LookProcess:
    """The process that reads the websites of a look; at the end of its block it is gone."""

    def __init__(self, attempt: LookAttempt, environment: Mapping[str, str] | None) -> None:
        self._started = time.monotonic()
        # Its stdin stays open: its end tells the process that this one has died.
        self._process = subprocess.Popen(  # noqa: S603  (our own words)
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            # A browser that it starts ends with it.
            start_new_session=True,
        )
        self._selector = selectors.DefaultSelector()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._output = self._process.stdout
        self._selector.register(self._output, selectors.EVENT_READ)
        with suppress(BrokenPipeError):
            self._process.stdin.write(msgspec.json.encode(attempt.task) + b"\n")
            self._process.stdin.flush()
        self._line = b""
        self.said = 0
        self.far = ""
        self.answer: LookAnswer | None = None

    def __enter__(self) -> LookProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._selector.close()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return time.monotonic() - self._started

    @property
    def memory(self) -> int:
        """The megabytes that it holds."""
        return processes.memory(self._process.pid)

    def read_on(self) -> bool:
        """Read what it says within a moment; False once it says nothing more."""
        if not self._selector.select(LOOK):
            return True
        # read1 returns what is there; read would wait for all of it.
        read1: Callable[[int], bytes] = self._output.read1  # type: ignore[attr-defined]
        text = read1(65_536)
        self.said += len(text)
        *lines, self._line = (self._line + text).split(b"\n")
        for line in lines:
            self._hear(line)
        return bool(text) and self.answer is None

    def _hear(self, line: bytes) -> None:
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            answer = msgspec.json.decode(line, type=LookAnswer)
            self.far = answer.far or self.far
            if any(each is not None for each in (answer.seen, answer.tried, answer.error)):
                self.answer = answer

    def end(self) -> None:
        """Kill it, with all that it has started, if it has not ended."""
        # Once it is waited for, another process may have its number.
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
