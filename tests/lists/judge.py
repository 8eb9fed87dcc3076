"""What is found on a page, held against what a person says of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import urldefrag

from msgspec import Struct
from msgspec.structs import replace
from selectolax.lexbor import LexborNode

from livedata.extraction.lists.page_lists import Lists, find_lists
from livedata.extraction.lists.proposal import ProposedList, propose
from livedata.extraction.selectors import parse
from livedata.extraction.work import TooMuchWork
from spiders.cli.proving import declare
from tests.lists.columns import ProposedColumns
from tests.lists.gold import Gold
from tests.lists.parts import every_list_columns, upwards

FIRST: Final = 3
"""So many lists a person looks at."""
_HALF: Final = 0.5


class Judged(Struct, frozen=True):
    """What was found of one page.

    `place` is that of the right list among those that were seen, from 1; None if it is not there.
    `wrong_key` is what a person says against the key of the right list; `required` and `hidden` are
    its columns that are wrongly required, and those with a text that nobody sees.
    `seconds` are of CPU, for the look at the page and the sources of the first lists.
    """

    gold: Gold
    place: int | None
    seconds: float
    exact: bool = False
    wrong_key: str | None = None
    required: Sequence[str] = ()
    hidden: Sequence[str] = ()
    next: bool = False
    told: bool = False
    selector: str = ""
    count: int = 0

    @property
    def faults(self) -> list[str]:
        """What is wrong, in a few words each."""
        if not self.gold.records:
            return [f"{self.selector} is told to be a list"] if self.told else []
        if self.place is None:
            return ["its list is not seen"]
        said = {
            "told to have no list": not self.told,
            f"its list is number {self.place}": self.place > 1,
            f"{self.selector} finds {self.count}, not just its records": not self.exact,
            "another next page, or none": not self.next,
        }
        faults = [fault for fault, holds in said.items() if holds]
        wrong_key = [] if self.wrong_key is None else [self.wrong_key]
        return [*faults, *wrong_key, *self.required, *self.hidden]


def judge(gold: Gold) -> Judged:
    """What is found on a page, judged."""
    began = time.process_time()
    lists: Lists | None = None
    with suppress(TooMuchWork):
        lists = find_lists(gold.page)
    if lists is None or not lists.seen:
        return Judged(gold, None, time.process_time() - began)
    proposals = [propose(lists, seen) for seen in lists.seen[:FIRST]]
    spent = time.process_time() - began
    place, exact = right_list(lists, proposals, gold)
    proposed = proposals[(place or 1) - 1]
    judged = Judged(
        gold, place, spent, told=lists.has_list, selector=proposed.selector, count=proposed.count
    )
    if place is None:
        return judged
    columns = ProposedColumns(lists.survey, proposed, every_list_columns()[gold.name])
    return replace(
        judged,
        exact=exact,
        wrong_key=columns.wrong_key(),
        required=columns.wrongly_required(_required(proposed)),
        hidden=columns.hidden_texts(),
        next=_goes_on(proposed, gold),
    )


def _required(proposed: ProposedList) -> set[str]:
    """The columns that the source of a list says are required."""
    if not proposed.columns:
        return set()
    declared = declare("list", "", "static", proposed, proposed.key, {"kind": "none"})
    return {each["name"] for each in declared["source"]["fields"] if each.get("required")}


def right_list(
    lists: Lists, proposals: Sequence[ProposedList], gold: Gold
) -> tuple[int | None, bool]:
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
    lengths = {record.mem_id: _length(record) for record in records}
    around = Counter(above for record in records for above in _above(record))
    within = [lengths.keys() & _above(member) for member in members]
    inside = Counter(record for each in within for record in each)
    matched = 0
    for member, outer in zip(members, within, strict=True):
        # Several members within one record are not it, and nor are one around several or a part.
        alone = len(outer) == 1 and inside[next(iter(outer))] == 1
        most = alone and _length(member) >= _HALF * lengths[next(iter(outer))]
        matched += member.mem_id in lengths or around[member.mem_id] == 1 or most
    return matched / max(1, len(members) + len(records) - matched)


def _length(node: LexborNode) -> int:
    return len("".join(node.text().split()))


def _above(node: LexborNode) -> set[int]:
    return set(upwards(node)) - {node.mem_id}


def _goes_on(proposed: ProposedList, gold: Gold) -> bool:
    addresses = [urldefrag(link.url)[0] for link in proposed.following]
    return addresses[:1] == ([gold.following] if gold.following else [])
