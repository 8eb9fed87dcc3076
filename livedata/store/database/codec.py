"""Columns of text and what they hold: JSON of a type, lists by position, fields of a dataset."""

from __future__ import annotations

import zlib
from base64 import b85decode, b85encode
from collections.abc import Callable, Collection, Mapping, Sequence, Sized
from functools import cached_property
from typing import Annotated, Any, Generic, TypeVar

import orjson
from msgspec import Meta, Struct, json
from msgspec.structs import asdict

from livedata.model.dataset import TYPES_OF, Column, DroppedColumn, columns_by_id
from livedata.model.diagnosis.recorded_run import PageCounts, RunFacts, StepFact, StopFact
from livedata.model.harvest import Harvest, PageRead, StopReason
from livedata.model.problem import Problem
from livedata.model.row import Cells, MissingReason, MissingReasons, Scalar
from livedata.model.row_name import RowName, label_of, name_of
from livedata.model.run import CheckResult
from livedata.model.wire import MAX_DEPTH, too_deep
from livedata.rules.changes.compare import SourceValue

T = TypeVar("T")
# A mask of positions is kept in 64 bits. Without the bound a single number could fill the memory.
Position = Annotated[int, Meta(ge=0, lt=63)]
Item = Annotated[int, Meta(ge=0)]
ItemTexts = dict[int, str | tuple[str]]
"""Position -> text as it was read; in a tuple if this is only its beginning."""

LONGEST = 64 * 1024 * 1024
"""What is compressed is no longer than so many bytes: what somebody made to fill the memory is."""
_COMPRESSED = "z:"
"""How compressed text begins; no JSON does, so both kinds can stand in one column."""


class JsonColumn(Generic[T]):
    """What a column of JSON holds: the only way from stored text to a value of that type."""

    def __init__(self, shape: Any, *, flat: bool = False, anything: bool = False) -> None:
        self._shape = shape
        self._flat = flat
        self._anything = anything

    @cached_property
    def load(self) -> Callable[[str | bytes], T]:
        """What makes the value of a JSON text. It raises ValueError for what no version wrote."""
        # Made when it is first needed: a command needs one or two of them. What rows are made of
        # cannot nest, and is read very often.
        decode = json.Decoder(self._shape).decode
        return decode if self._flat else self._no_deeper(decode)

    def _no_deeper(self, decode: Callable[[str | bytes], T]) -> Callable[[str | bytes], T]:
        def load(text: str | bytes) -> T:
            try:
                value = decode(text)
            except RecursionError:
                raise ValueError("it is nested too deep") from None
            # Who writes a value of any shape calls itself for each of its levels too.
            if self._anything and too_deep(value):
                raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
            return value

        return load


COLUMNS = JsonColumn[list[Column]](list[Column])
DROPPED = JsonColumn[list[DroppedColumn]](list[DroppedColumn])
FIELD_IDS = JsonColumn[list[str]](list[str], flat=True)
SOURCE = JsonColumn[Any](dict[str, Any] | list[Any], anything=True)
CHECKS = JsonColumn[list[CheckResult]](list[CheckResult])
STOP = JsonColumn[dict[str, Any]](StopFact, anything=True)
FACTS = JsonColumn[RunFacts](RunFacts)
PROBLEM = JsonColumn[Problem](Problem)
STEPS = JsonColumn[list[StepFact]](list[StepFact])
COUNTS = JsonColumn[PageCounts](PageCounts)
VALUES = JsonColumn[list[Scalar]](list[Scalar], flat=True)
REASONS = JsonColumn[dict[int, MissingReason]](dict[Position, MissingReason], flat=True)
OVERRIDES = JsonColumn[dict[int, SourceValue]](dict[Position, SourceValue])
EVIDENCE = JsonColumn[dict[int, list[tuple[str, int]]]](
    dict[Position, list[tuple[str, int]]], flat=True
)
HARVEST = JsonColumn[list[PageRead]](list[PageRead])
NAMES = JsonColumn[list[str]](list[str], flat=True)
TOLD = JsonColumn[dict[str, Any]](dict[str, Any])
ANY_OBJECT = JsonColumn[dict[str, Any]](dict[str, Any], anything=True)
ENTRIES = JsonColumn[dict[int, ItemTexts]](dict[Item, dict[Position, str | tuple[str]]], flat=True)


