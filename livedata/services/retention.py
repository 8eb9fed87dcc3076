"""What is kept for a time only, and let go of when that is over."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from livedata.model.ids import DatasetId, Micros, RunId
from livedata.model.run import FACTS_KEPT_FOR, KEPT_FOR
from livedata.store import (
    attempts,
    held,
    looks,
    outbox,
    rows,
    runs,
    schedules,
    shown_runs,
)
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.statements import Expiring
from livedata.store.database.store import Database, Store
from livedata.store.research import expiring

BATCH = 100
"""How much one transaction lets go of: who wants to write waits for some milliseconds."""
STEP = 200
"""Of how many datasets one question asks what may go."""

_BY_AGE: Sequence[tuple[str, Expiring, int]] = (
    ("steps", attempts.OLD_STEPS, KEPT_FOR),
    # These say themselves until when they are kept.
    ("failedPages", held.OLD_PAGES, 0),
    ("heldOutputs", held.OLD_OUTPUTS, 0),
    ("skippedFires", schedules.OLD_SKIPPED, KEPT_FOR),
    ("messages", outbox.OLD_MESSAGES, KEPT_FOR),
    ("looks", looks.OLD, looks.KEPT_FOR),
    ("artifacts", expiring.OLD_ARTIFACTS, KEPT_FOR),
    ("research", expiring.OLD_STEPS, KEPT_FOR),
    ("research", expiring.OLD_ACCEPTED_STEPS, FACTS_KEPT_FOR),
    ("research", expiring.OLD_MEMORIES, KEPT_FOR),
    # After all that refers to them.
    ("research", expiring.OLD_BODIES, KEPT_FOR),
)
"""The kind, where it is kept, and for how long, in microseconds."""
FACTS = "facts"


def forget_old(store: Store, enough: Callable[[], bool] = lambda: False) -> Counter[str]:
    """Let go of what was kept long enough, of all datasets; kind -> how much has gone.

    Rows, history, evidence, Runs and the ledger stay, and so does all that a Run which is open or
    held needs. `enough` is asked after each transaction whether to leave the rest for later.
    """
    counts: Counter[str] = Counter()
    # The store's clock says until when something is kept: that of one machine may be days ahead.
    with store.reading() as reader:
        now = reader.now()
    for kind, count in _forget(store, now):
        counts[kind] += count
        if enough():
            break
    return counts


def count_old(db: Database) -> Mapping[str, int]:
    """Kind -> how much of it :func:`forget_old` would let go of now."""
    with db.reading() as reader:
        now = reader.now()
        counts: Counter[str] = Counter()
        for kind, aged, kept_for in _BY_AGE:
            counts[kind] += aged.count(reader, now - kept_for)
    return {**counts, FACTS: sum(map(len, _old_facts(db, now)))}


def _forget(store: Store, now: Micros) -> Iterator[tuple[str, int]]:
    """Let go of what is old; (kind, how much) after each transaction."""
    for kind, aged, kept_for in _BY_AGE:
        count = BATCH
        while count == BATCH:
            with _politely(store) as writer:
                count = aged.forget(writer, now - kept_for, BATCH)
            yield kind, count
    count = BATCH
    while count == BATCH:
        with _politely(store) as writer:
            count = shown_runs.note_followed(writer, BATCH)
        yield FACTS, 0
    for old in _old_facts(store, now):
        # Also after a step that has found nothing: there may be very many of them.
        yield FACTS, 0
        for start in range(0, len(old), BATCH):
            batch = old[start : start + BATCH]
            with _politely(store) as writer:
                runs.forget_facts(writer, batch)
            yield FACTS, len(batch)


@contextmanager
def _politely(store: Store) -> Iterator[Writer]:
    """A transaction that writes, and then as much time for others."""
    began = time.monotonic()
    with store.writing() as writer:
        yield writer
    # SQLite keeps no queue of those who wait for its lock: who asks again at once gets it again.
    time.sleep(time.monotonic() - began)


def _old_facts(db: Database, now: Micros) -> Iterator[list[RunId]]:
    """The accepted Runs whose facts nobody needs any more, of some datasets after the others."""
    before = Micros(now - FACTS_KEPT_FOR)
    with db.reading() as reader:
        compared, unread = runs.compared_with(reader, now)
    after, more = DatasetId(b""), True
    while more:
        with db.reading() as reader:
            end = runs.further(reader, after, STEP)
            # What cannot be read may name any of its Runs: they stay, and no other dataset's.
            old = [
                run
                for dataset in runs.with_old_facts(reader, before, after, end)
                if dataset not in unread
                for run in _forgotten(reader, dataset, before, compared)
            ]
        yield old
        after, more = end or after, end is not None


def _forgotten(
    reader: Reader, dataset: DatasetId, before: Micros, compared: set[RunId]
) -> list[RunId]:
    """The Runs of a dataset whose facts may go.

    The newest that is old stays: the Runs that are not old are compared with it, and with each
    other. A clock that was set back puts Runs in another order than that in which they were
    accepted, so what they themselves say is asked too.
    """
    old = runs.accepted_with_facts(reader, dataset, before)[1:]
    if not old:
        return []
    needed = {*compared, rows.last_accepted_run(reader, dataset)}
    return [run for run in old if run not in needed]
