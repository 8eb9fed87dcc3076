"""Datasets, asked for with their owner."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct

from livedata.model.dataset import Column, Dataset
from livedata.model.errors import Damaged, NotFound
from livedata.model.ids import (
    DatasetId,
    Micros,
    OwnerName,
    format_optional_timestamp,
    format_timestamp,
    format_uuid,
    new_id,
    raw_id,
)
from livedata.store import dataset_names
from livedata.store.database.backend import Reader, Row, Writer
from livedata.store.database.codec import COLUMNS, DROPPED, FIELD_IDS, Fields, dump, fields_of
from livedata.store.database.statements import assign, insert, listed
from livedata.store.recipes import add_recipe, add_schema

# The newest Run by a subquery: for each dataset one step in the index of its Runs, while a join
# with GROUP BY would walk all of them. Runs of the same microsecond are told apart by their id.
_DATASET = """
SELECT d.id, d.name, d.question, d.columns, d.schema_version, d.status, d.schedule, d.row_count,
       d.created_at, d.updated_at, r.id, r.status, r.completed_at
FROM datasets d
LEFT JOIN runs r ON r.id = (
    SELECT id FROM runs WHERE dataset_id = d.id ORDER BY queued_at DESC, id DESC LIMIT 1)
"""
_UPDATED = """
SELECT id FROM datasets WHERE owner = :owner AND rows_updated_at >= :moment AND head > 0
ORDER BY rows_updated_at DESC, name
"""
_AT_ONCE: Final = 50
"""So many datasets are read at once for a reader who may stop at the first."""
_REF = "SELECT id, name, head, field_ids, columns, label_column, dropped_columns FROM datasets"
# No owner means any: whoever executes a Run knows its dataset only. All that the acts need is read
# with the lock, so it cannot change before the transaction ends.
LOCKED = """
d.id, d.name, d.head, d.field_ids, d.columns, d.label_column, d.dropped_columns, d.owner,
d.schema_version, d.rows_updated_at, d.takes_over
"""
"""The columns of a dataset `d` of which :func:`locked` makes a LockedDataset."""
_NAMED = f"""
SELECT {LOCKED} FROM datasets d WHERE d.id = :dataset AND d.owner = coalesce(:owner, d.owner)
"""  # noqa: S608  (our own words)
# `head`, `rows_updated_at` and `recipe_version` are missing: each has one function that moves it.
_CHANGEABLE = frozenset(
    {
        *("name", "question", "columns", "field_ids", "schema_version", "status"),
        *("schedule", "next_run_at", "next_run_zone", "row_count", "updated_at"),
        *("label_column", "dropped_columns", "takes_over"),
    }
)
_ADD = insert(
    "datasets",
    *("id", "owner", "name", "question", "columns", "field_ids"),
    *("schema_version", "recipe_version", "status", "row_count", "head"),
    *("rows_updated_at", "created_at", "updated_at"),
)


class DatasetRef(Struct, frozen=True):
    """What every question about the inside of a dataset needs to know of it."""

    id: DatasetId
    name: str
    head: int
    fields: Fields


class LockedDataset(Struct, frozen=True):
    """A dataset that nobody else writes until the transaction ends.

    Its first accepted Run takes over the hand edits of the dataset that it `takes_over`.
    """

    ref: DatasetRef
    owner: OwnerName
    schema_version: int
    rows_updated_at: Micros
    takes_over: DatasetId | None = None

    @property
    def id(self) -> DatasetId:
        """The id of the dataset."""
        return self.ref.id


def lock_dataset(
    writer: Writer, dataset: DatasetId, owner: OwnerName | None = None
) -> LockedDataset:
    """Keep every other writer of this dataset out. Raises NotFound if it is gone, or another's."""
    return locking_dataset(writer, dataset, owner)()


def locking_dataset(
    writer: Writer, dataset: DatasetId, owner: OwnerName | None = None
) -> Callable[[], LockedDataset]:
    """The same together with the next question."""
    # After the Run, before the owner: the order of locks that all acts keep. A dataset of somebody
    # else is not there, so that nobody learns which ids exist.
    answer = writer.lock(_NAMED, dataset=dataset, owner=owner)

    def locking() -> LockedDataset:
        for row in answer():
            return locked(row)
        raise _not_found()

    return locking


def lock_free_dataset(writer: Writer, dataset: DatasetId) -> LockedDataset | None:
    """The same without waiting; None if another writer has it, or it is gone."""
    row = writer.locked_if_free(_NAMED, dataset=dataset, owner=None)
    return None if row is None else locked(row)


def get(reader: Reader, owner: OwnerName, dataset: DatasetId) -> Dataset:
    """Interface 2.1. Raises NotFound."""
    row = reader.row(_DATASET + "WHERE d.owner = :owner AND d.id = :id", owner=owner, id=dataset)
    if row is None:
        raise _not_found()
    return _dataset(row)


