"""The life of a Run in the store: every write of an attempt is fenced."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete, func, insert, select, update

from livedata.model.diagnosis.explanation import PageCounts
from livedata.model.errors import LostLease
from livedata.model.harvest import PageSnapshot
from livedata.model.ids import new_id
from livedata.store.codec import dump
from livedata.store.engine import Writer
from livedata.store.tables import AttemptRecord, FailedPageRecord, HeldRecord, RunRecord, table

_runs = table(RunRecord)
_attempts = table(AttemptRecord)
_held_outputs = table(HeldRecord)
_failed_pages = table(FailedPageRecord)

LEASE = 60_000_000
"""How long a start or a heartbeat keeps a Run, in microseconds."""

_RUNNING = _runs.c.status == "running"


def add(writer: Writer, dataset: bytes, recipe_version: int, site: str, at: int) -> bytes:
    """A queued Run; its id. IntegrityError where the dataset has an open one."""
    run = new_id()
    writer.execute(
        insert(_runs).values(
            id=run,
            dataset_id=dataset,
            recipe_version=recipe_version,
            site=site,
            status="queued",
            checks="[]",
            queued_at=at,
        )
    )
    return run


def start(writer: Writer, run: bytes, holder: str, at: int) -> tuple[int, int]:
    """Take a queued Run: its (fence, attempt number). IntegrityError where its site is busy.

    Raises LostLease where it is not queued any more.
    """
    row = writer.execute(
        update(_runs)
        .where(_runs.c.id == run, _runs.c.status == "queued")
        .values(
            status="running",
            attempt=_runs.c.attempt + 1,
            fence=_runs.c.fence + 1,
            lease_owner=holder,
            lease_until=at + LEASE,
            turn=_runs.c.site,
            started_at=func.coalesce(_runs.c.started_at, at),
        )
        .returning(_runs.c.fence, _runs.c.attempt)
    ).one_or_none()
    if row is None:
        raise LostLease
    return row[0], row[1]


def fenced(writer: Writer, run: bytes, fence: int, **values: Any) -> None:
    """Set columns of a running Run; LostLease unless the fence is still this attempt's."""
    changed = writer.execute(
        update(_runs).where(_runs.c.id == run, _runs.c.fence == fence, _RUNNING).values(**values)
    ).rowcount
    if changed != 1:
        raise LostLease


def change(writer: Writer, run: bytes, **values: Any) -> None:
    """Set columns of a Run that no attempt holds."""
    writer.execute(update(_runs).where(_runs.c.id == run).values(**values))


def end_queued(writer: Writer, run: bytes, **values: Any) -> None:
    """End a Run before its first attempt, unless somebody has just started it."""
    writer.execute(
        update(_runs).where(_runs.c.id == run, _runs.c.status == "queued").values(**values)
    )


def add_attempt(writer: Writer, run: bytes, number: int, at: int) -> bytes:
    """A new attempt; one of the same number that was given back is taken again. Its id."""
    writer.execute(
        delete(_attempts).where(
            _attempts.c.run_id == run,
            _attempts.c.number == number,
        )
    )
    attempt = new_id()
    writer.execute(insert(_attempts).values(id=attempt, run_id=run, number=number, started_at=at))
    return attempt


def end_attempt(writer: Writer, attempt: bytes, at: int, steps: str) -> None:
    """Close an attempt with its steps."""
    writer.execute(
        update(_attempts).where(_attempts.c.id == attempt).values(ended_at=at, steps=steps)
    )


def hold(writer: Writer, run: bytes, harvest: bytes, until: int) -> None:
    """Keep the output of a Run for a person to judge."""
    writer.execute(insert(_held_outputs).values(run_id=run, harvest=harvest, kept_until=until))


def forget_held(writer: Writer, dataset: bytes, run: bytes, at: int) -> None:
    """Let go of what a dataset held up to an accepted Run, and what was kept long enough anywhere.

    A person may accept an older Run while a newer one is held: that one stays.
    """
    queued = select(_runs.c.queued_at).where(_runs.c.id == run).scalar_subquery()
    runs = select(_runs.c.id).where(_runs.c.dataset_id == dataset, _runs.c.queued_at <= queued)
    writer.execute(
        delete(_held_outputs).where(
            _held_outputs.c.run_id.in_(runs) | (_held_outputs.c.kept_until < at)
        )
    )


def keep_page(
    writer: Writer, run: bytes, page: PageSnapshot, counts: PageCounts | None, until: int
) -> None:
    """Keep the page that stopped a Run."""
    writer.execute(
        insert(_failed_pages).values(
            run_id=run,
            number=page.number,
            url=page.url,
            final_url=page.final_url,
            status=page.status,
            title=page.title,
            markup=zlib.compress(page.markup),
            cut=page.cut,
            counts=None if counts is None else dump(counts),
            screenshot=page.screenshot,
            kept_until=until,
        )
    )


def forget_page(writer: Writer, run: bytes) -> None:
    """Let go of the page that stopped a Run: it was accepted after all."""
    writer.execute(delete(_failed_pages).where(_failed_pages.c.run_id == run))


def forget_old(writer: Writer, before: int, at: int) -> int:
    """Drop the steps of attempts that started before a moment, and the pages kept up to `at`.

    How many attempts lost theirs.
    """
    writer.execute(delete(_failed_pages).where(_failed_pages.c.kept_until < at))
    return writer.execute(
        update(_attempts)
        .where(_attempts.c.started_at < before, _attempts.c.steps.is_not(None))
        .values(steps=None)
    ).rowcount


def set_alone(writer: Writer, runs: Sequence[bytes]) -> None:
    """Put Runs that crashed together back into the queue, each to be started by itself."""
    writer.execute(
        update(_runs)
        .where(_runs.c.id.in_(runs))
        .values(
            status="queued",
            attempt=_runs.c.attempt - 1,
            alone=True,
            lease_owner=None,
            lease_until=None,
        )
    )
