"""Finds known rows on a page that has changed, and the selectors that read them now.

A value that few rows have and that stands in few places says where its row is. The elements that
hold the values of one row each are the records, whatever they are called now.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

from msgspec import Struct

from livedata.extraction.cells import clean, read_cell
from livedata.extraction.derived_names import TERM, UNNUMBERED, UNNUMBERED_TERM
from livedata.extraction.lists.fields import Field, all_fields
from livedata.extraction.lists.groups import ElementGroup, groups
from livedata.extraction.lists.survey import Survey
from livedata.extraction.matching.numbering import unnumbered
from livedata.model.row import Scalar

SEARCHED: Final = 100
"""So many records of a page are looked at; a Run takes more (`proposal`)."""
AS_GOOD: Final = 0.95
"""A selector that reads so many of the rows that another one would read is kept."""
_FEW: Final = 4
_SHORTEST: Final = 3
_OWN: Final = 0.75
_AGREE: Final = 0.5
_TRIED: Final = 5
_LONGEST: Final = 500
_LEAST_KNOWN: Final = 0.2
_LEAST_ROWS: Final = 2
_UNREAD: Final = frozenset(("class", "style"))
_UNNUMBERED: Final = {"": UNNUMBERED, TERM: UNNUMBERED_TERM}
"""What has a text, or a term, without the number in front."""


class KnownColumn(Struct, frozen=True):
    """A column of the table: its name, its type, and whether it is part of the key."""

    name: str
    type: str
    key: bool


class MendedField(Struct, frozen=True):
    """Where a column is read now, and on how many of the rows that were found it agrees."""

    name: str
    selector: str
    attribute: str | None
    agrees: int


class Mended(Struct, frozen=True):
    """The selectors that read known rows again: so many `rows` by their key.

    They are looked for in the first ones of so many `records`.
    """

    selector: str
    fields: Sequence[MendedField]
    rows: int
    records: int


class Unmended(Struct, frozen=True):
    """Why nothing is proposed: too few known rows are there, or no key of theirs is read.

    `expected` is how many rows a page had.
    """

    reason: str
    rows: int
    expected: int


_Places = Mapping[tuple[str, Scalar], Sequence[tuple[int, str]]]
"""Type and value -> the elements that say it, each with the attribute ("" for its text)."""


def mend(
    survey: Survey,
    known_columns: Sequence[KnownColumn],
    rows: Sequence[Sequence[Scalar]],
    expected: int,
    kept: ElementGroup | None = None,
) -> Mended | Unmended:
    """The selectors that read the known rows on the page as it is now.

    `rows` are those of all pages, since a list may have moved on; a page had about so many as are
    `expected`. The records of `kept` are taken if they serve as well as others.
    """
    places = _places(survey, {column.type for column in known_columns})
    hits = list(_hits(places, known_columns, rows))
    best: Mended | None = None
    recognised = 0
    for group, members in _recognising(survey, hits, groups(survey)):
        recognised = max(recognised, len(members))
        mended = _mended(survey, group, members, places, known_columns, rows)
        if mended is not None and (best is None or _judged(mended) > _judged(best)):
            best = mended
    for group, members in _recognising(survey, hits, [] if kept is None else [kept]):
        mended = _mended(survey, group, members, places, known_columns, rows)
        if mended is not None and (best is None or mended.rows >= AS_GOOD * best.rows):
            best = mended
    if best is not None and best.rows >= _LEAST_KNOWN * min(expected, best.records, SEARCHED):
        return best
    reason = "no_key" if recognised >= _LEAST_KNOWN * expected else "too_few"
    return Unmended(reason, recognised, expected)


def _judged(mended: Mended) -> tuple[int, int]:
    return mended.rows, sum(field.agrees for field in mended.fields)


def _places(survey: Survey, types: set[str]) -> _Places:
    """Where the page says what, in each type that a column has."""
    places: defaultdict[tuple[str, Scalar], list[tuple[int, str]]] = defaultdict(list)
    page = survey.page
    for number, node in enumerate(survey.nodes):
        said: list[tuple[str, str]] = []
        if 0 < survey.held(survey.texts, number) <= _LONGEST and survey.ends[number] - number < 40:
            said.append(("", clean(page.text(node, _LONGEST))))
        for name, value in node.attributes.items():
            if value and name not in _UNREAD and len(value) <= _LONGEST:
                said.append((name, clean(page.attribute(node, name) or "")))
        said += [
            (_UNNUMBERED[name], rest)
            for name, value in said
            if name in _UNNUMBERED and (rest := unnumbered(value)) != value
        ]
        for name, value in said:
            for kind in types if not name or len(value) < 100 else {"string"}:
                read = read_cell(value, kind).value if kind != "string" else value
                if read is not None and read != "":
                    places[kind, read].append((number, name))
    return places


def _hits(
    places: _Places, known_columns: Sequence[KnownColumn], rows: Sequence[Sequence[Scalar]]
) -> Iterator[tuple[int, int, float]]:
    """The element, row and weight of each value that few rows have, and few places."""
    for position, column in enumerate(known_columns):
        # Numbers repeat and change: a price says of no row that it is there.
        if column.type != "string":
            continue
        holders: defaultdict[Scalar, list[int]] = defaultdict(list)
        for row, values in enumerate(rows):
            if values[position] is not None and len(str(values[position])) >= _SHORTEST:
                holders[values[position]].append(row)
        for value, having in holders.items():
            numbers = {number for number, _ in places.get((column.type, value), ())}
            if len(having) <= _FEW and len(numbers) <= _FEW:
                for number, row in product(numbers, having):
                    yield number, row, 1 / (len(numbers) * len(having))


def _recognising(
    survey: Survey, hits: Sequence[tuple[int, int, float]], all_groups: Sequence[ElementGroup]
) -> list[tuple[ElementGroup, dict[int, int]]]:
    """The groups whose members hold the most known rows, one each: member -> row."""
    tried = []
    for group in all_groups:
        weights: defaultdict[int, Counter[int]] = defaultdict(Counter)
        records = group.members[:SEARCHED]
        for number, row, weight in hits:
            index = bisect_right(records, number) - 1
            if index >= 0 and number < survey.ends[records[index]]:
                weights[records[index]][row] += weight  # type: ignore[assignment]
        members: dict[int, int] = {}
        total = 0.0
        for member, by_row in weights.items():
            row, weight = by_row.most_common(1)[0]
            if weight >= _OWN * sum(by_row.values()):
                members[member] = row
                total += weight
        rows = len(set(members.values()))
        if rows >= _LEAST_ROWS:
            tried.append((rows, total, group, members))
    tried.sort(key=lambda trial: (-trial[0] - trial[1] / 10, trial[2].cost))
    return [(group, members) for _, _, group, members in tried[:_TRIED]]


def _mended(
    survey: Survey,
    group: ElementGroup,
    members: Mapping[int, int],
    places: _Places,
    known_columns: Sequence[KnownColumn],
    rows: Sequence[Sequence[Scalar]],
) -> Mended | None:
    """The fields of a group that read the known values again; None if the key is not among them."""
    sample = list(members)
    options = [Field("", 0.0, dict(enumerate(sample))), *all_fields(survey, sample)]
    mended: list[MendedField] = []
    read: dict[str, set[int]] = {}
    for position, column in enumerate(known_columns):
        holders = [
            set(places.get((column.type, rows[members[member]][position]), ())) for member in sample
        ]
        asked = sum(rows[members[member]][position] is not None for member in sample)
        best: tuple[int, float, Field, str] | None = None
        for field in options:
            tally: Counter[str] = Counter()
            for record, number in field.elements.items():
                tally.update(name for place, name in holders[record] if place == number)
            for name, count in tally.items():
                if best is None or (count, -field.cost) > (best[0], -best[1]):
                    best = count, field.cost, field, name
        if best is not None and best[0] >= _AGREE * max(asked, 1):
            count, _, field, name = best
            mended.append(MendedField(column.name, field.selector, name or None, count))
            read[column.name] = {
                members[sample[record]]
                for record, number in field.elements.items()
                if (number, name) in holders[record]
            }
    keys = [column.name for column in known_columns if column.key]
    if not all(name in read for name in keys):
        return None
    recognised = set.intersection(*(read[name] for name in keys))
    return Mended(group.selector, mended, len(recognised), len(group.members))