def ref(reader: Reader, owner: OwnerName, dataset: DatasetId) -> DatasetRef:
    """The id, head and fields of one dataset. Raises NotFound."""
    row = reader.row(_REF + " WHERE owner = :owner AND id = :id", owner=owner, id=dataset)
    if row is None:
        raise _not_found()
    return _ref(row)


def refs(
    reader: Reader, owner: OwnerName, wanted: Collection[DatasetId]
) -> dict[DatasetId, DatasetRef]:
    """The same of those of these datasets that the owner has."""
    names, named = listed("dataset", wanted)
    # By their ids: with a plain comparison SQLite would read all that the owner has.
    rows = reader.rows(
        f"{_REF} WHERE id IN ({names}) AND owner || '' = :owner", owner=owner, **named
    )
    return {row[0]: _ref(row) for row in rows}


def newest(
    reader: Reader, owner: OwnerName, limit: int, before: tuple[Micros, str] | None = None
) -> list[Dataset]:
    """Newest first; `before` is the (createdAt, id) of the last one already seen."""
    # A pair and no OFFSET: what is created between two pages neither repeats nor hides a dataset.
    condition = "AND (d.created_at, d.id) < (:created_at, :last)" if before else ""
    created_at, last = before or (0, "")
    rows = reader.rows(
        f"{_DATASET} WHERE d.owner = :owner {condition} "
        "ORDER BY d.created_at DESC, d.id DESC LIMIT :limit",
        owner=owner,
        limit=limit,
        created_at=created_at,
        last=raw_id(last) if last else b"",
    )
    return [_dataset(row) for row in rows]


def by_name(
    reader: Reader, owner: OwnerName, limit: int, after: str = "", passed: int = 0
) -> list[Dataset]:
    """By name, those behind a name, or behind as many more as are passed."""
    rows = reader.rows(
        f"{_DATASET} WHERE d.owner = :owner AND d.name > :after "
        "ORDER BY d.name LIMIT :limit OFFSET :passed",
        owner=owner,
        after=after,
        limit=limit,
        passed=passed,
    )
    return [_dataset(row) for row in rows]


def chosen(
    reader: Reader, owner: OwnerName, those: Collection[str] | None = None
) -> Iterator[DatasetRef]:
    """The same by name, of those of these ids that are the owner's, or all; a reader may stop."""
    if those is not None:
        names = dataset_names.of_ids(reader, owner, those)
        keys = (DatasetId(raw_id(key)) for key in sorted(names, key=names.__getitem__))
    else:
        keys = (key for key, _ in dataset_names.after(reader, owner))
    while part := [*islice(keys, _AT_ONCE)]:
        there = refs(reader, owner, part)
        yield from (there[key] for key in part)


def updated_since(
    reader: Reader, owner: OwnerName, moment: Micros, limit: int | None = None
) -> list[DatasetId]:
    """What an owner has with a revision of a moment or later, that of the last one first.

    Of `limit` at most.
    """
    rows = reader.rows(
        f"{_UPDATED} LIMIT :limit" if limit else _UPDATED,
        owner=owner,
        moment=moment,
        **({"limit": limit} if limit else {}),
    )
    return [dataset for (dataset,) in rows]


def owns(reader: Reader, owner: OwnerName, number: int) -> bool:
    """Whether an owner has so many datasets, one at least, or more."""
    last = "SELECT 1 FROM datasets WHERE owner = :owner LIMIT 1 OFFSET :others"
    return reader.value(last, owner=owner, others=number - 1) is not None


def add(
    writer: Writer,
    owner: OwnerName,
    name: str,
    question: str | None,
    columns: Sequence[Column],
    source: object,
    now: Micros,
) -> DatasetId:
    """A draft with its Bot, recipe version 1 and schema version 1; its id."""
    dataset = DatasetId(new_id())
    writer.execute(
        _ADD,
        id=dataset,
        owner=owner,
        name=name,
        question=question,
        columns=dump(columns),
        field_ids=dump([column["id"] for column in columns]),
        schema_version=1,
        # `add_recipe` counts it up to 1.
        recipe_version=0,
        status="draft",
        row_count=0,
        head=0,
        rows_updated_at=0,
        created_at=now,
        updated_at=now,
    )
    writer.execute(
        insert("bots", "id", "dataset_id", "created_at"),
        id=new_id(),
        dataset_id=dataset,
        created_at=now,
    )
    add_recipe(writer, dataset, source, now)
    add_schema(writer, dataset, 1, columns, now)
    return dataset


