"""What a research Run is at, and what it has taken so far, in one line."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from typing_extensions import override

from livedata.messages.research import UsageTotal
from livedata.messages.templates import plural
from livedata.model.research.record import ResearchStep
from livedata.model.run import Phase

_WORDS: Mapping[Phase, str] = {
    "planning": "planning",
    "configure": "planning",
    "pin": "planning",
    "search": "searching",
    "read": "reading",
    "extract": "extracting",
    "validate": "extracting",
    "preview": "putting rows together",
    "accept": "putting rows together",
}
_ORDER = tuple(_WORDS)


class ResearchCounts(Struct):
    """The counts of a Run, from the steps that it is told of as they begin and end."""

    phase: Phase | None = None
    pages: int = 0
    windows: int = 0
    rows: int = 0
    taken: UsageTotal = field(default_factory=UsageTotal)
    under_way: dict[str, Phase] = field(default_factory=dict)
    """The steps that have not ended, by their ids."""

    def include(self, step: ResearchStep) -> None:
        """Count a step once it has ended."""
        if step.ended is None:
            self.under_way[step.id] = step.phase
        else:
            self.under_way.pop(step.id, None)
            self.pages += step.phase == "read" and step.status == "succeeded"
            self.windows += step.phase == "extract"
            self.rows += 0 if step.counts is None else step.counts.matched
            self.taken.include(step.calls)
        # Pages are read while those before them are extracted, which takes longer.
        self.phase = max(self.under_way.values(), key=_ORDER.index, default=step.phase)

    @override
    def __str__(self) -> str:
        """Such as "extracting: 3 pages, 7 windows, 52 rows, 12,345 tokens, $0.0210"."""
        if self.phase is None:
            return "starting"
        counts = (
            plural(self.pages, "page"),
            self._windows(),
            plural(self.rows, "row"),
        )
        return f"{_WORDS[self.phase]}: {', '.join(counts)}, {self.taken}"

    def _windows(self) -> str:
        """The windows that were answered, of how many if some are not: the first takes seconds."""
        asked = list(self.under_way.values()).count("extract")
        if not asked:
            return plural(self.windows, "window")
        return f"{self.windows} of {plural(self.windows + asked, 'window')}"
