"""Concludes a Run: its rows, revisions, evidence and charge in one transaction, or nothing.

The Run and its dataset are locked first, so that no edit comes between the comparison and the rows.
Its owner is locked last, by the charge: all Runs of an owner wait for each other there, and what
comes before they do at the same time. If the credits were spent meanwhile, nothing is written, and
the Run is concluded once more with its owner locked from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
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
from livedata.rules.changes.compare import Changes, CurrentRow, Proposal, compare
from livedata.rules.changes.guards import MASS_LOSS, Drift, holding
from livedata.services import rows as rows_edited
from livedata.services.kinds import choice as kinds
from livedata.store import accounts, held, revisions, rows, runs
from livedata.store.database.backend import SYMPTOMS, Reader, Writer
from livedata.store.database.codec import Fields, dump
from livedata.store.datasets import DatasetRef, LockedDataset
from livedata.store.revisions import Standing, WriteContext

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
    show what they did, since a hand edit stands above what has moved. `price` is what is charged
    for its pages, `at` the moment of its rows.
    """

    status: str
    rule: StopRule
    problem: Problem | None
    deltas: tuple[int, int, int] | None
    inputs: Mapping[str, object] = field(default_factory=dict)
    oddities: Sequence[Problem] = ()
    would: tuple[int, int, int] | None = None
    covered: int = 0
    price: int = 0
    at: Micros = Micros(0)


class Overdrawn(Exception):
    """The credits that a Run was to be charged were spent since they were looked at."""


class DatasetAtEnd(Struct, frozen=True):
    """What a Run finds at its end: its dataset, which is locked, and what is known of it."""

    dataset: LockedDataset
    standing: Standing
    rows: Sequence[CurrentRow]


CANCELLED: Final = RunOutcome("failed", "cancelled", Problem("run.cancelled"), None)
"""The end of a Run that a person has cancelled."""


def conclude(
    writer: Writer,
    run: RunId,
    at_end: DatasetAtEnd,
    reading: JudgedHarvest,
    policy: AcceptancePolicy,
) -> tuple[RunOutcome, Set[str]]:
    """Accept what an attempt read whose Checks passed, or hold it; the keys of the rows then.

    The charge of an accepted Run is left to :func:`charge`.
    """
    dataset = at_end.dataset
    recipe, harvest = of_today(dataset.ref.fields, reading.recipe, reading.harvest)
    facts = reading.facts
    if recipe is not reading.recipe:
        facts = kinds.of_recipe(recipe).facts(recipe, harvest, facts)
    proposal = propose(dataset.ref, recipe, harvest, at_end.rows)
    before = at_end.standing.facts()
    drift, oddities = judge_drift(writer, dataset.id, recipe, facts, before, proposal, policy)
    # The guards come before the price: what a person has to judge first need not be paid yet.
    if drift is not None:
        outcome = RunOutcome("held", "mass_loss", drift.problem, None, drift.inputs)
    else:
        outcome = _take_over(writer, run, at_end, recipe, harvest, proposal)
    if outcome.deltas is None:
        # Its coverage is complete, so a person may still accept it.
        packed = held.serialize_harvest(reading.harvest)
        held.hold(writer, dataset.id, run, packed, kept_until(writer.now()))
        return replace(outcome, would=proposal.deltas, oddities=oddities), proposal.keys
    odd = [*outcome.oddities, *oddities]
    return replace(outcome, inputs=_inputs(reading), oddities=odd), proposal.keys_after


def refuse(reading: JudgedHarvest) -> RunOutcome:
    """The end of an attempt whose Checks did not pass."""
    verdict = reading.verdict
    return RunOutcome(verdict.outcome, verdict.rule, verdict.problem, None, _inputs(reading))


def _inputs(reading: JudgedHarvest) -> Mapping[str, object]:
    kind = kinds.of_recipe(reading.recipe)
    return kind.inputs(reading.recipe, reading.harvest, reading.verdict)


def accept_harvest(
    writer: Writer,
    run: RunId,
    at_end: DatasetAtEnd,
    recipe: Recipe | ResearchRecipe,
    harvest: Harvest,
) -> tuple[RunOutcome, Set[str]]:
    """Accept a held harvest as it stands, if the credits allow it: a person has judged the rest.

    With the keys of the rows then. The charge is left to :func:`charge`.
    """
    recipe, harvest = of_today(at_end.dataset.ref.fields, recipe, harvest)
    proposal = propose(at_end.dataset.ref, recipe, harvest, at_end.rows)
    outcome = _take_over(writer, run, at_end, recipe, harvest, proposal)
    return outcome, proposal.keys_after


