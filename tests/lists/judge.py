"""What is found on a page, held against what a person says of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import urldefrag

from msgspec import Struct
from selectolax.lexbor import LexborNode

from livedata.extraction.lists.keys import Key
from livedata.extraction.lists.proposal import ProposedList, propose
from livedata.extraction.lists.seen import Lists, find_lists
from livedata.extraction.selectors import parse
from livedata.extraction.work import TooMuchWork
from spiders.cli.init_report import LIKELY
from tests.lists.gold import Gold

FIRST: Final = 3
"""So many lists a person looks at."""
_HALF: Final = 0.5


class Judged(Struct, frozen=True):
    """What was found of one page.

    `place` is that of the right list among those that were seen, from 1; None if it is not there.
    `sure` says that the first list is shown with a key, and with no doubt that it is the one.
    `seconds` are of CPU, for the look at the page and the sources of the first lists.
    """

    gold: Gold
    place: int | None
    exact: bool
    key: bool
    next: bool
    sure: bool
    seconds: float
    selector: str
    count: int

    @property
    def faults(self) -> list[str]:
        """What is wrong, in a few words each."""
        if not self.gold.records:
            doubt = "" if self.sure else ", with a doubt"
            return [f"{self.selector} is shown{doubt}, {self.count} times"] if self.count else []
        if self.place is None:
            return ["its list is not seen"]
        said = {
            f"its list is number {self.place}": self.place > 1,
            f"{self.selector} finds {self.count}, not just its records": not self.exact,
            "no key that tells all records apart": not self.key,
            "another next page, or none": not self.next,
        }
        return [fault for fault, holds in said.items() if holds]


def judge(gold: Gold) -> Judged:
    """What is found on a page, judged."""
    began = time.process_time()
    lists: Lists | None = None
    with suppress(TooMuchWork):
        lists = find_lists(gold.page)
    if lists is None or not lists.seen:
        spent = time.process_time() - began
        return Judged(gold, None, False, False, False, False, spent, "", 0)  # noqa: FBT003
    proposals = [propose(lists, seen) for seen in lists.seen[:FIRST]]
    spent = time.process_time() - began
    place, exact = _place(lists, proposals, gold)
    proposed = proposals[(place or 1) - 1]
    return Judged(
        gold,
        place,
        exact,
        isinstance(proposed.key, Key) and _tells_apart(proposed, proposed.key),
        _goes_on(proposed, gold),
        _is_sure(lists, proposals[0]),
        spent,
        proposed.selector,
        proposed.count,
    )


def _is_sure(lists: Lists, proposed: ProposedList) -> bool:
    """Whether `init` would show the first list with a key, and with no doubt that it is the one."""
    best, *others = lists.seen
    alike = any(seen.score >= LIKELY * best.score for seen in others)
    return isinstance(proposed.key, Key) and not proposed.aside and not alike


def _place(lists: Lists, proposals: Sequence[ProposedList], gold: Gold) -> tuple[int | None, bool]:
    """Which of the lists is the one that is meant, and whether its records are just those."""
    tree = lists.survey.page.tree
    if not gold.records:
        return None, False
    for number, proposed in enumerate(proposals, 1):
        members = lists.survey.matcher.select(parse(proposed.selector))
        shares = [_share(members, tree.css(selector)) for selector in gold.records]
        if max(shares) >= _HALF:
            return number, max(shares) == 1.0
    return None, False


def _share(members: Sequence[LexborNode], records: Sequence[LexborNode]) -> float:
    """How much two sets of elements have in common: a record and its only wrapper are the same."""
    wanted = {record.mem_id for record in records}
    inside = {ancestor for record in records for ancestor in _above(record)}
    found = 0
    for member in members:
        holds = member.mem_id in inside and sum(
            member.mem_id in _above(record) for record in records
        )
        within = wanted & set(_above(member))
        found += member.mem_id in wanted or holds == 1 or len(within) == 1
    # Several members within one record, or the other way round, are not one each.
    found = min(found, len(records))
    return found / max(1, len(members) + len(records) - found)


def _above(node: LexborNode) -> list[int]:
    above = []
    parent = node.parent
    while parent is not None:
        above.append(parent.mem_id)
        parent = parent.parent
    return above


def _tells_apart(proposed: ProposedList, key: Key) -> bool:
    places = [at for at, column in enumerate(proposed.columns) if column.name in key.names]
    keys = [tuple(row.values[at] for at in places) for row in proposed.rows]
    return len(set(keys)) == len(keys) and all(None not in values for values in keys)


def _goes_on(proposed: ProposedList, gold: Gold) -> bool:
    addresses = [urldefrag(link.url)[0] for link in proposed.following]
    return addresses[:1] == ([gold.following] if gold.following else [])
