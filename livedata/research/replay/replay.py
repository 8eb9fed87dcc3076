"""A replay: the harness on what a Run recorded, asking nobody (rules 14.13)."""

from __future__ import annotations

from msgspec import Struct

from livedata.model.diagnosis.replayed import ReplayMode
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.record import ResearchFact
from livedata.research.asking.prompts import HARNESS_VERSION
from livedata.research.harness import research
from livedata.research.ports import Ports
from livedata.research.replay.recorded_ports import (
    Miss,
    RecordedModel,
    RecordedSearches,
    RecordedSites,
    Recording,
    ReplayRecorder,
)
from livedata.research.replay.tape import Tape


class OtherHarness(Exception):
    """A strict replay needs the harness that the Run was made by."""

    def __init__(self, recorded: str) -> None:
        super().__init__(recorded)
        self.recorded = recorded


class Replayed(Struct, frozen=True):
    """What a replay found, and what it would have had to ask for."""

    outcome: ResearchOutcome
    facts: list[ResearchFact]
    misses: list[Miss]
    identical: bool


async def replay(tape: Tape, mode: ReplayMode = "strict") -> Replayed:
    """Run a tape again. Raises OtherHarness."""
    if mode == "strict" and tape.harness != HARNESS_VERSION:
        raise OtherHarness(tape.harness)
    recording = Recording(tape, mode)
    recorder = ReplayRecorder(recording)
    ports = Ports(
        model=RecordedModel(recording),
        search=RecordedSearches(recording),
        sites=RecordedSites(recording),
        recorder=recorder,
    )
    outcome = await research(tape.recipe, tape.memory, ports)
    return Replayed(
        outcome=outcome,
        facts=[fact for step in recorder.steps for fact in step.facts],
        misses=recording.misses,
        identical=not recording.misses and outcome.digest == tape.digest,
    )
