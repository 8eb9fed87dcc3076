"""Which groups of a page are its lists: the ones that hold most of it, and whose members are alike.

A score orders the groups of one page. It does not compare with that of another page.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise, permutations
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from livedata.extraction.lists.fields import spread
from livedata.extraction.lists.groups import ElementGroup
from livedata.extraction.lists.ranking.kinds import Kind, Ranked, contents, kind_of
from livedata.extraction.lists.survey import Survey
from livedata.extraction.text import names

MOST_BELOW: Final = 400
"""So many elements of a record are looked at."""
_MOST_ALIKE: Final = 30
_SIDE: Final = 8
_PARTS: Final = 0.15
"""Parts are so much more like those in their place than like those beside them."""
_RICH: Final = 4
"""A table cell that is an item has so much in it."""
_LOOKED_AT: Final = 30


class Part(Struct, frozen=True, eq=False):
    """A place within records: the elements there, by the number of their record.

    `above` is the part around it, None for the record itself. `label` names the element among its
    siblings, `index` says which of those of one label it is, from 1.
    """

    above: Part | None
    label: str
    index: int
    elements: dict[int, int]


def parts(survey: Survey, members: Sequence[int]) -> list[Part]:
    """The parts of the records, the records themselves first."""
    whole = Part(None, "", 1, dict(enumerate(members)))
    made: dict[tuple[int, str, int], Part] = {}
    listed = [whole]
    for record, member in enumerate(members):
        places: dict[int, Part] = {member: whole}
        counts: defaultdict[tuple[int, str], int] = defaultdict(int)
        for number in survey.below(member)[:MOST_BELOW]:
            parent = survey.parents[number]
            above = places.get(parent)
            if above is None:
                continue
            label = survey.signatures[number].name
            counts[parent, label] += 1
            index = counts[parent, label]
            if index > _MOST_ALIKE:
                continue
            key = (id(above), label, index)
            part = made.get(key)
            if part is None:
                part = made[key] = Part(above, label, index, {})
                listed.append(part)
            part.elements[record] = number
            places[number] = part
    return listed


def slot(survey: Survey, part: Part, records: int) -> float:
    """How many cells a part may give: its share of records for a text that differs, and a link."""
    seen: defaultdict[str, set[str]] = defaultdict(set)
    for number in part.elements.values():
        node = survey.nodes[number]
        tag = survey.signatures[number].tag
        if survey.own_texts[number]:
            said = node.text(deep=False, strip=True)
            seen["text"].add(f"{said[:80]}{said[-80:]}")
        if tag in {"a", "img"}:
            seen["link"].add(str(node.attributes.get("href" if tag == "a" else "src")))
    fill = len(part.elements) / records
    return sum(fill for values in seen.values() if len(values) > 1)


def are_items(survey: Survey, inner: Sequence[Sequence[int]]) -> bool:
    """Whether what stands side by side is alike: items, and not the parts of one.

    Parts resemble those that stand in the same place of other records: the second ones are all
    titles, the third ones all begin with "Price:".
    """
    signed = [[_signature(survey, number) for number in numbers[:_SIDE]] for numbers in inner]
    cells = survey.signatures[next(number for numbers in inner for number in numbers)].tag == "td"
    sizes = [len(signature) for row in signed for signature in row]
    if cells and sum(sizes) < _RICH * len(sizes):
        return False
    beside = [_overlap(left, right) for row in signed for left, right in pairwise(row)]
    across = [
        _overlap(left, right)
        for row, next_row in pairwise(signed)
        for left, right in zip(row, next_row, strict=False)
    ]
    return _mean(across) - _mean(beside) < _PARTS


def _signature(survey: Survey, number: int) -> frozenset[str]:
    """What stands in an element, and the first words there."""
    numbers = range(number, min(survey.ends[number], number + _LOOKED_AT))
    first = next((n for n in numbers if survey.own_texts[n]), None)
    said = "" if first is None else survey.nodes[first].text(deep=False, strip=True)[:40]
    return frozenset([f"'{said}'", *(survey.signatures[n].name for n in numbers)])


def _overlap(signature: frozenset[str], other: frozenset[str]) -> float:
    return len(signature & other) / len(signature | other)


def _mean(shares: Sequence[float]) -> float:
    return sum(shares) / len(shares) if shares else 0.0


CANDIDATES: Final = 25
"""So many groups are looked at closely."""
_SAMPLE: Final = 24
_COUNTED: Final = 1_000
_MOST_SLOTS: Final = 8.0
_ASIDE: Final = 0.2
"""What a word in a menu counts, beside one in the middle of the page."""
_LASTING: Final = 0.02
"""Of two groups that hold the same, the one whose selector lasts longer is the better."""
_BESIDE: Final = 0.45
_ALIKE: Final = 0.6
_CELLS: Final = 0.2
_PROSE: Final = names("p blockquote pre")
_OF_PROSE: Final = 0.6
_MEANT: Final = 1.2
_NONE: Final = ("", "")
_LESS: Final[Mapping[Kind | None, float]] = {"prose": 0.8, "article": 0.8}
_BEHIND: Final = frozenset(("menu", "form"))
_LINKS_ONLY: Final = 0.55
_BARE_LINKS: Final = 0.5


class _Weights(Struct, frozen=True):
    """What a page holds in all, where a menu counts little."""

    texts: float
    links: float
    images: float


def rank(
    survey: Survey, all_groups: Sequence[ElementGroup], *, menus: bool = False
) -> list[Ranked]:
    """The groups that may be lists, the best first; with `menus` those of menus count as others."""
    if menus:
        survey = replace(survey, aside=[False] * len(survey))
    weights = _weights(survey)
    rough = sorted(all_groups, key=lambda group: -_rough(survey, group, weights))[:CANDIDATES]
    ranked = [_ranked(survey, group, weights) for group in rough]
    ranked = _beside(survey, ranked)
    ranked.sort(key=lambda each: (-each.score, each.group.cost, each.group.selector))
    kept: list[Ranked] = []
    # Where nothing differs from one to the next there is nothing to read.
    for each in (each for each in ranked if each.slots):
        members = set(each.group.members)
        if not any(_same(survey, members, each, better) for better in kept):
            kept.append(each)
    if menus:
        return kept
    held = contents(survey)
    kinds = [replace(each, kind=kind_of(survey, held, each)) for each in kept]
    # What leads elsewhere or asks for something comes behind what says something.
    return sorted(
        kinds, key=lambda each: (each.kind in _BEHIND, -each.score * _LESS.get(each.kind, 1))
    )


def _weights(survey: Survey) -> _Weights:
    shares = [_ASIDE if aside else 1.0 for aside in survey.aside]
    texts = sum(own * share for own, share in zip(survey.own_texts, shares, strict=True))
    tags = [signature.tag for signature in survey.signatures]
    links = sum(share for tag, share in zip(tags, shares, strict=True) if tag == "a")
    images = sum(share for tag, share in zip(tags, shares, strict=True) if tag == "img")
    return _Weights(texts, links, images)


def _coverage(survey: Survey, group: ElementGroup, weights: _Weights) -> float:
    """Which share of the page its members hold, from 0 to 1."""
    covered = total = 0.0
    for weight, sums, whole in (
        (0.7, survey.texts, weights.texts),
        (0.2, survey.links, weights.links),
        (0.1, survey.images, weights.images),
    ):
        if whole:
            some = spread(group.members, _COUNTED)
            held = sum(
                survey.held(sums, member) * (_ASIDE if survey.aside[member] else 1.0)
                for member in some
            )
            held *= len(group.members) / len(some)
            covered += weight * min(held / whole, 1.0)
            total += weight
    return covered / total if total else 0.0


def _rough(survey: Survey, group: ElementGroup, weights: _Weights) -> float:
    return (
        _coverage(survey, group, weights) * math.log(len(group.members)) / (0.7 + 0.3 * group.cost)
    )


def _ranked(survey: Survey, group: ElementGroup, weights: _Weights) -> Ranked:
    members = spread(group.members, _SAMPLE)
    all_parts = parts(survey, members)
    fills = [len(part.elements) / len(members) for part in all_parts]
    alike = sum(fill * fill for fill in fills) / sum(fills)
    slots = min(sum(slot(survey, part, len(members)) for part in all_parts), _MOST_SLOTS)
    count = len(group.members)
    aside = sum(survey.aside[member] for member in group.members) / count
    coverage = _coverage(survey, group, weights)
    in_main = any(survey.signatures[up].tag == "main" for up in survey.above(members[0]))
    score = (
        coverage**0.55
        * (1 - 2 / (count + 2))
        * math.sqrt(math.log2(2 + min(count, 40)))
        * (1 + slots) ** 0.6
        * (0.3 + 0.7 * alike)
        * (1 - 0.7 * aside)
        * (1 - _LASTING * min(group.cost, 10))
        * (0.3 + 0.7 * _together(survey, group.members) ** 2)
        * (1.1 if in_main else 1.0)
    )
    score *= _by_kind(survey, members, slots)
    if slots <= 2 and _links_only(survey, members) and _coverage_of_links(survey, group) < 0.5:
        score *= _LINKS_ONLY
    return Ranked(group, score, slots, alike, aside, coverage)


def _by_kind(survey: Survey, members: Sequence[int], slots: float) -> float:
    """What the tag of the records says for or against them."""
    signature = survey.signatures[members[0]]
    # A link alone is rather a part of a record than one.
    if signature.tag == "a":
        bare = sum(survey.ends[member] == member + 1 for member in members)
        return _BARE_LINKS if bare > len(members) / 2 else 1.0
    if signature.tag in {"td", "dt"} and slots < 3:
        return _CELLS
    # Paragraphs are what a page says at length, and seldom what it lists.
    if signature.tag in _PROSE and slots < 4:
        return _OF_PROSE
    if (
        signature.itemtype
        or signature.tag == "article"
        or (signature.tag == "tr" and _headed(survey, members))
    ):
        return _MEANT
    return 1.0


def _headed(survey: Survey, rows: Sequence[int]) -> bool:
    """Whether the cells of most rows stand below a header."""
    headed = sum(any(survey.derived.get(n, _NONE)[1] for n in survey.below(row)) for row in rows)
    return headed > len(rows) / 2


def _together(survey: Survey, members: Sequence[int]) -> float:
    """Which share of the members has a parent that looks as most of their parents do."""
    parents = Counter(survey.signatures[survey.parents[member]].name for member in members)
    return parents.most_common(1)[0][1] / len(members)


def _links_only(survey: Survey, members: Sequence[int]) -> bool:
    """Whether nearly all text of the members stands in links."""
    texts = linked = 0
    for member in members:
        texts += survey.held(survey.texts, member)
        numbers = [member, *survey.below(member)]
        linked += sum(
            survey.held(survey.texts, n) for n in numbers if survey.signatures[n].tag == "a"
        )
    return linked >= 0.9 * texts


def _coverage_of_links(survey: Survey, group: ElementGroup) -> float:
    held = sum(survey.held(survey.links, member) for member in group.members)
    return held / max(survey.links[-1], 1)


def _beside(survey: Survey, ranked: Sequence[Ranked]) -> list[Ranked]:
    """The same, with less for rows of items that are another group, and for parts of such items."""
    lessened: set[ElementGroup] = set()
    for outer, inner in permutations(ranked, 2):
        if len(inner.group.members) < 2 * len(outer.group.members) or inner.slots < 2:
            continue
        within = _within(survey, outer.group.members, inner.group.members)
        if not _median(list(map(len, within))) >= 2 or inner.alike <= 0.5:
            continue
        members = spread(outer.group.members, _SAMPLE)
        texts = sum(survey.held(survey.texts, member) for member in members)
        held = sum(survey.held(survey.texts, n) for numbers in within for n in numbers)
        if held > 0.6 * texts:
            if are_items(survey, within):
                lessened.add(outer.group)
            elif outer.alike > _ALIKE:
                lessened.add(inner.group)
    return [
        replace(each, score=each.score * _BESIDE) if each.group in lessened else each
        for each in ranked
    ]


def _median(counts: list[int]) -> int:
    return sorted(counts)[len(counts) // 2]


def _within(survey: Survey, outer: Sequence[int], inner: Sequence[int]) -> list[list[int]]:
    """Of some outer elements the inner ones below each."""
    held: list[list[int]] = []
    for number in spread(outer, _SAMPLE):
        first = bisect_right(inner, number)
        after = bisect_left(inner, survey.ends[number])
        held.append(list(inner[first:after]))
    return held


def _stands_apart(survey: Survey, members: set[int], others: Sequence[int]) -> bool:
    """Whether some members of a group are all that it has in one place: a list of its own."""
    rest = set(others) - members
    within = {survey.parents[number] for number in members}
    return bool(rest) and len(within) == 1 and within.isdisjoint(survey.parents[n] for n in rest)


def _same(survey: Survey, members: set[int], worse: Ranked, better: Ranked) -> bool:
    """Whether a group says nothing new beside a better one: a part of it, or its only wrapper."""
    others = better.group.members
    if members <= set(others):
        return not _stands_apart(survey, members, others)
    if len(members) != len(others):
        return False
    for outer, inner in ((worse.group.members, others), (others, worse.group.members)):
        if all(len(below) == 1 for below in _within(survey, outer, inner)):
            return True
    return False
