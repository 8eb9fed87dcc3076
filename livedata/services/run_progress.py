"""How a Run that is not over gets on: since when, how far it has come, and what it waits for."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from livedata.messages.run_end import waiting_sentence
from livedata.model.ids import RunId, format_timestamp
from livedata.services.leases import is_live
from livedata.store import queue, shown_runs, site_turns
from livedata.store.database.backend import Reader
from livedata.store.queue import OpenRun
from livedata.store.shown_runs import Progress

WaitCode: TypeAlias = Literal[
    "worker", "retry", "turn", "place", "other_site", "lost", "cancelling", "cancelling_lost"
]


class RunWait(Struct, frozen=True):
    """What a Run waits for: a code, and a sentence for a person."""

    code: WaitCode
    sentence: str


class RunProgress(Struct, frozen=True):
    """A Run that is queued or running, and since when.

    `seconds` have gone by since then; `waits` is None of one that reads its pages.
    """

    since: str
    seconds: float
    so_far: Progress | None
    waits: RunWait | None
    cancelling: bool


def run_progress(reader: Reader, run: RunId) -> RunProgress | None:
    """How a Run gets on; None if it is over."""
    waits = queue.open_by_id(reader, run)
    if waits is None:
        return None
    since = waits.started
    if waits.status == "queued" or since is None:
        since = waits.queued
    code = _waits_for(reader, waits)
    # No less than nothing, whatever the clock does.
    gone = max(0, reader.now() - since)
    return RunProgress(
        format_timestamp(since),
        gone / 1_000_000,
        shown_runs.progress_so_far(reader, run) if waits.status == "running" else None,
        None if code is None else _told(code, queue.site(reader, run), waits.attempt),
        waits.cancelling,
    )


def _told(code: WaitCode, site: str, attempt: int) -> RunWait:
    return RunWait(code, waiting_sentence(code, site, attempt))


def _waits_for(reader: Reader, run: OpenRun) -> WaitCode | None:
    if run.status == "running":
        return _holds_up(reader, run)
    site = queue.site(reader, run.id)
    if queue.is_busy(reader, site):
        return "turn"
    if site_turns.first(reader, site) != run.id:
        return "place"
    return "retry" if run.attempt else "worker"


def _holds_up(reader: Reader, run: OpenRun) -> WaitCode | None:
    """What keeps a Run in progress from reading on."""
    live = is_live(reader, run.lease)
    if run.cancelling:
        return "cancelling" if live else "cancelling_lost"
    if not live:
        return "lost"
    # It gives its turn up while it waits for that of another site.
    return "other_site" if queue.turn(reader, run.id) is None else None
