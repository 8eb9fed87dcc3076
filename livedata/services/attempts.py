"""The life of a Run once it is queued: begin, heartbeat, finish, give back.

The Run row is the truth. A start takes a lease and a fence; every later write names the fence and
writes nothing once another start has moved it.
"""

from __future__ import annotations

import os
import platform
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError
from sqlalchemy.exc import IntegrityError

from livedata.messages.render import check_result, sentence
from livedata.model import ids
from livedata.model.errors import NotYet
from livedata.model.harvest import Harvest, Step, StopRule
from livedata.model.problem import Problem, Remedy
from livedata.model.recipe import Recipe, RecipeField
from livedata.model.source import Source
from livedata.rules.changes.checks import Verdict, judge
from livedata.rules.diagnosis import page_snapshot, run_facts
from livedata.services.commit import (
    KEPT_FOR,
    AcceptancePolicy,
    RunOutcome,
    accept_harvest,
    kept_until,
    serialize_harvest,
)
from livedata.store.codec import dump, dump_packed, fields_of
from livedata.store.database import Reader
from livedata.store.engine import Store, Writer
from livedata.store.reads import datasets as dataset_reads
from livedata.store.writes import runs

MAX_ATTEMPTS = 3
OF_NO_PAGE: frozenset[StopRule] = frozenset({"credits", "cancelled"})
"""What ends a Run although its pages are well."""
_AGAIN = (Remedy("run_again"),)
WORKER_LOST = Problem("run.worker_lost", {"attempts": MAX_ATTEMPTS}, remedies=_AGAIN)
NOT_DECLARATIVE = Problem("run.not_declarative")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One start of a Run: what to execute, and the fence that its writes name."""

    run: bytes
    dataset: bytes
    dataset_name: str
    owner: str
    number: int
    fence: int
    id: bytes
    recipe: Recipe
    site: str


def lease_holder(pid: int | None = None) -> str:
    """This process as a lease names it: machine, pid, and when it started (pids come again)."""
    pid = os.getpid() if pid is None else pid
    return f"{platform.node()}/{pid}/{_started(pid)}"


def begin(store: Store, run: bytes) -> Attempt | None:
    """Start an attempt at a queued Run; None where there is nothing left to execute.

    Raises NotYet where another process executes it, or its site is busy. A recipe that is not a
    version-1 declaration is held here, without any request.
    """
    reap_expired_leases(store)
    try:
        with store.writing() as writer:
            row = writer.row(
                "SELECT r.status, r.recipe_version, r.site, d.id, d.name, d.owner, d.field_ids, "
                "d.columns FROM runs r JOIN datasets d ON d.id = r.dataset_id WHERE r.id = :id",
                id=run,
            )
            if row is None or row[0] not in {"queued", "running"}:
                return None
            if row[0] == "running":
                raise NotYet
            at = ids.now()
            fence, number = runs.start(writer, run, lease_holder(), at)
            recipe = _recipe(writer, row[3], row[1], row[6], row[7])
            attempt_id = runs.add_attempt(writer, run, number, at)
            if recipe is None:
                runs.end_attempt(writer, attempt_id, at, dump_packed([]))
                end = ended("held", "check_failed", NOT_DECLARATIVE, at)
                runs.fenced(writer, run, fence, **end)
                return None
            return Attempt(run, row[3], row[4], row[5], number, fence, attempt_id, recipe, row[2])
    except IntegrityError as error:
        raise NotYet from error


def heartbeat(store: Store, attempt: Attempt) -> None:
    """Keep the lease of an attempt. Raises LostLease where it is gone."""
    with store.writing() as writer:
        runs.fenced(writer, attempt.run, attempt.fence, lease_until=ids.now() + runs.LEASE)


def take_turn(store: Store, attempt: Attempt, site: str) -> bool:
    """Whether the Run now has the turn of `site`, which its pages have led to.

    If not it has none any more, so that nobody waits for one who waits. Raises LostLease.
    """
    reap_expired_leases(store)
    try:
        with store.writing() as writer:
            runs.fenced(writer, attempt.run, attempt.fence, turn=site)
    except IntegrityError:
        with store.writing() as writer:
            runs.fenced(writer, attempt.run, attempt.fence, turn=None)
        return False
    return True


def give_back(store: Store, attempt: Attempt) -> None:
    """Put a Run back into the queue after a graceful stop: the attempt does not count."""
    with store.writing() as writer:
        runs.fenced(
            writer,
            attempt.run,
            attempt.fence,
            status="queued",
            attempt=attempt.number - 1,
            lease_owner=None,
            lease_until=None,
        )


def finish(store: Store, attempt: Attempt, harvest: Harvest, policy: AcceptancePolicy) -> str:
    """End a Run with what was gathered: all of it in one transaction, or only the Run's end.

    The status it ended with. Raises LostLease where another attempt has taken over, and then
    nothing was written.
    """
    validating = Step("validate", ids.now())
    verdict = judge(harvest, attempt.recipe)
    validating.ended, validating.status = ids.now(), "succeeded"
    accepting = Step("accept", ids.now())
    with store.writing() as writer:
        runs.fenced(writer, attempt.run, attempt.fence, lease_until=None, lease_owner=None)
        end = _conclude(writer, attempt, harvest, verdict, policy)
        at = max(ids.now(), accepting.started)
        accepting.ended, accepting.status = at, "succeeded" if end.deltas else "cancelled"
        steps = run_facts.steps([*harvest.steps, validating, accepting])
        runs.end_attempt(writer, attempt.id, at, dump_packed(steps))
        runs.forget_old(writer, at - KEPT_FOR, at)
        if end.deltas is None and end.rule not in OF_NO_PAGE:
            page = verdict.problem.page if verdict.problem else None
            _keep_page(writer, attempt.run, harvest, page, at)
        head, present = dataset_reads.standing(writer, attempt.dataset)
        new, changed, gone = end.deltas or (0, 0, 0)
        runs.change(
            writer,
            attempt.run,
            **ended(end.status, end.rule, end.problem, at, end.inputs),
            checks=dump([check_result(check) for check in verdict.checks]),
            new_rows=new,
            changed_rows=changed,
            gone_rows=gone,
            facts=dump_packed(run_facts.summarize_run(harvest, attempt.recipe, head, present)),
        )
    return end.status


def _conclude(
    writer: Writer, attempt: Attempt, harvest: Harvest, verdict: Verdict, policy: AcceptancePolicy
) -> RunOutcome:
    inputs = run_facts.stop_inputs(verdict, harvest, attempt.recipe)
    if verdict.outcome != "accept":
        return RunOutcome(verdict.outcome, verdict.rule, verdict.problem, None, inputs)
    end = accept_harvest(writer, attempt.run, attempt.dataset, attempt.recipe, harvest, policy)
    if end.deltas is not None:
        return replace(end, inputs=inputs)
    if end.status == "held":
        runs.hold(writer, attempt.run, serialize_harvest(harvest), kept_until(ids.now()))
    return end


def _keep_page(writer: Writer, run: bytes, harvest: Harvest, number: int | None, at: int) -> None:
    page = page_snapshot.page_to_keep(harvest, number)
    if page is not None:
        runs.keep_page(
            writer, run, page, page_snapshot.counts(harvest, page.number), kept_until(at)
        )


def reap_expired_leases(store: Store) -> None:
    """Take back the Runs whose process is gone or whose lease is over.

    A Run that fell alone has used an attempt, and after the last one fails; Runs that fell
    together have used none, and each is started again by itself.
    """
    with store.reading() as reader:
        if not _lost(reader):
            return
    with store.writing() as writer:
        for group in _lost(writer).values():
            if len(group) > 1:
                runs.set_alone(writer, [run for run, _ in group])
                continue
            run, number = group[0]
            if number >= MAX_ATTEMPTS:
                at = ids.now()
                end = ended("failed", "worker_lost", WORKER_LOST, at, {"attempts": number})
                runs.change(writer, run, **end)
            else:
                runs.change(writer, run, status="queued", lease_owner=None, lease_until=None)


def is_live(lease_owner: str | None, lease_until: int | None) -> bool:
    """Whether a lease still holds: not over, and its process not known to be gone."""
    if lease_owner is None or lease_until is None or lease_until < ids.now():
        return False
    machine, pid, started = lease_owner.rsplit("/", 2)
    return machine != platform.node() or _started(int(pid)) == started


def _lost(reader: Reader) -> dict[str, list[tuple[bytes, int]]]:
    """Holder -> (Run, attempt number) of all that it has lost."""
    lost: defaultdict[str, list[tuple[bytes, int]]] = defaultdict(list)
    for run, number, owner, until in reader.rows(
        "SELECT id, attempt, lease_owner, lease_until FROM runs WHERE status = 'running'"
    ):
        if not is_live(owner, until):
            lost[owner or ""].append((run, number))
    return lost


def _started(pid: int) -> str:
    """When a process started, in the kernel's ticks; empty where that cannot be known."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "" if Path("/proc/self/stat").exists() else "?"
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]