class Fields(Struct, frozen=True):
    """The fields of a dataset by position, as lists, and its columns in the order of people.

    A field whose column was dropped keeps its position, and is `hidden`: rows keep what they had
    there, and only the history tells it.
    """

    ids: list[str]
    columns: dict[str, Column]
    """The columns that are shown, by their ids."""
    placed: list[Column]
    """The column of each position, also of those that are hidden."""
    names: list[str]
    collected: list[bool]
    """Whether the field is read from the source."""
    quoted: list[int]
    """The position of the field whose words a cell rests on: mostly its own."""
    label: str | None
    """The field whose text names a row; None if rows are named by their keys."""
    hidden: frozenset[int]
    dropped: list[DroppedColumn]

    @property
    def positions(self) -> dict[str, int]:
        """Field id -> position, of those that are shown."""
        every = enumerate(self.ids)
        return {field: position for position, field in every if position not in self.hidden}

    def with_columns(self, columns: Sequence[Column]) -> Fields:
        """The fields with the columns of another moment."""
        return _fields(self.ids, columns, self.label, self.placed, self.dropped)

    def of_recipe(self, version: int) -> list[Column]:
        """The column of each position, where only those that a recipe may name have their names."""
        # A name may be dropped and added again: then each recipe means the one of its time.
        read = {each["id"]: each["lastRecipe"] for each in self.dropped}
        meant: dict[str, str] = {}
        for field in self.dropped:
            if field["lastRecipe"] >= version:
                meant.setdefault(field["name"], field["id"])
        return [
            column
            if meant.get(column["name"], column["id"]) == column["id"]
            and read.get(column["id"], version) >= version
            else {**column, "name": ""}
            for column in self.placed
        ]

    def cells(self, values: Sequence[Scalar]) -> Cells:
        """Field id -> value of those that are shown, as far as there are values."""
        cells = dict(zip(self.ids, values, strict=False))
        for position in self.hidden:
            cells.pop(self.ids[position], None)
        return cells

    def reasons(
        self,
        values: Sequence[Scalar],
        known: Mapping[int, MissingReason],
        edited: Collection[int],
        width: int,
    ) -> MissingReasons:
        """Field id -> why its cell is empty: it is not known of one that no Run has read yet.

        Of the first `width` positions; `known` has the reasons that are kept.
        """
        reasons = {
            self.ids[position]: reason
            for position, reason in known.items()
            if position not in self.hidden
        }
        for position in self.unread(values, known, edited, width):
            reasons[self.ids[position]] = "unknown"
        return reasons

    def unread(
        self,
        values: Sequence[Scalar],
        known: Collection[int],
        edited: Collection[int],
        width: int,
    ) -> list[int]:
        """The positions of shown cells that no Run has read yet: nothing says why they are empty.

        A row may be older than the last columns.
        """
        if width == len(values) and None not in values:
            return []
        return [
            position
            for position in range(width)
            if (position >= len(values) or values[position] is None)
            and self.collected[position]
            and position not in known
            and position not in edited
            and position not in self.hidden
        ]

    @property
    def label_of(self) -> Callable[[Sequence[Scalar]], Scalar]:
        """What gives the cell that names a row, among its values by position."""
        place = len(self.ids) if self.label is None else self.ids.index(self.label)
        # A row may be older than the last columns.
        return lambda values: values[place] if place < len(values) else None

    @property
    def namer(self) -> Callable[[str, Sequence[Scalar]], RowName]:
        """What says how the row of a key and of values by position is called."""
        label_of = self.label_of
        return lambda key, values: RowName(name_of(label_of(values)) or key, key)

    def entry(self, item: int, position: int) -> str:
        """The name of the entry for one cell: the item's number on its page, and the column."""
        return f"{item}/{self.names[self.quoted[position]]}"


def fields_of(
    ids: Sequence[str],
    columns: Sequence[Column],
    label: str | None = None,
    dropped: Sequence[DroppedColumn] = (),
) -> Fields:
    """The fields of a dataset: their ids by position, and its columns in the order of people.

    `label` is the field that its owner has chosen to name rows by.
    """
    # Two lists, because people may reorder columns, while stored values keep their positions.
    every = columns_by_id([*dropped, *columns])
    placed = [every[field] for field in ids if field in every]
    return _fields([column["id"] for column in placed], columns, label, placed, dropped)


