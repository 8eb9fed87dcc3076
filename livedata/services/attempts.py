"""The life of a Run once it is queued: begin, heartbeat, finish, give back.

The Run row is the truth. A start takes a lease and a fence; every later write names the fence and
writes nothing once another start has moved it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from msgspec import Struct

from livedata.messages.render import check_result
from livedata.model import ids
from livedata.model.errors import Damaged, LostLease, NotFound, NotYet
from livedata.model.harvest import Harvest, Step, StopRule
from livedata.model.ids import AttemptId, DatasetId, Micros, OwnerName, RunId
from livedata.model.problem import Problem, Remedy
from livedata.model.recipe import Recipe
from livedata.model.research.recipe import ResearchRecipe
from livedata.rules.changes.checks import judge
from livedata.rules.diagnosis import run_facts
from livedata.services.commit import (
    AcceptancePolicy,
    Reading,
    RunOutcome,
    conclude,
    ended,
    kept_until,
    last_accepted,
)
from livedata.services.explanation import judge_stopping_page, keep_stopping_page
from livedata.services.notices import telling
from livedata.services.scheduling import leases
from livedata.store import accounts, datasets, queue, recipes, rows, runs
from livedata.store.database.backend import AlreadyThere, Writer
from livedata.store.database.codec import dump, dump_compressed
from livedata.store.database.store import Database, Store
from livedata.store.queue import OpenRun

MAX_ATTEMPTS = 3
RULES_WITHOUT_PAGE: frozenset[StopRule] = frozenset({"credits", "cancelled"})
"""The rules that say nothing against a page, so no page is kept for them."""
_RUN_AGAIN = (Remedy("run_again"),)
WORKER_LOST = Problem("run.worker_lost", {"attempts": MAX_ATTEMPTS}, remedies=_RUN_AGAIN)
NOT_DECLARATIVE = Problem("run.not_declarative")


class Attempt(Struct, frozen=True):
    """One start of a Run: what to execute, and the fence that its writes name."""

    run: RunId
    dataset: DatasetId
    dataset_name: str
    owner: OwnerName
    number: int
    fence: int
    id: AttemptId
    recipe: Recipe | ResearchRecipe
    site: str


def begin(store: Store, run: RunId) -> Attempt | None:
    """Start an attempt at a queued Run; None if there is nothing left to execute.

    Raises NotYet if another process executes it, or if its site is busy. A Run whose recipe is not
    a version-1 declaration is held here, without any request.
    """
    # First, so that a Run whose process is gone is not taken for one that is executed.
    reap_expired_leases(store)
    try:
        with store.writing() as writer:
            locked = runs.lock_run(writer, run)
            dataset = datasets.lock_dataset(writer, locked.dataset)
            if locked.status not in {"queued", "running"}:
                return None
            if locked.status == "running":
                raise NotYet
            now = writer.now()
            # From here on every write names the fence: a process that was slow or suspended finds
            # a newer one, and writes nothing.
            fence, number = queue.start(writer, run, leases.new_lease(now), now)
            recipe = recipes.pinned(
                writer, dataset.ref.id, dataset.ref.fields, locked.recipe_version
            )
            attempt_id = runs.add_attempt(writer, run, number, now)
            # Only after the start, so that the Run ends as an attempt that its trace can show.
            if recipe is None:
                runs.end_attempt(writer, attempt_id, now, dump_compressed([]))
                end = RunOutcome("held", "check_failed", NOT_DECLARATIVE, None)
                telling.tell(writer, {run: _end(writer, run, fence, end)})
                return None
            ref, owner = dataset.ref, dataset.owner
            return Attempt(
                run, ref.id, ref.name, owner, number, fence, attempt_id, recipe, locked.site
            )
    except NotFound:
        return None
    except (LostLease, AlreadyThere) as error:
        # Running Runs are unique by their turn: here another Run has that of the site.
        raise NotYet from error


def pages_before(db: Database, dataset: DatasetId) -> list[str]:
    """The addresses of the pages of the last accepted Run, in their order."""
    with db.reading() as reader:
        return [page["url"] for page in last_accepted(reader, dataset).get("pages", [])]


def heartbeat(store: Store, attempt: Attempt) -> None:
    """Renew the lease of an attempt. Raises LostLease if it is gone."""
    with store.writing() as writer:
        lease = leases.new_lease(writer.now())
        renewed = {"lease_until": lease.until, "lease_origin": lease.origin}
        runs.fenced(writer, attempt.run, attempt.fence, **renewed)


def take_turn(store: Store, attempt: Attempt, site: str) -> bool:
    """Take the turn of `site`, to which the pages of a Run have led; False if it is taken.

    A Run that does not get the turn has none afterwards. Raises LostLease.
    """
    reap_expired_leases(store)
    try:
        with store.writing() as writer:
            queue.move_turn(writer, attempt.run, attempt.fence, site)
    except AlreadyThere:
        # Its old turn is given up too: two Runs that keep theirs could wait for each other forever.
        with store.writing() as writer:
            queue.move_turn(writer, attempt.run, attempt.fence, None)
        return False
    return True


def give_back(store: Store, attempt: Attempt) -> None:
    """Put a Run back into the queue after a graceful stop; the attempt does not count."""
    with store.writing() as writer:
        queue.put(writer, attempt.run, fence=attempt.fence, attempt=attempt.number - 1)


def give_up(store: Store, run: RunId, damaged: Damaged, fence: int | None = None) -> None:
    """End a Run whose dataset cannot be read; `fence` is that of its attempt, if it was started.

    It would fail in the same way each time, and keep a worker busy.
    """
    problem = Problem("run.damaged", damaged.place, remedies=damaged.remedies)
    end = RunOutcome("failed", "check_failed", problem, None)
    with store.writing() as writer:
        if fence is not None:
            telling.tell(writer, {run: _end(writer, run, fence, end)})
        elif runs.end_queued(writer, run, **ended(end, writer.now())):
            telling.tell(writer, {run: end})


def finish(store: Store, attempt: Attempt, harvest: Harvest, policy: AcceptancePolicy) -> str:
    """End a Run with its harvest, in one transaction, and return the status that it ends with.

    Rows are written only if the harvest is accepted. Raises LostLease if another attempt has taken
    over; then nothing is written.
    """
    validating = Step("validate", ids.now())
    recipe = attempt.recipe
    verdict = judge(harvest, recipe)
    harvest = judge_stopping_page(store, attempt.dataset, harvest, verdict.problem)
    reading = Reading(recipe, harvest, run_facts.summarize_harvest(harvest, recipe), verdict)
    validating.ended, validating.status = ids.now(), "succeeded"
    accepting = Step("accept", ids.now())
    with store.writing() as writer:
        # Every act locks in the order Run, dataset, owner, so that no two wait for each other.
        _lock(writer, attempt)
        dataset = datasets.lock_dataset(writer, attempt.dataset)
        balance = accounts.lock_owner(writer, attempt.owner)
        end = conclude(writer, attempt.run, dataset, balance, reading, policy)
        completed_at = writer.now()
        accepting.ended = Micros(max(ids.now(), accepting.started))
        accepting.status = "succeeded" if end.deltas else "cancelled"
        steps = run_facts.steps([*harvest.steps, validating, accepting])
        runs.end_attempt(writer, attempt.id, completed_at, dump_compressed(steps))
        if end.deltas is None and end.rule not in RULES_WITHOUT_PAGE:
            keep_stopping_page(writer, attempt.run, harvest, end.problem, kept_until(completed_at))
        new, changed, gone = end.deltas or (0, 0, 0)
        runs.change(
            writer,
            attempt.run,
            **ended(end, completed_at),
            checks=dump([check_result(check) for check in verdict.checks]),
            new_rows=new,
            changed_rows=changed,
            gone_rows=gone,
            facts=_facts(writer, attempt.dataset, reading, end),
        )
        queue.publish_next(writer, queue.turn(writer, attempt.run))
        telling.tell(writer, {attempt.run: end})
    return end.status


def _end(writer: Writer, run: RunId, fence: int, end: RunOutcome) -> RunOutcome:
    """End a Run of which nothing is taken over. Raises LostLease."""
    runs.fenced(writer, run, fence, **ended(end, writer.now()))
    queue.publish_next(writer, queue.turn(writer, run))
    return end


def _lock(writer: Writer, attempt: Attempt) -> None:
    """Lock the Run of an attempt. Raises LostLease if another attempt has it."""
    try:
        locked = runs.lock_run(writer, attempt.run)
    except NotFound:
        raise LostLease from None
    if (locked.status, locked.fence) != ("running", attempt.fence):
        raise LostLease


def _facts(writer: Writer, dataset: DatasetId, reading: Reading, end: RunOutcome) -> str:
    head, present = datasets.present_keys(writer, dataset)
    facts = {**reading.facts, **run_facts.row_placement(reading.harvest, head, present)}
    earlier = rows.last_accepted_run(writer, dataset) if end.deltas is None else None
    if earlier is not None:
        facts["against"] = ids.format_uuid(earlier)
    return dump_compressed({**facts, **run_facts.oddities(end.oddities)})


def reap_expired_leases(store: Store) -> None:
    """Take back the Runs whose process is gone or whose lease is over.

    A Run that was lost alone has used an attempt, and fails after the last one. Runs that were lost
    together have used none, and each is started again by itself.
    """
    # Asked by every start and every worker's tick, and nearly always for nothing: reading is cheap.
    with store.reading() as reader:
        seen = sorted(run.id for group in leases.lost(reader).values() for run in group)
    if not seen:
        return
    with store.writing() as writer:
        _lock_all(writer, seen)
        # Asked again under the locks: another process may have taken them back meanwhile.
        groups = leases.lost(writer).values()
        locked = [[run for run in group if run.id in seen] for group in groups]
        _take_back(writer, locked, WORKER_LOST)


def take_back(store: Store, holder: str, problem: Problem) -> None:
    """Take back the Runs of a process that had to be killed, because of what one of them did.

    As above, but each is started by itself from now on, and the last attempt ends with `problem`.
    """
    with store.reading() as reader:
        seen = sorted(run.id for run in leases.held_by(reader, holder))
    with store.writing() as writer:
        _lock_all(writer, seen)
        _take_back(writer, [leases.held_by(writer, holder)], problem, isolated=True)


def _lock_all(writer: Writer, those: Sequence[RunId]) -> None:
    """Lock several Runs; they may be gone."""
    # In one order, so that two who take the same Runs back never wait for each other.
    for run in those:
        with suppress(NotFound):
            runs.lock_run(writer, run)


def _take_back(
    writer: Writer,
    groups: Iterable[Sequence[OpenRun]],
    problem: Problem,
    *,
    isolated: bool = False,
) -> None:
    """Queue Runs again that were lost in groups, or end them, and tell of those that end."""
    # After the last of them: `tell` locks their owners in an order of its own.
    ends = {
        run.id: end
        for group in groups
        for run in group
        if (end := _requeue(writer, run, problem, together=len(group) > 1, isolated=isolated))
    }
    telling.tell(writer, ends)


def _requeue(
    writer: Writer, run: OpenRun, problem: Problem, *, together: bool, isolated: bool
) -> RunOutcome | None:
    """Queue a lost Run again, or end it; every change names the fence that was read."""
    # One Run of the group may have killed the process, and nobody knows which. By itself it shows.
    if together:
        queue.put(writer, run.id, fence=run.fence, attempt=run.attempt - 1, isolated=True)
        return None
    if run.attempt < MAX_ATTEMPTS:
        queue.put(writer, run.id, fence=run.fence, attempt=run.attempt, isolated=isolated)
        return None
    end = RunOutcome("failed", "worker_lost", problem, None, {"attempts": run.attempt})
    return _end(writer, run.id, run.fence, end)
