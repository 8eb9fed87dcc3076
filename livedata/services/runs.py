"""Asking for Runs: enqueue one, find what is due, accept a held one, cancel."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.exc import IntegrityError

from livedata.model import ids
from livedata.model.errors import (
    Conflict,
    InsufficientCredits,
    LivedataError,
    NotFound,
    RunInProgress,
)
from livedata.model.problem import Remedy
from livedata.model.recipe import Recipe
from livedata.model.source import Source
from livedata.rules.declaration.cron import next_fire
from livedata.rules.diagnosis.run_facts import row_placement
from livedata.rules.network.targets import site_of
from livedata.services.attempts import is_live, pinned, reap_expired_leases
from livedata.services.commit import AcceptancePolicy, accept_harvest, deserialize_harvest
from livedata.store.codec import dump, dump_packed
from livedata.store.database import Reader
from livedata.store.engine import Store, Writer
from livedata.store.reads import datasets as dataset_reads
from livedata.store.reads import runs as run_reads
from livedata.store.writes import datasets
from livedata.store.writes import runs as run_writes


@dataclass(frozen=True, slots=True)
class Queued:
    """A Run to execute; `isolated` if it fell together with others and is to be started apart."""

    run: bytes
    dataset: bytes
    name: str
    isolated: bool = False


def enqueue(store: Store, owner: str, dataset: bytes) -> tuple[str, int]:
    """Durably enqueue a Run (specification 4.3): its id and the credits that are left.

    Raises NotFound, RunInProgress, InsufficientCredits at a balance of 0, StoreUnavailable.
    """
    try:
        with store.writing() as writer:
            if dataset_reads.get(writer, owner, dataset) is None:
                raise NotFound("There is no such dataset.")
            if _open(writer, dataset) is not None:
                raise RunInProgress
            balance = _funds(writer, owner)
            run = _add(writer, dataset, ids.now())
            return ids.format_uuid(run), balance
    except IntegrityError as error:
        raise RunInProgress from error


def take_up(store: Store, owner: str, dataset: bytes, name: str) -> Queued:
    """The open Run of a dataset if no live process has it, else a new one.

    Raises RunInProgress where a live process executes it, InsufficientCredits at a balance of 0.
    """
    reap_expired_leases(store)
    with store.writing() as writer:
        found = _open(writer, dataset)
        if found is not None:
            run, status, holder, until, alone = found
            if status == "running" and is_live(holder, until):
                raise RunInProgress(f"A Run of {name} is in progress in another process.")
            return Queued(run, dataset, name, alone)
        _funds(writer, owner)
        return Queued(_add(writer, dataset, ids.now()), dataset, name)


def claim_due(
    store: Store, owner: str, zone: str = "UTC"
) -> tuple[list[Queued], list[str], list[tuple[str, LivedataError]]]:
    """What ``livedata run`` without names takes, the drafts with a schedule that it leaves, and
    what is due but cannot be run, with the reason.

    Datasets without a schedule always, active ones with one where it is due; paused ones never.
    A due fire is claimed here, so that no scheduler enqueues it again.
    """
    with store.reading() as reader:
        waiting = reader.rows(
            "SELECT id, name, status, schedule, next_run_at FROM datasets "
            "WHERE owner = :owner AND status <> 'paused' ORDER BY name",
            owner=owner,
        )
    due: list[Queued] = []
    left: list[str] = []
    refused: list[tuple[str, LivedataError]] = []
    for dataset, name, status, schedule, fires_at in waiting:
        if schedule is not None and status == "draft":
            left.append(name)
        elif schedule is None or (
            fires_at is not None and fires_at <= ids.now() and _claim(store, dataset, zone)
        ):
            try:
                due.append(take_up(store, owner, dataset, name))
            except (RunInProgress, InsufficientCredits) as error:
                refused.append((name, error))
    return due, left, refused


def waiting(store: Store, limit: int) -> list[Queued]:
    """The Runs that a worker may start now, the longest waiting first, one per free site."""
    with store.reading() as reader:
        rows = reader.rows(
            "SELECT r.id, r.dataset_id, d.name, r.alone FROM runs r "
            "JOIN datasets d ON d.id = r.dataset_id "
            "WHERE r.status = 'queued' AND r.id = ("
            "SELECT id FROM runs w WHERE w.site = r.site AND w.status = 'queued' "
            "ORDER BY w.queued_at, w.id LIMIT 1) "
            "AND NOT EXISTS (SELECT 1 FROM runs b WHERE b.turn = r.site AND b.status = 'running') "
            "ORDER BY r.queued_at, r.id LIMIT :limit",
            limit=limit,
        )
    return [Queued(row[0], row[1], row[2], bool(row[3])) for row in rows]


def all_unpaused(reader: Reader, owner: str) -> list[tuple[bytes, str]]:
    """The (id, name) of every dataset that is not paused."""
    rows = reader.rows(
        "SELECT id, name FROM datasets WHERE owner = :owner AND status <> 'paused' ORDER BY name",
        owner=owner,
    )
    return [(row[0], row[1]) for row in rows]


def cancel(store: Store, run: bytes) -> None:
    """End a Run that was not started; one that is in progress is left to whoever executes it."""
    with store.writing() as writer:
        run_writes.cancel_queued(writer, run, ids.now(), dump({"rule": "cancelled"}))


def accept(store: Store, owner: str, run: bytes) -> str:
    """Take the output of a held Run as it stands; the status that the Run then has.

    Raises NotFound, InsufficientCredits, and Conflict where nothing is held, its coverage was
    incomplete, or the dataset has had a newer accepted Run.
    """
    with store.writing() as writer:
        dataset, recipe, packed = _held(writer, owner, run)
        harvest = deserialize_harvest(packed)
        end = accept_harvest(
            writer, run, dataset, recipe, harvest, AcceptancePolicy(mass_loss=None)
        )
        if end.deltas is None:
            raise InsufficientCredits(end.error)
        _, found = run_reads.facts(writer, run)
        run_writes.forget_page(writer, run)
        head, present = dataset_reads.standing(writer, dataset)
        new, changed, gone = end.deltas
        run_writes.change(
            writer,
            run,
            status="succeeded",
            error=None,
            completed_at=ids.now(),
            new_rows=new,
            changed_rows=changed,
            gone_rows=gone,
            stop=dump({"rule": "natural_end", "inputs": {"accepted": "by hand"}}),
            facts=dump_packed({**found, **row_placement(harvest, head, present)}),
        )
    return end.status


def _held(writer: Writer, owner: str, run: bytes) -> tuple[bytes, Recipe, bytes]:
    """The dataset, recipe and kept output of a held Run."""
    row = writer.row(
        "SELECT r.dataset_id, r.status, r.recipe_version, h.harvest, d.field_ids, d.columns "
        "FROM runs r JOIN datasets d ON d.id = r.dataset_id "
        "LEFT JOIN held_outputs h ON h.run_id = r.id AND h.kept_until >= :now "
        "WHERE r.id = :run AND d.owner = :owner",
        now=ids.now(),
        run=run,
        owner=owner,
    )
    if row is None:
        raise NotFound("There is no such Run.")
    dataset, status, version, packed, field_ids, columns = row
    if status != "held":
        raise Conflict(f"This Run is {status}, not held, so there is nothing to accept.")
    if packed is None:
        raise Conflict(
            "The output of this Run is not kept: its coverage was incomplete, a newer Run was "
            "accepted, or 30 days have passed. Run the dataset again."
        )
    _, declared = dataset_reads.source(writer, dataset, version)
    source = Source.model_validate_json(dump(declared), by_name=False)
    return dataset, pinned(source, version, field_ids, columns), packed


def _open(reader: Reader, dataset: bytes) -> tuple[bytes, str, str | None, int | None, bool] | None:
    row = reader.row(
        "SELECT id, status, lease_owner, lease_until, alone FROM runs "
        "WHERE dataset_id = :dataset AND status IN ('queued', 'running')",
        dataset=dataset,
    )
    return None if row is None else (row[0], row[1], row[2], row[3], bool(row[4]))


def _funds(reader: Reader, owner: str) -> int:
    balance: int = reader.value("SELECT balance FROM owners WHERE name = :name", name=owner)
    if balance <= 0:
        raise InsufficientCredits(
            remedies=(Remedy("grant_credits", {"owner": owner}),),
        )
    return balance


def _add(writer: Writer, dataset: bytes, at: int) -> bytes:
    version, declared = dataset_reads.source(writer, dataset)
    url = declared.get("url") if isinstance(declared, dict) else None
    site = site_of(url) if isinstance(url, str) else ids.format_uuid(dataset)
    return run_writes.add(writer, dataset, version, site, at)


def _claim(store: Store, dataset: bytes, zone: str) -> bool:
    """Move a due schedule on to its next fire; False where another process was faster."""
    with store.writing() as writer:
        row = writer.row("SELECT schedule, next_run_at FROM datasets WHERE id = :id", id=dataset)
        at = ids.now()
        if row is None or row[0] is None or row[1] is None or row[1] > at:
            return False
        fires = next_fire(row[0], ids.to_datetime(at), zone)
        datasets.change(writer, dataset, next_run_at=ids.microseconds(fires))
        return True
