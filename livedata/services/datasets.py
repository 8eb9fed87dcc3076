"""Acts on datasets: create, update, revise, delete."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from livedata.model import ids
from livedata.model.dataset import Column, Dataset, columns_by_id
from livedata.model.errors import (
    ChangedMeanwhile,
    Conflict,
    Detail,
    Invalid,
    NameTaken,
    RunInProgress,
    SchemaVersionConflict,
)
from livedata.model.ids import DatasetId, Micros, OwnerName
from livedata.model.problem import Remedy
from livedata.model.requests import CreateDataset, UpdateDataset
from livedata.model.source import ColumnUpdate, NewColumn, pinned_column
from livedata.rules.declaration import consistency
from livedata.rules.declaration.cron import next_fire, schedule_problem
from livedata.rules.network.targets import TargetPolicy
from livedata.services.accounts import check_datasets, meet_owner
from livedata.store import accounts, digests, held, overrides, queue, recipes, runs
from livedata.store import datasets as dataset_store
from livedata.store.database.backend import AlreadyThere, Reader, Writer
from livedata.store.database.codec import dump
from livedata.store.database.store import Store
from livedata.store.datasets import DatasetRef, LockedDataset


def create(
    store: Store,
    owner: OwnerName,
    declared: CreateDataset,
    targets: TargetPolicy,
    *,
    first_credits: int = 0,
) -> Dataset:
    """Create a draft with its Bot, recipe version 1 and schema version 1 (interface 4.1).

    A new owner starts with `first_credits`. Raises Invalid with a detail for every wrong place,
    NameTaken if the owner has a dataset of that name, and LimitReached.
    """
    consistency.check(declared, targets)
    try:
        with store.writing() as writer:
            # In the same transaction: a create that fails leaves no owner and no grant behind.
            meet_owner(writer, owner, first_credits)
            return dataset_store.get(writer, owner, add(writer, owner, declared))
    except AlreadyThere as error:
        raise name_taken(declared.name) from error


def add(writer: Writer, owner: OwnerName, declared: CreateDataset) -> DatasetId:
    """The same in a transaction that goes on, of a declaration that is right.

    Raises AlreadyThere if the owner has a dataset of that name, and LimitReached.
    """
    check_datasets(writer, owner)
    columns = [_new_column(column) for column in declared.columns]
    source = declared.source.pinned()
    return dataset_store.add(
        writer, owner, declared.name, declared.question, columns, source, ids.now()
    )


def update(
    store: Store,
    owner: OwnerName,
    dataset: DatasetId,
    wanted: UpdateDataset | None,
    zone: str = "UTC",
    *,
    label_column: str | None = None,
    as_read: Dataset | None = None,
) -> Dataset:
    """Change metadata, columns, status or schedule; what is not given stays (interface 4.1).

    `label_column` is the name of the column that is to name rows, "" for the one that does without
    a choice; `as_read` the dataset as it has to be still. Raises NotFound, Invalid, NameTaken,
    SchemaVersionConflict if the columns have changed since the caller read them, and
    ChangedMeanwhile if another update came since `as_read`.
    """
    if label_column is None and (wanted is None or not wanted.model_fields_set):
        raise Invalid("The update is empty: give at least one property.")
    try:
        with store.writing() as writer:
            locked = dataset_store.lock_dataset(writer, dataset, owner)
            current = dataset_store.get(writer, owner, dataset)
            if as_read is not None and _updated(as_read) != _updated(current):
                raise ChangedMeanwhile
            if wanted is not None:
                change(writer, locked, current, wanted, zone)
            if label_column is not None:
                _choose_label(writer, owner, dataset, label_column)
            return dataset_store.get(writer, owner, dataset)
    except AlreadyThere as error:
        raise name_taken((wanted and wanted.name) or "") from error


def change(
    writer: Writer, locked: LockedDataset, current: Dataset, wanted: UpdateDataset, zone: str
) -> None:
    """Change what is given of a dataset as it is, in the transaction that has locked it.

    Raises Invalid, SchemaVersionConflict, and AlreadyThere for a name that is taken.
    """
    values = _values(writer, locked.ref, current, wanted, zone)
    if values:
        dataset_store.change(writer, locked.id, **values, updated_at=_later(current))


def revise(
    store: Store,
    owner: OwnerName,
    dataset: DatasetId,
    declared: CreateDataset,
    targets: TargetPolicy,
    *,
    after: int | None = None,
) -> tuple[Dataset, int | None]:
    """Pin the next recipe of a dataset; its rows, columns and history stay.

    Returns the dataset and the pinned version; None if the recipe says so already. `after` is the
    version that it has to follow. Raises NotFound, ChangedMeanwhile if another one is pinned, and
    Invalid if the declaration is wrong or of another table than the dataset: it has other collected
    columns, or another identity although there are rows.
    """
    consistency.check(declared, targets)
    with store.writing() as writer:
        return pin(writer, owner, dataset, declared, after)


def pin(
    writer: Writer,
    owner: OwnerName,
    dataset: DatasetId,
    declared: CreateDataset,
    after: int | None,
) -> tuple[Dataset, int | None]:
    """Lock a dataset, and `revise` it by a declaration that was checked."""
    locked = dataset_store.lock_dataset(writer, dataset, owner)
    current = check_revision(writer, owner, dataset, declared)
    source = declared.source.pinned()
    if recipes.is_pinned(writer, dataset, source):
        return current, None
    recipes.check_newest(writer, dataset, after)
    if not locked.ref.head:
        _take_identity(writer, dataset, current, declared)
    version = recipes.add_recipe(writer, dataset, source, _later(current))
    return dataset_store.get(writer, owner, dataset), version


def check_revision(
    reader: Reader, owner: OwnerName, dataset: DatasetId, declared: CreateDataset
) -> Dataset:
    """Raise Invalid if `declared` is of another table than a dataset; return the dataset."""
    current = dataset_store.get(reader, owner, dataset)
    # Columns of the user are not read from the source, so a revised source need not name them.
    had = {c["name"]: c["type"] for c in current["columns"] if c["ownership"] == "collected"}
    wanted = {c.name: c.type for c in declared.columns if c.ownership == "collected"}
    if wanted != had:
        columns = ", ".join(f"{name} ({kind})" for name, kind in had.items())
        _reject("columns", f"must keep the collected columns of the dataset: {columns}")
    _, pinned = recipes.source(reader, dataset)
    identity = declared.source.identity.model_dump(mode="json", by_alias=True)
    has_rows = dataset_store.ref(reader, owner, dataset).head > 0
    if has_rows and isinstance(pinned, dict) and pinned.get("identity") != identity:
        stays = _toml_table(pinned["identity"])
        _reject("source.identity", f"must stay {stays}, or every row would be new")
    return current


def remove(store: Store, owner: OwnerName, dataset: DatasetId) -> None:
    """Delete a dataset with all its rows and history; the ledger stays.

    Raises NotFound, RunInProgress while a Run is open, and Conflict while its hand edits are to be
    taken over.
    """
    with store.writing() as writer:
        # They go with it, and somebody may be about to accept one: a Run comes before its dataset.
        runs.lock_runs(writer, dataset)
        dataset_store.lock_dataset(writer, dataset, owner)
        # Who fires a digest has locked the owner: it tells of the dataset before, or not at all.
        accounts.lock_owner(writer, owner)
        if queue.open_run(writer, dataset) is not None:
            raise RunInProgress("A Run of this dataset is open; let it end, then delete.")
        if (heir := overrides.heir(writer, owner, dataset)) is not None:
            raise Conflict(
                f"{heir!r} takes over the hand edits of this dataset at its first accepted Run: "
                "let it have that, then delete.",
                remedies=(Remedy("run_first", {"owner": owner, "dataset": heir}),),
            )
        digests.forget(writer, dataset)
        dataset_store.remove(writer, dataset)


def _take_identity(
    writer: Writer, dataset: DatasetId, current: Dataset, declared: CreateDataset
) -> None:
    """Give a dataset without rows the key columns of a declaration."""
    keys = declared.source.identity_fields
    columns: list[Column] = [{**c, "key": c["name"] in keys} for c in current["columns"]]
    if columns == current["columns"]:
        return
    # A Run that is open would write rows with the keys of before, and so would an accepted output.
    if queue.open_run(writer, dataset) is not None:
        raise RunInProgress("A Run of this dataset is open; let it end, then change the identity.")
    held.forget_outputs(writer, dataset, None)
    version = current["schemaVersion"] + 1
    recipes.add_schema(writer, dataset, version, columns, _later(current))
    dataset_store.change(writer, dataset, columns=dump(columns), schema_version=version)


def _toml_table(table: Mapping[str, object]) -> str:
    """A table of texts and lists of texts in TOML, which writes them as JSON does."""
    pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in table.items())
    return f"{{ {pairs} }}"


def _updated(dataset: Dataset) -> tuple[object, ...]:
    """What updates change of a dataset, and Runs do not."""
    texts = (dataset["name"], dataset["question"], dataset["status"], dataset["schedule"])
    return (*texts, dataset["schemaVersion"], dataset["updatedAt"])


def _later(current: Dataset) -> Micros:
    """The present moment, or that of the last update if the clock was set back."""
    return max(ids.now(), ids.parse_timestamp(current["updatedAt"]))


def name_taken(name: str) -> Conflict:
    """What is raised where another dataset of the owner has a name."""
    return NameTaken(
        f"There is a dataset named {name!r} already; give this one another `name`, or revise "
        "that one."
    )


def _choose_label(writer: Writer, owner: OwnerName, dataset: DatasetId, column: str) -> None:
    """Let the texts of a column name the rows, or without one those of the first that may."""
    current = dataset_store.get(writer, owner, dataset)
    chosen = consistency.chosen_label(current["columns"], column)["id"] if column else None
    # With a moment of its own, by which who has read names knows that they are others now.
    dataset_store.change(writer, dataset, label_column=chosen, updated_at=_later(current))


def _check_schedule(wanted: UpdateDataset) -> None:
    if wanted.schedule and (problem := schedule_problem(wanted.schedule)):
        _reject("schedule", problem)


def _check_version(current: Dataset, wanted: UpdateDataset) -> None:
    """Raise SchemaVersionConflict if the columns have changed since the caller read them."""
    expected, version = wanted.expected_schema_version, current["schemaVersion"]
    if expected in (None, version):
        return
    # Columns that no version could have are wrong for good: to read again would not mend them.
    consistency.check_columns_sent(wanted.columns or ())
    raise SchemaVersionConflict(
        f"The columns are at schema version {version}, not {expected}; read them again."
    )


def _values(
    writer: Writer, ref: DatasetRef, current: Dataset, wanted: UpdateDataset, zone: str
) -> dict[str, Any]:
    """What an update sets, by column of the store."""
    _check_schedule(wanted)
    _check_version(current, wanted)
    values = _metadata(current, wanted, writer.now(), zone)
    if wanted.columns is not None:
        values |= _columns(writer, ref, current, wanted.columns)
    return values


def _metadata(current: Dataset, wanted: UpdateDataset, now: Micros, zone: str) -> dict[str, Any]:
    given = wanted.model_fields_set
    values: dict[str, Any] = {}
    if wanted.name is not None:
        values["name"] = wanted.name
    if "question" in given:
        values["question"] = wanted.question
    if wanted.status is not None:
        if wanted.status == "draft" and current["status"] != "draft":
            _reject("status", "cannot go back to draft; use active or paused")
        values["status"] = wanted.status
    if "schedule" in given:
        values["schedule"] = wanted.schedule
    # A new name must not move the next fire; only a new status or schedule does.
    status = values.get("status", current["status"])
    schedule = values.get("schedule", current["schedule"])
    if (status, schedule) != (current["status"], current["schedule"]):
        values["next_run_at"] = _next_run(status, schedule, now, zone)
        values["next_run_zone"] = zone
    return values


def _next_run(status: str, schedule: str | None, now: Micros, zone: str) -> Micros | None:
    if status != "active" or schedule is None:
        return None
    return ids.microseconds(next_fire(schedule, ids.to_datetime(now), zone))


def _reject(path: str, problem: str) -> None:
    raise Invalid(f"{path} {problem}.", (Detail(path, problem),))


def _columns(
    writer: Writer, ref: DatasetRef, current: Dataset, wanted: Sequence[ColumnUpdate]
) -> dict[str, Any]:
    version = current["schemaVersion"]
    consistency.check_columns_update(current["columns"], wanted)
    by_id = columns_by_id(current["columns"])
    columns = [_column(by_id, column) for column in wanted]
    if columns == current["columns"]:
        return {}
    # Positions only grow: a field keeps its place in stored cells, so new ones go to the end.
    field_ids = [
        *ref.fields.ids,
        *(c["id"] for c in columns if c["id"] not in by_id),
    ]
    recipes.add_schema(writer, ref.id, version + 1, columns, _later(current))
    return {
        "columns": dump(columns),
        "field_ids": dump(field_ids),
        "schema_version": version + 1,
    }


def _new_column(declared: NewColumn | ColumnUpdate) -> Column:
    return pinned_column(declared, ids.format_uuid(ids.new_id()))


def _column(by_id: dict[str, Column], wanted: ColumnUpdate) -> Column:
    if wanted.id is None:
        return _new_column(wanted)
    kept = by_id[wanted.id]
    column: Column = {**kept, "label": wanted.label or kept["label"]}
    if wanted.description is not None:
        column["description"] = wanted.description
    return column
