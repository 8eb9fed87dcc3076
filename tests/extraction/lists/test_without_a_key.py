"""Where no key tells the records of a list apart, most of them may have one."""

from __future__ import annotations

from livedata.extraction.lists.keys import Key, NoKey
from livedata.extraction.lists.page_lists import Lists, SeenList
from livedata.extraction.lists.proposal import propose
from tests.extraction.lists.pages import NAMES, lists_of


def offers(names: tuple[str, ...], price: int) -> str:
    """An offer of each product, at a price of its block."""
    return "".join(
        f"<div class=offer><h3><a href=/p/{n}>{name}</a></h3><p>{price + n * n}.50 €</p></div>"
        for n, name in enumerate(names, 1)
    )


def longest(lists: Lists) -> SeenList:
    """The list that was seen with the most records."""
    return max(lists.seen, key=lambda seen: seen.count)


def test_a_second_block_of_the_same_records_with_other_figures_is_left_out() -> None:
    body = f"<div id=news>{offers(NAMES, 4)}</div><div id=best>{offers(NAMES[:9], 7)}</div>"
    lists = lists_of(body)
    proposal = propose(lists, longest(lists))
    assert (proposal.selector, proposal.count) == ("#news div.offer", len(NAMES))
    assert isinstance(proposal.key, Key)
    assert proposal.key.sure


def test_a_list_of_which_only_few_records_are_told_apart_is_proposed_as_it_is() -> None:
    blocks = "".join(
        f"<div id=block-{number}>{offers(NAMES, ord(number))}</div>" for number in "abc"
    )
    lists = lists_of(blocks)
    proposal = propose(lists, longest(lists))
    assert proposal.count == 3 * len(NAMES)
    assert isinstance(proposal.key, NoKey)
