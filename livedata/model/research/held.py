"""The harvest of a research Run, and what is kept of one that is held for a person."""

from __future__ import annotations

from typing import Self

from msgspec import Struct
from typing_extensions import override

from livedata.model.harvest import Harvest, PageRead, StopReason
from livedata.model.research.outcome import ResearchFindings


class ResearchHarvest(Harvest, frozen=True, kw_only=True):
    """What an attempt gathered, and what only a research Run knows beside it."""

    research: ResearchFindings

    @classmethod
    def of(cls, harvest: Harvest) -> Self:
        """The harvest of a Run that is known to be of research."""
        assert isinstance(harvest, cls)
        return harvest

    @property
    @override
    def output(self) -> HeldResearch:
        """The pages with their records, and all else that accepting them needs."""
        return HeldResearch(self.pages, self.research)


class HeldResearch(Struct, frozen=True):
    """The output of a research Run that is held: pages with records, and what was found."""

    pages: list[PageRead]
    research: ResearchFindings

    @property
    def harvest(self) -> ResearchHarvest:
        """The harvest that it was kept of."""
        ending = StopReason(self.research.stop)
        return ResearchHarvest(self.pages, ending, research=self.research)
