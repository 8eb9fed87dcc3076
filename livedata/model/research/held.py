"""The output of a research Run that is held for a person."""

from __future__ import annotations

from msgspec import Struct

from livedata.model.harvest import PageRead
from livedata.model.research.outcome import ResearchFindings


class HeldResearch(Struct, frozen=True):
    """The pages with their records, and all else that accepting them needs."""

    pages: list[PageRead]
    research: ResearchFindings
