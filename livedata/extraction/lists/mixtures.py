"""Fields that hit one part in some records and another part in others: an author among tags.

A selector finds its first match. Where a record lacks the part that is meant, that is whatever
comes next, so the column would have values that are none of its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from livedata.extraction.cells import clean
from livedata.extraction.lists.identity.natures import is_price
from livedata.extraction.lists.survey import Survey

_LONGEST: Final = 100
_SHARED: Final = 0.5
"""What so many records have beside the part that is meant is another part, and no form of it."""


class Mixtures:
    """Which elements of some records stand in the same place, and which records have each place."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._places: dict[int, int] = {}
        self._numbers: dict[tuple[int, str, int], int] = {}
        self._having: defaultdict[int, set[int]] = defaultdict(set)
        self._struck: set[int] = set()

    def add(self, record: int, member: int, numbers: Iterable[int]) -> None:
        """Note the elements below a record, in document order."""
        self._places[member] = 0
        for number in numbers:
            above = self._places.get(self._survey.parents[number], -1)
            look = self._survey.looks[number]
            # The cells of a row are its columns, however alike they look.
            cell = self._survey.indexes[number] if look.tag in {"td", "th"} else 0
            key = (above, look.name, cell)
            place = self._places[number] = self._numbers.setdefault(key, len(self._numbers) + 1)
            self._having[place].add(record)
            if self._survey.looks[number].is_struck or self._survey.parents[number] in self._struck:
                self._struck.add(number)

    def are_mixed(self, elements: Sequence[int]) -> bool:
        """Whether elements of several records are of two parts that one record has both of.

        Or some are prices with a line through them, as they were, and the others as they are.
        """
        struck = [number for number in elements if number in self._struck]
        if 0 < len(struck) < len(elements) and all(map(self._is_price, struck)):
            return True
        counts = Counter(self._places.get(number, -1) for number in elements)
        (common, _), *others = counts.most_common()
        usual = self._having[common]
        return any(
            len(self._having[place] & usual) >= _SHARED * len(self._having[place])
            for place, _ in others
            if self._having[place]
        )

    def _is_price(self, number: int) -> bool:
        survey = self._survey
        return is_price(clean(survey.page.text(survey.nodes[number], _LONGEST)))
