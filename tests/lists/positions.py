"""Numbers in records that say only at which place of the list a record stands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

from msgspec import Struct

_PIECE: Final = re.compile(r"<(\w+)([^>]*)>|([^<]*[^<\s][^<]*)")
_ATTRIBUTE: Final = re.compile(r' ([\w:-]+)="([^"]*)"')
_FIRST: Final = re.compile(r"\s*((?:\d+\.)*)(\d+)(?=[.)]?(?:\s|&nbsp;|$))")
_NUMBER: Final = re.compile(r"\d+")
_LINK: Final = re.compile(r' href="([^"#]*)(?<!:)(?=[#"])')
_MOSTLY: Final = 0.8
_LEAST: Final = 5

_Place = tuple[str, int, int]
"""A tag with an attribute or `text`, the how manieth of a record, and which number in it."""


class Number(Struct, frozen=True):
    """A number of a record: from where to where, in which value, and what is `before` it."""

    start: int
    end: int
    written: str
    before: str
    value: int


def renumbered(
    records: Sequence[str], others: Sequence[str], identifiers: Collection[str]
) -> list[str]:
    """Other records with the numbers of their places, if `records` have such numbers.

    The one at each place gets the number that the record at this place of `records` had. Numbers
    within identifiers may go up by one too.
    """
    numbers = [
        {place: number for place, number in _numbers(record) if number.written not in identifiers}
        for record in records
    ]
    along = [place for place in _places(numbers) if _counts(numbers, place)]
    return [_rewritten(other, numbers, along, index) for index, other in enumerate(others)]


def placed(records: Sequence[str]) -> list[str]:
    """The records with links that say at which place of the list each of them stands."""
    return [
        _LINK.sub(partial(_with_place, position=number), record)
        for number, record in enumerate(records, 1)
    ]


def _with_place(link: re.Match[str], position: int) -> str:
    return f"{link[0]}{'&amp;' if '?' in link[1] else '?'}place={position}"


def _places(numbers: Sequence[Mapping[_Place, Number]]) -> list[_Place]:
    counts = Counter(place for each in numbers for place in each)
    return [
        place for place, count in counts.items() if count >= max(_LEAST, _MOSTLY * len(numbers))
    ]


def _counts(numbers: Sequence[Mapping[_Place, Number]], place: _Place) -> bool:
    """Whether the numbers at a place go up by one from record to record."""
    values = [each[place].value for each in numbers if place in each]
    steps = [after - before for before, after in pairwise(values)]
    return steps.count(1) >= _MOSTLY * len(steps)


def _rewritten(
    record: str, numbers: Sequence[Mapping[_Place, Number]], along: Sequence[_Place], position: int
) -> str:
    own = dict(_numbers(record))
    changes = [(own[place], _said(numbers, place, position)) for place in along if place in own]
    for number, said in sorted(changes, key=lambda change: -change[0].start):
        record = f"{record[: number.start]}{said}{record[number.end :]}"
    return record


def _said(numbers: Sequence[Mapping[_Place, Number]], place: _Place, position: int) -> str:
    """The number that belongs to a place of the list, which may be beyond its end."""
    having = [position for position, each in enumerate(numbers) if place in each]
    nearest = min(having, key=lambda other: abs(other - position))
    number = numbers[nearest][place]
    digits = number.end - number.start - len(number.before)
    return f"{number.before}{number.value + position - nearest:0{digits}}"


def _numbers(record: str) -> Iterator[tuple[_Place, Number]]:
    """The numbers that texts of a record begin with, and those in its attributes."""
    counts: Counter[str] = Counter()
    for piece in _PIECE.finditer(record):
        tag, attributes, text = piece.groups()
        if text is not None:
            counts["text"] += 1
            match = _FIRST.match(text)
            if match is not None:
                yield ("text", counts["text"], 0), _number(match, piece.start(3))
            continue
        for attribute in _ATTRIBUTE.finditer(attributes):
            name = f"{tag} {attribute[1]}"
            counts[name] += 1
            for which, digits in enumerate(_NUMBER.finditer(attribute[2])):
                start = piece.start(2) + attribute.start(2)
                if len(digits[0]) < 10:
                    first, last = start + digits.start(), start + digits.end()
                    number = Number(first, last, attribute[2], "", int(digits[0]))
                    yield (name, counts[name], which), number


def _number(match: re.Match[str], start: int) -> Number:
    first, last = start + match.start(1), start + match.end(2)
    return Number(first, last, "", match[1], int(match[2]))
