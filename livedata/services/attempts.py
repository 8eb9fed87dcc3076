"""The life of a Run once it is queued: begin, heartbeat, finish, give back.

The Run row is the truth. A start takes a lease and a fence; every later write names the fence and
writes nothing once another start has moved it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from livedata.messages.render import check_result
from livedata.model import ids
from livedata.model.diagnosis.recorded_run import RunFacts
from livedata.model.errors import Damaged, NotFound, NotYet
from livedata.model.harvest import Harvest, Step, StopReason, StopRule
from livedata.model.ids import AttemptId, DatasetId, Micros, OwnerName, RunId
from livedata.model.problem import Problem
from livedata.model.recipe import Recipe
from livedata.rules.changes.checks import Verdict, judge
from livedata.rules.diagnosis import run_facts
from livedata.services import leases
from livedata.services.commit import (
    CANCELLED,
    AcceptancePolicy,
    DatasetAtEnd,
    JudgedHarvest,
    Overdrawn,
    RunOutcome,
    conclude,
    ended,
    kept_until,
    last_accepted,
    refuse,
)
from livedata.services.explanation import judge_stopping_page, keep_stopping_page
from livedata.services.interruptions import end_fenced, reap_expired_leases
from livedata.services.notices import notifying
from livedata.services.runs import Queued, as_queued, waiting
from livedata.store import (
    accounts,
    queue,
    recipes,
    revisions,
    rows,
    runs,
    shown_runs,
    site_turns,
)
from livedata.store import attempts as attempt_store
from livedata.store.database.backend import AlreadyThere, Writer
from livedata.store.database.codec import dump, dump_compressed
from livedata.store.database.store import Database, Store
from livedata.store.datasets import LockedDataset
from livedata.store.recipes import RunPlan
from livedata.store.runs import LockedRun
from livedata.store.shown_runs import Progress

if TYPE_CHECKING:
    from livedata.model.research.recipe import ResearchRecipe

RULES_WITHOUT_PAGE: frozenset[StopRule] = frozenset({"credits", "cancelled"})
"""The rules that say nothing against a page, so no page is kept for them."""
NOT_DECLARATIVE = Problem("run.not_declarative")
OTHERS = 16
"""So many Runs that other workers may have locked just now are passed over."""


class Attempt(Struct, frozen=True):
    """One start of a Run: what to execute, and the fence that its writes name.

    `followers` are the addresses of the pages of the last accepted Run, in their order;
    `only_hosts` all that it may read, if not None.
    """

    run: RunId
    dataset: DatasetId
    dataset_name: str
    owner: OwnerName
    number: int
    fence: int
    id: AttemptId
    recipe: Recipe | ResearchRecipe
    site: str
    followers: Sequence[str]
    only_hosts: frozenset[str] | None = None


class Claim(Struct, frozen=True):
    """What a crawl worker that has looked at the queue is to do.

    The Runs that it has `begun` are its own now. Each that is `apart` is to have a process of its
    own; each that is `singly` is to be begun by itself, for one of them cannot be read. If there
    may be `more` than it was told of, a look after a moment is worth while.
    """

    begun: Sequence[tuple[Queued, Attempt]] = ()
    apart: Sequence[Queued] = ()
    singly: Sequence[Queued] = ()
    more: bool = False


def claim(store: Store, room: int) -> Claim:
    """Begin the Runs that may start now, so many at most, in one transaction."""
    try:
        with store.writing() as writer:
            return _claim(writer, room)
    except AlreadyThere:
        # The pages of a Run have led it to one of the sites in this moment.
        return Claim(more=True)
    except Damaged:
        return Claim(singly=[run for run in waiting(store, room) if not run.isolated])


def _claim(writer: Writer, room: int) -> Claim:
    # More than there is room for: other workers that look now have locked the first ones.
    waits = {run.id: as_queued(run) for run in queue.waiting(writer, room + OTHERS)}
    apart = [run for run in waits.values() if run.isolated]
    told = [run.run for run in waits.values() if not run.isolated]
    if not told:
        return Claim(apart=apart, more=len(apart) >= queue.BESIDE)
    those = attempt_store.lock_free_queued(writer, told, room)
    begun: list[tuple[Queued, Attempt]] = []
    if those:
        plans = recipes.ask_plans(writer, [run.id for run, _ in those])()
        started = _start_each(writer, those, plans)
        begun = [(waits[attempt.run], attempt) for attempt in started]
    passed_over = len(those) < min(room, len(told))
    return Claim(begun, apart, more=passed_over or len(apart) >= queue.BESIDE)


def begin(store: Store, run: RunId) -> Attempt | None:
    """Start an attempt at a queued Run; None if there is nothing left to execute.

    Raises NotYet if another process executes it, or if its site is busy. A Run whose recipe is not
    a version-1 declaration is held here, without any request.
    """
    try:
        return _begin(store, run)
    except NotYet:
        # What is in its way may be of a process that is gone. Nearly always nothing is, so nobody
        # looks for that first.
        reap_expired_leases(store)
        return _begin(store, run)


def _begin(store: Store, run: RunId) -> Attempt | None:
    try:
        with store.writing() as writer:
            locking = attempt_store.locking(writer, run)
            plans = recipes.ask_plans(writer, [run])
            locked, dataset = locking()
            if locked.status not in {"queued", "running"}:
                return None
            if locked.status == "running":
                raise NotYet
            attempts = _start_each(writer, [(locked, dataset)], plans())
            return attempts[0] if attempts else None
    except NotFound:
        return None
    except AlreadyThere as error:
        # Running Runs are unique by their turn: here another Run has that of the site.
        raise NotYet from error


def _start_each(
    writer: Writer,
    those: Sequence[tuple[LockedRun, LockedDataset]],
    plans: Mapping[RunId, RunPlan],
) -> list[Attempt]:
    """The attempts at Runs that are locked and queued, but at those that are held at once."""
    now, started = writer.now(), [run for run, _ in those]
    # From here on every write names the fence: a process that was slow or suspended finds a newer
    # one, and writes nothing.
    attempt_of = attempt_store.start_each(writer, started, leases.new_lease(now), now)
    site_turns.begin_each(writer, [plan.others for plan in plans.values()], now)
    attempts = []
    held: dict[RunId, RunOutcome] = {}
    for run, dataset in those:
        plan = plans[run.id]
        if (recipe := plan.recipe(dataset.ref.fields)) is None:
            # Only after the start, so that the Run ends as an attempt that its trace can show.
            attempt_store.end(writer, attempt_of[run.id], now, dump_compressed([]))
            end = RunOutcome("held", "check_failed", NOT_DECLARATIVE, None)
            held[run.id] = end_fenced(writer, run.id, run.fence + 1, end)
            continue
        attempts.append(
            Attempt(
                run=run.id,
                dataset=run.dataset,
                dataset_name=dataset.ref.name,
                owner=dataset.owner,
                number=run.attempt + 1,
                fence=run.fence + 1,
                id=attempt_of[run.id],
                recipe=recipe,
                site=run.site,
                followers=_pages(plan.facts()),
                only_hosts=run.only_hosts,
            )
        )
    notifying.tell(writer, held)
    return attempts


def pages_before(db: Database, dataset: DatasetId) -> list[str]:
    """The addresses of the pages of the last accepted Run, in their order."""
    with db.reading() as reader:
        return _pages(last_accepted(reader, dataset))


def _pages(facts: RunFacts) -> list[str]:
    return [page["url"] for page in facts.get("pages", [])]


def heartbeat(store: Store, attempt: Attempt, so_far: Progress | None = None) -> None:
    """Renew the lease of an attempt, and note how far it has come.

    Raises LostLease if it is gone.
    """
    with store.writing() as writer:
        lease = leases.new_lease(writer.now())
        renewed = {"lease_until": lease.until, "lease_origin": lease.origin}
        kept = runs.ask_fenced(writer, attempt.run, attempt.fence, **renewed)
        if so_far is not None:
            shown_runs.note_progress(writer, attempt.id, attempt.fence, so_far)
    # Looked at afterwards, so that a server is waited for once less: without it nothing is written.
    if not kept():
        with store.writing() as writer:
            runs.fenced(writer, attempt.run, attempt.fence, **renewed)


def take_turn(store: Store, attempt: Attempt, site: str) -> bool:
    """Take the turn of `site`, to which the pages of a Run have led; False if it is taken.

    A Run that does not get the turn has none afterwards, nor has one that takes "". Raises
    LostLease.
    """
    reap_expired_leases(store)
    try:
        with store.writing() as writer:
            queue.move_turn(writer, attempt.run, attempt.fence, site or None)
    except AlreadyThere:
        # Its old turn is given up too: two Runs that keep theirs could wait for each other forever.
        with store.writing() as writer:
            queue.move_turn(writer, attempt.run, attempt.fence, None)
        return False
    return True


def give_back(store: Store, attempt: Attempt) -> None:
    """Put a Run back into the queue after a graceful stop; the attempt does not count.

    One that is to be cancelled ends instead. Raises LostLease.
    """
    with store.writing() as writer:
        if queue.hold(writer, attempt.run, attempt.fence).cancelling:
            end_fenced(writer, attempt.run, attempt.fence, CANCELLED)
            return
        queue.put(writer, attempt.run, fence=attempt.fence, attempt=attempt.number - 1)


def is_over(store: Store, attempt: Attempt) -> bool:
    """Whether the Run of an attempt has ended."""
    with store.reading() as reader:
        return queue.open_by_id(reader, attempt.run) is None


def give_up(store: Store, run: RunId, damaged: Damaged, fence: int | None = None) -> None:
    """End a Run whose dataset cannot be read; `fence` is that of its attempt, if it was started.

    It would fail in the same way each time, and keep a worker busy.
    """
    problem = Problem("run.damaged", damaged.place, remedies=damaged.remedies)
    end = RunOutcome("failed", "check_failed", problem, None)
    with store.writing() as writer:
        if fence is not None:
            notifying.tell(writer, {run: end_fenced(writer, run, fence, end)})
        elif runs.end_queued(writer, run, **ended(end, writer.now())):
            notifying.tell(writer, {run: end})


def finish(store: Store, attempt: Attempt, harvest: Harvest, policy: AcceptancePolicy) -> str:
    """End a Run with its harvest, in one transaction, and return the status that it ends with.

    Rows are written only if the harvest is accepted. Raises LostLease if another attempt has taken
    over; then nothing is written.
    """
    validating = Step("validate", ids.now())
    recipe = Recipe.of(attempt.recipe)
    verdict = judge(harvest, recipe)
    harvest = judge_stopping_page(store, attempt.dataset, harvest, verdict.problem)
    reading = JudgedHarvest(recipe, harvest, run_facts.summarize_harvest(harvest, recipe), verdict)
    validating.ended, validating.status = ids.now(), "succeeded"

    def end(writer: Writer, owner_first: bool) -> ClosedRun:
        accepting = Step("accept", ids.now())
        closed = close(writer, attempt, reading, policy, owner_first=owner_first)
        end, completed_at = closed.outcome, closed.at
        accepting.ended = Micros(max(ids.now(), accepting.started))
        accepting.status = "succeeded" if end.deltas else "cancelled"
        steps = run_facts.steps([*harvest.steps, validating, accepting])
        closed.end(writer, attempt, dump_compressed(steps))
        if end.deltas is None and end.rule not in RULES_WITHOUT_PAGE:
            keep_stopping_page(writer, attempt.run, harvest, end.problem, kept_until(completed_at))
        return closed

    return end_and_settle(store, attempt.run, end)


class ClosedRun(Struct, frozen=True):
    """The end of a Run whose rows are written: when, of what, and the columns that it sets."""

    outcome: RunOutcome
    at: Micros
    at_end: DatasetAtEnd
    columns: Mapping[str, object]

    def end(self, writer: Writer, attempt: Attempt, steps: str) -> None:
        """End the Run with its attempt; the charge and what is told are left to `settle`."""
        attempt_store.end_both(writer, attempt.run, attempt.id, self.at, steps, self.columns)


def end_and_settle(store: Store, run: RunId, end: Callable[[Writer, bool], ClosedRun]) -> str:
    """End a Run in one transaction, and charge and tell it last; the status that it ends with.

    `end` is told whether to lock the owner from the beginning. Raises LostLease.
    """
    try:
        return _end_and_settle(store, run, end, owner_first=False)
    except Overdrawn:
        # Their credits were spent since they were looked at: now nobody else spends them.
        return _end_and_settle(store, run, end, owner_first=True)


def _end_and_settle(
    store: Store, run: RunId, end: Callable[[Writer, bool], ClosedRun], *, owner_first: bool
) -> str:
    with store.writing() as writer:
        ended = end(writer, owner_first)
        notifying.settle(writer, run, ended.at_end, ended.outcome)
    return ended.outcome.status


def close(
    writer: Writer,
    attempt: Attempt,
    reading: JudgedHarvest,
    policy: AcceptancePolicy,
    *,
    owner_first: bool,
) -> ClosedRun:
    """Accept what an attempt read, or not; the caller ends it. Raises LostLease."""
    run, at_end, present = _find(writer, attempt, reading, owner_first=owner_first)
    if run.cancelling:
        # Here and not by what the executor has seen: who was told that it ends so is right.
        reading = _cancelled(reading)
    if reading.verdict.outcome == "accept":
        end, present = conclude(writer, attempt.run, at_end, reading, policy)
    else:
        end = refuse(reading)
    completed_at = writer.now()
    new, changed, gone = end.deltas or (0, 0, 0)
    columns = {
        **ended(end, completed_at),
        "checks": dump([check_result(check) for check in reading.verdict.checks]),
        "new_rows": new,
        "changed_rows": changed,
        "gone_rows": gone,
        "facts": _facts(at_end, reading, end, present),
    }
    queue.call_next(writer, run.turn)
    return ClosedRun(end, completed_at, at_end, columns)


def _find(
    writer: Writer, attempt: Attempt, reading: JudgedHarvest, *, owner_first: bool
) -> tuple[LockedRun, DatasetAtEnd, Set[str]]:
    """What an attempt finds at its end, and the keys of the rows that are present.

    A server is asked all of it at once. Raises LostLease.
    """
    # Every act locks in the order Run, dataset, owner, so that no two wait for each other.
    holding = attempt_store.holding(writer, attempt.run, attempt.fence)
    if owner_first:
        accounts.locking_owner(writer, attempt.owner, briefly=False)
    standing = revisions.ask_standing(writer, attempt.dataset, attempt.owner)
    # Nothing is compared with the rows where nothing is accepted: their keys are enough.
    if reading.verdict.outcome != "accept":
        keys = rows.ask_present_keys(writer, attempt.dataset)
        run, dataset = holding()
        return run, DatasetAtEnd(dataset, standing(), []), {*keys()}
    asked = rows.ask_current(writer, attempt.dataset)
    (run, dataset), current = holding(), asked()
    present = {row.key for row in current if row.presence == "present"}
    return run, DatasetAtEnd(dataset, standing(), current), present


def _cancelled(reading: JudgedHarvest) -> JudgedHarvest:
    """What an attempt read as if it had been cancelled before its end: nothing is judged."""
    ending = StopReason("cancelled", CANCELLED.problem)
    verdict = Verdict("failed", [], "cancelled", CANCELLED.problem)
    return replace(reading, harvest=replace(reading.harvest, ending=ending), verdict=verdict)


def _facts(at_end: DatasetAtEnd, reading: JudgedHarvest, end: RunOutcome, present: Set[str]) -> str:
    head = at_end.dataset.ref.head + sum(end.deltas or ())
    facts = {**reading.facts, **run_facts.row_placement(reading.harvest, head, present)}
    if end.deltas is None and at_end.standing.accepted is not None:
        facts["against"] = ids.format_uuid(at_end.standing.accepted)
    if end.would is not None:
        new, changed, gone = end.would
        facts["would"] = {"new": new, "changed": changed, "gone": gone}
    return dump_compressed({**facts, **run_facts.oddities(end.oddities)})
