"""What a research Run is to do, and with whom."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import Struct, field

from livedata.model.research.outcome import ResearchOutcome
from livedata.research.ports import Model, Ports, Recorder, Search
from spiders.crawl.settings import FetchConfig


class ResearchJob(Struct, frozen=True):
    """The harness to run with its recipe and memory, and what it reaches beside the sites.

    A Run has `seconds`; setting `cancel` ends it at once. `take_turn` is awaited before a page of
    another site than the last is read.
    """

    harness: Callable[[Ports], Awaitable[ResearchOutcome]]
    model: Model
    search: Search | None
    recorder: Recorder
    fetching: FetchConfig
    seconds: float
    take_turn: Callable[[str], Awaitable[None]]
    cancel: asyncio.Event = field(default_factory=asyncio.Event)
