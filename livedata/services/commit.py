"""Accepts the harvest of a Run: rows, revisions, evidence and the charge, in one transaction."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from livedata.model import ids
from livedata.model.harvest import Harvest, PageRead, Quote, Record, StopReason, StopRule
from livedata.model.ids import DatasetId, Micros, RunId
from livedata.model.problem import Problem, Remedy
from livedata.model.recipe import Recipe
from livedata.model.run import KEPT_FOR
from livedata.rules.changes.checks import checked_pages, distinct
from livedata.rules.changes.compare import Changes, SeenRecord, compare, is_mass_loss
from livedata.store import accounts, datasets, held, revisions, rows
from livedata.store.database.backend import Writer
from livedata.store.datasets import LockedDataset
from livedata.store.revisions import WriteContext


@dataclass(frozen=True, slots=True)
class AcceptancePolicy:
    """The share of rows whose loss holds a Run for a person to judge; None turns the guard off."""

    mass_loss: float | None = 0.5


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The end of a Run; `deltas` (new, changed, gone) is None if no rows were written.

    `inputs` are the figures that the rule was applied to.
    """

    status: str
    rule: StopRule
    problem: Problem | None
    deltas: tuple[int, int, int] | None
    inputs: Mapping[str, object] = field(default_factory=dict)


def accept_harvest(
    writer: Writer,
    run: RunId,
    dataset: LockedDataset,
    balance: int,
    recipe: Recipe,
    harvest: Harvest,
    policy: AcceptancePolicy,
) -> RunOutcome:
    """Write a complete harvest that passed all Checks, if the guard and the credits allow it.

    The caller has locked the dataset and its owner, who has the `balance`.
    """
    # The dataset is locked first, so no edit comes between the comparison and the writing.
    changes, present = _changes(writer, dataset, recipe, harvest)
    gone = changes.count("missing")
    lost = is_mass_loss(present, gone, policy.mass_loss)
    if lost and not _confirmed(writer, dataset.id, changes):
        share = {"present": present, "gone": gone, "share": policy.mass_loss}
        return RunOutcome("held", "mass_loss", _mass_loss_problem(present, gone), None, share)
    # The guard comes before the price: what a person has to judge first need not be paid yet.
    pages = checked_pages(harvest)
    if balance < pages:
        price = {"pages": pages, "balance": balance}
        return RunOutcome("held", "credits", _credits_problem(pages, balance), None, price)
    # Revisions of a dataset never go back in time, even if the clock was set back.
    written_at = max(ids.now(), dataset.rows_updated_at)
    context = WriteContext(dataset.id, dataset.schema_version, written_at, run)
    pages_read = {page.number: page for page in harvest.pages}
    revisions.apply(writer, context, recipe, changes, pages_read)
    present += changes.count("created", "returned") - gone
    datasets.change(writer, dataset.id, row_count=present)
    # Charged in the transaction that writes the rows: there are no rows without a charge, and no
    # charge without rows. The balance was compared under the lock, so it cannot fall below 0.
    accounts.post(writer, dataset.owner, -pages, written_at, dataset=dataset.id, run=run)
    # Older outputs are older than these rows now: to accept one would turn the table back.
    held.forget_outputs(writer, dataset.id, run, written_at)
    deltas = (changes.count("created"), changes.count("updated", "returned"), gone)
    return RunOutcome("succeeded", "natural_end", None, deltas)


def kept_until(moment: Micros) -> Micros:
    """The moment until which something is kept that a Run leaves behind at `moment`."""
    return ids.Micros(moment + KEPT_FOR)


def serialize_harvest(harvest: Harvest) -> bytes:
    """The bytes of a harvest that is held for a person to judge."""
    # Only the pages: a held harvest is complete, so there is no failure and no other ending.
    return zlib.compress(orjson.dumps(harvest.pages))


def deserialize_harvest(packed: bytes) -> Harvest:
    """The harvest of :func:`serialize_harvest`, which is always complete."""
    pages: list[dict[str, Any]] = orjson.loads(zlib.decompress(packed))
    return Harvest([_page(page) for page in pages], StopReason("natural_end"))


def _page(kept: dict[str, Any]) -> PageRead:
    return PageRead(**{**kept, "records": [_record(record) for record in kept["records"]]})


def _record(kept: dict[str, Any]) -> Record:
    # Outputs that an older version kept have no quotes.
    quotes = kept.get("quotes")
    if quotes is not None:
        quotes = [[Quote(**quote) for quote in of_field] for of_field in quotes]
    return Record(**{**kept, "quotes": quotes})


def _changes(
    writer: Writer, dataset: LockedDataset, recipe: Recipe, harvest: Harvest
) -> tuple[Changes, int]:
    current = rows.current(writer, dataset.id)
    seen = {key: SeenRecord(page, record) for key, (page, record) in distinct(harvest).items()}
    positions = [field.position for field in recipe.fields]
    width = len(dataset.ref.fields.ids)
    present = sum(row.presence == "present" for row in current)
    return compare(current, seen, positions, width), present


def _confirmed(writer: Writer, dataset: DatasetId, changes: Changes) -> bool:
    """Whether an output that the guard holds lacks every row that would be gone now too."""
    # An output is kept until a newer Run is accepted, so each one here is newer than the rows: two
    # complete Runs in a row agree on what is gone.
    gone = {change.key for change in changes.revisions if change.kind == "missing"}
    outputs = held.outputs(writer, dataset, "mass_loss")
    return any(gone.isdisjoint(distinct(deserialize_harvest(packed))) for packed in outputs)


def _mass_loss_problem(present: int, gone: int) -> Problem:
    remedies = (Remedy("accept_loss"), Remedy("confirm_loss"))
    return Problem("run.mass_loss", {"present": present, "gone": gone}, remedies=remedies)


def _credits_problem(pages: int, balance: int) -> Problem:
    remedies = (Remedy("grant_credits", {"credits": pages - balance}), Remedy("accept_paid"))
    return Problem("run.credits", {"pages": pages, "balance": balance}, remedies=remedies)
