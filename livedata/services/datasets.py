"""Acts on datasets: create, update, revise, delete."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from msgspec import Struct

from livedata.messages.request import invalid
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
from livedata.rules.declaration.revision import Revision, check_room, judge
from livedata.rules.network.targets import TargetPolicy
from livedata.services import shares
from livedata.services.accounts import check_datasets, meet_owner
from livedata.services.kinds import choice as kinds
from livedata.services.notices import told_changes
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
) -> Revised:
    """Revise a dataset by a declaration: how it is read, its collected columns, labels and order.

    Its rows and history stay. `after` is the version that the next recipe has to follow. Raises
    NotFound, ChangedMeanwhile if another one is pinned, RunInProgress, and Invalid if the
    declaration is wrong, of another table, or drops a column that something else names.
    """
    consistency.check(declared, targets)
    with store.writing() as writer:
        revised = pin(writer, owner, dataset, declared, after)
        check_readers(writer, owner, dataset, revised.revision)
        return revised


class Revised(Struct, frozen=True):
    """A dataset as a revision leaves it; `version` is its new recipe, None if that stays."""

    dataset: Dataset
    version: int | None
    revision: Revision

    @property
    def is_changed(self) -> bool:
        """Whether there was anything to revise."""
        return self.version is not None or self.revision.changes_columns


def judge_revision(
    reader: Reader, owner: OwnerName, dataset: DatasetId, declared: CreateDataset
) -> Revision:
    """What revising a dataset by a declaration that was checked would change; nothing is written.

    Raises NotFound, and Invalid if it is of another table. What else names a column that would be
    dropped is left to `check_readers`.
    """
    current = dataset_store.get(reader, owner, dataset)
    _, pinned = recipes.source(reader, dataset)
    if kinds.of_source(pinned).to_revise(pinned) is not None:
        _reject("source", "is of selectors, and a research dataset is revised by its plan")
    ref = dataset_store.ref(reader, owner, dataset)
    return judge(
        current["columns"],
        pinned if isinstance(pinned, dict) and pinned.get("version") == 1 else {},
        declared,
        has_rows=ref.head > 0,
        positions=len(ref.fields.ids),
    )


def check_readers(
    reader: Reader,
    owner: OwnerName,
    dataset: DatasetId,
    revision: Revision,
    *,
    but_shares: Collection[str] = (),
    but_notices: Collection[str] = (),
) -> None:
    """Raise Invalid if a notice or share that is open names a column that a revision drops.

    Those with these labels and names are left out: they are about to change.
    """
    wrong = []
    for column in revision.dropped:
        named = reader, owner, dataset, revision.before, column
        must = f'must keep "{column["name"]}"'
        for notice in told_changes.naming(*named):
            if notice not in but_notices:
                why = f"{must}, which the notice {notice!r} names: change or remove that first"
                wrong.append(Detail("columns", why))
        for share in shares.naming(*named):
            if share not in but_shares:
                why = f"{must}, which the share {share!r} shows or asks for: revoke that first"
                wrong.append(Detail("columns", why))
    if wrong:
        raise invalid(wrong)


def pin(
    writer: Writer,
    owner: OwnerName,
    dataset: DatasetId,
    declared: CreateDataset,
    after: int | None,
) -> Revised:
    """Lock a dataset, judge, and act in a transaction that goes on; the declaration was checked.

    Whoever calls it asks `check_readers` before the end, when notices and shares are as they stay.
    """
    locked = dataset_store.lock_dataset(writer, dataset, owner)
    revision = judge_revision(writer, owner, dataset, declared)
    current = dataset_store.get(writer, owner, dataset)
    source = declared.source.pinned()
    is_read_alike = recipes.is_pinned(writer, dataset, source)
    if is_read_alike and not revision.changes_columns:
        return Revised(current, None, revision)
    recipes.check_newest(writer, dataset, after)
    if revision.changes_columns:
        take_columns(writer, locked, current, revision)
    version = None
    if not is_read_alike:
        version = recipes.add_recipe(writer, dataset, source, _later(current))
    return Revised(dataset_store.get(writer, owner, dataset), version, revision)


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


def take_columns(
    writer: Writer, locked: LockedDataset, current: Dataset, revision: Revision
) -> None:
    """Give a dataset the columns of a revision, as the next version of its schema."""
    if any(old["key"] is not new["key"] for old, new in revision.relabelled):
        # A Run that is open would write rows with the keys of before, as would an accepted output.
        if queue.open_run(writer, locked.id) is not None:
            why = "A Run of this dataset is open; let it end, then change the identity."
            raise RunInProgress(why)
        held.forget_outputs(writer, locked.id, None)
    added = [column["id"] for column in revision.added]
    last, _ = recipes.source(writer, locked.id)
    dropped = [
        *locked.ref.fields.dropped,
        *({**column, "lastRecipe": last} for column in revision.dropped),
    ]
    version = current["schemaVersion"] + 1
    recipes.add_schema(writer, locked.id, version, revision.after, _later(current))
    dataset_store.change(
        writer,
        locked.id,
        columns=dump(revision.after),
        field_ids=dump([*locked.ref.fields.ids, *added]),
        schema_version=version,
        dropped_columns=dump(dropped) if dropped else None,
        updated_at=_later(current),
    )


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
    added = [column["id"] for column in columns if column["id"] not in by_id]
    check_room(len(ref.fields.ids), len(added))
    field_ids = [*ref.fields.ids, *added]
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