def _recipe(
    reader: Reader, dataset: bytes, version: int, field_ids: str, columns: str
) -> Recipe | None:
    """The recipe of a Run; None if it is not a declaration of version 1."""
    _, declared = dataset_reads.source(reader, dataset, version)
    try:
        source = Source.model_validate_json(dump(declared), by_name=False)
    except ValidationError:
        return None
    return pinned(source, version, field_ids, columns)


def pinned(source: Source, version: int, field_ids: str, columns: str) -> Recipe:
    """A source with the ids, types and positions of its fields."""
    fields = fields_of(field_ids, columns)
    by_name = {column["name"]: column for column in fields.columns.values()}
    positions = fields.positions
    return Recipe(
        version,
        source,
        tuple(
            RecipeField(
                id=by_name[field.name]["id"],
                name=field.name,
                label=by_name[field.name]["label"],
                type=by_name[field.name]["type"],  # type: ignore[arg-type]  # checked at creation
                position=positions[by_name[field.name]["id"]],
                required=field.required,
            )
            for field in source.fields
        ),
    )


def ended(
    status: str,
    rule: StopRule,
    problem: Problem | None,
    at: int,
    inputs: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """The columns of a Run that has ended; only here its problem becomes a sentence."""
    return {
        "status": status,
        "error": None if problem is None else sentence(problem),
        "problem": None if problem is None else dump(problem),
        "completed_at": at,
        "stop": dump({"rule": rule, "inputs": inputs or {}}),
        "lease_owner": None,
        "lease_until": None,
    }
