"""Acts on datasets: create, update, revise, delete."""

from __future__ import annotations

from typing import Any

from sqlalchemy.exc import IntegrityError

from livedata.model import ids
from livedata.model.dataset import Column, Dataset
from livedata.model.errors import (
    Conflict,
    Detail,
    Invalid,
    NameTaken,
    NotFound,
    RunInProgress,
    SchemaVersionConflict,
)
from livedata.model.requests import CreateDataset, UpdateDataset
from livedata.model.source import ColumnUpdate
from livedata.rules.declaration import consistency
from livedata.rules.declaration.cron import next_fire, schedule_problem
from livedata.rules.network.targets import TargetPolicy
from livedata.store.codec import dump
from livedata.store.engine import Store, Writer
from livedata.store.reads import datasets as reads
from livedata.store.writes import datasets as writes


def create(store: Store, owner: str, declared: CreateDataset, targets: TargetPolicy) -> Dataset:
    """A draft with its Bot, recipe version 1 and schema version 1 (specification 4.1).

    Raises Invalid with a detail for every place that is wrong, NameTaken for a known name.
    """
    consistency.check(declared, targets)
    columns = [_new_column(column) for column in declared.columns]
    try:
        with store.writing() as writer:
            dataset = writes.add(
                writer,
                owner,
                declared.name,
                declared.question,
                columns,
                _pinned(declared),
                ids.now(),
            )
            return _answer(writer, owner, dataset)
    except IntegrityError as error:
        raise _name_taken(declared.name) from error


def update(
    store: Store, owner: str, dataset: bytes, wanted: UpdateDataset, zone: str = "UTC"
) -> Dataset:
    """Change metadata, columns, status or schedule; what is not given stays (specification 4.1).

    Raises NotFound, Invalid, NameTaken, and SchemaVersionConflict where the columns have changed
    since they were read.
    """
    given = wanted.model_fields_set
    if not given:
        raise Invalid("The update is empty: give at least one property.")
    try:
        with store.writing() as writer:
            current = _answer(writer, owner, dataset)
            values = _metadata(current, wanted, zone)
            if wanted.columns is not None or wanted.expected_schema_version is not None:
                values |= _columns(writer, dataset, current, wanted)
            if values:
                writes.change(writer, dataset, **values, updated_at=_later(current))
            return _answer(writer, owner, dataset)
    except IntegrityError as error:
        raise _name_taken(wanted.name or "") from error


def revise(
    store: Store, owner: str, dataset: bytes, declared: CreateDataset, targets: TargetPolicy
) -> tuple[Dataset, int]:
    """Pin the next recipe of a dataset: its rows, columns and history stay, selectors may change.

    The dataset, and the version that was pinned. Raises NotFound, and Invalid where the declaration
    is wrong or has other collected columns or another identity than the dataset.
    """
    consistency.check(declared, targets)
    with store.writing() as writer:
        current = _answer(writer, owner, dataset)
        _, pinned = reads.source(writer, dataset)
        _check_same_table(current, pinned, declared)
        version = writes.add_recipe(writer, dataset, _pinned(declared), _later(current))
        return _answer(writer, owner, dataset), version


def remove(store: Store, owner: str, dataset: bytes) -> None:
    """Delete a dataset with all its rows and history; the ledger stays.

    Raises NotFound, and RunInProgress while a Run is open.
    """
    with store.writing() as writer:
        _answer(writer, owner, dataset)
        if writer.value(
            "SELECT count(*) FROM runs WHERE dataset_id = :dataset "
            "AND status IN ('queued', 'running')",
            dataset=dataset,
        ):
            raise RunInProgress("A Run of this dataset is open; let it end, then delete.")
        writes.remove(writer, dataset)


def _pinned(declared: CreateDataset) -> dict[str, Any]:
    """A source as a recipe keeps it: every default written out."""
    return declared.source.model_dump(mode="json", by_alias=True, exclude_none=True)


