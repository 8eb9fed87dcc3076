"""The life of a look once it is queued: begin, renew, finish, give back; by the rules of Runs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct

from livedata.model.errors import LostLease
from livedata.model.ids import LookId
from livedata.model.look import LookTask, PageLook
from livedata.services import leases
from livedata.services.interruptions import MAX_ATTEMPTS
from livedata.store import looks
from livedata.store.database.backend import Writer
from livedata.store.database.store import Store
from livedata.store.looks import StoredLook

LOST = (
    "livedata was interrupted {attempts} times while it looked at this page, so it has given up: "
    "the page may be too much for it. Try it again, or another page of the site."
)


class LookAttempt(Struct, frozen=True):
    """One start of a look: what to do, and the fence that its writes name."""

    look: LookId
    fence: int
    task: LookTask


def begin(store: Store) -> LookAttempt | None:
    """Start the look that waits longest; None if none waits."""
    with store.reading() as reader:
        if not looks.waits(reader):
            return None
    with store.writing() as writer:
        now = writer.now()
        started = looks.start(writer, leases.new_lease(now), now)
        return None if started is None else LookAttempt(*started)


def renew(store: Store, attempt: LookAttempt, far: str | None) -> None:
    """Renew the lease of an attempt, and note how far it is. Raises LostLease if it is gone."""
    with store.writing() as writer:
        looks.renew(writer, attempt.look, attempt.fence, leases.new_lease(writer.now()), far)


def is_wanted(store: Store, attempt: LookAttempt) -> bool:
    """Whether an attempt is to go on: nobody has stopped its look, or taken it over."""
    with store.reading() as reader:
        return looks.is_held(reader, attempt.look, attempt.fence)


def finish(
    store: Store,
    attempt: LookAttempt,
    *,
    seen: PageLook | None = None,
    tried: Mapping[str, Any] | None = None,
    error: str | None = None,
) -> None:
    """End a look with what was seen or tried, or why neither. Raises LostLease."""
    with store.writing() as writer:
        looks.end(writer, attempt.look, attempt.fence, seen=seen, tried=tried, error=error)


def give_back(store: Store, attempt: LookAttempt) -> None:
    """Queue a look again after a graceful stop; the attempt does not count. Raises LostLease."""
    with store.writing() as writer:
        for look in looks.running(writer):
            if look.id == attempt.look:
                looks.put(writer, look.id, attempt.fence, look.attempt - 1)


def lose(store: Store, attempt: LookAttempt) -> None:
    """Queue a look again whose process has died, or end it after the last attempt."""
    with store.writing() as writer:
        for look in looks.running(writer):
            if (look.id, look.fence) == (attempt.look, attempt.fence):
                _take_back(writer, look)


def take_back(store: Store) -> None:
    """Do the same with each look whose worker is gone or whose lease is over."""
    with store.reading() as reader:
        seen = [look.id for look in looks.running(reader) if not leases.is_live(reader, look.lease)]
    if not seen:
        return
    with store.writing() as writer:
        for look in looks.running(writer):
            # Asked again: another process may have taken it back, and begun it, meanwhile.
            if look.id in seen and not leases.is_live(writer, look.lease):
                with suppress(LostLease):
                    _take_back(writer, look)


def _take_back(writer: Writer, look: StoredLook) -> None:
    if look.attempt < MAX_ATTEMPTS:
        looks.put(writer, look.id, look.fence, look.attempt)
    else:
        looks.end(writer, look.id, look.fence, error=LOST.format(attempts=look.attempt))
