"""What a person sees of a research Run as it goes, and at its end."""

from __future__ import annotations

from typing import Any

import pytest

from livedata.messages.research import UsageTotal, describe_calls
from livedata.model.research.answers import CallUsage
from livedata.model.research.record import ResearchStep, RowCounts
from spiders.cli.progress import ResearchCounts

pytestmark = pytest.mark.one_database
CALL = CallUsage("test", "scripted", 1, 1_000, 234, 0.0123)


def step(phase: Any, **about: Any) -> ResearchStep:
    return ResearchStep(id="", phase=phase, started=0, ended=1, **{"status": "succeeded", **about})


def test_pages_windows_rows_tokens_and_money_grow_as_steps_end() -> None:
    counts = ResearchCounts()
    assert str(counts) == "starting"
    shown = []
    for each in (
        ResearchStep(id="", phase="planning", started=0),
        step("planning", calls=[CALL]),
        step("search", calls=[CallUsage("searxng", search_credits=0.0)]),
        ResearchStep(id="", phase="read", started=0),
        step("read"),
        step("read", status="failed"),
        step("extract", calls=[CALL]),
        step("validate", counts=RowCounts(5, 2, 3)),
        step("preview"),
    ):
        counts.include(each)
        shown.append(str(counts))
    assert shown == [
        "planning: 0 pages, 0 windows, 0 rows, 0 tokens",
        "planning: 0 pages, 0 windows, 0 rows, 1,234 tokens, $0.0123",
        "searching: 0 pages, 0 windows, 0 rows, 1,234 tokens, $0.0123",
        "reading: 0 pages, 0 windows, 0 rows, 1,234 tokens, $0.0123",
        "reading: 1 page, 0 windows, 0 rows, 1,234 tokens, $0.0123",
        "reading: 1 page, 0 windows, 0 rows, 1,234 tokens, $0.0123",
        "extracting: 1 page, 1 window, 0 rows, 2,468 tokens, $0.0246",
        "extracting: 1 page, 1 window, 3 rows, 2,468 tokens, $0.0246",
        "putting rows together: 1 page, 1 window, 3 rows, 2,468 tokens, $0.0246",
    ]


def test_a_run_that_still_extracts_says_so_whatever_it_reads() -> None:
    counts = ResearchCounts()
    for each in ("read", "extract", "read"):
        counts.include(ResearchStep(id=f"{each} {counts.pages}", phase=each, started=0))
    assert str(counts).startswith("extracting: 0 pages, 0 of 1 window, ")
    counts.include(ResearchStep(id="extract 0", phase="extract", started=0, ended=1))
    assert str(counts).startswith("reading:")


@pytest.mark.parametrize(
    ("usd", "words"),
    [(0.0, "$0.00"), (0.0021, "under $0.01"), (0.25, "$0.25"), (1234.5, "$1,234.50")],
)
def test_to_the_cent_no_money_that_was_spent_is_nothing(usd: float, words: str) -> None:
    told = describe_calls([CallUsage("test", "m", 1, 1, 0, usd)], to_the_cent=True)
    assert told == f"1 token, {words}"


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ([], "0 tokens"),
        ([CallUsage("test", "m", 1, 1, 0, 0.0)], "1 token, $0.0000"),
        ([CallUsage("test", "m", 1, 900_000, 500_000, 12.345)], "1,400,000 tokens, $12.35"),
        ([CallUsage("test", "m", 1, 10, 5), CALL], "1,249 tokens"),
        ([CallUsage("test", "m", 1)], "tokens not told for 1 question"),
        ([CallUsage("test", "m", 1), CALL], "1,234 tokens, not told for 1 question"),
        ([CallUsage("searxng", search_credits=1.0)], "0 tokens"),
    ],
)
def test_money_is_told_once_a_call_is_made_whose_price_is_known(
    calls: list[CallUsage], words: str
) -> None:
    taken = UsageTotal()
    taken.include(calls)
    assert str(taken) == words
