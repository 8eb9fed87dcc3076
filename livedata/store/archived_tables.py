"""The records of a dataset, table by table: read for an archive, and written from one.

Values are as they are stored, JSON as its text: so the feed of an imported dataset is the same,
byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from livedata.model.ids import DatasetId, Micros, OwnerName
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.schema import TABLES
from livedata.store.database.statements import insert

Record = dict[str, Any]

PART = 500_000
"""How many characters are written at once, and what the last record has above it."""
MOST_FIELDS = 63
"""A mask of fields is an integer of 64 bits, and one of them is its sign."""


class ArchivedTable(Struct, frozen=True):
    """A table of a dataset; `columns` has the kind of each, with ``?`` if it may be null."""

    name: str
    columns: Mapping[str, str]
    order: str
    condition: str
    of_all: bool
    """Whether each archive has it: otherwise only those of one kind of dataset."""
    later: Sequence[str]
    """Its columns that the first version of the format has not."""

    def with_later(self, reader: Reader, dataset: DatasetId) -> ArchivedTable:
        """The same table, with those of its later columns in which a dataset has anything."""
        had = {name for name in self.later if self._has(reader, dataset, name)}
        columns = {
            name: kind
            for name, kind in self.columns.items()
            if name not in self.later or name in had
        }
        return replace(self, columns=columns, later=tuple(had))

    def _has(self, reader: Reader, dataset: DatasetId, column: str) -> bool:
        sql = f"SELECT count({column}) FROM {self.name} WHERE {self.condition}"  # noqa: S608  (our names)
        return bool(reader.value(sql, dataset=dataset))

    def read(self, reader: Reader, dataset: DatasetId) -> Iterator[Record]:
        """The records of a dataset in their order."""
        sql = (
            f"SELECT {', '.join(self.columns)} FROM {self.name} "  # noqa: S608  (our names)
            f"WHERE {self.condition} ORDER BY {self.order}"
        )
        for row in reader.each(sql, dataset=dataset):
            yield dict(zip(self.columns, row, strict=True))

    def write(self, writer: Writer, records: Iterable[Record], **others: object) -> None:
        """Add records, each with the same `others`."""
        statement = insert(self.name, *others, *self.columns)
        for part in _parts({**others, **record} for record in records):
            writer.many(statement, part)


def _parts(records: Iterable[Record]) -> Iterator[list[Record]]:
    """The records in parts: a driver keeps what it was given until the end of a statement."""
    part: list[Record] = []
    size = 0
    for record in records:
        part.append(record)
        size += sum(len(value) for value in record.values() if type(value) in {str, bytes})
        if size > PART:
            yield part
            part, size = [], 0
    if part:
        yield part


ARCHIVED_TABLES = tuple(
    ArchivedTable(
        *(table.name, archived.columns, archived.order, archived.where, not table.research),
        archived.later,
    )
    for table in TABLES
    if (archived := table.archived) is not None
)
"""What a dataset consists of, each after what it refers to."""
DATASET, *PARTS = ARCHIVED_TABLES
"""The dataset itself, and what belongs to it."""

_INDEX_FIELD = """
INSERT INTO revision_fields (dataset_id, position, sequence)
SELECT dataset_id, :position, sequence FROM revisions
WHERE dataset_id = :dataset AND (changed & :bit) <> 0
"""


def add_dataset(writer: Writer, owner: OwnerName, record: Record) -> None:
    """Add a dataset of an archive, without its parts; it is paused."""
    # Its keys and charges stay in the store that it comes from: up to this head `check` expects
    # none of them here.
    brought = {"owner": owner, "status": "paused", "imported_head": record["head"]}
    DATASET.write(writer, [record], **brought)


def add_records(
    writer: Writer, dataset: DatasetId, table: ArchivedTable, records: Iterable[Record], now: Micros
) -> None:
    """Add the records of one part of a dataset."""
    others: Record = {"dataset_id": dataset}
    if table.name == "runs":
        others |= {"status": "succeeded", "alone": False, "imported_at": now}
    table.write(writer, records, **others)


def index_fields(writer: Writer, dataset: DatasetId, width: int) -> None:
    """Index the revisions of a dataset by the fields that they changed, so many as it has."""
    places = range(min(width, MOST_FIELDS))
    positions = (
        {"position": position, "bit": 1 << position, "dataset": dataset} for position in places
    )
    writer.many(_INDEX_FIELD, positions)


def owner_of(reader: Reader, dataset: DatasetId) -> OwnerName | None:
    """Who has a dataset; None if the store does not."""
    owner: OwnerName | None = reader.value(
        "SELECT owner FROM datasets WHERE id = :dataset", dataset=dataset
    )
    return owner
