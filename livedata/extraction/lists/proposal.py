"""What a source may say of a list: its columns, its key, and how it goes on.

All columns are read once as a Run reads them, so what is said of them holds for each record of the
page and not for a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, count, islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from livedata.extraction.lists.columns import ListColumn, columns
from livedata.extraction.lists.fields import SAMPLE, fields
from livedata.extraction.lists.identity.narrowing import narrowed
from livedata.extraction.lists.keys import Key, NoKey, find_key
from livedata.extraction.lists.page_lists import Lists, SeenList, having, parts, trimmed
from livedata.extraction.lists.paging import (
    Following,
    NumberedPages,
    elsewhere,
    following,
    numbered,
)
from livedata.extraction.lists.readings import readings
from livedata.extraction.lists.shifts import shifted
from livedata.extraction.lists.survey import Survey
from livedata.extraction.lists.whole_texts import counters
from livedata.extraction.page import Page
from livedata.extraction.records import Extractor
from livedata.model.harvest import Record
from livedata.model.recipe import Recipe, RecipeField
from livedata.model.row import Scalar

MOST_RECORDS: Final = 1_000
"""A Run takes no more."""
_FILLED: Final = 0.2
"""A column that is filled in fewer of the records is none."""
_LEAST_PART: Final = 0.5
"""A part of a list stands for it from this share of its records on."""
_MOST_PARTS: Final = 3
"""So many parts are tried of a list in which nothing is a key."""


class ProposedList(Struct, frozen=True):
    """A list with all that a source may say of it, and its rows as a Run reads them.

    `count` are the records of the page, of which a Run reads at most `MOST_RECORDS`. `aside` says
    that they stand in a menu or at the edge of the page. `following` and `numbered` are guesses of
    how it goes on, the likeliest first; `elsewhere` is its next page on another host. `counters`
    are where numbers stand that only count the list: they, and the addresses that they are in, are
    no columns. Nor are the `shifted` places, at which another part stands in some records.
    """

    selector: str
    count: int
    aside: bool
    columns: Sequence[ListColumn]
    rows: Sequence[Record]
    key: Key | NoKey
    following: Sequence[Following]
    numbered: NumberedPages | None
    counters: Sequence[str] = ()
    shifted: Sequence[str] = ()
    elsewhere: str = ""

    def filled(self, position: int) -> int:
        """In how many records the column at a position has a value."""
        return sum(row.values[position] is not None for row in self.rows)

    @property
    def values(self) -> list[list[Scalar]]:
        """The values of each row, one for each column."""
        return [row.values for row in self.rows]

    def only(self, names: Sequence[str]) -> ProposedList:
        """The list with these columns alone, and a key among them."""
        places = [position for position, column in enumerate(self.columns) if column.name in names]
        kept = [self.columns[position] for position in places]
        rows = [_only(row, places) for row in self.rows]
        key = find_key(kept, [row.values for row in rows])
        return replace(self, columns=kept, rows=rows, key=key)


def propose(lists: Lists, seen: SeenList) -> ProposedList:
    """What a source may say of a list. Raises `TooMuchWork`.

    Records that lack nearly all that the others have, such as a heading within a table, are left
    out if a selector does. Where no key tells the records apart, most of them
    stand for all if they have one: those without a second block of the same, without links of the
    page's edge, or the rows of a table that have a link in them.
    """
    chosen = trimmed(lists, seen) or seen
    proposed = _proposed(lists.survey, chosen)
    if isinstance(proposed.key, NoKey):
        for part in chain(
            islice(parts(lists, chosen, _LEAST_PART), _MOST_PARTS),
            islice(having(lists, chosen, _LEAST_PART), _MOST_PARTS),
        ):
            instead = _proposed(lists.survey, part)
            if isinstance(instead.key, Key) and instead.key.sure:
                return instead
    return proposed


def _proposed(surveyed: Survey, seen: SeenList) -> ProposedList:
    chosen = replace(seen, selector=narrowed(surveyed, seen.selector, seen.members))
    members = chosen.members
    every = fields(surveyed, members)
    places = counters(surveyed, every)
    others = [field for field in every if field not in places]
    sampled = min(len(members), SAMPLE)
    differing = readings(surveyed, others, sampled)
    moved = shifted(surveyed, differing)
    steady = [reading for reading in differing if reading.field not in moved]
    proposed = columns(surveyed, others, steady, sampled)
    lasting = [column for column in proposed if not column.sections] or proposed
    kept, rows = _read(surveyed.page, chosen.selector, lasting)
    key = find_key(kept, [row.values for row in rows])
    pages = following(surveyed, members), numbered(surveyed, members)
    aside = sum(surveyed.aside[member] for member in members) > chosen.count / 2
    counted = [field.selector for field in places]
    counted += [column.read.place for column in proposed if column not in lasting]
    left_out = counted, [field.selector for field in moved]
    away = elsewhere(surveyed, members)
    return ProposedList(
        chosen.selector, chosen.count, aside, kept, rows, key, *pages, *left_out, away
    )


def _read(
    page: Page, selector: str, proposed: Sequence[ListColumn]
) -> tuple[Sequence[ListColumn], list[Record]]:
    """The columns that hold for all records of the page, and the records."""
    while proposed:
        rows = _records(page, selector, proposed)
        kept = []
        for position, column in enumerate(proposed):
            filled = sum(row.values[position] is not None for row in rows)
            # What cannot be read as a number somewhere is a text.
            if column.kind != "string" and any(
                row.reasons[position] == "extraction_failed" for row in rows
            ):
                kept.append(replace(column, kind="string"))
            elif filled >= _FILLED * len(rows):
                kept.append(column)
        if kept == list(proposed):
            return kept, rows
        proposed = kept
    return [], []


def _records(page: Page, selector: str, proposed: Sequence[ListColumn]) -> list[Record]:
    reads = tuple(
        RecipeField(
            column.name,
            column.name,
            column.name,
            position,
            type="number" if column.kind == "number" else "string",
            required=False,
            read=column.read,
        )
        for position, column in enumerate(proposed)
    )
    recipe = Recipe(
        version=1,
        url=page.url,
        render="static",
        item_selector=selector,
        fields=reads,
        identity=(proposed[0].name,),
        composite=False,
        pagination=None,
        max_pages=1,
        max_items=MOST_RECORDS,
        minimum_items=0,
        proxy="never",
        ignore_robots=False,
    )
    counted = count(1)
    return Extractor(recipe).records(page, over=lambda: next(counted) >= MOST_RECORDS)[0]


def _only(row: Record, places: Sequence[int]) -> Record:
    return Record(
        row.number,
        row.key,
        [row.values[position] for position in places],
        [row.reasons[position] for position in places],
        [row.texts[position] for position in places],
    )
