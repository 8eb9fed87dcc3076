"""Acts on Runs: enqueue one, take it up, accept a held one, cancel."""

from __future__ import annotations

import hashlib
from typing import Final

from msgspec import Struct

from livedata.messages.render import statement
from livedata.model import ids
from livedata.model.errors import (
    Conflict,
    InsufficientCredits,
    RunInProgress,
)
from livedata.model.ids import DatasetId, Micros, OwnerName, RunId
from livedata.model.problem import Problem, Remedy, problem_of
from livedata.rules.diagnosis.run_facts import oddities, row_placement
from livedata.rules.network.targets import site_of
from livedata.services.accounts import check_open_runs
from livedata.services.commit import CANCELLED, DatasetAtEnd, Overdrawn, accept_harvest, ended
from livedata.services.interruptions import reap_expired_leases
from livedata.services.kinds import choice as kinds
from livedata.services.leases import is_live
from livedata.services.notices import notifying
from livedata.store import accounts, datasets, held, queue, recipes, revisions, rows, schedules
from livedata.store import runs as run_store
from livedata.store.database.backend import AlreadyThere, Reader, Writer
from livedata.store.database.codec import SOURCE, dump, dump_compressed
from livedata.store.database.store import Store
from livedata.store.queue import NewRun, RunOptions, WaitingRun
from livedata.store.recipes import Basis
from livedata.store.runs import LockedRun

DAY: Final = 86_400 * 1_000_000
"""How long an idempotency key is known, in microseconds."""


class Queued(Struct, frozen=True):
    """A Run to execute; `isolated` if it was lost together with others: it starts alone.

    A crawl worker lets a process of its own execute that one, and `livedata run` does it last.

    It is `taken_up` if it was open before somebody asked for it.
    """

    run: RunId
    dataset: DatasetId
    name: str
    isolated: bool = False
    taken_up: bool = False


def enqueue(
    store: Store, owner: OwnerName, dataset: DatasetId, key: str | None = None
) -> tuple[str, int]:
    """Enqueue a Run durably (interface 4.3), and return its id and the balance.

    A `key` that asked for a Run of the dataset within a day returns that Run again.
    Raises NotFound, RunInProgress, InsufficientCredits at a balance of 0, LimitReached, and
    StoreUnavailable.
    """
    # Of a key of any length only this much is kept.
    digest = hashlib.sha256(key.encode()).digest() if key else None
    try:
        with store.writing() as writer:
            locking = datasets.locking_dataset(writer, dataset, owner)
            asked = recipes.ask_bases(writer, [dataset])
            locking()
            basis = asked()[dataset]
            first = digest and queue.asked_for(writer, dataset, digest, Micros(writer.now() - DAY))
            if first:
                return ids.format_uuid(first), basis.balance
            return ids.format_uuid(_enqueue(writer, owner, dataset, basis, digest)), basis.balance
    except AlreadyThere as error:
        raise RunInProgress from error


def enqueue_within(writer: Writer, owner: OwnerName, dataset: DatasetId) -> RunId:
    """Enqueue a Run of a dataset that this transaction makes, or has locked; its id.

    Raises RunInProgress, InsufficientCredits at a balance of 0, and LimitReached.
    """
    return _enqueue(writer, owner, dataset, recipes.ask_bases(writer, [dataset])()[dataset], None)


def _enqueue(
    writer: Writer, owner: OwnerName, dataset: DatasetId, basis: Basis, digest: bytes | None
) -> RunId:
    # Before the credits, as the more useful answer: the caller can wait for the open Run.
    if basis.open:
        raise RunInProgress
    # Their owner is not locked: a Run is charged at its end, and what is left may be spent by then.
    _check_funds(owner, basis.balance)
    check_open_runs(writer, owner)
    run = _add(writer, dataset, basis, digest)
    queue.call(writer)
    return run


