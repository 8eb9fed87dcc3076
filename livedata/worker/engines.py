"""Hands Runs over to an engine of somebody else's, such as Celery, which executes them.

What is handed over stays queued until `livedata execute` begins it, so nothing here decides who
executes a Run: that it is handed over twice, or to an engine that has lost it, does no harm.
"""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from threading import Event, Thread
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from livedata.messages.deliveries import masked_saying
from livedata.messages.render import sentence
from livedata.model import ids
from livedata.model.errors import Damaged, LivedataError, StoreUnavailable
from livedata.model.ids import RunId
from livedata.model.problem import Remedy
from livedata.services import interruptions, runs
from livedata.services.runs import Queued
from livedata.store.database.store import Store
from livedata.worker.delivery import command
from livedata.worker.delivery.time_limit import NotInTime, within

POLL = 2.0
"""The seconds between two looks at what may start."""
ROOM = 200
"""So many Runs, each of another site, are handed over at most and have not begun."""
AGAIN = 60.0
"""After so many seconds a Run that has not begun is handed over again, then after twice as many."""
LONGEST = 3600.0
RETRY = 1.0
"""After so many seconds an engine that took nothing is asked again, then after twice as many."""
LONGEST_RETRY = 60.0
SECONDS = 30
"""How long an engine may take to take one Run."""
PASS = 5.0
"""After so many seconds of handing over the queue is looked at again."""
PLACE = "{run}"
"""What stands in a command for the id of a Run."""
CELERY = "celery://"
EXAMPLE = "celery://livedata.execute?broker=redis://127.0.0.1:6379/0"

log = logging.getLogger("livedata.engines")


class Engine(Protocol):
    """Who executes Runs."""

    @property
    def name(self) -> str:
        """How it is called in the log; without a password."""

    def take(self, run: str, stopping: Event, /) -> str | None:
        """Hand a Run over; why that failed, or None. It ends after some seconds whatever comes."""


def engine_of(text: str) -> Engine:
    """The engine that a person names. Raises ValueError, and LivedataError if Celery is missing."""
    return _celery_task(text) if text.startswith(CELERY) else _command(text)


class Command(Struct, frozen=True):
    """An engine that is told of a Run by a command, without a shell."""

    words: Sequence[str]
    environment: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.words[0]

    def take(self, run: str, stopping: Event) -> str | None:
        words = [word.replace(PLACE, run) for word in self.words]

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(  # noqa: S603  (the words of who operates livedata)
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env={**self.environment, "LIVEDATA_RUN": run},
            )

        problem = command.outcome(start, shlex.join(words), stopping, SECONDS)
        return None if problem is None else sentence(problem)


def _command(text: str) -> Command:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no command: {error}") from None
    if words and shutil.which(words[0]) is None:
        raise ValueError(
            f"there is no program {words[0]} here; name one that is in PATH, or {EXAMPLE}"
        )
    if not words:
        raise ValueError(f"it names nobody; give a command with {PLACE} in it, or {EXAMPLE}")
    # Taken now: schedules set this process to UTC.
    return Command(words, dict(os.environ))


class CeleryTask(Struct, frozen=True):
    """A task of Celery, which gets the id of a Run as its one argument.

    Without a broker that of the settings of Celery is asked, such as CELERY_BROKER_URL.
    """

    app: Any
    task: str
    broker: str | None
    queue: str | None

    @property
    def name(self) -> str:
        return f"the task {self.task} of Celery"

    def take(self, run: str, _stopping: Event) -> str | None:
        try:
            within(SECONDS, lambda: self._send(run))
        except NotInTime:
            return f"The broker did not answer within {SECONDS} s."
        except Exception as error:  # noqa: BLE001  (each broker has errors of its own)
            return masked_saying(f"{type(error).__name__}: {error}", self.broker or "")
        return None

    def _send(self, run: str) -> None:
        # A connection for each, so that none has died while nothing was due. Without a bound it
        # would try for ever to reach a broker that is away.
        once = {"max_retries": 1}
        named = {} if self.queue is None else {"queue": self.queue}
        with self.app.connection_for_write(self.broker, transport_options=once) as connection:
            self.app.send_task(
                *(self.task, [run]), connection=connection, retry=False, ignore_result=True, **named
            )


