"""A text in all datasets of an owner: in what they are called and where they lead, and in cells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from msgspec import Struct

from livedata.model.ids import DatasetId, OwnerName
from livedata.model.row_name import RowName
from livedata.services.pages.table import Looking, TableQuery, words
from livedata.store import datasets, recipes
from livedata.store.database.backend import Reader
from livedata.store.database.codec import Fields
from livedata.store.database.store import Database
from livedata.store.shown_rows import Line, lines

DATASETS: Final = 50
"""So many datasets are looked through for a page."""
ROWS: Final = 5
"""So many rows of a dataset are told."""
_OF_EACH: Final = 2 * 1024 * 1024
"""The characters of a dataset that are looked at, its newest rows."""
_TOGETHER: Final = 16 * 1024 * 1024
"""The characters of all of them: a page ends with the dataset where they do."""
_BEFORE, _AFTER = 40, 80
"""So many characters are told around what was searched."""


class MarkedText(Struct, frozen=True, rename="camel"):
    """What stands before a text that was searched, the text, and what stands behind it."""

    before: str
    hit: str
    after: str


class RowHit(Struct, frozen=True, rename="camel"):
    """A row that has the text, and where: in its name, or by the label of a column.

    Without a label that is its key.
    """

    row: str
    name: RowName
    label: str
    said: MarkedText
    is_name: bool = False


class DatasetHits(Struct, frozen=True, rename="camel"):
    """Where a dataset has the text.

    There are more rows than are told if `has_more`; `looked_at` is after how many of them the
    search had enough, None if it looked at all that it had to.
    """

    id: str
    name: str
    of_name: MarkedText | None
    question: MarkedText | None
    address: MarkedText | None
    rows: Sequence[RowHit]
    has_more: bool
    looked_at: int | None

    @property
    def is_hit(self) -> bool:
        """Whether the text was seen."""
        return bool(self.of_name or self.question or self.address or self.rows)


class DatasetSearch(Struct, frozen=True, rename="camel"):
    """Some datasets where a text was looked for: up to which one, and how many follow."""

    datasets: Sequence[DatasetHits]
    passed: int
    following: int

    @property
    def hits(self) -> list[DatasetHits]:
        """Those that have the text."""
        return [each for each in self.datasets if each.is_hit]

    @property
    def cut(self) -> list[DatasetHits]:
        """Those that were not looked at to the end."""
        return [each for each in self.datasets if each.looked_at is not None]


def search(db: Database, owner: OwnerName, text: str, passed: int = 0) -> DatasetSearch:
    """Where datasets of an owner have a text, by name, behind the first ones that are passed."""
    told: list[DatasetHits] = []
    left = _TOGETHER
    with db.reading() as reader:
        listed = datasets.all_names(reader, owner)[passed:]
        for dataset, _ in listed[:DATASETS]:
            hits, looked_at = _of_dataset(reader, owner, dataset, text)
            told.append(hits)
            left -= looked_at
            if left <= 0:
                break
    return DatasetSearch(told, passed + len(told), len(listed) - len(told))


def _of_dataset(
    reader: Reader, owner: OwnerName, dataset: DatasetId, text: str
) -> tuple[DatasetHits, int]:
    """Where a dataset has a text, and how many characters were looked at."""
    shown, fields = (
        datasets.get(reader, owner, dataset),
        datasets.ref(reader, owner, dataset).fields,
    )
    looking = Looking(reader, dataset, fields, TableQuery(search=text), _OF_EACH)
    rows = []
    for row in looking.wanted():
        rows.append(row.id)
        # One more than is told says that there are more.
        if len(rows) > ROWS:
            break
    needle = text.casefold()
    told = [_row_hit(line, fields, needle) for line in lines(reader, dataset, fields, rows[:ROWS])]
    hits = DatasetHits(
        shown["id"],
        shown["name"],
        marked(shown["name"], needle),
        marked(shown["question"] or "", needle),
        marked(_address(reader, dataset), needle),
        told,
        len(rows) > len(told),
        looking.rows if looking.is_cut else None,
    )
    return hits, looking.looked_at


def _address(reader: Reader, dataset: DatasetId) -> str:
    """The address that a dataset is read from; empty for research, which has none."""
    _, declared = recipes.source(reader, dataset)
    address = declared.get("url") if isinstance(declared, dict) else None
    return address if isinstance(address, str) else ""


def _row_hit(line: Line, fields: Fields, needle: str) -> RowHit:
    name = RowName(line.alias or line.name, line.key)
    # What names it stands there anyway.
    for field in sorted(line.data, key=lambda field: field != fields.label):
        value = line.data[field]
        part = None if value is None else marked(words(value), needle)
        if part is not None:
            is_name = field == fields.label and not line.alias
            return RowHit(line.id, name, fields.columns[field]["label"], part, is_name)
    return RowHit(line.id, name, "", marked(line.key, needle) or MarkedText("", line.key, ""))


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
