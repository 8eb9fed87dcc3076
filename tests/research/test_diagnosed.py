"""What the harness records explains what it found, in random worlds."""

from __future__ import annotations

import pytest

from livedata.model.diagnosis.recorded_research import RecordedResearch
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.record import Memory
from livedata.research.replay.replay import as_recorded
from livedata.rules.diagnosis.research import entities
from livedata.rules.diagnosis.research.pages import page_outcomes
from tests.research.ports import MemoryRecorder, accept
from tests.research.worlds import World
from tests.rules.research import run
from tests.rules.test_research_diagnosis import summary_adds_up


def diagnosed(
    world: World, memory: Memory, outcome: ResearchOutcome, recorder: MemoryRecorder
) -> RecordedResearch:
    """The records of a Run of a world, as a replay of it gives them."""
    facts = [fact for step in recorder.steps for fact in step.facts]
    return as_recorded(run(), world.recipe, memory, facts, outcome)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_told_of_a_world_is_what_the_harness_found(seed: int) -> None:
    world = World(seed)
    recorder = MemoryRecorder()
    outcome, _ = world.run(Memory(), recorder, jitter=None)
    agrees(diagnosed(world, Memory(), outcome, recorder), outcome)
    if outcome.problem is None:
        memory, later, again = accept(Memory(), outcome), world.changed(), MemoryRecorder()
        second, _ = later.run(memory, again, jitter=None)
        agrees(diagnosed(later, memory, second, again), second)


def agrees(made: RecordedResearch, outcome: ResearchOutcome) -> None:
    """Hold what is told of a Run against what its harness found."""
    summary_adds_up(made)
    written = len(outcome.rows) if made.accepted else 0
    summary = entities.summarize(made)
    assert (summary["basis"], summary["totals"]["present"]) == ("replay", written)
    told = page_outcomes(made)
    # Planning and searching come first: a Run that ends there knows of no pages.
    assert told in ({page.url: page.outcome for page in outcome.pages}, {})
    for key in outcome.gone if made.accepted else ():
        assert entities.diagnose(made, key, None)["outcome"] == "absent"
