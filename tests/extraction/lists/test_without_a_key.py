"""Where no key tells the records of a list apart, most of them may have one."""

from __future__ import annotations

from livedata.extraction.lists.keys import Key, NoKey
from livedata.extraction.lists.page_lists import Lists, SeenList
from livedata.extraction.lists.proposal import propose
from tests.extraction.lists.pages import NAMES, lists_of


def offers(names: tuple[str, ...], price: int) -> str:
    """An offer of each product, at a price of its block."""
    return "".join(
        f"<div class=offer><h3><a href=/p/{at}>{name}</a></h3><p>{price + at * at}.50 €</p></div>"
        for at, name in enumerate(names, 1)
    )


def longest(lists: Lists) -> SeenList:
    """The list that was seen with the most records."""
    return max(lists.seen, key=lambda seen: seen.count)


def test_a_second_block_of_the_same_records_with_other_figures_is_left_out() -> None:
    body = f"<div id=news>{offers(NAMES, 4)}</div><div id=best>{offers(NAMES[:9], 7)}</div>"
    lists = lists_of(body)
    found = propose(lists, longest(lists))
    assert (found.selector, found.count) == ("#news div.offer", len(NAMES))
    assert isinstance(found.key, Key)
    assert found.key.sure


def test_a_list_of_which_only_few_records_are_told_apart_is_proposed_as_it_is() -> None:
    blocks = "".join(f"<div id=block-{at}>{offers(NAMES, ord(at))}</div>" for at in "abc")
    lists = lists_of(blocks)
    found = propose(lists, longest(lists))
    assert found.count == 3 * len(NAMES)
    assert isinstance(found.key, NoKey)
