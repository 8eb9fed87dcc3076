"""A text in all datasets of an owner: in what they are called and where they lead, and in cells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, islice
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from livedata.model.dataset import Dataset, words
from livedata.model.ids import DatasetId, Micros, OwnerName, RowId, raw_id
from livedata.model.row import ALL_ROWS
from livedata.model.row_name import RowName
from livedata.services.notices.gathering import shares
from livedata.services.pages.table import Looking, TableQuery
from livedata.store import datasets, recipes, shown_rows
from livedata.store.database.backend import Reader
from livedata.store.database.codec import Fields
from livedata.store.database.store import Database
from livedata.store.datasets import DatasetRef
from livedata.store.shown_rows import Line, lines

DATASETS: Final = 50
"""So many datasets are looked through for a page."""
ROWS: Final = 8
"""So many rows of a dataset are told."""
LINES: Final = 120
"""So many rows of all datasets of a page are told: it weighs about 100 KB then."""
_COUNTED: Final = 512 * 1024
"""Once there are enough rows to tell, the others are counted in so many characters of a dataset."""
_OF_EACH: Final = 2 * 1024 * 1024
"""The characters of a dataset that are looked at, its newest rows."""
_TOGETHER: Final = 16 * 1024 * 1024
"""The characters of all of them: a page ends with the dataset where they do."""
_BEFORE, _AFTER = 40, 80
"""So many characters are told around what was searched."""
_BESIDE, _SHORT = 2, 40
"""So many other cells of a row stand beside its name, and so many characters of each."""
_EXAMPLES: Final = 3
"""Of so many datasets there are examples of what can be searched."""


class MarkedText(Struct, frozen=True, rename="camel"):
    """What stands before a text that was searched, the text, and what stands behind it."""

    before: str
    hit: str
    after: str


class RowHit(Struct, frozen=True, rename="camel"):
    """A row that has the text, and where: in its name, or by the label of a column.

    Without a label that is its key. Where its name has the text, `beside` has other cells of the
    row by their labels: the name alone tells little.
    """

    row: str
    name: RowName
    label: str
    said: MarkedText
    is_gone: bool
    is_name: bool = False
    beside: Sequence[tuple[str, str]] = ()


class DatasetHits(Struct, frozen=True, rename="camel"):
    """Where a dataset has the text.

    So many rows have it as `row_count` says, at least if not `is_exact`; there are more than are
    told if `has_more`. Of `rows_seen` rows `looked_at` is None if these are all that there are to
    look at.
    """

    id: str
    name: str
    of_name: MarkedText | None
    question: MarkedText | None
    address: MarkedText | None
    rows: Sequence[RowHit]
    row_count: int
    is_exact: bool
    rows_seen: int
    has_more: bool
    looked_at: int | None

    @property
    def is_hit(self) -> bool:
        """Whether the text was seen."""
        return bool(self.of_name or self.question or self.address or self.rows)


class DatasetSearch(Struct, frozen=True, rename="camel"):
    """Some datasets where a text was looked for: up to which one, and whether others follow."""

    datasets: Sequence[DatasetHits]
    passed: int
    has_more: bool

    @property
    def hits(self) -> list[DatasetHits]:
        """Those that have the text."""
        return [each for each in self.datasets if each.is_hit]

    @property
    def rows_seen(self) -> int:
        """How many rows of all of them were looked at."""
        return sum(each.rows_seen for each in self.datasets)

    @property
    def cut(self) -> list[DatasetHits]:
        """Those that were not looked at to the end."""
        return [each for each in self.datasets if each.looked_at is not None]


class SearchExample(Struct, frozen=True):
    """What could be searched of a dataset: the name of a row, its key, a cell and an address.

    What it does not have is empty.
    """

    name: str
    row: str
    key: str
    cell: str
    host: str


class _Rows(Struct, frozen=True):
    """Where a text was looked for: the first rows of a dataset that have it, and how many do."""

    dataset: DatasetRef
    first: Sequence[RowId]
    count: int
    is_exact: bool
    looking: Looking


def search(db: Database, owner: OwnerName, text: str, passed: int = 0) -> DatasetSearch:
    """Where datasets of an owner have a text, by name, behind the first ones that are passed."""
    looked: list[_Rows] = []
    left, needle = _TOGETHER, text.casefold()
    with db.reading() as reader:
        # Whether another one follows; to count them all takes longer the more there are.
        by_name = datasets.by_name(reader, owner, DATASETS + 1, passed=passed)
        shown = {DatasetId(raw_id(dataset["id"])): dataset for dataset in by_name[:DATASETS]}
        refs = datasets.refs(reader, owner, shown) if shown else {}
        for dataset in shown:
            looked.append(_rows_of(reader, refs[dataset], text))
            left -= looked[-1].looking.looked_at
            if left <= 0:
                break
        told = shares([len(each.first) for each in looked], LINES)
        sources = recipes.newest_sources(reader, [each.dataset.id for each in looked])
        hits = [
            _hits(reader, shown[each.dataset.id], sources[each.dataset.id], each, most, needle)
            for each, most in zip(looked, told, strict=True)
        ]
    return DatasetSearch(hits, passed + len(hits), len(by_name) > len(hits))


def examples(db: Database, owner: OwnerName) -> list[SearchExample]:
    """What could be searched of the datasets of an owner that have changed last."""
    with db.reading() as reader:
        recent = datasets.updated_since(reader, owner, Micros(0), _EXAMPLES)
        return [each for key in recent if (each := _example(reader, owner, key)) is not None]


def _example(reader: Reader, owner: OwnerName, dataset: DatasetId) -> SearchExample | None:
    ref = datasets.ref(reader, owner, dataset)
    newest, _ = shown_rows.newest_lines(reader, dataset, ref.fields, ALL_ROWS, None, 1)
    for line in newest:
        name = RowName(line.alias or line.name, line.key)
        cells = (value for field, value in line.data.items() if field != ref.fields.label)
        said = (value for value in cells if isinstance(value, str) and value != line.key)
        cell = next((_cut(value) for value in said if "://" not in value), "")
        _, declared = recipes.source(reader, dataset)
        host = urlsplit(_address(declared)).hostname or ""
        return SearchExample(ref.name, _cut(name.name), _cut(name.beside or ""), cell, host)
    return None


def _cut(text: str) -> str:
    """The first words of a text, which are found as they stand here."""
    if len(text) <= _SHORT:
        return text
    return text[:_SHORT].rpartition(" ")[0] or text[:_SHORT]


def _rows_of(reader: Reader, dataset: DatasetRef, text: str) -> _Rows:
    looking = Looking(reader, dataset.id, dataset.fields, TableQuery(search=text), _OF_EACH)
    first: list[RowId] = []
    count, is_exact = 0, True
    for row in looking.wanted():
        count += 1
        if len(first) < ROWS:
            first.append(row.id)
        elif looking.looked_at > _COUNTED:
            is_exact = False
            break
    return _Rows(dataset, first, count, is_exact and not looking.is_cut, looking)


def _hits(
    reader: Reader, shown: Dataset, declared: object, looked: _Rows, most: int, needle: str
) -> DatasetHits:
    """What is told of a dataset, and of so many of its rows."""
    looking, fields = looked.looking, looked.dataset.fields
    written = lines(reader, looked.dataset.id, fields, looked.first[:most])
    told = [_row_hit(line, fields, needle) for line in written]
    return DatasetHits(
        shown["id"],
        shown["name"],
        marked(shown["name"], needle),
        marked(shown["question"] or "", needle),
        marked(_address(declared), needle),
        told,
        looked.count,
        looked.is_exact,
        looking.rows,
        looked.count > len(told),
        looking.rows if looking.is_cut else None,
    )


def _address(declared: object) -> str:
    """The address that a dataset is read from; empty for research, which has none."""
    address = declared.get("url") if isinstance(declared, dict) else None
    return address if isinstance(address, str) else ""


def _row_hit(line: Line, fields: Fields, needle: str) -> RowHit:
    name, is_gone = RowName(line.alias or line.name, line.key), line.presence == "missing"
    # What names it stands there anyway.
    for field in sorted(line.data, key=lambda field: field != fields.label):
        value = line.data[field]
        column = fields.columns[field]
        part = None if value is None else marked(words(value, column["type"]), needle)
        if part is not None:
            is_name = field == fields.label and not line.alias
            beside = _beside(line, fields, field) if is_name else ()
            return RowHit(line.id, name, column["label"], part, is_gone, is_name, beside)
    said = marked(line.key, needle) or MarkedText("", line.key, "")
    return RowHit(line.id, name, "", said, is_gone)


def _beside(line: Line, fields: Fields, named: str) -> list[tuple[str, str]]:
    """The first other cells of a row that tell more than its name and its key."""
    others = (
        (fields.columns[field]["label"], words(value, fields.columns[field]["type"]))
        for field, value in line.data.items()
        if field != named and value not in {None, "", line.key}
    )
    return [
        (label, said if len(said) <= _SHORT else f"{said[:_SHORT]}…")
        for label, said in islice(others, _BESIDE)
    ]


def marked(text: str, needle: str) -> MarkedText | None:
    """Where a text has another one, which is casefolded already; None if it does not."""
    folded = text.casefold()
    begin = folded.find(needle)
    if begin < 0 or not needle:
        return None
    end = begin + len(needle)
    if len(folded) != len(text):
        # Some letters are several once their case is gone: where each of them ends.
        ends = [*accumulate(len(letter.casefold()) for letter in text)]
        begin = next(place for place, reached in enumerate(ends) if reached > begin)
        end = next(place for place, reached in enumerate(ends, 1) if reached >= end)
    before, after = text[:begin], text[end:]
    return MarkedText(
        f"…{before[-_BEFORE:]}" if len(before) > _BEFORE else before,
        text[begin:end],
        f"{after[:_AFTER]}…" if len(after) > _AFTER else after,
    )
