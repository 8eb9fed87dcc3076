"""What is found on a page, held against what a person says of it."""

from __future__ import annotations

import time
from collections import Counter
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
from spiders.cli.lists.proving import declare
from tests.lists.columns import ProposedColumns
from tests.lists.gold import Gold
from tests.lists.parts import Columns, every_list_columns, upwards

FIRST: Final = 3
"""So many lists a person looks at."""
_HALF: Final = 0.5


class Judged(Struct, frozen=True):
    """What was found of one page.

    `place` is that of the right list among those that were seen, from 1; None if it is not there.
    `sure` says that the first list is shown with a key, and with no doubt that it is the one.
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
    sure: bool = False
    selector: str = ""
    count: int = 0

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
    said = every_list_columns().get(gold.name, Columns(keyless=True))
    columns = ProposedColumns(lists.survey, proposed, said)
    return Judged(
        gold,
        place,
        spent,
        exact=exact,
        wrong_key=columns.wrong_key(),
        required=columns.wrongly_required(_required(proposed)),
        hidden=columns.hidden_texts(),
        next=_goes_on(proposed, gold),
        sure=_is_sure(lists, proposals[0]),
        selector=proposed.selector,
        count=proposed.count,
    )


def _required(proposed: ProposedList) -> set[str]:
    """The columns that the source of a list says are required."""
    declared = declare("list", "", "static", proposed, proposed.key, {"kind": "none"})
    return {each["name"] for each in declared["source"]["fields"] if each.get("required")}


def _is_sure(lists: Lists, proposed: ProposedList) -> bool:
    """Whether `init` would show the first list with a key, and with no doubt that it is the one."""
    best, *others = lists.seen
    alike = any(seen.score >= LIKELY * best.score for seen in others)
    return isinstance(proposed.key, Key) and not proposed.aside and not alike


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
    wanted = {record.mem_id for record in records}
    around = Counter(above for record in records for above in _above(record))
    within = [wanted & set(_above(member)) for member in members]
    inside = Counter(record for each in within for record in each)
    found = 0
    for member, outer in zip(members, within, strict=True):
        # Several members within one record are not it, and nor is one around several.
        alone = len(outer) == 1 and inside[next(iter(outer))] == 1
        found += member.mem_id in wanted or around[member.mem_id] == 1 or alone
    return found / max(1, len(members) + len(records) - found)


def _above(node: LexborNode) -> set[int]:
    return set(upwards(node)) - {node.mem_id}


def _goes_on(proposed: ProposedList, gold: Gold) -> bool:
    addresses = [urldefrag(link.url)[0] for link in proposed.following]
    return addresses[:1] == ([gold.following] if gold.following else [])
