"""Taking over what a Run gathered: rows, revisions, evidence and the charge, in one transaction."""

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
from livedata.rules.changes.checks import checked_pages, distinct
from livedata.rules.changes.compare import Changes, SeenRecord, compare, is_mass_loss
from livedata.store import accounts, datasets, held, revisions, rows
from livedata.store.database.backend import Writer
from livedata.store.datasets import LockedDataset
from livedata.store.revisions import WriteContext

KEPT_FOR = 30 * 86_400 * 1_000_000
"""How long what a Run left behind is kept (held output, page, steps), in microseconds."""


@dataclass(frozen=True, slots=True)
class AcceptancePolicy:
    """The share of rows whose loss a person should judge; None turns the guard off."""

    mass_loss: float | None = 0.5


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a Run ended; `deltas` (new, changed, gone) only where its rows were written.

    `inputs` is what the rule was applied to.
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
    """Write a complete harvest that passed all Checks, unless the guard or the credits hold it.

    The caller has locked the dataset and its owner, whose `balance` that is. Compares with the rows
    as this transaction sees them: an edit may have come between.
    """
    changes, present = _changes(writer, dataset, recipe, harvest)
    gone = changes.count("missing")
    lost = is_mass_loss(present, gone, policy.mass_loss)
    if lost and not _confirmed(writer, dataset.id, changes):
        share = {"present": present, "gone": gone, "share": policy.mass_loss}
        return RunOutcome("held", "mass_loss", _loss(present, gone), None, share)
    pages = checked_pages(harvest)
    if balance < pages:
        price = {"pages": pages, "balance": balance}
        return RunOutcome("held", "credits", _too_dear(pages, balance), None, price)
    at = max(ids.now(), dataset.rows_updated_at)
    context = WriteContext(dataset.id, dataset.schema_version, at, run)
    pages_read = {page.number: page for page in harvest.pages}
    revisions.apply(writer, context, recipe, changes, pages_read)
    present += changes.count("created", "returned") - gone
    datasets.change(writer, dataset.id, row_count=present)
    accounts.post(writer, dataset.owner, -pages, at, dataset=dataset.id, run=run)
    held.forget_outputs(writer, dataset.id, run, at)
    deltas = (changes.count("created"), changes.count("updated", "returned"), gone)
    return RunOutcome("succeeded", "natural_end", None, deltas)


def kept_until(at: Micros) -> Micros:
    """Until when something that a Run leaves behind at a moment is kept."""
    return ids.Micros(at + KEPT_FOR)


def serialize_harvest(harvest: Harvest) -> bytes:
    """A harvest as it is kept for a person to judge."""
    return zlib.compress(orjson.dumps(harvest.pages))


def deserialize_harvest(packed: bytes) -> Harvest:
    """The opposite of :func:`pack`; only complete harvests are ever kept."""
    pages: list[dict[str, Any]] = orjson.loads(zlib.decompress(packed))
    return Harvest([_page(page) for page in pages], StopReason("natural_end"))


def _page(kept: dict[str, Any]) -> PageRead:
    return PageRead(**{**kept, "records": [_record(record) for record in kept["records"]]})


def _record(kept: dict[str, Any]) -> Record:
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
    """Whether an output that the guard holds already lacked every row that would be gone now.

    Outputs are kept until a newer Run is accepted, so one that is there is newer than the rows.
    """
    gone = {change.key for change in changes.revisions if change.kind == "missing"}
    outputs = held.outputs(writer, dataset, "mass_loss")
    return any(gone.isdisjoint(distinct(deserialize_harvest(packed))) for packed in outputs)


def _loss(present: int, gone: int) -> Problem:
    remedies = (Remedy("accept_loss"), Remedy("confirm_loss"))
    return Problem("run.mass_loss", {"present": present, "gone": gone}, remedies=remedies)


def _too_dear(pages: int, balance: int) -> Problem:
    remedies = (Remedy("grant_credits", {"credits": pages - balance}), Remedy("accept_paid"))
    return Problem("run.credits", {"pages": pages, "balance": balance}, remedies=remedies)
