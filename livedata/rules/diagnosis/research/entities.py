"""What became of each entity that research looked for: of one, or of all (interface 2.12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

from livedata.extraction.cells import canonical
from livedata.messages.research_findings import fact_meaning, research_sentence
from livedata.model.diagnosis.entities import (
    DuplicateGroup,
    EntityDiagnosis,
    EntityPath,
    Fact,
    MissingCells,
    Peer,
    RunLossSummary,
)
from livedata.model.diagnosis.recorded_research import RecordedResearch
from livedata.rules.diagnosis import entities
from livedata.rules.diagnosis.entities import MOST_EXAMPLES
from livedata.rules.diagnosis.research.pages import CUT, count_pages, list_pages, unknowns_of_run
from livedata.rules.diagnosis.research.ties import folded
from livedata.rules.diagnosis.research.traces import (
    ResearchTrace,
    answer_fact,
    trace_entities,
)


def diagnose(recorded: RecordedResearch, entity: str, field: str | None) -> EntityDiagnosis:
    """The diagnosis of the entity that `entity` names: by a name that was recorded, or its key.

    With `field`, the facts of that field are added, and only its cells are in the answer.
    """
    return entities.diagnose(Researched(recorded), entity, field)


def summarize(recorded: RecordedResearch) -> RunLossSummary:
    """The summary of a Run: its entities by outcome, and what each group of them failed at."""
    return entities.summarize(Researched(recorded))


class Researched:
    """The entities that research recorded something of, and those that it was to look after."""

    def __init__(self, recorded: RecordedResearch) -> None:
        """The entities of a Run."""
        self._recorded = recorded
        self.basis, self.attempt = recorded.basis, recorded.attempt

    @property
    def complete(self) -> bool:
        """Whether all that was found was read whole, and accepted."""
        return _complete(self._recorded)

    @cached_property
    def traces(self) -> Sequence[ResearchTrace]:
        """All of them, by name."""
        return trace_entities(self._recorded)

    def named(self, name: str) -> Sequence[ResearchTrace]:
        """Those called just so, else those that a name would be found as."""
        return _named(self._recorded, self.traces, name)

    def names(self, matches: Sequence[ResearchTrace]) -> Sequence[str]:
        """The names of one; the keys of several."""
        if len(matches) == 1:
            return [matches[0].name, *matches[0].aliases]
        keys = [key for trace in matches for key in (trace.entity.keys or [trace.name])]
        return list(dict.fromkeys(keys))

    def facts(self, trace: ResearchTrace, field: str | None) -> list[Fact]:
        """The facts of an entity, with those of its cell in a field."""
        if field is None:
            return list(trace.facts)
        labels, facts = self._recorded.labels, trace.entity.facts
        return [*trace.facts, *(answer_fact(fact, labels) for fact in facts if fact.field == field)]

    def paths(self, trace: ResearchTrace) -> list[EntityPath]:
        """Its way over each page."""
        return list(trace.paths)

    def peers(self, trace: ResearchTrace) -> Iterator[Peer]:
        """The other entities that were met on the same pages, with what failed there."""
        urls = {path["url"] for path in trace.paths}
        for other in self.traces:
            shared = [path for path in other.paths if path["url"] in urls]
            if other is not trace and shared:
                failures = {path["firstFailure"]["code"] for path in shared if path["firstFailure"]}
                yield {"entity": other.name, "codes": sorted(failures), "outcome": other.outcome}

    def unknowns_of(self, matches: Sequence[ResearchTrace]) -> Iterator[str]:
        """What is not known of an entity, or of a name that none has."""
        if len(matches) > 1:
            yield research_sentence("unknown.ambiguous_name", entities=len(matches))
        elif not matches:
            yield research_sentence("unknown.no_such_entity")
        elif matches[0].outcome == "absent":
            yield research_sentence("unknown.cells_not_taken")

    def unknowns(self) -> Iterator[str]:
        """What stays open of the Run."""
        return unknowns_of_run(self._recorded)

    def meaning(self, code: str) -> str:
        """The words for the code of a failure."""
        return fact_meaning(code)

    def duplicates(self) -> DuplicateGroup:
        """Those that were offered again."""
        return _duplicates(self.traces)

    def missing_cells(self) -> Iterator[MissingCells]:
        """The empty cells of each field in the rows that this Run wrote, by reason."""
        recorded = self._recorded
        rows = [(trace.name, trace.row) for trace in self.traces if trace.row is not None]
        for field in () if recorded.recipe is None else recorded.recipe.fields:
            empty = list(entities.empty_cells(rows, field.id))
            if empty:
                reasons = Counter[str](cell.reason or "unknown" for *_, cell in empty)
                label = recorded.labels.get(field.id, field.label)
                in_order = dict(sorted(reasons.items()))
                yield entities.missing_cells(field.id, label, len(rows), in_order, empty)


def _named(
    recorded: RecordedResearch, traces: Sequence[ResearchTrace], name: str
) -> list[ResearchTrace]:
    """The entities that a name means: those called just so, else those it would be found as."""
    by_key = [trace for trace in traces if [name] == list(trace.entity.keys)]
    if by_key:
        return by_key
    forms: tuple[Callable[[str], str | None], ...] = (canonical, partial(folded, recorded))
    for form in forms:
        wanted = form(name) or name
        matches = [
            trace
            for trace in traces
            if wanted in {form(each) for each in (trace.entity.name, *trace.entity.aliases)}
        ]
        if matches:
            return matches
    return []


def _complete(recorded: RecordedResearch) -> bool:
    """Whether all that was found was read whole, and taken."""
    counts = count_pages(list_pages(recorded))
    rule = recorded.stop["rule"] if recorded.stop else ""
    cut = any(fact.code in CUT for fact in recorded.facts)
    # The rule holds also if a page could not be read; the output then lacks what is there.
    missed = counts["unreadable"] + counts["unknown"] + counts["unattempted"]
    return recorded.accepted and rule == "all_selected_pages_checked" and not cut and not missed


def _duplicates(traces: Sequence[ResearchTrace]) -> DuplicateGroup:
    merged = [
        (trace, fact)
        for trace in traces
        # Several pages may offer an entity again, and it counts once.
        for fact in [fact for fact in trace.entity.facts if fact.code == "row_merged"][:1]
    ]
    return {
        "entities": len(merged),
        "examples": [
            {"entity": trace.entity.name, "code": fact.code, "evidenceId": fact.evidence}
            for trace, fact in merged[:MOST_EXAMPLES]
        ],
    }