def _celery_task(text: str) -> CeleryTask:
    parts = urlsplit(text)
    # No form has written it: a + is one, as in redis+socket://.
    asked = parse_qs(parts.query.replace("+", "%2B"))
    named = {name: values[-1] for name, values in asked.items()}
    if not parts.netloc or parts.path or parts.fragment or named.keys() - {"broker", "queue"}:
        raise ValueError(
            f"after {CELERY} stands the name of a task, then broker= and queue= if you need them, "
            f"such as {EXAMPLE}&queue=runs; in an address write %26 for & and %23 for #"
        )
    # As text: it is an extra, and neither a type checker nor a start needs it.
    try:
        celery = import_module("celery")
    except ModuleNotFoundError as error:
        raise LivedataError(
            "Runs are handed to Celery by the module celery, which is not installed.",
            remedies=(Remedy("install_celery"),),
        ) from error
    app, broker = celery.Celery("livedata", set_as_current=False), named.get("broker")
    try:
        app.connection_for_write(broker)
    except Exception as error:  # noqa: BLE001  (each broker has errors of its own)
        why = masked_saying(str(error), broker or "")
        raise ValueError(f"Celery does not know such a broker: {why}; such as {EXAMPLE}") from None
    return CeleryTask(app, parts.netloc, broker, named.get("queue"))


class Handed(Struct):
    """How often a Run was handed over and has not begun, and when that is tried again."""

    times: int = 0
    failures: int = 0
    due: float = 0.0


class Enqueuer:
    """Hands each Run that may start over to an engine, when it is asked to, in a thread."""

    def __init__(self, store: Store, engine: Engine) -> None:
        self._store = store
        self._engine = engine
        self._handed: dict[RunId, Handed] = {}
        self._failures = 0
        self._next_look = 0.0
        self._stopping = Event()
        self._thread: Thread | None = None

    def begin_stop(self) -> None:
        """Stop after the Run in hand, and wait for nothing; a command is killed."""
        self._stopping.set()

    def finish_stop(self, deadline: float) -> None:
        """Wait until it has stopped; `deadline` is of the monotonic clock."""
        if self._thread is not None:
            self._thread.join(max(0.0, deadline - time.monotonic()))

    def dispatch(self) -> None:
        """Begin to hand over what may start, unless that is going on."""
        # While the thread works, what was handed over is its own.
        working = self._thread is not None and self._thread.is_alive()
        if working or time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + POLL
        if due := self._due():
            self._thread = Thread(target=self._work, args=(due,), name="enqueuer", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:
                self._thread = None  # the machine has no room for a thread now; it may have later

    def _due(self) -> list[Queued]:
        """The Runs that may start and are to be handed over now, the longest due first."""
        try:
            # No crawl worker may be there that does it.
            interruptions.reap_expired_leases(self._store)
            waiting = runs.waiting(self._store, ROOM)
        except (StoreUnavailable, Damaged):
            return []  # who delivers notices says so, each second
        except Exception:
            log.exception("the queue could not be read")
            return []
        # What began is forgotten, and so is what waits for its site again: the engine may have
        # called for it in vain meanwhile.
        self._handed = {each.run: self._handed.get(each.run, Handed()) for each in waiting}
        now = time.monotonic()
        due = [each for each in waiting if self._handed[each.run].due <= now]
        return sorted(due, key=lambda each: self._handed[each.run].due)

    def _work(self, due: Collection[Queued]) -> None:
        try:
            end = time.monotonic() + PASS
            for queued in due:
                if self._stopping.is_set() or time.monotonic() > end:
                    break
                if not self._hand_over(queued):
                    return
            self._next_look = 0.0 if time.monotonic() > end else self._next_look
        except Exception:
            log.exception("a Run could not be handed over")

    def _hand_over(self, queued: Queued) -> bool:
        """Hand a Run over; whether the engine took it."""
        run, handed = ids.format_uuid(queued.run), self._handed[queued.run]
        about: dict[str, object] = {"dataset": queued.name, "run": run}
        problem = self._engine.take(run, self._stopping)
        if self._stopping.is_set() and problem:
            return False
        if problem:
            # The engine as a whole waits, for it may be away; and the Run by itself, for perhaps
            # it alone is refused, and the others are not to wait for it.
            handed.failures += 1
            self._failures += 1
            now = time.monotonic()
            handed.due = now + _doubled(RETRY, handed.failures, LONGEST_RETRY)
            self._next_look = now + _doubled(RETRY, self._failures, LONGEST_RETRY)
            message = "%s: its Run %s waits, for %s did not take it: %s"
            extra = {"event": "enqueue.failed", "fields": {**about, "failures": handed.failures}}
            log.warning(message, queued.name, run, self._engine.name, problem, extra=extra)
            return False
        handed.times += 1
        handed.failures = self._failures = 0
        handed.due = time.monotonic() + _doubled(AGAIN, handed.times, LONGEST)
        extra = {"event": "enqueue.handed_over", "fields": {**about, "times": handed.times}}
        again = "" if handed.times == 1 else f" again, time {handed.times}: it has not begun"
        log.info("%s is handed to %s%s", queued.name, self._engine.name, again, extra=extra)
        return True


def _doubled(seconds: float, times: int, most: float) -> float:
    """Seconds that double each time after the first."""
    return min(most, seconds * 2.0 ** min(times - 1, 30))
