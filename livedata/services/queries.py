"""Every question of a door: one function, one read transaction each, nothing heavy imported.

All raise StoreUnavailable where the store cannot be reached, and NotFound for what is not there
for this owner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from livedata.model import ids
from livedata.model.account import ApiKey, Usage
from livedata.model.dataset import Column, Dataset
from livedata.model.diagnosis.recorded_run import RunFacts
from livedata.model.errors import NotFound
from livedata.model.problem import Remedy
from livedata.model.row import Row, RowDetail
from livedata.model.run import Run
from livedata.store.database import Database, Reader
from livedata.store.reads import accounts
from livedata.store.reads import datasets as dataset_reads
from livedata.store.reads import rows as row_reads
from livedata.store.reads import runs as run_reads

LEDGER_WINDOW = 30 * 86_400 * 1_000_000


@dataclass(frozen=True, slots=True)
class RunReport:
    """A Run with what it stored at its end, to tell a person."""

    run: Run
    stop: dict[str, Any]
    facts: RunFacts
    charged: int
    columns: list[Column]
    name: str


def dataset(db: Database, owner: str, dataset_id: bytes) -> Dataset:
    """Specification 4.1: one dataset."""
    with db.reading() as reader:
        found = dataset_reads.get(reader, owner, dataset_id)
    if found is None:
        raise NotFound("There is no such dataset.")
    return found


def datasets(
    db: Database, owner: str, limit: int, before: tuple[int, str] | None = None
) -> list[Dataset]:
    """Specification 4.1: the owner's datasets, newest first."""
    with db.reading() as reader:
        return dataset_reads.newest(reader, owner, limit, before)


def source(db: Database, owner: str, dataset_id: bytes) -> dict[str, Any]:
    """What a dataset was declared with, in the form of the body that creates one."""
    with db.reading() as reader:
        found = dataset_reads.get(reader, owner, dataset_id)
        if found is None:
            raise NotFound("There is no such dataset.")
        _, declared = dataset_reads.source(reader, dataset_id)
    columns = [
        {key: value for key, value in column.items() if key != "id"} for column in found["columns"]
    ]
    question = {"question": found["question"]} if found["question"] else {}
    return {"name": found["name"], **question, "columns": columns, "source": declared}


def find_dataset(db: Database, owner: str, given: str) -> bytes:
    """The dataset that a person means: its name, its id, or an unambiguous end of its id."""
    with db.reading() as reader:
        exact = dataset_reads.named(reader, owner, given)
        if exact is not None:
            return exact
        known = dataset_reads.all_names(reader, owner)
    found = [key for key, _ in known if ids.matches_either_end(given, key)]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f"{given!r} is the beginning of {len(found)} dataset ids; write more of it.")
    from livedata.messages.request import nearest

    names = [name for _, name in known]
    near = nearest(given, names)
    meant = f"; did you mean {near!r}?" if near else "."
    listed = ", ".join(names[:5]) or "none yet"
    more = ", …" if len(names) > 5 else ""
    raise NotFound(
        f"There is no dataset {given!r}{meant} There is: {listed}{more}.",
        remedies=() if names else (Remedy("init"),),
    )


def find_run(db: Database, owner: str, given: str) -> bytes:
    """The Run that a person means: its id, an unambiguous end of it, or a dataset's last Run."""
    with db.reading() as reader:
        exact = dataset_reads.named(reader, owner, given)
        if exact is not None:
            return _last_run(reader, owner, exact, given)
        found = [
            run for run in run_reads.all_ids(reader, owner) if ids.matches_either_end(given, run)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise NotFound(f"{given!r} is the beginning of {len(found)} Run ids; write more of it.")
        known = [
            key
            for key, _ in dataset_reads.all_names(reader, owner)
            if ids.matches_either_end(given, key)
        ]
        if len(known) == 1:
            return _last_run(reader, owner, known[0], given)
    raise NotFound(
        f"There is no Run or dataset {given!r}.",
        remedies=(Remedy("list_datasets", {"owner": owner}),),
    )


def find_row(db: Database, owner: str, dataset_id: bytes, given: str) -> bytes:
    """The row that a person means: its key, its id, or an unambiguous end of its id."""
    with db.reading() as reader:
        _handle(reader, owner, dataset_id)
        known = row_reads.keys(reader, dataset_id, given)
    exact = [row for row, key in known if key == given]
    found = exact or [row for row, _ in known if ids.matches_either_end(given, row)]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f"{given!r} is the beginning of {len(found)} row ids; write more of it.")
    raise NotFound(f"There is no row {given!r}; a row is named by its key or its id.")