def _answer(writer: Writer, owner: str, dataset: bytes) -> Dataset:
    found = reads.get(writer, owner, dataset)
    if found is None:
        raise NotFound("There is no such dataset.")
    return found


def _check_same_table(current: Dataset, pinned: object, declared: CreateDataset) -> None:
    had = {c["name"]: c["type"] for c in current["columns"] if c["ownership"] == "collected"}
    wanted = {c.name: c.type for c in declared.columns if c.ownership == "collected"}
    if wanted != had:
        columns = ", ".join(f"{name} ({kind})" for name, kind in had.items())
        _refuse("columns", f"must keep the collected columns of the dataset: {columns}")
    identity = declared.source.identity.model_dump(mode="json", by_alias=True)
    if isinstance(pinned, dict) and pinned.get("identity") != identity:
        _refuse("source.identity", f"must stay {pinned.get('identity')}, or every row would be new")


def _later(current: Dataset) -> int:
    """Now, but never before the last update, whatever the clock does."""
    return max(ids.now(), ids.parse_timestamp(current["updatedAt"]))


def _new_column(column: Any) -> Column:
    made: Column = {
        "id": ids.format_uuid(ids.new_id()),
        "label": column.label or column.name,
        "ownership": column.ownership,
        "name": column.name,
        "type": column.type,
        "key": bool(column.key),
    }
    if column.description is not None:
        made["description"] = column.description
    return made


def _name_taken(name: str) -> Conflict:
    return NameTaken(
        f"There is a dataset named {name!r} already; names are handles, choose another."
    )


def _metadata(current: Dataset, wanted: UpdateDataset, zone: str) -> dict[str, Any]:
    given = wanted.model_fields_set
    values: dict[str, Any] = {}
    if wanted.name is not None:
        values["name"] = wanted.name
    if "question" in given:
        values["question"] = wanted.question
    if wanted.status is not None:
        if wanted.status == "draft" and current["status"] != "draft":
            _refuse("status", "cannot go back to draft; use active or paused")
        values["status"] = wanted.status
    if "schedule" in given:
        problem = wanted.schedule and schedule_problem(wanted.schedule)
        if problem:
            _refuse("schedule", problem)
        values["schedule"] = wanted.schedule
    status = values.get("status", current["status"])
    schedule = values.get("schedule", current["schedule"])
    if (status, schedule) != (current["status"], current["schedule"]):
        values["next_run_at"] = _next_run(status, schedule, zone)
    return values


def _next_run(status: str, schedule: str | None, zone: str) -> int | None:
    if status != "active" or schedule is None:
        return None
    return ids.microseconds(next_fire(schedule, ids.to_datetime(ids.now()), zone))


def _refuse(path: str, problem: str) -> None:
    raise Invalid(f"{path} {problem}.", (Detail(path, problem),))


def _columns(
    writer: Writer, dataset: bytes, current: Dataset, wanted: UpdateDataset
) -> dict[str, Any]:
    expected, version = wanted.expected_schema_version, current["schemaVersion"]
    if wanted.columns is not None:
        consistency.check_columns_update(current["columns"], wanted.columns)
    if expected != version:
        raise SchemaVersionConflict(
            f"The columns are at schema version {version}, not {expected}; read them again."
        )
    if wanted.columns is None:
        return {}
    known = {column["id"]: column for column in current["columns"]}
    columns = [_column(known, column) for column in wanted.columns]
    if columns == current["columns"]:
        return {}
    field_ids = [
        *reads.field_ids(writer, dataset),
        *(c["id"] for c in columns if c["id"] not in known),
    ]
    writes.add_schema(writer, dataset, version + 1, columns, _later(current))
    return {
        "columns": dump(columns),
        "field_ids": dump(field_ids),
        "schema_version": version + 1,
    }


def _column(known: dict[str, Column], wanted: ColumnUpdate) -> Column:
    if wanted.id is None:
        return _new_column(wanted)
    kept = known[wanted.id]
    column: Column = {**kept, "label": wanted.label or kept["label"]}
    if wanted.description is not None:
        column["description"] = wanted.description
    return column
