"""What a page proposes to read: its lists, and of one of them columns, key and next pages.

All that is proposed is read once as a Run would read it, so what is said of it holds on the whole
page and not on a sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from livedata.extraction.lists.columns import Column, columns
from livedata.extraction.lists.fields import SAMPLE, fields
from livedata.extraction.lists.following import Following, Numbered, following, numbered
from livedata.extraction.lists.groups import Group, groups
from livedata.extraction.lists.liking import holding
from livedata.extraction.lists.keys import Key, NoKey, find_key
from livedata.extraction.lists.ranking import rank
from livedata.extraction.lists.survey import Survey, survey
from livedata.extraction.page import Page
from livedata.extraction.records import Extractor
from livedata.extraction.selectors import parse
from livedata.extraction.work import TooMuchWork
from livedata.model.harvest import Record
from livedata.model.recipe import Read, Recipe, RecipeField

MOST_LISTS: Final = 6
_MOST_RECORDS: Final = 1_000
"""A Run takes no more."""
_FILLED: Final = 0.2
_COMMON: Final = 0.7
_ODD: Final = 0.34
LIKELY: Final = 0.8
"""A second list with so much of the first one's score may as well be the one."""


class ListedColumn(Struct, frozen=True):
    """A column as a source declares it; `filled` counts the records in which it has a value."""

    name: str
    label: str | None
    type: str
    selector: str
    attribute: str | None
    required: bool
    filled: int


class ProposedList(Struct, frozen=True):
    """A list with all that a source says of it, and its rows as a Run reads them."""

    selector: str
    score: float
    columns: Sequence[ListedColumn]
    found: Sequence[Column]
    rows: Sequence[Record]
    key: Key | NoKey
    following: Sequence[Following]
    numbered: Numbered | None

    def with_columns(self, names: Sequence[str]) -> ProposedList:
        """The list with these columns only, in their order here, and with the key among them."""
        places = [at for at, column in enumerate(self.columns) if column.name in names]
        rows = [
            replace(
                row,
                values=[row.values[at] for at in places],
                reasons=[row.reasons[at] for at in places],
                texts=[row.texts[at] for at in places],
            )
            for row in self.rows
        ]
        found = [self.found[at] for at in places]
        return replace(
            self,
            columns=[self.columns[at] for at in places],
            found=found,
            rows=rows,
            key=find_key(found, [row.values for row in rows]),
        )


class SeenList(Struct, frozen=True):
    """A list that was seen on a page: how many records a selector finds, and some first words."""

    selector: str
    count: int
    score: float
    members: Sequence[int]


class Lists(Struct):
    """The lists of one page, the likeliest first; `groups` are all that selectors name."""

    survey: Survey
    seen: Sequence[SeenList]
    groups: Sequence[Group]


def find_lists(page: Page, like: Sequence[str] = ()) -> Lists:
    """The lists of a page that a selector names exactly. Raises `TooMuchWork`.

    With `like` only those of which one record holds all of these texts.
    """
    surveyed = survey(page)
    seen = []
    named = holding(surveyed, groups(surveyed), like)
    for one in rank(surveyed, named):
        exact = _exactly(surveyed, one.group, one.score)
        if exact is not None:
            seen.append(exact)
        if len(seen) == MOST_LISTS:
            break
    return Lists(surveyed, seen, named)


def _exactly(surveyed: Survey, group: Group, score: float) -> SeenList | None:
    """The list as its selector finds it on the page, which decides what its members are."""
    try:
        matches = {node.mem_id for node in surveyed.matcher.select(parse(group.selector))}
    except TooMuchWork:
        return None
    members = [number for number, node in enumerate(surveyed.nodes) if node.mem_id in matches]
    # What the page does not show may match too: a Run would read it.
    if len(members) < len(matches) or not members:
        return None
    return SeenList(group.selector, len(members), score, members)


def propose(lists: Lists, seen: SeenList) -> ProposedList:
    """What a source may say of a list. Raises `TooMuchWork`.

    Records that lack nearly all that the others have, such as a heading within a table, are left
    out if a selector does.
    """
    return _proposed(lists, _trimmed(lists, seen) or seen)


