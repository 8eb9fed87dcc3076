"""Looks at pages: a person asks for one and makes a dataset of it, and a worker executes it.

Once it is queued it begins, is renewed, finishes or is given back by the rules of Runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct

from livedata.messages import request
from livedata.messages.validation import read
from livedata.model.errors import Conflict, Invalid, LostLease, NotFound
from livedata.model.ids import DatasetId, LookId, OwnerName, RunId
from livedata.model.look import LONGEST_ADDRESS, LONGEST_LIKE, LookTask, LookWish, PageLook
from livedata.model.requests import CreateDataset, UpdateDataset
from livedata.rules.declaration import consistency
from livedata.rules.network.targets import TargetPolicy, url_problem
from livedata.services import datasets, leases, runs
from livedata.services.forecast import current_recipe, revised
from livedata.services.interruptions import MAX_ATTEMPTS
from livedata.store import looks
from livedata.store.database.backend import AlreadyThere, Writer
from livedata.store.database.store import Database, Store
from livedata.store.datasets import get, lock_dataset
from livedata.store.looks import RunningLook, StoredLook

ACCEPTED: Final = "accept"
"""The outcome of a trial that a Run would accept."""
USABLE: Final = frozenset((ACCEPTED, "held"))
"""The outcomes after which the source of a dataset is used: a held Run is accepted by a person."""
STOPPED: Final = "You stopped it."
_ONE_AT_A_TIME: Final = (
    "livedata is looking at another page for you, and looks at one at a time: wait for that one, "
    "or stop it."
)


class LookInProgress(Conflict):
    """Another look of the owner is queued or running."""

    code = "look_in_progress"


def ask(store: Store, owner: OwnerName, wish: LookWish, targets: TargetPolicy) -> LookId:
    """Queue a look at a page; its id. One that is open for the same wish is returned again.

    Raises Invalid for an address that no dataset may have, and LookInProgress.
    """
    _judge(wish, targets)
    try:
        with store.writing() as writer:
            return looks.add(writer, owner, wish, writer.now())
    except AlreadyThere:
        return _same(store, owner, (wish, None, None))


def try_source(
    store: Store,
    owner: OwnerName,
    dataset: DatasetId,
    declaration: Mapping[str, Any] | None,
    targets: TargetPolicy,
) -> LookId:
    """Queue a trial of the next source of a dataset; None lets it be looked for on its page.

    One that is open for the same is returned again. Raises NotFound, Invalid as revising the
    dataset would, or if it collects by a plan, and LookInProgress.
    """
    pinned = current_recipe(store, owner, dataset)
    wish = LookWish(pinned.url, pinned.render)
    if declaration is not None:
        declared = read(CreateDataset, dict(declaration))
        recipe = revised(store, owner, dataset, declared, targets).recipe
        wish = LookWish(recipe.url, recipe.render)
    try:
        with store.writing() as writer:
            now = writer.now()
            return looks.add(writer, owner, wish, now, dataset=dataset, chosen=declaration)
    except AlreadyThere:
        return _same(store, owner, (wish, dataset, declaration))


def _same(
    store: Store,
    owner: OwnerName,
    asked: tuple[LookWish, DatasetId | None, Mapping[str, Any] | None],
) -> LookId:
    """The open look of an owner, if it was asked for the same. Raises LookInProgress."""
    with store.reading() as reader:
        same = looks.open_of(reader, owner)
    if same is None or (same.wish, same.dataset, same.chosen) != asked:
        raise LookInProgress(_ONE_AT_A_TIME)
    return same.id


def of_dataset(db: Database, owner: OwnerName, dataset: DatasetId) -> StoredLook | None:
    """The newest trial of another source of a dataset, for a day."""
    with db.reading() as reader:
        return looks.of_dataset(reader, owner, dataset)


def stop_trial(store: Store, owner: OwnerName, dataset: DatasetId) -> None:
    """End the open trial of a source of a dataset, if there is one. Raises NotFound."""
    with store.writing() as writer:
        get(writer, owner, dataset)
        look = looks.of_dataset(writer, owner, dataset)
        if look is not None and look.is_open:
            looks.stop(writer, look.id, STOPPED)


def use(store: Store, owner: OwnerName, look: LookId, targets: TargetPolicy) -> RunId:
    """Revise a dataset by the source that a look has tried, and enqueue its Run; both or neither.

    Raises NotFound, also for a look that was used already; Conflict if a Run would not accept what
    was tried; ChangedMeanwhile if the dataset was revised since; Invalid, RunInProgress and
    InsufficientCredits.
    """
    with store.writing() as writer:
        locked = looks.lock(writer, owner, look)
        if locked.dataset is None or locked.tried is None or locked.is_open:
            raise Conflict("Try the source first: what is used is what was tried.")
        if locked.tried["outcome"] not in USABLE:
            raise Conflict("A Run would accept nothing of this: mend the source, and try again.")
        declared = read(CreateDataset, dict(proposed_source(locked) or {}))
        consistency.check(declared, targets)
        version = locked.tried["version"]
        revised = datasets.pin(writer, owner, locked.dataset, declared, version)
        datasets.check_readers(writer, owner, locked.dataset, revised.revision)
        # Whoever clicks twice finds nothing more to use: the dataset is revised and run once.
        looks.forget(writer, look)
        return runs.enqueue_within(writer, owner, locked.dataset)


def proposed_source(look: StoredLook) -> Mapping[str, Any] | None:
    """The declaration that a look is about: the one that was asked for, or that it has found."""
    return look.chosen or (look.seen.declaration if look.seen else None)


def ask_again(
    store: Store, owner: OwnerName, look: LookId, wish: LookWish, targets: TargetPolicy
) -> None:
    """Queue a look at its page again, with another wish; nothing happens to one that is open.

    Raises what `ask` does, and NotFound.
    """
    _judge(wish, targets)
    _queue(store, owner, look, wish, None)


def try_out(
    store: Store,
    owner: OwnerName,
    look: LookId,
    declaration: Mapping[str, Any],
    targets: TargetPolicy,
) -> None:
    """Queue a trial of a declaration for the list of a look; nothing happens to one that is open.

    Raises Invalid with a detail for every wrong place, NotFound and LookInProgress.
    """
    consistency.check(read(CreateDataset, dict(declaration)), targets)
    _queue(store, owner, look, None, declaration)


def stop(store: Store, owner: OwnerName, look: LookId) -> None:
    """End a look that is open; whoever executes it hears of that. Raises NotFound."""
    with store.writing() as writer:
        if looks.lock(writer, owner, look).is_open:
            looks.stop(writer, look, STOPPED)


def show(db: Database, owner: OwnerName, look: LookId) -> StoredLook:
    """A look of an owner. Raises NotFound, also for one that was asked for a day ago."""
    with db.reading() as reader:
        return looks.get(reader, owner, look)


def kept(db: Database, owner: OwnerName) -> list[StoredLook]:
    """The looks of an owner of which no dataset was made, the newest first."""
    with db.reading() as reader:
        return looks.kept(reader, owner)


def create(
    store: Store,
    owner: OwnerName,
    look: LookId,
    name: str,
    schedule: str,
    *,
    targets: TargetPolicy,
    zone: str,
) -> DatasetId:
    """Make a dataset of what a look has tried, and queue its first Run.

    A look that has become one already has that returned, whatever is asked. Raises NotFound,
    Invalid, NameTaken, Conflict if a Run would not accept what was tried, and InsufficientCredits
    at a balance of 0; then nothing is made.
    """
    try:
        with store.writing() as writer:
            locked = looks.lock(writer, owner, look)
            if locked.dataset is not None:
                return locked.dataset
            declared = read(CreateDataset, {**_tried(locked), "name": name})
            consistency.check(declared, targets)
            return _make(writer, owner, locked, declared, schedule, zone)
    except AlreadyThere:
        raise datasets.name_taken(name) from None


def _make(
    writer: Writer,
    owner: OwnerName,
    look: StoredLook,
    declared: CreateDataset,
    schedule: str,
    zone: str,
) -> DatasetId:
    dataset = datasets.add(writer, owner, declared)
    if schedule:
        wanted = read(UpdateDataset, {"schedule": schedule, "status": "active"})
        # Nobody else knows of it yet; it is locked because an update expects that.
        locked = lock_dataset(writer, dataset, owner)
        datasets.change(writer, locked, get(writer, owner, dataset), wanted, zone)
    runs.enqueue_within(writer, owner, dataset)
    looks.become(writer, look.id, dataset)
    return dataset


def _tried(look: StoredLook) -> Mapping[str, Any]:
    """The declaration that a look has tried. Raises Conflict if a Run would not accept it."""
    if look.is_open or look.chosen is None or look.tried is None:
        raise Conflict("Try the columns first: a table is made of what was tried.")
    if look.tried.get("outcome") != ACCEPTED:
        raise Conflict("A Run would not accept this: choose other columns, and try again.")
    return look.chosen


def _queue(
    store: Store,
    owner: OwnerName,
    look: LookId,
    wish: LookWish | None,
    declaration: Mapping[str, Any] | None,
) -> None:
    try:
        with store.writing() as writer:
            locked = looks.lock(writer, owner, look)
            if locked.dataset is not None:
                raise NotFound("This look has become a table already.")
            if not locked.is_open:
                looks.ask(writer, look, wish or locked.wish, declaration, writer.now())
    except AlreadyThere:
        raise LookInProgress(_ONE_AT_A_TIME) from None


def _judge(wish: LookWish, targets: TargetPolicy) -> None:
    """Raise Invalid for what cannot be looked at; the site is not asked for that."""
    if len(wish.url) > LONGEST_ADDRESS:
        raise Invalid(f"An address has at most {LONGEST_ADDRESS:,} characters.")
    if len(wish.like) > LONGEST_LIKE:
        raise Invalid(f"A text of the list has at most {LONGEST_LIKE} characters.")
    problem = url_problem(wish.url, targets)
    if problem is not None:
        why = request.predicate(problem)
        raise Invalid(f"The address {why}.", remedies=problem.remedies)


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


class OpenLooks(Struct, frozen=True):
    """How many looks wait, and how many are executed."""

    queued: int
    running: int


def take_back(store: Store) -> OpenLooks:
    """Do the same with each look whose worker is gone or whose lease is over; what is open then.

    Asked by every worker all the time, and nearly always for nothing: reading is cheap.
    """
    with store.reading() as reader:
        queued, running = looks.queued(reader), looks.running(reader)
        lost = {look.id for look in running if not leases.is_live(reader, look.lease)}
    if not lost:
        return OpenLooks(queued, len(running))
    with store.writing() as writer:
        for look in looks.running(writer):
            # Asked again: another process may have taken it back, and begun it, meanwhile.
            if look.id in lost and not leases.is_live(writer, look.lease):
                with suppress(LostLease):
                    _take_back(writer, look)
        return OpenLooks(looks.queued(writer), len(looks.running(writer)))


def _take_back(writer: Writer, look: RunningLook) -> None:
    if look.attempt < MAX_ATTEMPTS:
        looks.put(writer, look.id, look.fence, look.attempt)
    else:
        looks.end(writer, look.id, look.fence, error=LOST.format(attempts=look.attempt))
