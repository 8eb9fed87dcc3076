"""What the columns of research hold."""

from __future__ import annotations

from msgspec import Struct

from livedata.model.harvest import PageRead
from livedata.model.research.answers import Usage
from livedata.model.research.memory import Memory
from livedata.model.research.outcome import ResearchFindings, RowIdentity
from livedata.model.research.record import Fact, ResearchStep
from livedata.store.database.codec import JsonColumn


class HeldResearch(Struct, frozen=True):
    """The output of a research Run that is held: its pages, and all that accepting it needs."""

    pages: list[PageRead]
    research: ResearchFindings


HELD = JsonColumn[HeldResearch](HeldResearch)
MEMORY = JsonColumn[Memory](Memory)
STEP = JsonColumn[ResearchStep](ResearchStep)
FACTS = JsonColumn[list[Fact]](list[Fact])
USAGE = JsonColumn[Usage](Usage)
IDENTITY = JsonColumn[RowIdentity](RowIdentity)
