"""Concludes a Run: its rows, revisions, evidence and charge in one transaction, or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

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
from livedata.rules.changes.checks import Verdict, checked_pages, distinct
from livedata.rules.changes.compare import Changes, SeenRecord, compare, fill_standing
from livedata.rules.changes.guards import (
    MASS_LOSS,
    Comparison,
    Drift,
    find_drifts,
    find_lost_entities,
    holding,
)
from livedata.rules.diagnosis.oddities import find_oddities
from livedata.rules.diagnosis.run_facts import stop_inputs
from livedata.store import accounts, datasets, held, revisions, rows, runs
from livedata.store.database.backend import SYMPTOMS, Reader, Writer
from livedata.store.database.codec import dump
from livedata.store.datasets import DatasetRef, LockedDataset
from livedata.store.revisions import WriteContext

if TYPE_CHECKING:
    from livedata.model.research.recipe import ResearchRecipe


class AcceptancePolicy(Struct, frozen=True):
    """The drift guards that hold a Run, and the share of rows whose loss is a mass loss.

    A share of None turns that guard off.
    """

    mass_loss: float | None = 0.5
    guards: frozenset[Guard] = frozenset(GUARDS)


class Reading(Struct, frozen=True):
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


class Proposal(Struct, frozen=True):
    """The changes that a harvest makes to the rows, of which `present` are present."""

    changes: Changes
    present: int

    @property
    def gone(self) -> int:
        """How many present rows the harvest does not have."""
        return self.changes.count("missing")

    @property
    def deltas(self) -> tuple[int, int, int]:
        """How many rows the harvest makes, changes and finds gone."""
        changes = self.changes
        return changes.count("created"), changes.count("updated", "returned"), self.gone


def conclude(
    writer: Writer,
    run: RunId,
    dataset: LockedDataset,
    balance: int,
    reading: Reading,
    policy: AcceptancePolicy,
) -> RunOutcome:
    """Accept what an attempt read, or hold it, or do neither.

    The caller has locked the dataset and its owner, who has the `balance`.
    """
    recipe, harvest, verdict = reading.recipe, reading.harvest, reading.verdict
    inputs = _inputs(reading)
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
    if harvest.research is not None:
        from livedata.store.research import entities  # a Run of selectors has none

        entities.keep(writer, dataset.id, harvest.research.identities)
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
    seen = {key: SeenRecord(page, record) for key, (page, record) in distinct(harvest).items()}
    positions = [field.position for field in recipe.fields]
    width = len(dataset.fields.ids)
    present = sum(row.presence == "present" for row in current)
    gone = None
    if harvest.research is not None:
        # As the rows are now: somebody may have edited one since the Run began.
        seen, gone = fill_standing(current, seen, positions), frozenset(harvest.research.gone)
    return Proposal(compare(current, seen, positions, width, gone), present)


def _inputs(reading: Reading) -> dict[str, object]:
    """The figures that the rule which ended a Run was applied to."""
    recipe, harvest, verdict = reading.recipe, reading.harvest, reading.verdict
    if isinstance(recipe, Recipe):
        return stop_inputs(verdict, harvest, recipe)
    if verdict.rule == "check_failed":
        return {"failedChecks": [check.id for check in verdict.checks if not check.passed]}
    assert harvest.research is not None
    return harvest.research.inputs


def last_accepted(reader: Reader, dataset: DatasetId) -> RunFacts:
    """The facts of the Run that was accepted last; empty if none was."""
    run = rows.last_accepted_run(reader, dataset)
    return {} if run is None else runs.facts(reader, run)[1]


def judge_drift(
    reader: Reader,
    dataset: DatasetId,
    recipe: Recipe | ResearchRecipe,
    facts: RunFacts,
    proposal: Proposal,
    policy: AcceptancePolicy,
) -> tuple[Drift | None, list[Problem]]:
    """The drift that holds a complete Run for a person, if one does, and what else looks odd."""
    if not isinstance(recipe, Recipe):
        lost = find_lost_entities(
            proposal.present, proposal.gone, enabled=policy.mass_loss is not None
        )
        return _guarded(reader, dataset, proposal, holding(lost, policy.guards)), []
    before = last_accepted(reader, dataset)
    comparison = Comparison(recipe, facts, before, proposal.present, proposal.changes)
    drifts = find_drifts(comparison, policy.mass_loss)
    guarded = _guarded(reader, dataset, proposal, holding(drifts, policy.guards))
    findings = [drift.finding for drift in drifts if drift is not guarded]
    oddities = find_oddities(comparison, [drift.finding for drift in drifts])
    return guarded, [*findings, *oddities]


def _guarded(
    reader: Reader, dataset: DatasetId, proposal: Proposal, drifts: Sequence[Drift]
) -> Drift | None:
    """The drift that holds the Run for a person, if one does."""
    if not drifts:
        return None
    # A mass loss stands last, so it is the first only if it is alone.
    first = drifts[0]
    if first.may_repeat and _is_confirmed(reader, dataset, proposal.changes):
        return None
    return first


def _is_confirmed(reader: Reader, dataset: DatasetId, changes: Changes) -> bool:
    """Whether an output that is held for a mass loss lacks every row that would be gone now too."""
    # An output is kept until a newer Run is accepted, so each one here is newer than the rows: two
    # complete Runs in a row agree on what is gone.
    gone = {change.key for change in changes.revisions if change.kind == "missing"}
    outputs = held.outputs(reader, dataset, MASS_LOSS, reader.now())
    return any(_lacks(packed, gone) for packed in outputs)


def _lacks(packed: bytes, keys: set[str]) -> bool:
    """Whether an output that is held would take away each of these keys."""
    try:
        harvest = held.deserialize_harvest(packed)
        if harvest.research is not None:
            return keys.issubset(harvest.research.gone)
        return keys.isdisjoint(distinct(harvest))
    except SYMPTOMS:
        # What cannot be read confirms nothing; `livedata check` names it.
        return False


def _credits_problem(pages: int, balance: int) -> Problem:
    remedies = (Remedy("grant_credits", {"credits": pages - balance}), Remedy("accept_paid"))
    return Problem("run.credits", {"pages": pages, "balance": balance}, remedies=remedies)