def chosen_label(reader: Reader, dataset: DatasetId) -> str | None:
    """The field by which the owner has chosen to name rows; None if nobody has chosen."""
    label: str | None = reader.value("SELECT label_column FROM datasets WHERE id = :id", id=dataset)
    return label


def updated_at(reader: Reader, dataset: DatasetId) -> Micros:
    """When a dataset was last updated."""
    moment: Micros = reader.value("SELECT updated_at FROM datasets WHERE id = :id", id=dataset)
    return moment


def take_sequence(writer: Writer, dataset: DatasetId, count: int, now: Micros) -> int:
    """Reserve `count` numbers of a locked dataset; the last one before them. Raises Damaged."""
    # From the dataset's row, which this transaction keeps locked: the numbers appear in the order
    # of commits, without holes. A SEQUENCE of PostgreSQL gives them in the order of questions: a
    # follower that had read up to the newest then missed 184 of 600 that were committed later.
    taken = writer.row(
        "UPDATE datasets SET head = head + :count, rows_updated_at = :now WHERE id = :dataset "
        "RETURNING head, "
        "(SELECT coalesce(max(sequence), 0) FROM revisions WHERE dataset_id = :dataset)",
        dataset=dataset,
        count=count,
        now=now,
    )
    assert taken is not None
    head, last = taken
    # Somebody has set the head by hand: the numbers after it are taken already.
    if head - count < last:
        raise Damaged("datasets", dataset, "head")
    return int(head) - count


def move_on(
    writer: Writer, dataset: DatasetRef, last: int, count: int, now: Micros, row_count: int
) -> int:
    """The same of a dataset whose `last` sequence is known, which has so many rows afterwards."""
    if dataset.head < last:
        raise Damaged("datasets", dataset.id, "head")
    writer.execute(
        "UPDATE datasets SET head = head + :count, rows_updated_at = :now, row_count = :row_count "
        "WHERE id = :dataset",
        dataset=dataset.id,
        count=count,
        now=now,
        row_count=row_count,
    )
    return dataset.head


def change(writer: Writer, dataset: DatasetId, **values: object) -> None:
    """Set columns of a dataset."""
    writer.execute(
        f"UPDATE datasets SET {assign(values, _CHANGEABLE)} WHERE id = :id",  # noqa: S608
        id=dataset,
        **values,
    )


def remove(writer: Writer, dataset: DatasetId) -> None:
    """Delete everything of a dataset but its entries in the ledger."""
    # Children before parents, as foreign keys want it, and no ON DELETE CASCADE: it would also fire
    # if a migration drops a table to make it anew. The caller has locked the dataset and its Runs.
    for of_runs in (
        *("artifacts", "model_calls", "research_steps", "research_attempts"),
        *("attempts", "held_outputs", "failed_pages"),
    ):
        writer.execute(
            f"DELETE FROM {of_runs} WHERE run_id IN "  # noqa: S608  (our names)
            "(SELECT id FROM runs WHERE dataset_id = :dataset)",
            dataset=dataset,
        )
    for of_dataset in (
        *("cursors", "revision_fields", "revisions", "rows", "observations"),
        # The stream before its messages, as whoever delivers one locks them.
        *("notice_streams", "outbox", "feed_tokens", "shares", "bodies", "entities"),
        *("skipped_fires", "runs", "schemas", "recipes", "bots"),
    ):
        writer.execute(
            f"DELETE FROM {of_dataset} WHERE dataset_id = :dataset",  # noqa: S608  (our names)
            dataset=dataset,
        )
    writer.execute("DELETE FROM datasets WHERE id = :dataset", dataset=dataset)


def locked(row: Row) -> LockedDataset:
    """A dataset that was just locked."""
    return LockedDataset(_ref(row), row[7], row[8], row[9], row[10])


def _not_found() -> NotFound:
    return NotFound("There is no such dataset.")


def _ref(row: Row) -> DatasetRef:
    dropped = () if row[6] is None else DROPPED.load(row[6])
    fields = fields_of(FIELD_IDS.load(row[3]), COLUMNS.load(row[4]), row[5], dropped)
    return DatasetRef(row[0], row[1], row[2], fields)


def _dataset(row: Row) -> Dataset:
    last = None
    if row[10] is not None:
        completed = format_optional_timestamp(row[12])
        last = {"id": format_uuid(row[10]), "status": row[11], "completedAt": completed}
    dataset: Dataset = {
        "id": format_uuid(row[0]),
        "name": row[1],
        "question": row[2],
        "columns": COLUMNS.load(row[3]),
        "schemaVersion": row[4],
        "status": row[5],
        "schedule": row[6],
        "rowCount": row[7],
        "lastRun": last,  # type: ignore[typeddict-item]  # its status comes from the store
        "createdAt": format_timestamp(row[8]),
        "updatedAt": format_timestamp(row[9]),
    }
    return dataset
