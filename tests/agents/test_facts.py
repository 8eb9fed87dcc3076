"""Which answers say a fact, and which do not."""

from __future__ import annotations

import pytest

from tests.agents.facts import Fact, Facts, faults

SAID: list[tuple[Fact, str]] = [
    ("12", "12"),
    ("12", "It costs $12.00, as ever."),
    ("12", "**12.**"),
    ("12", "12, and 13"),
    ("60", "a 60-row table"),
    ("L-07", "`L-07`: gone"),
    ("L-07", "l-07"),
    ("Lamp No. 3", "Lamp\n No. 3."),
    (("yes", "complete"), "It is Complete."),
    ("17", "Answer: 12. No!\n\n*Answer*: 17"),
]
NOT_SAID: list[tuple[Fact, str]] = [
    ("12", "120"),
    ("12", "12.5"),
    ("12", "12,500"),
    ("12", "0.12"),
    ("12", "L-12"),
    ("12", "-12"),
    ("L-07", "L-071"),
    ("Lamp No. 6", "Lamp No. 61"),
    (("yes", "complete"), "It is incomplete."),
    ("12", "I thought of 12.\nAnswer: 17"),
    ("12", ""),
]


@pytest.mark.parametrize(("fact", "text"), SAID)
def test_an_answer_that_says_a_fact_in_other_words_is_right(fact: Fact, text: str) -> None:
    assert [*faults(text, Facts((fact,)))] == []


@pytest.mark.parametrize(("fact", "text"), NOT_SAID)
def test_an_answer_that_says_something_like_it_is_not(fact: Fact, text: str) -> None:
    (said,) = faults(text, Facts((fact,)))
    assert said.startswith("it does not say ")


def test_an_answer_that_says_more_than_is_right_is_wrong() -> None:
    facts = Facts(("L-07",), ("L-20",))
    assert [*faults("L-07, L-20", facts)] == ["it says 'L-20'"]
    assert [*faults("Not L-20.\nAnswer: L-07", facts)] == []
