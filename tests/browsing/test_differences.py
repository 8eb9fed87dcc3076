"""What changed within a text: which words are marked, and what a page pays for it."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from livedata.model import ids
from livedata.pages.markup.filters import OF_A_PAGE, StepBudget, blocks, difference
from livedata.pages.report import write
from livedata.services.pages.report import report
from tests import made

if TYPE_CHECKING:
    from collections.abc import Sequence

    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

TEXTS = st.text(alphabet="ab <&\n\u05d0,.", max_size=30)


@given(TEXTS, TEXTS)
def test_a_difference_read_without_what_came_is_the_old_text(before: str, after: str) -> None:
    marked = str(difference(before, after, StepBudget()))
    assert _read(marked, without="ins") == before
    assert _read(marked, without="del") == after


def _read(marked: str, without: str) -> str:
    return _text(re.sub(rf"<{without}>.*?</{without}>", "", marked, flags=re.DOTALL))


def _text(markup: str) -> str:
    return Markup(re.sub(r"</?(?:ins|del|span)(?: [^>]*)?>", "", markup)).unescape()


@pytest.mark.parametrize(
    ("before", "after", "marked"),
    [
        (
            "a red lamp for a big house",
            "a blue lamp for a small house",
            "a <del>red</del><ins>blue</ins> lamp for a <del>big</del><ins>small</ins> house",
        ),
        ("a lamp", "a red lamp", "a <ins>red </ins>lamp"),
        ("nothing of it", "all is new", "<del>nothing of it</del><ins>all is new</ins>"),
    ],
)
def test_texts_are_compared_word_by_word(before: str, after: str, marked: str) -> None:
    assert difference(before, after, StepBudget()) == f'<span dir="auto">{marked}</span>'


LONG = "so it goes on " * 100


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (f"{LONG}old", f"{LONG}new", "characters as before"),
        (f"old {LONG}", f"new {LONG}", "characters as before"),
        (f"old {LONG}old", f"new {LONG}new", "characters as before"),
        ("short", LONG, "all 1,400 characters"),
    ],
)
def test_a_change_of_a_long_text_takes_little_room(before: str, after: str, shown: str) -> None:
    folded = re.sub(
        r"</summary>.*?</details>", "", difference(before, after, StepBudget()), flags=re.DOTALL
    )
    assert shown in folded
    assert len(folded) < len(LONG)


@pytest.mark.timed
def test_long_texts_cost_little() -> None:
    words = " ".join(f"w{number}" for number in range(8_000))
    started = time.process_time()
    for _ in range(20):
        difference(words, words.replace("w4", "v4"), StepBudget())
        difference(words, words[::-1], StepBudget())
    assert time.process_time() - started < 2


PARTS = st.lists(st.sampled_from("abc"), max_size=12)


@given(PARTS, PARTS)
def test_as_many_parts_as_can_be_are_shared(old: list[str], new: list[str]) -> None:
    shared = _longest_common(old, new)
    common = blocks(old, new, StepBudget(), OF_A_PAGE)
    if 4 * shared < len(old) + len(new):
        assert common is None
        return
    assert common is not None
    assert sum(block.size for block in common) == shared
    for block in common:
        assert old[block.old :][: block.size] == new[block.new :][: block.size]
    for block, following in pairwise(common):
        assert block.old + block.size <= following.old
        assert block.new + block.size <= following.new


def _longest_common(old: Sequence[str], new: Sequence[str]) -> int:
    lengths = [0] * (len(new) + 1)
    for each in old:
        before = lengths[:]
        for number, other in enumerate(new):
            lengths[number + 1] = (
                before[number] + 1 if each == other else max(before[number + 1], lengths[number])
            )
    return lengths[-1]


def hostile(number: int, *, later: bool) -> str:
    """A text of 200 characters that took a twentieth of a second to compare with the later one."""
    return f"{number};{'.,' * 96}&" if later else f"{number}!{'.' * 192}?"


def test_texts_beyond_the_budget_of_a_page_are_shown_whole() -> None:
    budget, old, new = StepBudget(), "." * 150, "..," * 60
    marked = [difference(old, new, budget) for _ in range(1_000)]
    assert budget.left == 0
    assert marked[0].count("<ins>") > 1
    assert marked[-1].count("<ins>") == 1
    for difference_shown in (marked[0], marked[-1]):
        assert _read(difference_shown, without="ins") == old
        assert _read(difference_shown, without="del") == new


@pytest.fixture
def changed(store: Store) -> tuple[ids.DatasetId, str]:
    """A dataset in which Runs have changed each text twice, and one that is held would again."""
    columns = [
        *made.COLUMNS[:2],
        *({"name": f"t{number}", "type": "string"} for number in range(10)),
    ]
    dataset = made.make_dataset(store, "alice", "texts", columns)

    def items(count: int, *, later: bool) -> list[dict[str, str]]:
        return [
            {
                "sku": f"K{number}",
                **{f"t{cell}": hostile(number, later=later) for cell in range(10)},
            }
            for number in range(count)
        ]

    for later in (False, True):
        made.take(store, dataset, items(100, later=later), owner="alice")
    return dataset, made.take(store, dataset, items(40, later=False), owner="alice")


@pytest.mark.timed
@pytest.mark.parametrize("page", ["/datasets/{}/changes", "/runs/{}", "report"])
def test_a_page_of_changed_texts_costs_less_than_a_second(
    alice: Visitor, store: Store, changed: tuple[ids.DatasetId, str], page: str
) -> None:
    dataset, run = changed
    started = time.process_time()
    if page == "report":
        shown = write(
            report(store, "alice", dataset, ids.Micros(0)), ids.format_timestamp(ids.now())
        )
    else:
        shown = alice.get(page.format(run if "runs" in page else ids.format_uuid(dataset)))
    assert time.process_time() - started < 1
    assert shown.count("<del>") >= 400
