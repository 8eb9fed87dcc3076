"""Concludes a Run: its rows, revisions, evidence and charge in one transaction, or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from livedata.messages.render import sentence
from livedata.model import ids
from livedata.model.diagnosis.recorded_run import RunFacts
from livedata.model.harvest import Harvest, StopRule
from livedata.model.ids import DatasetId, Micros, RunId
from livedata.model.problem import Problem, Remedy
from livedata.model.recipe import Recipe
from livedata.model.run import GUARDS, KEPT_FOR, Guard
from livedata.rules.changes.checks import Verdict, checked_pages
from livedata.rules.changes.compare import Changes, Proposal, compare
from livedata.rules.changes.guards import MASS_LOSS, Drift, holding
from livedata.services.kinds import choice as kinds
from livedata.store import accounts, datasets, held, revisions, rows
from livedata.store.database.backend import SYMPTOMS, Reader, Writer
from livedata.store.database.codec import dump
from livedata.store.datasets import DatasetRef, LockedDataset
from livedata.store.revisions import WriteContext

if TYPE_CHECKING:
    from livedata.model.research.recipe import ResearchRecipe
    from livedata.services.kinds.kind import RunKind


class AcceptancePolicy(Struct, frozen=True):
    """The drift guards that hold a Run, and the share of rows whose loss is a mass loss.

    A share of None turns that guard off.
    """

    mass_loss: float | None = 0.5
    guards: frozenset[Guard] = frozenset(GUARDS)


class JudgedHarvest(Struct, frozen=True):
    """What an attempt read: the harvest, its facts, and what the Checks say of it."""

    recipe: Recipe | ResearchRecipe
    harvest: Harvest
    facts: RunFacts
    verdict: Verdict


class RunOutcome(Struct, frozen=True):
    """The end of a Run; `deltas` (new, changed, gone) is None if no rows were written.

    `inputs` are the figures that the rule was applied to, `oddities` what looks odd beside it.
    `would` is what accepting a held output would do; `covered` how many of the rows that changed
    show what they did, since a hand edit stands above what has moved.
    """

    status: str
    rule: StopRule
    problem: Problem | None
    deltas: tuple[int, int, int] | None
    inputs: Mapping[str, object] = field(default_factory=dict)
    oddities: Sequence[Problem] = ()
    would: tuple[int, int, int] | None = None
    covered: int = 0


CANCELLED: Final = RunOutcome("failed", "cancelled", Problem("run.cancelled"), None)
"""The end of a Run that a person has cancelled."""


def conclude(
    writer: Writer,
    run: RunId,
    dataset: LockedDataset,
    balance: int,
    reading: JudgedHarvest,
    policy: AcceptancePolicy,
) -> RunOutcome:
    """Accept what an attempt read, or hold it, or do neither.

    The caller has locked the dataset and its owner, who has the `balance`.
    """
    recipe, harvest, verdict = reading.recipe, reading.harvest, reading.verdict
    inputs = kinds.of_recipe(recipe).inputs(recipe, harvest, verdict)
    if verdict.outcome != "accept":
        return RunOutcome(verdict.outcome, verdict.rule, verdict.problem, None, inputs)
    # The dataset is locked first, so no edit comes between the comparison and the writing.
    proposal = propose(writer, dataset.ref, recipe, harvest)
    drift, oddities = judge_drift(writer, dataset.id, recipe, reading.facts, proposal, policy)
    # The guards come before the price: what a person has to judge first need not be paid yet.
    if drift is not None:
        outcome = RunOutcome("held", "mass_loss", drift.problem, None, drift.inputs)
    else:
        outcome = _take_over(writer, run, dataset, balance, recipe, harvest, proposal)
    if outcome.deltas is None:
        # Its coverage is complete, so a person may still accept it.
        packed = held.serialize_harvest(harvest)
        held.hold(writer, dataset.id, run, packed, kept_until(writer.now()))
        outcome = replace(outcome, would=proposal.deltas)
    else:
        outcome = replace(outcome, inputs=inputs)
    return replace(outcome, oddities=oddities)


def accept_harvest(
    writer: Writer,
    run: RunId,
    dataset: LockedDataset,
    balance: int,
    recipe: Recipe | ResearchRecipe,
    harvest: Harvest,
) -> RunOutcome:
    """Accept a held harvest as it stands, if the credits allow it: a person has judged the rest.

    The caller has locked the dataset and its owner, who has the `balance`.
    """
    proposal = propose(writer, dataset.ref, recipe, harvest)
    return _take_over(writer, run, dataset, balance, recipe, harvest, proposal)


def _take_over(
    writer: Writer,
    run: RunId,
    dataset: LockedDataset,
    balance: int,
    recipe: Recipe | ResearchRecipe,
    harvest: Harvest,
    proposal: Proposal,
) -> RunOutcome:
    """Write the rows and the charge, if the credits suffice."""
    pages = checked_pages(harvest)
    if balance < pages:
        price = {"pages": pages, "balance": balance}
        return RunOutcome("held", "credits", _credits_problem(pages, balance), None, price)
    # Revisions of a dataset never go back in time, even if the clock was set back.
    written_at = max(ids.now(), dataset.rows_updated_at)
    context = WriteContext(dataset.id, dataset.schema_version, written_at, run)
    pages_read = {page.number: page for page in harvest.pages}
    changes = proposal.changes
    revisions.apply(writer, context, recipe, changes, pages_read)
    present = proposal.present + changes.count("created", "returned") - proposal.gone
    datasets.change(writer, dataset.id, row_count=present)
    kinds.of_recipe(recipe).keep(writer, dataset.id, harvest)
    # Charged in the transaction that writes the rows: there are no rows without a charge, and no
    # charge without rows. The balance was compared under the lock, so it cannot fall below 0.
    accounts.post(writer, dataset.owner, -pages, written_at, dataset=dataset.id, run=run)
    # Older outputs are older than these rows now: to accept one would turn the table back.
    held.forget_outputs(writer, dataset.id, run)
    ended = RunOutcome("succeeded", harvest.ending.rule, None, proposal.deltas)
    return replace(ended, covered=changes.covered)


def ended(end: RunOutcome, completed_at: Micros) -> dict[str, object]:
    """The columns of a Run that has ended."""
    # The sentence is kept with the problem: it is what the Run said then, in any later version.
    return {
        "status": end.status,
        "error": None if end.problem is None else sentence(end.problem),
        "problem": None if end.problem is None else dump(end.problem),
        "completed_at": completed_at,
        "stop": dump({"rule": end.rule, "inputs": end.inputs}),
        "lease_owner": None,
        "lease_until": None,
        "lease_origin": None,
    }


def kept_until(moment: Micros) -> Micros:
    """The moment until which something is kept that a Run leaves behind at `moment`."""
    return ids.Micros(moment + KEPT_FOR)


def propose(
    reader: Reader, dataset: DatasetRef, recipe: Recipe | ResearchRecipe, harvest: Harvest
) -> Proposal:
    """What a harvest would change in the rows of a dataset as they are."""
    current = rows.current(reader, dataset.id)
    seen, gone = kinds.of_recipe(recipe).seen(recipe, harvest, current)
    positions = [field.position for field in recipe.fields]
    present = sum(row.presence == "present" for row in current)
    changes = compare(current, seen, positions, len(dataset.fields.ids), gone)
    return Proposal(changes, present)


def last_accepted(reader: Reader, dataset: DatasetId) -> RunFacts:
    """The facts of the Run that was accepted last; empty if none was."""
    return rows.last_accepted_facts(reader, [dataset]).get(dataset, {})


def judge_drift(
    reader: Reader,
    dataset: DatasetId,
    recipe: Recipe | ResearchRecipe,
    facts: RunFacts,
    proposal: Proposal,
    policy: AcceptancePolicy,
) -> tuple[Drift | None, list[Problem]]:
    """The drift that holds a complete Run for a person, if one does, and what else looks odd."""
    kind = kinds.of_recipe(recipe)

    def guarding(drifts: Sequence[Drift]) -> Drift | None:
        return _guarded(reader, dataset, proposal, kind, holding(drifts, policy.guards))

    before = last_accepted(reader, dataset)
    return kind.drift(recipe, facts, before, proposal, policy.mass_loss, guarding)


def _guarded(
    reader: Reader,
    dataset: DatasetId,
    proposal: Proposal,
    kind: RunKind,
    drifts: Sequence[Drift],
) -> Drift | None:
    """The drift that holds the Run for a person, if one does."""
    if not drifts:
        return None
    # A mass loss stands last, so it is the first only if it is alone.
    first = drifts[0]
    if first.may_repeat and _is_confirmed(reader, dataset, proposal.changes, kind):
        return None
    return first


def _is_confirmed(reader: Reader, dataset: DatasetId, changes: Changes, kind: RunKind) -> bool:
    """Whether an output that is held for a mass loss lacks every row that would be gone now too."""
    # An output is kept until a newer Run is accepted, so each one here is newer than the rows: two
    # complete Runs in a row agree on what is gone.
    gone = {change.key for change in changes.revisions if change.kind == "missing"}
    outputs = held.outputs(reader, dataset, MASS_LOSS, reader.now())
    return any(_lacks(packed, gone, kind) for packed in outputs)


def _lacks(packed: bytes, keys: set[str], kind: RunKind) -> bool:
    """Whether an output that is held would take away each of these keys."""
    try:
        return kind.lacks(held.deserialize_harvest(packed), keys)
    except SYMPTOMS:
        # What cannot be read confirms nothing; `livedata check` names it.
        return False


def _credits_problem(pages: int, balance: int) -> Problem:
    remedies = (Remedy("grant_credits", {"credits": pages - balance}), Remedy("accept_paid"))
    return Problem("run.credits", {"pages": pages, "balance": balance}, remedies=remedies)
