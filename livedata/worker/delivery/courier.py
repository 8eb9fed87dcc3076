"""Delivers what waits in the outbox; several processes may do so at once."""

from __future__ import annotations

import logging
import time
from importlib import import_module
from threading import Event, Lock, Thread
from typing import Protocol, cast

from livedata.config import Settings
from livedata.messages.render import sentence
from livedata.messages.request import invalid
from livedata.model.errors import Damaged, Detail, LivedataError
from livedata.model.problem import Problem
from livedata.rules.declaration.notices import LONGEST_ADDRESS, channel_of
from livedata.rules.network.targets import TargetPolicy
from livedata.services.notices import delivering
from livedata.services.notices.cloud_events import CloudEvent
from livedata.services.notices.delivering import FIRST_PAUSE, Delivery
from livedata.store.database.store import Store
from livedata.store.notices import Notice

AT_ONCE = 4
"""How many streams are delivered at the same time: a receiver that hangs holds up one place."""
SOON = 5.0
"""The seconds in which a command that has caused messages begins to deliver them."""

log = logging.getLogger("livedata.notices")


class Deliverer(Protocol):
    """What the module of a channel has."""

    def send(
        self, notice: Notice, event: CloudEvent, targets: TargetPolicy, stopping: Event, /
    ) -> Problem | None:
        """Deliver an event; why that failed, or None if it was taken.

        It ends after some seconds whatever the receiver does, or soon after `stopping` is set.
        """

    def check(self, target: str, targets: TargetPolicy, /) -> None:
        """Raise Invalid, with a detail of the channel, for a target that cannot be."""


class Courier:
    """Delivers what is due when it is asked to, in threads of its own.

    `pause` is how long a message waits after its first failure, in microseconds, and `public_url`
    where the API is reached from outside, if that is known.
    """

    def __init__(
        self,
        store: Store,
        targets: TargetPolicy,
        pause: int = FIRST_PAUSE,
        *,
        public_url: str = "",
    ) -> None:
        self._store = store
        self._targets = targets
        self._pause = pause
        self._public_url = public_url
        self._stopping = Event()
        self._lock = Lock()
        self._busy = 0

    @classmethod
    def of(cls, store: Store, settings: Settings) -> Courier:
        """The courier of a command that has caused messages."""
        targets = TargetPolicy.parse(settings.allow_hosts)
        return cls(store, targets, public_url=settings.public_url)

    def begin_stop(self) -> None:
        """Stop after what is being sent, and wait for nothing; a command is killed."""
        self._stopping.set()

    def finish_stop(self, deadline: float) -> None:
        """Wait until it has stopped; `deadline` is of the monotonic clock."""
        while self._busy and time.monotonic() < deadline:
            time.sleep(0.01)

    def deliver_soon(self) -> None:
        """Deliver what is due in this thread, and begin nothing more after some seconds."""
        end = time.monotonic() + SOON
        while time.monotonic() < end and self._deliver_one():
            pass

    def dispatch(self) -> None:
        """Begin to deliver what is due, if there is a place for it."""
        for _ in range(min(self._waiting(), AT_ONCE - self._busy)):
            self._begin_to_drain()

    def _begin_to_drain(self) -> None:
        with self._lock:
            self._busy += 1
        try:
            Thread(target=self._drain, name="courier", daemon=True).start()
        except RuntimeError as error:
            # The machine has no room for a thread just now; the next look tries again.
            with self._lock:
                self._busy -= 1
            log.warning("notices cannot be delivered: %s", error)

    def _waiting(self) -> int:
        try:
            return delivering.waiting(self._store)
        except LivedataError as error:
            log.warning("%s", error.message, extra={"event": "store.unavailable"})
        except Exception:
            log.exception("the outbox could not be read")
        return 0

    def _drain(self) -> None:
        try:
            while not self._stopping.is_set() and self._deliver_one():
                pass
        finally:
            with self._lock:
                self._busy -= 1

    def _deliver_one(self) -> bool:
        """Deliver the message that is due longest; False if none is, or the store is away."""
        try:
            delivery = delivering.take(self._store, self._public_url)
            if delivery is not None:
                self._deliver(delivery)
        except Damaged as error:
            # The others go on: the stream of this one is leased for a while.
            log.warning("%s", error.message, extra={"event": "store.damaged"})
            return True
        except LivedataError as error:
            # Whatever was sent and could not be noted is sent again.
            log.warning("%s", error.message, extra={"event": "store.unavailable"})
            return False
        except Exception:
            log.exception("a notice could not be delivered")
            return False
        return delivery is not None

    def _deliver(self, delivery: Delivery) -> None:
        notice = delivery.notice
        # In no transaction: a receiver may take its time.
        problem = send(notice, delivery.event, self._targets, self._stopping)
        if problem is None:
            delivering.succeeded(self._store, delivery)
            _tell(delivery, "notice.sent", "delivered")
        elif problem.code == "notice.gone":
            delivering.unwanted(self._store, delivery, problem)
            _tell(delivery, "notice.off", sentence(problem))
        elif problem.code == "notice.stopped":
            delivering.put_back(self._store, delivery)
        else:
            delivering.failed(self._store, delivery, problem, self._pause)
            _tell(delivery, "notice.failed", sentence(problem))


def _tell(delivery: Delivery, event: str, said: str) -> None:
    name, kind = delivery.notice.name, delivery.message.kind
    fields = {"notice": name, "kind": kind, "id": delivery.event.id}
    level = logging.INFO if event == "notice.sent" else logging.WARNING
    log.log(level, "notice %s (%s): %s", name, kind, said, extra={"event": event, "fields": fields})


def send(
    notice: Notice, event: CloudEvent, targets: TargetPolicy, stopping: Event
) -> Problem | None:
    """Deliver an event; why that failed, or None if it was taken."""
    try:
        return _deliverer(notice.channel).send(notice, event, targets, stopping)
    except Exception as error:  # noqa: BLE001  (a message that fails is tried again)
        # Only its kind is told: its words may hold the address, and that a password.
        log.error("notice %s: %s", notice.name, type(error).__name__)  # noqa: TRY400
        return Problem("notice.fault", {"reason": type(error).__name__})


def check(channel: str, target: str, targets: TargetPolicy) -> None:
    """Judge a target before it is kept.

    Raises Invalid, whose detail goes on after the name of the channel, for an address or a command
    that cannot be, and LivedataError where Apprise is missing.
    """
    if not target.strip():
        raise invalid([Detail(channel, "is empty")])
    if channel_of(channel).is_address and len(target) > LONGEST_ADDRESS:
        raise invalid([Detail(channel, f"must be at most {LONGEST_ADDRESS:,} characters")])
    _deliverer(channel).check(target, targets)


def _deliverer(channel: str) -> Deliverer:
    """The module of a channel, which is imported only where one delivers or is judged."""
    return cast("Deliverer", import_module(channel_of(channel).delivers))
