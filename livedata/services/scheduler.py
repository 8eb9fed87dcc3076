"""What is due by its schedule is queued.

One transaction queues the Runs of a batch of fires, or notes why there is none, and moves their
schedules on: a process that dies in between has done all of it or nothing, so no fire is lost or
taken twice. What cannot be read of a batch is left out, and taken by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from msgspec import Struct

from livedata.model import ids
from livedata.model.errors import (
    Damaged,
    InsufficientCredits,
    LimitReached,
    LivedataError,
    NotFound,
    RunInProgress,
)
from livedata.model.ids import DatasetId, Micros, OwnerName
from livedata.services import fires, leases, runs
from livedata.services.accounts import room_for_runs, too_many_runs
from livedata.services.interruptions import reap_expired_leases
from livedata.services.notices import notifying
from livedata.services.runs import Queued
from livedata.store import accounts, datasets, digests, queue, recipes, schedules
from livedata.store.database.backend import SYMPTOMS, Reader, Writer
from livedata.store.database.store import Store
from livedata.store.queue import NewRun, RunOptions
from livedata.store.recipes import Basis
from livedata.store.schedules import Scheduled

BATCH = 100
TOO_MANY = "too_many_runs"
"""The reason of a fire that was skipped since its owner had as many open Runs as each may have."""
MOST_NAMED = 20
"""So many drafts are named that are left out."""
_UNREADABLE: tuple[type[Exception], ...] = (Damaged, *SYMPTOMS)


class Fire(Struct, frozen=True):
    """A fire that was taken: its Run, or why it has none."""

    dataset: str
    queued: Queued | None
    refusal: LivedataError | None = None
    waited: bool = False
    """Whether its Run is one that was waiting already."""


class Due(Struct, frozen=True):
    """What a scheduler has to do; `origin` is where the store's clock stood when the machine's own
    clock, which nobody sets, was 0."""

    origin: Micros
    runs: bool
    """Whether a fire is due, or a Run was lost."""
    digests: bool


def due(store: Store) -> Due:
    """What is due, of all owners. Raises StoreUnavailable."""
    # One transaction for all: it is asked every few seconds, and nearly always for nothing.
    with store.reading() as reader:
        now = reader.now()
        fires_due = schedules.due(reader, now, None, 1) or leases.lost(reader)
        return Due(Micros(now - ids.ticks()), bool(fires_due), bool(digests.due(reader, now)))


class _Batch(Struct):
    """What one transaction has taken, and what it has left out, by (fire, dataset)."""

    seen: Sequence[tuple[Micros, DatasetId]]
    fires: list[Fire] = []
    unread: list[DatasetId] = []


def tick(
    store: Store, zone: str, enough: Callable[[], bool] = lambda: False, spread: float = 0
) -> Iterator[Fire]:
    """Take every fire that is due, of all owners. Raises StoreUnavailable.

    `enough` is asked after each batch whether to leave the rest for later. The next fires of one
    moment are spread over so many seconds.
    """
    last, reaped = None, False
    while True:
        batch = _take_batch(store, zone, last, spread, unless_lost=not reaped)
        if batch is None:
            # First, so that the Run of a process that is gone does not count as one in progress.
            reap_expired_leases(store)
        reaped = True
        if batch is None:
            continue
        yield from batch.fires
        for dataset in batch.unread:
            with suppress(NotFound):  # it was deleted meanwhile
                taken = take_fire(store, dataset, zone, executes=False)
                if taken is not None:
                    yield taken
        if len(batch.seen) < BATCH or enough():
            return
        last = batch.seen[-1]


def _take_batch(
    store: Store,
    zone: str,
    last: tuple[Micros, DatasetId] | None,
    spread: float,
    *,
    unless_lost: bool,
) -> _Batch | None:
    """Take the fires behind the last one that were due longest, of datasets that are free.

    None are taken, and None is answered, `unless_lost` if Runs were lost.
    """
    try:
        with store.writing() as writer:
            now = writer.now()
            lost = leases.ask_lost(writer) if unless_lost else dict
            claimed = schedules.claim(writer, now, last, BATCH)
            if lost():
                return None
            batch = _Batch([(Micros(each.next_run_at or 0), each.id) for each in claimed])
            if claimed:
                _take_claimed(writer, claimed, batch, _Clock(now, zone, spread))
            return batch
    except Damaged:
        if unless_lost:
            reap_expired_leases(store)
        # Somebody has written what no text or number is: who of them shows by itself.
        with store.reading() as reader:
            seen = schedules.due(reader, reader.now(), last, BATCH)
        return _Batch(seen, unread=[dataset for _, dataset in seen])


class _Clock(Struct, frozen=True):
    """When fires are taken, and how the next ones are reckoned."""

    now: Micros
    zone: str
    spread: float

    def following(self, dataset: Scheduled, fire: Micros) -> Micros:
        """The fire after one that is taken now."""
        return fires.following(dataset, fire, self.now, self.zone, self.spread)


def _take_claimed(
    writer: Writer, claimed: Sequence[Scheduled], batch: _Batch, clock: _Clock
) -> None:
    """Queue the Runs of datasets that this transaction has locked."""
    ids_of = [each.id for each in claimed]
    bases = recipes.ask_bases(writer, ids_of)()
    room = _room(writer, claimed)
    planned: dict[DatasetId, Micros] = {}
    added: list[NewRun] = []
    skips: list[tuple[Scheduled, Micros, str]] = []
    for dataset in claimed:
        try:
            moment = fires.next_fire(dataset, clock.now, clock.zone)
            after = moment if moment > clock.now else clock.following(dataset, moment)
            basis = bases[dataset.id]
            run = runs.prepare(dataset.id, basis)
        except _UNREADABLE:
            batch.unread.append(dataset.id)
            continue
        planned[dataset.id] = after
        if moment > clock.now:
            continue
        fire, reason = _judge(writer, dataset, run, basis, room)
        batch.fires.append(fire)
        if reason is not None:
            skips.append((dataset, moment, reason))
        if fire.queued is not None and basis.open is None:
            added.append(run)
    schedules.plan_each(writer, planned, clock.zone)
    queue.add_each(writer, added, clock.now)
    if added:
        queue.call(writer)
    _skip_each(writer, skips)


def _room(writer: Writer, claimed: Sequence[Scheduled]) -> dict[OwnerName, int]:
    """Owner -> how many more Runs may be open, of those with a limit: they are locked for it."""
    owners = sorted({each.owner for each in claimed})
    limited = [owner for owner in owners if writer.limits.of(owner).runs is not None]
    for owner in limited:
        accounts.lock_owner(writer, owner)
    return room_for_runs(writer, limited)


def _judge(
    writer: Writer,
    dataset: Scheduled,
    run: NewRun,
    basis: Basis,
    room: dict[OwnerName, int],
) -> tuple[Fire, str | None]:
    """What comes of a fire, and why it has no Run of its own, if so."""
    if (waits := basis.open) is not None:
        if waits.status == "running" and leases.is_live(writer, waits.lease):
            return Fire(dataset.name, None, runs.in_progress(dataset.name)), "run_in_progress"
        queued = Queued(waits.id, dataset.id, dataset.name, waits.isolated, taken_up=True)
        return Fire(dataset.name, queued, waited=True), "run_waiting"
    if basis.balance <= 0:
        return Fire(dataset.name, None, runs.without_credits(dataset.owner)), schedules.NO_CREDITS
    if dataset.owner in room:
        if not room[dataset.owner]:
            return Fire(dataset.name, None, too_many_runs(writer, dataset.owner)), TOO_MANY
        room[dataset.owner] -= 1
    return Fire(dataset.name, Queued(run.id, dataset.id, dataset.name)), None


def _skip_each(writer: Writer, skips: Sequence[tuple[Scheduled, Micros, str]]) -> None:
    """Note the fires that are skipped, and tell of them."""
    # The only ones whose owners are locked: a fire that queues a Run charges and tells nothing. In
    # one order, so that two who lock several owners never wait for each other.
    for owner in sorted({dataset.owner for dataset, _, _ in skips}):
        accounts.lock_owner(writer, owner)
    for dataset, moment, reason in skips:
        _skip(writer, dataset, moment, reason)


class Drafts(Struct, frozen=True):
    """The drafts with a schedule, which nobody runs: the names of some, and if there are others."""

    names: Sequence[str]
    are_more: bool


def claim_due(
    store: Store,
    owner: OwnerName,
    zone: str = "UTC",
    options: RunOptions = RunOptions(),  # noqa: B008  (it is frozen)
) -> tuple[list[Queued], Drafts, list[tuple[str, LivedataError]]]:
    """Take up the due Runs of an owner: those, the drafts that are left out, and the failures.

    A dataset without a schedule is always due, an active one with a schedule when it fires, and a
    paused one never. A draft with a schedule is left out. A failure is (name, error). New Runs have
    the `options`.
    """
    reap_expired_leases(store)
    with store.reading() as reader:
        now = reader.now()
        looked_at = {each.id: each for each in schedules.to_look_at(reader, owner, now)}
        for each in _misplanned(reader, now, zone):
            if each.owner == owner:
                looked_at[each.id] = each
        left = Drafts(*schedules.left_out(reader, owner, MOST_NAMED))
    due: list[Queued] = []
    failed: list[tuple[str, LivedataError]] = []
    for dataset in sorted(looked_at.values(), key=lambda each: each.name):
        try:
            if dataset.schedule is None:
                due.append(runs.take_up(store, owner, dataset.id, dataset.name, options))
            # Most datasets are not due: to ask costs no lock.
            elif _moves(dataset, now, zone):
                fire = take_fire(store, dataset.id, zone, options)
                if fire and fire.queued:
                    due.append(fire.queued)
                elif fire and fire.refusal:
                    failed.append((dataset.name, fire.refusal))
        except (NotFound, RunInProgress, InsufficientCredits, LimitReached, Damaged) as error:
            # Not found is a dataset that was deleted after it was listed here.
            failed.append((dataset.name, error))
    return due, left, failed


def replan(store: Store, zone: str) -> None:
    """Move the next fires that the time zone, or a clock that was ahead, has put wrong."""
    with store.reading() as reader:
        now = reader.now()
        wrong = [each.id for each in _misplanned(reader, now, zone)]
    for start in range(0, len(wrong), BATCH):
        with store.writing() as writer:
            moments = {}
            for each in schedules.claim_each(writer, wrong[start : start + BATCH]):
                with suppress(Damaged):  # told when it fires
                    moment = fires.next_fire(each, now, zone)
                    # What is due stays due: the next tick takes it.
                    if moment > now and (each.next_run_at, each.next_run_zone) != (moment, zone):
                        moments[each.id] = moment
            schedules.plan_each(writer, moments, zone)


def _misplanned(reader: Reader, now: Micros, zone: str) -> Iterator[Scheduled]:
    """The active datasets whose next fire may be wrong, or cannot be reckoned."""
    for schedule, unknown, last in schedules.kinds(reader, zone):
        latest = fires.latest(schedule, now, zone)
        # Nearly always none is: of all schedules that is one question.
        if unknown or latest is None or (last or 0) > latest:
            yield from schedules.misplanned(reader, schedule, zone, latest)


def take_fire(
    store: Store,
    dataset: DatasetId,
    zone: str,
    options: RunOptions = RunOptions(),  # noqa: B008  (it is frozen)
    *,
    executes: bool = True,
) -> Fire | None:
    """Take the fire of an active dataset if it is due, and move its schedule on.

    None if it is not due, or another process was faster. A next fire that was wrong is put right.
    Who `executes` not calls a crawl worker to the Run, and leaves a dataset that somebody else has
    locked. Raises NotFound.
    """
    lock = datasets.lock_dataset if executes else datasets.lock_free_dataset
    try:
        with store.writing() as writer:
            locked = lock(writer, dataset)
            if locked is None:
                return None
            accounts.lock_owner(writer, locked.owner)
            # Read under the lock: what was read before may have been taken since.
            scheduled = schedules.scheduled(writer, dataset)
            if scheduled.status != "active" or scheduled.schedule is None:
                return None
            now = writer.now()
            moment = fires.next_fire(scheduled, now, zone)
            if moment > now:
                # Who loses a race finds the fire as the other one has planned it.
                if (scheduled.next_run_at, scheduled.next_run_zone) != (moment, zone):
                    schedules.plan(writer, dataset, moment, zone)
                return None
            schedules.plan(writer, dataset, fires.following(scheduled, moment, now, zone), zone)
            fire = _queue(writer, scheduled, moment, options)
            # To one that waits crawl workers were called when it was queued.
            if fire.queued and not fire.waited and not executes:
                queue.call(writer)
            return fire
    except Damaged as error:
        return _pass_over(store, dataset, zone, error)


def _moves(dataset: Scheduled, now: Micros, zone: str) -> bool:
    """Whether a dataset is due, or its next fire was put wrong."""
    moment = fires.next_fire(dataset, now, zone)
    noted = (dataset.next_run_at, dataset.next_run_zone)
    return moment <= now or noted != (moment, zone)


def _queue(writer: Writer, dataset: Scheduled, moment: Micros, options: RunOptions) -> Fire:
    """Queue the Run of a fire, or note why it has none of its own."""
    waiting = queue.open_run(writer, dataset.id)
    try:
        owner, name = dataset.owner, dataset.name
        queued = runs.take_up_locked(writer, owner, dataset.id, name, options)
    except RunInProgress as error:
        _skip(writer, dataset, moment, "run_in_progress")
        return Fire(dataset.name, None, error)
    except InsufficientCredits as error:
        _skip(writer, dataset, moment, schedules.NO_CREDITS)
        return Fire(dataset.name, None, error)
    except LimitReached as error:
        _skip(writer, dataset, moment, TOO_MANY)
        return Fire(dataset.name, None, error)
    if waiting is not None:
        _skip(writer, dataset, moment, "run_waiting")
    return Fire(dataset.name, queued, waited=waiting is not None)


def _skip(writer: Writer, dataset: Scheduled, moment: Micros, reason: str) -> None:
    """Note that a fire is skipped, and tell it; the dataset and its owner are locked."""
    schedules.skip(writer, dataset.id, moment, reason)
    notifying.tell_skipped(writer, dataset.id, dataset.owner, dataset.name)


def _pass_over(store: Store, dataset: DatasetId, zone: str, damaged: Damaged) -> Fire:
    """Pass over a fire of a dataset that cannot be read, so that it does not come again at once."""
    with store.writing() as writer:
        accounts.lock_owner(writer, datasets.lock_dataset(writer, dataset).owner)
        scheduled, now = schedules.scheduled(writer, dataset), writer.now()
        moment = scheduled.next_run_at or now
        _skip(writer, scheduled, moment, "damaged")
        try:
            schedules.plan(writer, dataset, fires.following(scheduled, moment, now, zone), zone)
        except Damaged:
            # Without a next fire it is not asked again; whoever mends the schedule gives it one.
            schedules.plan(writer, dataset, None, zone)
    return Fire(scheduled.name, None, damaged)