def take_up(
    store: Store,
    owner: OwnerName,
    dataset: DatasetId,
    name: str,
    options: RunOptions = RunOptions(),  # noqa: B008  (it is frozen)
) -> Queued:
    """Take the open Run of a dataset if no live process has it, else enqueue a new one.

    A new one has these `options`; one that was open keeps those with which it was enqueued.
    Raises RunInProgress if a live process executes it, InsufficientCredits at a balance of 0, and
    LimitReached.
    """
    # First, so that the Run of a process that is gone counts as open and not as executed.
    reap_expired_leases(store)
    with store.writing() as writer:
        datasets.lock_dataset(writer, dataset, owner)
        return take_up_locked(writer, owner, dataset, name, options)


def take_up_locked(
    writer: Writer,
    owner: OwnerName,
    dataset: DatasetId,
    name: str,
    options: RunOptions = RunOptions(),  # noqa: B008  (it is frozen)
) -> Queued:
    """The same in a transaction that has locked the dataset."""
    basis = recipes.ask_bases(writer, [dataset])()[dataset]
    if (run := basis.open) is not None:
        if run.status == "running" and is_live(writer, run.lease):
            raise in_progress(name)
        return Queued(run.id, dataset, name, run.isolated, taken_up=True)
    _check_funds(owner, basis.balance)
    check_open_runs(writer, owner)
    return Queued(_add(writer, dataset, basis, options=options), dataset, name)


def make_fresh(store: Store, run: RunId) -> None:
    """Let an open Run take no answer from before it, whoever executes it.

    One that is taken up is made so by itself: its row is locked before its dataset, or not at all.
    """
    with store.writing() as writer:
        queue.make_fresh(writer, run)


def waiting(store: Store, limit: int) -> list[Queued]:
    """The Runs that a worker may start now, one per free site, whose turns go round by owner.

    There are `limit` at most, and a few isolated ones beside them.
    """
    with store.reading() as reader:
        return [as_queued(run) for run in queue.waiting(reader, limit)]


def as_queued(run: WaitingRun) -> Queued:
    """A Run that waits, as it is executed."""
    return Queued(run.id, run.dataset, run.name, run.isolated)


def next_beside(store: Store, run: RunId) -> Queued | None:
    """The Run that is next at the site of a Run; None if none waits there any more."""
    with store.reading() as reader:
        waits = queue.next_beside(reader, run)
    return None if waits is None else as_queued(waits)


def queued(store: Store, run: RunId) -> Queued | None:
    """A Run to execute; None if it is over.

    Raises NotFound, and RunInProgress if a live process executes it.
    """
    # First, so that the Run of a process that is gone waits again.
    reap_expired_leases(store)
    with store.reading() as reader:
        run_store.owner(reader, run)
        waits = queue.queued(reader, run)
        if waits is None and queue.open_by_id(reader, run) is not None:
            raise RunInProgress("This Run is in progress in another process.")
    return None if waits is None else as_queued(waits)


def owner_of(store: Store, run: RunId) -> OwnerName:
    """Whose Run it is. Raises NotFound."""
    with store.reading() as reader:
        return run_store.owner(reader, run)


def next_queued(store: Store, *, site_free: bool) -> Queued | None:
    """The Run to execute next, of all owners, with `site_free` one that need not wait for a site.

    None if there is none.
    """
    reap_expired_leases(store)
    with store.reading() as reader:
        free = queue.waiting(reader, 1)
        waits = free[0] if free else None if site_free else queue.longest_waiting(reader)
    return None if waits is None else as_queued(waits)


def all_unpaused(reader: Reader, owner: OwnerName) -> list[tuple[DatasetId, str]]:
    """The (id, name) of every dataset that is not paused."""
    return [(dataset.id, dataset.name) for dataset in schedules.unpaused(reader, owner)]


def cancel(store: Store, run: RunId) -> None:
    """End a queued Run; one that is in progress stays with the process that executes it."""
    with store.writing() as writer:
        run_store.end_queued(writer, run, **ended(CANCELLED, writer.now()))


def accept(store: Store, owner: OwnerName, run: RunId) -> str:
    """Accept the output of a held Run as it stands, and return the status of the Run.

    Raises NotFound, InsufficientCredits, and Conflict if nothing is held, the coverage was
    incomplete, or a newer Run of the dataset was accepted.
    """
    try:
        return _accept(store, owner, run, owner_first=False)
    except Overdrawn:
        return _accept(store, owner, run, owner_first=True)


