"""Taking over what a Run gathered: rows, revisions, evidence and the charge, in one transaction."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from livedata.model import ids
from livedata.model.harvest import Harvest, PageRead, Record, StopReason, StopRule
from livedata.model.problem import Problem, Remedy
from livedata.model.recipe import Recipe
from livedata.rules.changes.checks import checked_pages, distinct
from livedata.rules.changes.compare import Changes, SeenRecord, compare, is_mass_loss
from livedata.store.engine import Writer
from livedata.store.reads import datasets as dataset_reads
from livedata.store.reads import rows as row_reads
from livedata.store.writes import accounts, datasets, rows, runs

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
    run: bytes,
    dataset: bytes,
    recipe: Recipe,
    harvest: Harvest,
    policy: AcceptancePolicy,
) -> RunOutcome:
    """Write a complete harvest that passed all Checks, unless the guard or the credits hold it.

    Compares with the rows as this transaction sees them: an edit may have come between.
    """
    owner, schema_version, latest = datasets.lock(writer, dataset)
    changes, present = _changes(writer, dataset, recipe, harvest)
    gone = changes.count("missing")
    if is_mass_loss(present, gone, policy.mass_loss) and not _confirmed(writer, dataset, changes):
        share = {"present": present, "gone": gone, "share": policy.mass_loss}
        return RunOutcome("held", "mass_loss", _loss(present, gone), None, share)
    pages = checked_pages(harvest)
    balance = writer.value("SELECT balance FROM owners WHERE name = :name", name=owner)
    if balance < pages:
        price = {"pages": pages, "balance": balance}
        return RunOutcome("held", "credits", _too_dear(pages, balance), None, price)
    at = max(ids.now(), latest)
    rows.apply(writer, rows.Moment(dataset, schema_version, at, run), recipe, changes)
    present += changes.count("created", "returned") - gone
    datasets.change(writer, dataset, row_count=present)
    accounts.post(writer, owner, -pages, at, dataset=dataset, run=run)
    runs.forget_held(writer, dataset, run, at)
    deltas = (changes.count("created"), changes.count("updated", "returned"), gone)
    return RunOutcome("succeeded", "natural_end", None, deltas)


def kept_until(at: int) -> int:
    """Until when something that a Run leaves behind at a moment is kept."""
    return at + KEPT_FOR


def serialize_harvest(harvest: Harvest) -> bytes:
    """A harvest as it is kept for a person to judge."""
    return zlib.compress(orjson.dumps(harvest.pages))


def deserialize_harvest(packed: bytes) -> Harvest:
    """The opposite of :func:`pack`; only complete harvests are ever kept."""
    pages: list[dict[str, Any]] = orjson.loads(zlib.decompress(packed))
    return Harvest([_page(page) for page in pages], StopReason("natural_end"))


def _page(kept: dict[str, Any]) -> PageRead:
    return PageRead(**{**kept, "records": [Record(**record) for record in kept["records"]]})


def _changes(
    writer: Writer, dataset: bytes, recipe: Recipe, harvest: Harvest
) -> tuple[Changes, int]:
    current = row_reads.current(writer, dataset)
    seen = {key: SeenRecord(page, record) for key, (page, record) in distinct(harvest).items()}
    positions = [field.position for field in recipe.fields]
    width = len(dataset_reads.field_ids(writer, dataset))
    present = sum(row.presence == "present" for row in current)
    return compare(current, seen, positions, width), present


def _confirmed(writer: Writer, dataset: bytes, changes: Changes) -> bool:
    """Whether an output that the guard holds already lacked every row that would be gone now.

    Outputs are kept until a newer Run is accepted, so one that is there is newer than the rows.
    """
    gone = {change.key for change in changes.revisions if change.kind == "missing"}
    held = writer.rows(
        "SELECT r.stop, h.harvest FROM held_outputs h JOIN runs r ON r.id = h.run_id "
        "WHERE r.dataset_id = :dataset",
        dataset=dataset,
    )
    return any(
        gone.isdisjoint(distinct(deserialize_harvest(packed)))
        for stop, packed in held
        if orjson.loads(stop)["rule"] == "mass_loss"
    )


def _loss(present: int, gone: int) -> Problem:
    remedies = (Remedy("accept_loss"), Remedy("confirm_loss"))
    return Problem("run.mass_loss", {"present": present, "gone": gone}, remedies=remedies)


def _too_dear(pages: int, balance: int) -> Problem:
    remedies = (Remedy("grant_credits", {"credits": pages - balance}), Remedy("accept_paid"))
    return Problem("run.credits", {"pages": pages, "balance": balance}, remedies=remedies)
