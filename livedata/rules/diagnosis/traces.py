"""An entity of a Run as its records tell of it, whatever kind of Run it is (interface 2.12)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, get_args

from msgspec import Struct

from livedata.model.diagnosis.entities import EntityPath, Fact, FirstFailure, Outcome
from livedata.model.diagnosis.recorded_run import RowAtRun
from livedata.model.run import Stage

STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
LONGEST_DETAIL: Final = 1000


class Failure(Struct, frozen=True):
    """A fact that stood in an entity's way, with its page if that is known."""

    fact: Fact
    url: str | None


class EntityTrace(Struct, frozen=True):
    """One entity: what it is called, what became of it, why, and the row that it came to.

    `failures` are what stood in its way, in the order of the stages.
    """

    name: str
    aliases: Sequence[str]
    outcome: Outcome
    facts: Sequence[Fact]
    failures: Sequence[Failure]
    row: RowAtRun | None

    @property
    def recovered(self) -> bool:
        """Whether it is present although something stood in its way."""
        return self.outcome == "present" and bool(self.failures)

    @property
    def codes(self) -> list[str]:
        """The codes of its failures, each of them once."""
        return sorted({failure.fact["code"] for failure in self.failures})


def make_path(url: str, facts: list[Fact], first: Fact | None) -> EntityPath:
    """The way over one page; `first` is what first stood in the way there."""
    # After the first failure nothing was to be recorded, so no later stage is unknown.
    last = STAGES.index((first or facts[-1])["stage"])
    recorded = {fact["stage"] for fact in facts}
    unknown = [stage for stage in STAGES[: last + 1] if stage not in recorded]
    return {"url": url, "facts": facts, "unknownStages": unknown, "firstFailure": first}


def first_failures(trace: EntityTrace, paths: Iterable[EntityPath]) -> list[FirstFailure]:
    """What first stood in the way, and on which pages, in the order of the pages."""
    urls: dict[str, list[str]] = {}
    for path in paths:
        if path["firstFailure"] is not None:
            urls.setdefault(path["firstFailure"]["code"], []).append(path["url"])
    if not urls and trace.failures:
        # On which page is not known.
        urls[trace.failures[0].fact["code"]] = []
    return [{"code": code, "urls": places} for code, places in urls.items()]
