"""The lists that are on a page: which records each has, exactly as its selector finds them."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from livedata.extraction.cells import clean
from livedata.extraction.lists.fields import SAMPLE, spread
from livedata.extraction.lists.groups import ElementGroup, groups
from livedata.extraction.lists.identity.narrowing import (
    asking_contents,
    contents,
    leaving_out,
    with_test,
)
from livedata.extraction.lists.ranking.kinds import Kind, Ranked
from livedata.extraction.lists.ranking.ranks import rank
from livedata.extraction.lists.survey import Survey, survey
from livedata.extraction.page import Page
from livedata.extraction.selectors import AttributeTest, parse
from livedata.extraction.work import TooMuchWork

MOST_LISTS: Final = 6
_COMMON: Final = 0.7
_ODD: Final = 0.34
_NEARLY_ALL: Final = 0.85
_SAME: Final = 0.6
_NESTED: Final = 0.05
_LONGEST: Final = 2_000
_MOST: Final = 200
_MOST_INSIDE: Final = 60
_SAMPLE: Final = 24


class SeenList(Struct, frozen=True):
    """A list that was seen on a page: what its selector finds there.

    `kind` says what it is if its members are no records.
    """

    selector: str
    count: int
    score: float
    members: Sequence[int]
    kind: Kind | None = None


class Lists(Struct):
    """The lists of one page, the likeliest first; `groups` are all that selectors name."""

    survey: Survey
    seen: Sequence[SeenList]
    groups: Sequence[ElementGroup]

    @property
    def has_list(self) -> bool:
        """Whether the first list is one of records, so that the page may be there for it."""
        return bool(self.seen) and self.seen[0].kind is None


def find_lists(page: Page, like: Sequence[str] = ()) -> Lists:
    """The lists of a page that a selector names exactly. Raises `TooMuchWork`.

    With `like` only those of which one record holds all of these texts.
    """
    surveyed = survey(page)
    seen: list[SeenList] = []
    named = holding(surveyed, groups(surveyed), like)
    for ranked in rank(surveyed, named, menus=bool(like)):
        exact = _listed(surveyed, ranked)
        # A record, its link and the only element around it are one list: it is shown once.
        if exact is not None and not any(_is_same(surveyed, exact, other) for other in seen):
            seen.append(exact)
        if len(seen) == MOST_LISTS:
            break
    return Lists(surveyed, seen, named)


def _listed(surveyed: Survey, ranked: Ranked) -> SeenList | None:
    """The list of a group, by the one of its selectors that finds just its members."""
    group = ranked.group
    seen = _exactly(surveyed, group, ranked.score, ranked.kind)
    if group.strict and (seen is None or seen.members != group.members):
        strict = replace(group, selector=group.strict)
        just = _exactly(surveyed, strict, ranked.score, ranked.kind)
        if just is not None and just.members == group.members:
            return just
    return seen


def _is_same(surveyed: Survey, seen: SeenList, other: SeenList) -> bool:
    """Whether most members of two lists are the same, or stand in each other one by one."""
    partners = set()
    for member in seen.members:
        index = bisect_right(other.members, member)
        if index and member < surveyed.ends[other.members[index - 1]]:
            partners.add(other.members[index - 1])
        elif index < len(other.members) and other.members[index] < surveyed.ends[member]:
            partners.add(other.members[index])
    return len(partners) > _SAME * (seen.count + other.count - len(partners))


def _exactly(
    surveyed: Survey, group: ElementGroup, score: float, kind: Kind | None = None
) -> SeenList | None:
    """The list as its selector finds it on the page, which decides what its members are."""
    try:
        matches = {node.mem_id for node in surveyed.matcher.select(parse(group.selector))}
    except TooMuchWork:
        # The page is so big that not all can be asked for: what voted for the selector stands.
        return SeenList(group.selector, len(group.members), score, group.members, kind)
    members = [number for number, node in enumerate(surveyed.nodes) if node.mem_id in matches]
    # What the page does not show may match too: a Run would read it.
    if len(members) < len(matches) or not members:
        return None
    # Not all that a selector matches voted for it: some may stand within others.
    inner = sum(surveyed.ends[outer] > member for outer, member in pairwise(members))
    if inner > _NESTED * len(members):
        return None
    return SeenList(group.selector, len(members), score, members, kind)


def trimmed(lists: Lists, seen: SeenList) -> SeenList | None:
    """The list without the members that are none of its records, if a selector names the others."""
    surveyed = lists.survey
    for records in (_whole, _together):
        kept = records(surveyed, seen.members)
        if len(kept) < seen.count and (named := _named(lists, seen, kept)) is not None:
            # What is no record hides among few others better than among many.
            return trimmed(lists, named) or named
    return _described(surveyed, seen)


def _whole(surveyed: Survey, members: Sequence[int]) -> list[int]:
    """The members without those that lack nearly all of what most of them hold."""
    sample = spread(members, SAMPLE)
    held = Counter(part for member in sample for part in _inside(surveyed, member))
    common = {part for part, count in held.items() if count >= _COMMON * len(sample)}
    kept = [
        member
        for member in members
        if len(common & _inside(surveyed, member)) >= _ODD * len(common)
    ]
    return kept if len(kept) >= _COMMON * len(members) else list(members)


def _together(surveyed: Survey, members: Sequence[int]) -> list[int]:
    """The members without the few that stand elsewhere than nearly all of them, such as a menu."""
    places = [_place(surveyed, member) for member in members]
    place, count = Counter(places).most_common(1)[0]
    if count < _NEARLY_ALL * len(members):
        return list(members)
    return [member for member, its in zip(members, places, strict=True) if its == place]


def _described(surveyed: Survey, seen: SeenList) -> SeenList | None:
    """The descriptions of terms that the members are the texts of: only these know their terms."""
    around = sorted({surveyed.parents[member] for member in seen.members})
    if len(around) < _NEARLY_ALL * seen.count or surveyed.signatures[around[0]].tag != "dd":
        return None
    exactly = _exactly(surveyed, ElementGroup("dd", 0.0, around), seen.score)
    return exactly if exactly is not None and exactly.members == around else None


def _place(surveyed: Survey, member: int) -> tuple[str, ...]:
    """What a member stands in: the two elements around it."""
    around = list(islice(surveyed.above(member), 2))
    return tuple(surveyed.signatures[number].name for number in around)


def _named(lists: Lists, seen: SeenList, kept: Sequence[int]) -> SeenList | None:
    """The list of just these members, or of as few others as a selector can leave."""
    for named in _naming(lists, seen, kept):
        for group in sorted(named, key=lambda group: (len(group.members), group.cost)):
            exactly = _exactly(lists.survey, group, seen.score)
            if exactly is not None and exactly.members == group.members:
                return exactly
    return None


def _naming(lists: Lists, seen: SeenList, kept: Sequence[int]) -> Iterator[Sequence[ElementGroup]]:
    """The groups that may name just these members, each kind once the one before names none."""
    yield [group for group in lists.groups if _stands_for(lists.survey, group.members, kept)]
    yield _just(lists, seen, kept)
    yield _between(lists.groups, kept, seen.members)


def _just(lists: Lists, seen: SeenList, kept: Sequence[int]) -> list[ElementGroup]:
    """The group of just these members, if they share what the others have not."""
    surveyed = lists.survey
    selector = leaving_out(surveyed, seen.selector, kept, ())
    # Rows of a table have what its columns have; other records may well lack what most have.
    if selector is None and _are_rows(surveyed, kept):
        selector = asking_contents(surveyed, seen.selector, kept)
    return [] if selector is None else [ElementGroup(selector, 1.0, list(kept))]


def _between(
    all_groups: Sequence[ElementGroup], kept: Sequence[int], members: Sequence[int]
) -> list[ElementGroup]:
    """The groups that leave out some of the members, and none of those that are kept."""
    least, most = set(kept), set(members)
    return [
        group
        for group in all_groups
        if len(kept) < len(group.members) < len(members)
        and least <= (some := set(group.members))
        and some <= most
    ]


def parts(lists: Lists, seen: SeenList, least: float) -> Iterator[SeenList]:
    """The lists of at least this share of the members, but not of all of them, the longest first.

    Of those with as many members the one that is the cheapest to name is the first.
    """
    between = _between(lists.groups, (), seen.members)
    for group in sorted(between, key=lambda group: (-len(group.members), group.cost)):
        if len(group.members) < least * seen.count:
            return
        exactly = _exactly(lists.survey, group, seen.score, seen.kind)
        if exactly is not None and exactly.members == group.members:
            yield exactly


def having(lists: Lists, seen: SeenList, least: float) -> Iterator[SeenList]:
    """The table rows with some element in them, or as many cells, the most rows first.

    At least this share of the members, but not all of them: some are headings among the rows.
    """
    surveyed = lists.survey
    if not _are_rows(surveyed, seen.members):
        return
    rows: defaultdict[AttributeTest, list[int]] = defaultdict(list)
    for member in seen.members:
        for test in contents(surveyed, member):
            rows[test].append(member)
    for test, members in sorted(rows.items(), key=lambda held: -len(held[1])):
        if least * seen.count <= len(members) < seen.count:
            group = ElementGroup(with_test(seen.selector, test), 1.0, members)
            exactly = _exactly(surveyed, group, seen.score, seen.kind)
            if exactly is not None and exactly.members == members:
                yield exactly


def _are_rows(surveyed: Survey, members: Sequence[int]) -> bool:
    return all(surveyed.signatures[member].tag == "tr" for member in members)


def _inside(surveyed: Survey, member: int) -> set[str]:
    """What stands in a member; its table cells by their headers or places."""
    return {
        f"td {surveyed.derived.get(number, surveyed.indexes[number])}"
        if surveyed.signatures[number].tag in {"td", "th"}
        else surveyed.signatures[number].name
        for number in surveyed.below(member)[:_MOST_INSIDE]
    }


def _stands_for(surveyed: Survey, members: Sequence[int], kept: Sequence[int]) -> bool:
    """Whether members are the kept ones, or what each of those holds nearly all of its text in."""
    if len(members) != len(kept):
        return False
    return all(
        outer <= inner < surveyed.ends[outer]
        and surveyed.held(surveyed.texts, inner) >= 0.8 * surveyed.held(surveyed.texts, outer)
        for outer, inner in zip(kept, members, strict=True)
    )


def holding(
    survey: Survey, all_groups: Sequence[ElementGroup], like: Sequence[str]
) -> list[ElementGroup]:
    """The groups of which some member holds all of the texts; all groups if there are none."""
    if not like:
        return list(all_groups)
    places = [_places(survey, clean(wanted).casefold()) for wanted in like]
    return [group for group in all_groups if _holds(survey, group, places)]


def _places(survey: Survey, wanted: str) -> list[int]:
    """The inmost elements whose text, or one of whose attributes, has a text in it."""
    places: list[int] = []
    for number, node in enumerate(survey.nodes):
        held = survey.held(survey.texts, number)
        short = len(wanted) <= held + 50 <= _LONGEST
        inside = short and wanted in survey.page.text(node, _LONGEST).casefold()
        if inside or any(wanted in (value or "").casefold() for value in node.attributes.values()):
            # Children come after their parents: what holds one that holds it is no place.
            while places and survey.ends[places[-1]] >= survey.ends[number] and inside:
                places.pop()
            places.append(number)
        if len(places) >= _MOST:
            break
    return places


def _holds(survey: Survey, group: ElementGroup, places: Sequence[Sequence[int]]) -> bool:
    """Whether a member that is like most others holds one of the places of each text."""
    holders = set.intersection(*({*_members_around(survey, group, numbers)} for numbers in places))
    if not holders:
        return False
    some = spread(group.members, _SAMPLE)
    return any(
        sum(_alike(survey, holder, member) for member in some) >= len(some) / 2
        for holder in holders
    )


def _members_around(survey: Survey, group: ElementGroup, numbers: Sequence[int]) -> Iterator[int]:
    for number in numbers:
        index = bisect_right(group.members, number) - 1
        if index >= 0 and number < survey.ends[group.members[index]]:
            yield group.members[index]


def _alike(survey: Survey, first: int, second: int) -> bool:
    """Whether two members stand in alike places, and mostly the same stands in them."""
    signatures, parents = survey.signatures, survey.parents
    if signatures[parents[first]].name != signatures[parents[second]].name:
        return False
    within, beside = (
        {signatures[number].name for number in survey.below(member)[:_MOST]}
        for member in (first, second)
    )
    return 2 * len(within & beside) >= len(within | beside)