def runs(db: Database, owner: str, dataset_id: bytes, limit: int) -> list[Run]:
    """Specification 4.3: the recent Runs of a dataset, newest first."""
    with db.reading() as reader:
        _handle(reader, owner, dataset_id)
        return run_reads.newest(reader, owner, dataset_id, limit)


def run(db: Database, owner: str, run_id: bytes) -> Run:
    """Specification 4.3: one Run."""
    with db.reading() as reader:
        return _run(reader, owner, run_id)


def run_report(db: Database, owner: str, run_id: bytes) -> RunReport:
    """One Run with what it stored at its end."""
    with db.reading() as reader:
        found = _run(reader, owner, run_id)
        about = dataset_reads.get(reader, owner, ids.raw_id(found["datasetId"]))
        assert about is not None
        stop, facts = run_reads.facts(reader, run_id)
        charged = run_reads.charged(reader, run_id)
    return RunReport(found, stop, facts, charged, about["columns"], about["name"])


def rows(
    db: Database,
    owner: str,
    dataset_id: bytes,
    limit: int,
    *,
    since: int | None = None,
    statuses: Sequence[str] = (),
    before: tuple[int, str] | None = None,
) -> list[Row]:
    """Specification 4.2: current rows by updatedAt, then id, descending."""
    with db.reading() as reader:
        fields = _handle(reader, owner, dataset_id).fields
        return row_reads.newest(
            reader, dataset_id, fields, limit, since=since, statuses=statuses, before=before
        )


def every_row(db: Database, owner: str, dataset_id: bytes) -> Iterator[Row]:
    """All rows of a dataset by key, within one read transaction that lasts as long as they do."""
    with db.reading() as reader:
        fields = _handle(reader, owner, dataset_id).fields
        yield from row_reads.by_key(reader, dataset_id, fields)


def row(db: Database, owner: str, dataset_id: bytes, row_id: bytes) -> RowDetail:
    """Specification 4.2: one row with its evidence."""
    with db.reading() as reader:
        fields = _handle(reader, owner, dataset_id).fields
        found = row_reads.detail(reader, dataset_id, fields, row_id)
    if found is None:
        raise NotFound("There is no such row.")
    return found


def usage(db: Database, owner: str) -> Usage:
    """Specification 4.4: the balance, and the ledger of the last 30 days."""
    with db.reading() as reader:
        balance = accounts.balance(reader, owner)
        entries = accounts.ledger(reader, owner, ids.now() - LEDGER_WINDOW)
    return {"balance": balance or 0, "ledger": entries}


def check_health(db: Database) -> None:
    """Raise StoreUnavailable where the store does not answer."""
    with db.reading() as reader:
        accounts.balance(reader, "")


def keys(db: Database) -> list[ApiKey]:
    """Every key, oldest first."""
    with db.reading() as reader:
        return accounts.keys(reader)


def _handle(reader: Reader, owner: str, dataset_id: bytes) -> dataset_reads.Handle:
    found = dataset_reads.handle(reader, owner, dataset_id)
    if found is None:
        raise NotFound("There is no such dataset.")
    return found


def _run(reader: Reader, owner: str, run_id: bytes) -> Run:
    found = run_reads.get(reader, owner, run_id)
    if found is None:
        raise NotFound("There is no such Run.")
    return found


def _last_run(reader: Reader, owner: str, dataset_id: bytes, given: str) -> bytes:
    found = run_reads.newest(reader, owner, dataset_id, 1)
    if found:
        return ids.raw_id(found[0]["id"])
    raise NotFound(
        f"{given} has had no Run yet.",
        remedies=(Remedy("run_first", {"owner": owner, "dataset": given}),),
    )
