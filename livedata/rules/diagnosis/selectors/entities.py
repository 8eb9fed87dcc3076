"""What became of each item of a list: of one that a name means, or of all (interface 2.12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from livedata.extraction.cells import canonical
from livedata.messages.findings import fact_meaning, finding_sentence
from livedata.model.diagnosis.entities import (
    Basis,
    DuplicateGroup,
    EntityDiagnosis,
    EntityPath,
    Fact,
    MissingCells,
    Peer,
    RunLossSummary,
)
from livedata.model.diagnosis.recorded_run import RecordedRun
from livedata.rules.diagnosis import entities
from livedata.rules.diagnosis.entities import MOST_EXAMPLES, make_path
from livedata.rules.diagnosis.selectors import traces
from livedata.rules.diagnosis.selectors.ending import nothing_recorded, page_unread
from livedata.rules.diagnosis.selectors.traces import ItemTrace


def diagnose(recorded: RecordedRun, entity: str, field: str | None) -> EntityDiagnosis:
    """The diagnosis of the item that `entity` names by its row key, or a part of a composite key.

    With `field`, only the cells of that field are in the answer.
    """
    return entities.diagnose(Items(recorded), entity, field)


def summarize(recorded: RecordedRun) -> RunLossSummary:
    """The summary of a Run: its items by outcome, and what each group of them failed at."""
    return entities.summarize(Items(recorded))


class Items:
    """The items of a list, named by their row keys."""

    basis: Final[Basis] = "recorded"

    def __init__(self, recorded: RecordedRun) -> None:
        """The items of a Run."""
        self._recorded = recorded
        self.attempt = recorded.attempt
        self.complete = recorded.run["status"] == "succeeded"

    @cached_property
    def _by_key(self) -> dict[str, ItemTrace]:
        return traces.trace_entities(self._recorded)

    @cached_property
    def traces(self) -> Sequence[ItemTrace]:
        """All of them, by key."""
        return [trace for _, trace in sorted(self._by_key.items())]

    def named(self, name: str) -> Sequence[ItemTrace]:
        """The item of a key, or those of every composite key with that part."""
        named = _named(self._recorded, self._by_key, name)
        traced = (traces.trace_entity(self._recorded, key, self._by_key) for key in named)
        return [trace for trace in traced if trace is not None]

    def names(self, matches: Sequence[ItemTrace]) -> Sequence[str]:
        """Their keys."""
        return [trace.key for trace in matches]

    def facts(self, trace: ItemTrace, field: str | None) -> list[Fact]:
        """The facts of an item, with those of its cell in a field, each once."""
        facts = list(trace.facts)
        if field is not None:
            failed = traces.cell_failures(self._recorded, trace.key)
            facts += [fact for position, fact in failed if position == field]
            facts = [fact for position, fact in enumerate(facts) if fact not in facts[:position]]
        return facts

    def paths(self, trace: ItemTrace) -> list[EntityPath]:
        """The recorded facts on the page where an item was read."""
        # Without a known page there is no path: which page it could have been on is a guess.
        url = self._recorded.page_url(trace.page) if trace.page else None
        if trace.page is None or url is None:
            return []
        facts = [*traces.page_facts(self._recorded, trace.page), *trace.facts]
        first = next((fact for fact in facts if fact["failure"]), None)
        return [make_path(url, facts, first)]

    def peers(self, trace: ItemTrace) -> Iterator[Peer]:
        """The other items of the same page that have failures."""
        for other in self.traces if trace.page else ():
            if other.page == trace.page and other.key != trace.key and other.failures:
                yield {"entity": other.key, "codes": other.codes, "outcome": other.outcome}

    def unknowns_of(self, matches: Sequence[ItemTrace]) -> Iterator[str]:
        """What is not known of an item, or of a name that none has."""
        recorded = self._recorded
        if len(matches) > 1:
            yield finding_sentence("unknown.ambiguous_name", keys=len(matches))
        elif not matches and recorded.is_over and not recorded.forgotten:
            yield finding_sentence("unknown.no_such_item")
        for trace in matches if len(matches) == 1 else ():
            if trace.page is None and trace.outcome == "present":
                yield finding_sentence("unknown.page_of_item")
            if trace.outcome == "unknown" and "seen" in recorded.facts:
                yield finding_sentence("unknown.rest_of_list")
            if trace.outcome == "absent" and trace.page:
                yield finding_sentence("unknown.cells_not_taken")

    def unknowns(self) -> Iterator[str]:
        """What is not known of the list."""
        facts = self._recorded.facts
        if "seen" not in facts:
            yield nothing_recorded(self._recorded)
            return
        failure = facts.get("failure")
        if failure is not None:
            yield page_unread(failure)
        if not facts.get("complete"):
            yield finding_sentence("unknown.list_goes_on")
        if facts["othersLeftOut"]:
            yield finding_sentence("unknown.long_keys", keys=facts["othersLeftOut"])
        nameless = facts["rejected"].get("no_key", 0)
        if nameless:
            yield finding_sentence("unknown.no_key", records=nameless)

    def meaning(self, code: str) -> str:
        """The words for the code of a failure."""
        return fact_meaning(code)

    def duplicates(self) -> DuplicateGroup:
        """The keys that were read more than once."""
        recorded = self._recorded
        return {
            "entities": recorded.facts.get("duplicates", 0),
            "examples": [
                {
                    "entity": record["key"],
                    "code": "key_conflict" if record["differ"] else "row_merged",
                    "evidenceId": traces.item_place(recorded, record["page"], record["item"]),
                }
                for record in recorded.facts.get("duplicateExamples", [])[:MOST_EXAMPLES]
            ],
        }

    def missing_cells(self) -> Iterator[MissingCells]:
        """The counts of empty cells of each field, with examples from the rows in the table."""
        # Counts cover all that was read, examples only rows that exist: an example has a row id.
        present = (trace for trace in self._by_key.values() if trace.outcome == "present")
        rows = [(trace.row.key, trace.row) for trace in present if trace.row]
        for field in self._recorded.facts.get("fields", []):
            counts = {
                "not_found": field["notFound"],
                "extraction_failed": field["extractionFailed"],
            }
            reasons = {reason: count for reason, count in counts.items() if count}
            if reasons:
                yield entities.missing_cells(
                    field["id"],
                    self._recorded.labels[field["id"]],
                    field["populated"] + sum(reasons.values()),
                    reasons,
                    entities.empty_cells(rows, field["id"]),
                )


def _named(recorded: RecordedRun, known: Mapping[str, ItemTrace], entity: str) -> list[str]:
    """The keys that a name means: the key itself, else every composite key with that part."""
    # Keys are cleaned texts in NFC, and a person may write other spaces or another form of é.
    wanted = canonical(entity) or entity
    keys = known.keys() | (recorded.rows.keys() if known else set())
    for name in (entity, wanted):
        if name in keys:
            return [name]
    if not recorded.composite:
        return []
    return sorted(key for key in keys if wanted in traces.parts(key))