def _trimmed(lists: Lists, seen: SeenList) -> SeenList | None:
    """The list without the members that are none of its records, if a selector names the others."""
    found = fields(lists.survey, seen.members)[1:]
    if not found or len(seen.members) > SAMPLE:
        return None
    main = [field for field in found if len(field.elements) >= _COMMON * len(seen.members)]
    held = Counter(record for field in main for record in field.elements)
    odd = {at for at in range(len(seen.members)) if held[at] < _ODD * len(main)}
    if not main or not 0 < len(odd) <= (1 - _COMMON) * len(seen.members):
        return None
    kept = [member for at, member in enumerate(seen.members) if at not in odd]
    exact = [group for group in lists.groups if _stands_for(lists.survey, group.members, kept)]
    for group in sorted(exact, key=lambda group: group.cost):
        trimmed = _exactly(lists.survey, group, seen.score)
        if trimmed is not None and trimmed.members == group.members:
            return trimmed
    return None


def _stands_for(surveyed: Survey, members: Sequence[int], kept: Sequence[int]) -> bool:
    """Whether members are the kept ones, or what each of those holds nearly all of its text in."""
    if len(members) != len(kept):
        return False
    return all(
        outer <= inner < surveyed.ends[outer]
        and surveyed.held(surveyed.texts, inner) >= 0.8 * surveyed.held(surveyed.texts, outer)
        for outer, inner in zip(kept, members, strict=True)
    )


def _proposed(lists: Lists, seen: SeenList) -> ProposedList:
    surveyed = lists.survey
    found = columns(surveyed, fields(surveyed, seen.members), min(len(seen.members), SAMPLE))
    listed, rows = _read(surveyed.page, seen.selector, found)
    kept = found_in(found, listed)
    key = find_key(kept, [record.values for record in rows])
    return ProposedList(
        seen.selector,
        seen.score,
        listed,
        kept,
        rows,
        key,
        following(surveyed, seen.members),
        numbered(surveyed, seen.members),
    )


def found_in(found: Sequence[Column], listed: Sequence[ListedColumn]) -> list[Column]:
    """The columns that were kept, as they were found."""
    by_name = {column.name: column for column in found}
    return [replace(by_name[one.name], kind=one.type) for one in listed]


def _read(
    page: Page, selector: str, found: Sequence[Column]
) -> tuple[list[ListedColumn], list[Record]]:
    """The columns that hold on all records of the page, and the records as they read them."""
    kinds = {column.name: column.kind for column in found}
    kept = list(found)
    while True:
        if not kept:
            return [], []
        counted = count(1)
        extractor = Extractor(_recipe(page, selector, kept, kinds))
        records, _ = extractor.records(page, over=lambda: next(counted) >= _MOST_RECORDS)
        # A number that cannot be read somewhere is a text; a column that is seldom there is none.
        broken = [
            column.name
            for at, column in enumerate(kept)
            if kinds[column.name] != "string"
            and any(record.reasons[at] == "extraction_failed" for record in records)
        ]
        filled = [sum(record.values[at] is not None for record in records) for at in range(len(kept))]
        seldom = [at for at, count in enumerate(filled) if count < _FILLED * len(records)]
        if not broken and not seldom:
            break
        kinds.update(dict.fromkeys(broken, "string"))
        kept = [column for at, column in enumerate(kept) if at not in seldom]
    return [
        ListedColumn(
            column.name,
            column.label,
            kinds[column.name],
            column.selector,
            column.attribute,
            filled[at] == len(records),
            filled[at],
        )
        for at, column in enumerate(kept)
    ], records


def _recipe(page: Page, selector: str, found: Sequence[Column], kinds: dict[str, str]) -> Recipe:
    reads = tuple(
        RecipeField(
            column.name,
            column.name,
            column.name,
            at,
            type=kinds[column.name],  # type: ignore[arg-type]  # it is string or number
            required=False,
            read=Read("attribute" if column.attribute else "text", column.selector or None, column.attribute),
        )
        for at, column in enumerate(found)
    )
    first = (found[0].name,)
    return Recipe(1, page.url, "static", selector, reads, first, False, None, 1, 1000, 0, "never", False)


__all__ = ["LIKELY", "Lists", "ListedColumn", "ProposedList", "SeenList", "TooMuchWork", "find_lists", "propose"]