def _fields(
    ids: Sequence[str],
    columns: Sequence[Column],
    label: str | None,
    placed: Sequence[Column],
    dropped: Sequence[DroppedColumn],
) -> Fields:
    by_id = columns_by_id(columns)
    return Fields(
        [*ids],
        by_id,
        [*placed],
        [column["name"] for column in placed],
        [column["ownership"] == "collected" for column in placed],
        quoted_positions(placed),
        label_of(columns, label),
        frozenset(position for position, field in enumerate(ids) if field not in by_id),
        [*dropped],
    )


def quoted_positions(placed: Sequence[Column]) -> list[int]:
    """For each column by position, that of the column whose words its cells rest on."""
    # Only research collects an address, that of the page: what leads there is the name on it.
    name = next((position for position, column in enumerate(placed) if column["key"]), 0)
    return [
        name if column["type"] == "url" and column["ownership"] == "collected" else position
        for position, column in enumerate(placed)
    ]


def dump(value: object) -> str:
    """JSON text as the store keeps it."""
    return orjson.dumps(value, default=asdict).decode()


def dump_positions(value: Mapping[int, object]) -> str | None:
    """JSON of something by position; None if it is empty."""
    # NULL and not "{}": most rows have nothing here, and those that have are found by IS NOT NULL.
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode() if value else None


def load_positions(column: JsonColumn[dict[int, T]], text: str | None) -> dict[int, T]:
    """The opposite of :func:`dump_positions`. Raises ValueError as the column does."""
    return column.load(text) if text else {}


def dump_harvest(harvest: Harvest) -> bytes:
    """The bytes of an output that is held."""
    return zlib.compress(json.encode(harvest.output))


def load_harvest(packed: bytes, types: Sequence[str] | None = None) -> Harvest:
    """What :func:`dump_harvest` wrote. Raises ValueError, zlib.error for what none can be.

    `types` are those of the fields of its recipe, if they are known.
    """
    text = zlib.decompress(packed)
    # Outputs that an older version kept lack what was added since, which has a default.
    harvest = _of_pages(text) if text[:1] == b"[" else _with_findings(text)
    for page in harvest.pages:
        bytes.fromhex(page.digest)
        if types is not None and not _fits(page, types):
            raise ValueError(f"page {page.number} is not of these fields")
    return harvest


def _of_pages(text: bytes) -> Harvest:
    return Harvest(HARVEST.load(text), StopReason("natural_end"))


def _with_findings(text: bytes) -> Harvest:
    # Imported only here: most outputs that are held are of selectors.
    from livedata.model.research.outcome import HeldResearch

    return json.decode(text, type=HeldResearch).harvest


def _fits(page: PageRead, types: Sequence[str]) -> bool:
    """Whether the lists of a page are as long as the fields, and its values of their types."""
    by_field: list[Sized] = [page.matches]
    for record in page.records:
        by_field += (record.values, record.reasons, record.texts)
        if record.quotes is not None:
            by_field.append(record.quotes)
    return all(len(part) == len(types) for part in by_field) and all(
        # To Python True is a number.
        value is None or type(value) in TYPES_OF[kind]
        for record in page.records
        for value, kind in zip(record.values, types, strict=True)
    )


def unpack_text(packed: bytes) -> str:
    """The text of compressed bytes. Raises zlib.error and ValueError."""
    return zlib.decompress(packed).decode()


def dump_compressed(value: object) -> str:
    """JSON as text that is small."""
    # What a Run records repeats itself and is kept for every Run: 1,000 bytes for 50 pages. Base 85
    # adds a quarter to the bytes, base 64 a third; the column is text, for it once had plain JSON.
    return _COMPRESSED + b85encode(zlib.compress(orjson.dumps(value, default=asdict), 9)).decode()


def load_compressed(text: str) -> Any:
    """The opposite of :func:`dump_compressed`; plain JSON is read too."""
    return orjson.loads(unpacked(text))


def unpacked(text: str) -> str | bytes:
    """The JSON of a text as stored, compressed or not. Raises ValueError."""
    if not text.startswith(_COMPRESSED):
        return text
    unpacking = zlib.decompressobj()
    try:
        whole = unpacking.decompress(b85decode(text.removeprefix(_COMPRESSED)), LONGEST)
    except zlib.error as error:
        # The same error as for bad JSON and bad base 85: who judges the store expects one.
        raise ValueError(str(error)) from error
    if not unpacking.eof:
        raise ValueError("it is cut short, or unpacks to more than livedata writes")
    return whole