def _take_over(
    writer: Writer,
    run: RunId,
    at_end: DatasetAtEnd,
    recipe: Recipe | ResearchRecipe,
    harvest: Harvest,
    proposal: Proposal,
) -> RunOutcome:
    """Write the rows, if the credits suffice."""
    pages, balance, dataset = checked_pages(harvest), at_end.standing.balance, at_end.dataset
    if balance < pages:
        price = {"pages": pages, "balance": balance}
        return RunOutcome("held", "credits", _credits_problem(pages, balance), None, price)
    # Revisions of a dataset never go back in time, even if the clock was set back.
    written_at = max(ids.now(), dataset.rows_updated_at)
    context = WriteContext(dataset.id, dataset.schema_version, written_at, run)
    pages_read = {page.number: page for page in harvest.pages}
    last = at_end.standing.last
    revisions.apply(writer, context, recipe, proposal, pages_read, dataset.ref, last)
    kinds.of_recipe(recipe).keep(writer, dataset.id, harvest)
    # Older outputs are older than these rows now: to accept one would turn the table back.
    if at_end.standing.holds_outputs:
        held.forget_outputs(writer, dataset.id, run)
    # In the same transaction as the rows: nobody sees them without what people made of them.
    left: Sequence[Problem] = ()
    if (old := dataset.takes_over) is not None:
        left = rows_edited.take_over(writer, context, dataset.owner, dataset.ref, old)
    ended = RunOutcome("succeeded", harvest.ending.rule, None, proposal.deltas, oddities=left)
    return replace(ended, covered=proposal.changes.covered, price=pages, at=written_at)


def charge(
    writer: Writer, dataset: LockedDataset, run: RunId, end: RunOutcome
) -> Callable[[], None]:
    """Charge an accepted Run, together with the next question; its owner is locked from then on.

    What is returned raises Overdrawn if the credits do not suffice any more.
    """
    # In the transaction that writes the rows: there are no rows without a charge, and no charge
    # without rows.
    paid = accounts.charge(writer, dataset.owner, end.price, end.at, dataset.id, run)

    def check() -> None:
        if not paid():
            raise Overdrawn

    return check


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
    dataset: DatasetRef,
    recipe: Recipe | ResearchRecipe,
    harvest: Harvest,
    current: Sequence[CurrentRow],
) -> Proposal:
    """What a harvest would change in the rows of a dataset as they are."""
    seen, gone = kinds.of_recipe(recipe).seen(recipe, harvest, current)
    positions = [field.position for field in recipe.fields]
    present = {row.key for row in current if row.presence == "present"}
    changes = compare(current, seen, positions, len(dataset.fields.ids), gone)
    return Proposal(changes, present)


def of_today(
    fields: Fields, recipe: Recipe | ResearchRecipe, harvest: Harvest
) -> tuple[Recipe | ResearchRecipe, Harvest]:
    """A recipe and what it read without the columns that were dropped since it was pinned."""
    kept = [place for place, each in enumerate(recipe.fields) if each.id in fields.columns]
    if len(kept) == len(recipe.fields):
        return recipe, harvest
    return recipe.of_fields(kept), harvest.of_fields(kept)


def last_accepted(reader: Reader, dataset: DatasetId) -> RunFacts:
    """The facts of the Run that was accepted last; empty if none was."""
    run = rows.last_accepted_run(reader, dataset)
    return {} if run is None else runs.facts(reader, run)[1]


def judge_drift(
    reader: Reader,
    dataset: DatasetId,
    recipe: Recipe | ResearchRecipe,
    facts: RunFacts,
    before: RunFacts,
    proposal: Proposal,
    policy: AcceptancePolicy,
) -> tuple[Drift | None, list[Problem]]:
    """The drift that holds a complete Run for a person, if one does, and what else looks odd.

    `before` are the facts of the Run that was accepted last.
    """
    kind = kinds.of_recipe(recipe)

    def guarding(drifts: Sequence[Drift]) -> Drift | None:
        return _guarded(reader, dataset, proposal, kind, holding(drifts, policy.guards))

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