def _accept(store: Store, owner: OwnerName, run: RunId, *, owner_first: bool) -> str:
    with store.writing() as writer:
        locked = run_store.lock_run(writer, run, owner)
        dataset = datasets.lock_dataset(writer, locked.dataset)
        if owner_first:
            accounts.locking_owner(writer, owner, briefly=False)
        standing = revisions.ask_standing(writer, dataset.id, owner)
        at_end = DatasetAtEnd(dataset, standing(), rows.current(writer, dataset.id))
        packed = _held(writer, locked)
        recipe = recipes.pinned(writer, dataset.ref.id, dataset.ref.fields, locked.recipe_version)
        assert recipe is not None  # nothing is held of a Run that was not executed
        harvest = held.deserialize_harvest(packed, recipe)
        end, present = accept_harvest(writer, run, at_end, recipe, harvest)
        if end.deltas is None:
            assert end.problem is not None
            raise InsufficientCredits(
                statement(end.problem), remedies=_remedies_of(end.problem, owner, run)
            )
        _, facts = run_store.facts(writer, run)
        held.forget_page(writer, run)
        new, changed, gone = end.deltas
        head = dataset.ref.head + sum(end.deltas)
        placed = row_placement(harvest, head, present)
        told = map(problem_of, facts.get("odd", ()))
        run_store.change(
            writer,
            run,
            status="succeeded",
            error=None,
            problem=None,
            completed_at=writer.now(),
            new_rows=new,
            changed_rows=changed,
            gone_rows=gone,
            stop=dump({"rule": end.rule, "inputs": {"accepted": "by hand"}}),
            facts=dump_compressed({**facts, **placed, **oddities([*told, *end.oddities])}),
        )
        notifying.settle(writer, run, at_end, end)
    return end.status


def _remedies_of(problem: Problem, owner: OwnerName, run: RunId) -> tuple[Remedy, ...]:
    """The remedies of a problem, with the Run and its owner as parameters for a command."""
    about = {"owner": owner, "run": ids.format_uuid(run)}
    return tuple(Remedy(remedy.code, {**remedy.params, **about}) for remedy in problem.remedies)


def _held(writer: Writer, run: LockedRun) -> bytes:
    """The kept output of a held Run. Raises Conflict if there is none."""
    if run.status != "held":
        raise Conflict(f"This Run is {run.status}, not held, so there is nothing to accept.")
    packed = held.output(writer, run.id, writer.now())
    if packed is None:
        raise Conflict(
            "The output of this Run is not kept: its coverage was incomplete, a newer Run was "
            "accepted, or 30 days have passed. Run the dataset again."
        )
    return packed


def _check_funds(owner: OwnerName, balance: int) -> None:
    if balance <= 0:
        raise without_credits(owner)


def without_credits(owner: OwnerName) -> InsufficientCredits:
    """What an owner without credits is told who wants a Run."""
    return InsufficientCredits(remedies=(Remedy("grant_credits", {"owner": owner}),))


def in_progress(name: str) -> RunInProgress:
    """What is told of a dataset whose Run a live process executes."""
    return RunInProgress(f"A Run of {name} is in progress in another process.")


def prepare(dataset: DatasetId, basis: Basis) -> NewRun:
    """A Run that follows the newest recipe. Raises one of SYMPTOMS if that is no JSON."""
    site = _site_to_wait_for(dataset, SOURCE.load(basis.source))
    return NewRun(RunId(ids.new_id()), dataset, basis.version, site)


def _add(
    writer: Writer,
    dataset: DatasetId,
    basis: Basis,
    idempotency_hash: bytes | None = None,
    options: RunOptions = RunOptions(),  # noqa: B008  (it is frozen)
) -> RunId:
    site, now = _site_to_wait_for(dataset, SOURCE.load(basis.source)), writer.now()
    return queue.add(writer, dataset, basis.version, site, now, idempotency_hash, options)


def _site_to_wait_for(dataset: DatasetId, declared: object) -> str:
    """Where a Run of a dataset waits for its turn."""
    address = kinds.of_source(declared).address(declared)
    # Any site of its own will do for the turn of a Run that need not wait for one.
    return ids.format_uuid(dataset) if address is None else site_of(address)
