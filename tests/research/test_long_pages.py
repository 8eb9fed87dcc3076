"""A long page is read to its end in parts, within the budget; what is cut is told: rules 14.4."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from livedata.model.research.answers import Failed
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.recipe import ResearchLimits, ResearchRecipe
from livedata.model.research.record import Memory
from livedata.research.asking.windows import PART, parts, windows
from livedata.research.harness import research
from livedata.research.replay.replay import replay
from tests.research.ports import Answer, MemoryRecorder, ScriptedModel, accept, page, ports, recipe
from tests.research.test_harness import row

LONG = "https://long.example/list"
SHORT = "https://short.example/list"
NAMES = [f"Maker number {number:03}" for number in range(100)]
TEXT = "".join(f"{name} of lamps\n{'and its long history. ' * 130}\n" for name in NAMES)
PARTS = len(TEXT) // PART + 1


def honest(message: dict[str, Any]) -> Answer:
    text = message["page"]["text"]
    return {"rows": [row(name) for name in ["Acme", *NAMES] if name in text], "hasMore": False}


def run(
    asked: ResearchRecipe,
    *,
    answering: Callable[[dict[str, Any]], Answer] = honest,
    before: Memory | None = None,
    text: str = TEXT,
    calls: int | None = None,
) -> tuple[ResearchOutcome, MemoryRecorder, ScriptedModel]:
    """A Run that reads the long page and then a short one; a replay finds the same."""
    recorder, known = MemoryRecorder(), before or Memory()
    pages = [page(LONG, text), page(SHORT, "Acme of lamps")]
    world = ports(answering, pages, recorder=recorder, calls=calls)
    outcome = asyncio.run(research(asked, known, world))
    assert isinstance(world.model, ScriptedModel)
    again = asyncio.run(replay(recorder.tape(asked, known, outcome)))
    assert again.identical, again.misses
    return outcome, recorder, world.model


def question(limits: ResearchLimits | None = None) -> ResearchRecipe:
    return recipe("City", urls=[LONG, SHORT], limits=limits)


def names(outcome: ResearchOutcome) -> set[str]:
    return {str(each.cells[0].value) for each in outcome.rows}


def codes(recorder: MemoryRecorder, url: str) -> list[str]:
    return [fact.code for fact in recorder.facts if fact.url == url and fact.entity is None]


def starts(model: ScriptedModel) -> Sequence[str]:
    return [f"{each.source_url} {each.window}".strip() for each in model.asked]


def test_a_page_is_read_to_its_end() -> None:
    assert PARTS == 5
    outcome, recorder, _ = run(question())
    assert names(outcome) == {"Acme", *NAMES}
    assert (outcome.stop, outcome.pages[0].cut) == ("all_selected_pages_checked", False)
    assert "text_cut" not in codes(recorder, LONG)
    bodies = [each for each in recorder.artifacts if each.kind == "page.text"]
    assert len(bodies) == PARTS + 1
    assert max(len(each.body) for each in bodies) <= 64 * 1024


def test_a_row_far_down_a_page_is_gone_once_the_page_is_silent() -> None:
    before = accept(Memory(), run(question())[0])
    outcome, _, _ = run(question(), before=before, text=TEXT.replace(NAMES[-1], "Nobody"))
    assert outcome.gone == [next(r.key for r in before.rows if r.cells[0].value == NAMES[-1])]


def test_the_beginnings_of_all_pages_come_before_the_rest_of_a_long_one() -> None:
    _, _, model = run(question())
    cut = [f"{LONG} {window.label(TEXT)}" for window in windows(TEXT)]
    first = sum(window.start < PART for window in windows(TEXT))
    assert starts(model) == [*cut[:first], SHORT, *cut[first:]]


def test_what_the_budget_leaves_unread_of_a_page_is_told_and_proves_nothing() -> None:
    before = accept(Memory(), run(question())[0])
    silent = TEXT.replace(NAMES[-1], "Nobody").replace(NAMES[0], "Nobody")
    limits = ResearchLimits(tokens=150_000)
    outcome, recorder, model = run(question(limits), before=before, text=silent)
    read = names(outcome)
    assert {"Acme", NAMES[1]} < read < {"Acme", *NAMES}
    assert [each.outcome for each in outcome.pages] == ["checked", "checked"]
    assert [each.cut for each in outcome.pages] == [True, False]
    assert (outcome.stop, outcome.gone) == ("token_limit", [])
    assert outcome.inputs["reached"] <= limits.tokens
    assert codes(recorder, LONG).count("text_cut") == 1
    # Whole parts alone were asked about; a shorter one may follow where a long one did not fit.
    asked = {each.window for each in model.asked}
    for part in parts(TEXT):
        assert len({window.label(TEXT) for window in part} - asked) in {0, len(part)}


@pytest.mark.parametrize("part", range(5))
def test_a_part_without_an_answer_cuts_a_page_and_the_first_one_loses_it(part: int) -> None:
    place = next(w for w in windows(TEXT) if w.start // PART == part)
    lost = TEXT[place.start : place.end]

    def answer(message: dict[str, Any]) -> Answer:
        is_lost = message["page"]["text"] == lost
        return Failed("model_invalid_output") if is_lost else honest(message)

    outcome, recorder, model = run(question(), answering=answer)
    if not part:
        assert [each.outcome for each in outcome.pages] == ["unknown", "checked"]
        assert names(outcome) == {"Acme"}
        assert len(model.asked) < len(windows(TEXT))
        return
    assert [each.outcome for each in outcome.pages] == ["checked", "checked"]
    assert outcome.pages[0].cut
    assert codes(recorder, LONG).count("text_cut") == 1
    for each in NAMES:
        position = TEXT.index(each)
        shown = {
            w.start // PART for w in windows(TEXT) if w.start <= position and position + 16 <= w.end
        }
        assert (each in names(outcome)) is (shown != {part}), each


@pytest.mark.parametrize("calls", [9, 12, 17])
def test_a_run_whose_time_is_over_keeps_the_parts_that_were_read(calls: int) -> None:
    outcome, recorder, _ = run(question(), calls=calls)
    assert (outcome.stop, outcome.pages[0].outcome) == ("deadline", "checked")
    assert {"Acme", NAMES[0]} < names(outcome) < {"Acme", *NAMES}
    assert codes(recorder, LONG).count("text_cut") == 1
    # What was not begun leaves no step: four were under way, and four may have begun since.
    assert sum(fact.code == "deadline" for fact in recorder.facts) <= 8
