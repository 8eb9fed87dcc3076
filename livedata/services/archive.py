"""Acts on archives: export a whole dataset into a file, and import it from one, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from msgspec import DecodeError, Meta, Struct, defstruct, json, structs

from livedata.messages.validation import read
from livedata.model.dataset import Dataset
from livedata.model.errors import Conflict, Damaged, Invalid, NameTaken
from livedata.model.ids import DatasetId, OwnerName, format_uuid, raw_id
from livedata.model.requests import CreateDataset
from livedata.rules.declaration import consistency
from livedata.rules.network.targets import TargetPolicy
from livedata.services import queries
from livedata.services.accounts import check_datasets, meet_owner
from livedata.services.archive_container import FIRST, VERSION, Archive, new_archive
from livedata.services.audit.check import check_store
from livedata.services.kinds import choice as kinds
from livedata.services.notices import digests
from livedata.store import archived_tables, dataset_names, datasets, recipes
from livedata.store.archived_tables import ARCHIVED_TABLES, DATASET, ArchivedTable, Record
from livedata.store.database.backend import AlreadyThere, Writer
from livedata.store.database.codec import FIELD_IDS
from livedata.store.database.store import Database, Store

_TYPES: dict[str, Any] = {
    "id": str,
    "bytes": str,
    "text": str,
    # Both databases keep integers of 64 bits.
    "integer": Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)],
}


def export_archive(
    db: Database, owner: OwnerName, dataset: DatasetId, file: Path
) -> dict[str, int]:
    """Write a dataset as it is at one moment into an empty file; table -> how many records.

    Raises NotFound.
    """
    # One transaction, and record by record: the file is whole, and no dataset too large.
    with db.reading() as reader, new_archive(file) as archive:
        name = datasets.get(reader, owner, dataset)["name"]
        _, recipe = recipes.source(reader, dataset)
        own = kinds.of_source(recipe).archived
        # What says nothing new is an archive that any livedata reads.
        tables = [
            table.with_later(reader, dataset)
            for table in ARCHIVED_TABLES
            if table.of_all or table.name in own
        ]
        counts = {
            table.name: archive.write(
                _member(table), table.columns, LineCodec(table).encode(table.read(reader, dataset))
            )
            for table in tables
        }
        version = VERSION if any(table.later for table in tables) else FIRST
        archive.close({"id": format_uuid(dataset), "name": name}, version)
    return counts


def import_archive(
    store: Store,
    owner: OwnerName,
    archive: Archive,
    targets: TargetPolicy,
    *,
    name: str | None = None,
    first_credits: int = 0,
) -> Dataset:
    """Add the dataset of an archive with its ids and history, paused, and return it.

    A new owner starts with `first_credits`; nothing is charged. With a `name` it is called so.
    Raises Invalid for an archive that cannot be read, or that this version would not have written;
    NameTaken and Conflict if the store has its name or its ids. Then nothing is written.
    """
    archive.verify(map(_member, _tables(archive)))
    record = _dataset_record(archive)
    if name is not None:
        record["name"] = name
    dataset = DatasetId(record["id"])
    _refuse_known(store, owner, record)
    # Before the store is locked, and where it harms nobody.
    _judge(archive, owner, record, targets)
    try:
        with store.writing() as writer:
            meet_owner(writer, owner, first_credits)
            check_datasets(writer, owner)
            _write(writer, owner, archive, record)
            digests.pass_over(writer, owner, dataset)
            return datasets.get(writer, owner, dataset)
    except AlreadyThere as error:
        _refuse_known(store, owner, record)
        raise Conflict(
            f"{archive.file} has ids that another dataset of this store has; nothing was imported."
        ) from error


def _refuse_known(store: Store, owner: OwnerName, record: Record) -> None:
    """Raise Conflict if the store has the dataset already, or the owner one of its name."""
    with store.reading() as reader:
        has_it = archived_tables.owner_of(reader, record["id"])
        name_taken = dataset_names.named(reader, owner, record["name"]) is not None
    if has_it is not None:
        whose = "" if has_it == owner else ", of another owner"
        raise Conflict(
            f"The store has the dataset {format_uuid(record['id'])} already{whose}; nothing was "
            "imported. Delete it there first, or import into another store."
        )
    if name_taken:
        raise NameTaken(
            f"There is a dataset named {record['name']!r} already; nothing was imported. Give "
            "another name with --name."
        )


def _judge(archive: Archive, owner: OwnerName, record: Record, targets: TargetPolicy) -> None:
    """Raise Invalid for an archive whose dataset `check` or the rules of today would not pass."""
    # In a store of its own, which goes away: what passes there is sound in any other.
    with (
        TemporaryDirectory(prefix="livedata-") as folder,
        closing(Store(f"sqlite:///{folder}/judged.db")) as scratch,
    ):
        try:
            with scratch.writing() as writer:
                meet_owner(writer, owner, 0)
                _write(writer, owner, archive, record)
            problems = check_store(scratch).problems
        except AlreadyThere as error:
            raise archive.refusal("has two records of one id, name or number") from error
        except Damaged as error:
            problems = [str(error)]
        if problems:
            # It is not a store of somebody that is damaged.
            problem = problems[0].removeprefix("The store is damaged: ").rstrip(".")
            raise archive.refusal(f"does not agree with itself: {problem}")
        declared = queries.source(scratch, owner, record["id"])
    _check_recipe(archive, declared, targets)


def _check_recipe(archive: Archive, declared: dict[str, Any], targets: TargetPolicy) -> None:
    """Raise Invalid for a recipe that could not be declared today."""
    judged = kinds.of_source(declared["source"]).to_judge(declared)
    if judged is None:
        return
    try:
        consistency.check(read(CreateDataset, judged), targets)
    except Invalid as error:
        raise Invalid(
            f"The recipe in {archive.file} is refused today: {error.message} Nothing was imported.",
            error.details,
        ) from error


def _write(writer: Writer, owner: OwnerName, archive: Archive, record: Record) -> None:
    dataset = DatasetId(record["id"])
    archived_tables.add_dataset(writer, owner, dict(record))
    now = writer.now()
    for part in _tables(archive)[1:]:
        archived_tables.add_records(writer, dataset, part, _records(archive, part), now)
    archived_tables.index_fields(writer, dataset, len(FIELD_IDS.load(record["field_ids"])))


def _tables(archive: Archive) -> list[ArchivedTable]:
    """What an archive consists of: a part that not all have is named in its manifest."""
    named = archive.manifest.members
    return [table for table in ARCHIVED_TABLES if table.of_all or _member(table) in named]


def _dataset_record(archive: Archive) -> Record:
    records = list(islice(_records(archive, DATASET), 2))
    if len(records) != 1:
        raise archive.refusal("has not exactly one dataset")
    try:
        FIELD_IDS.load(records[0]["field_ids"])
    except ValueError as error:
        raise archive.refusal("has no list of fields") from error
    return records[0]


def _records(archive: Archive, table: ArchivedTable) -> Iterator[Record]:
    codec, member = LineCodec(table), _member(table)
    for number, line in enumerate(archive.lines(member), 1):
        try:
            yield codec.decode(line)
        except (DecodeError, ValueError) as error:
            raise archive.refusal(f"cannot be read: {member}, line {number}: {error}") from error
        except RecursionError:
            why = f"cannot be read: {member}, line {number}: it is nested too deep"
            raise archive.refusal(why) from None


def _member(table: ArchivedTable) -> str:
    return f"{table.name}.jsonl"


class LineCodec:
    """Writes and reads the lines of one table."""

    def __init__(self, table: ArchivedTable) -> None:
        self._ids = _named(table, "id")
        self._bytes = _named(table, "bytes")
        self._texts = _named(table, "text")
        self._decode = json.Decoder(_shape(table)).decode

    def encode(self, records: Iterable[Record]) -> Iterator[bytes]:
        """The line of each record."""
        encode = json.Encoder().encode
        for record in records:
            for names, write in ((self._ids, format_uuid), (self._bytes, bytes.hex)):
                for name in names:
                    if record[name] is not None:
                        record[name] = write(record[name])
            yield encode(record) + b"\n"

    def decode(self, line: bytes) -> Record:
        """The record of a line. Raises ValueError for what no archive has."""
        record: Record = structs.asdict(self._decode(line))
        for names, parse in ((self._ids, raw_id), (self._bytes, bytes.fromhex)):
            for name in names:
                if record[name] is not None:
                    record[name] = parse(record[name])
        # PostgreSQL keeps no text with it. Seldom looked for: in JSON it is written so.
        if b"\\u0000" in line and any("\0" in (record[name] or "") for name in self._texts):
            raise ValueError("a text has a NUL")
        return record


def _named(table: ArchivedTable, kind: str) -> list[str]:
    """The names of the columns of a kind."""
    return [name for name, written in table.columns.items() if written.rstrip("?") == kind]


def _shape(table: ArchivedTable) -> type[Struct]:
    """The type of a line: a column that is absent is null, if it may be."""
    fields: list[Any] = [
        (name, _TYPES[kind.rstrip("?")] | None, None)
        if kind.endswith("?")
        else (name, _TYPES[kind])
        for name, kind in table.columns.items()
    ]
    return defstruct(table.name, fields, forbid_unknown_fields=True, kw_only=True)
