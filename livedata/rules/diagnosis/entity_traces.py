"""Recorded facts -> what became of each entity of a Run (interface 2.12).

An entity is an item of the list, named by its row key. It is absent only where something recorded
stood in its way: a list that was read to its end without it, or an output that was not taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from livedata.messages.findings import finding_sentence
from livedata.model.diagnosis.entities import Fact, Outcome, Stage
from livedata.model.diagnosis.recorded_run import RecordedRun, RowAtRun
from livedata.model.problem import Param

STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
LONGEST_DETAIL: Final = 1000
FAILURES: Final = frozenset(
    {"required_cell_empty", "not_offered", "key_conflict", "row_missing", "output_withheld"}
)
"""The codes of facts that stand in the way of an entity."""


@dataclass(frozen=True, slots=True)
class EntityTrace:
    """What was recorded of one entity; `page` is where it was read, None where that is unknown."""

    key: str
    outcome: Outcome
    facts: Sequence[Fact]
    page: int | None
    row: RowAtRun | None

    @property
    def failures(self) -> list[Fact]:
        """What stood in its way, in the order of the stages."""
        return [fact for fact in self.facts if fact["failure"]]


def trace_entities(recorded: RecordedRun) -> dict[str, EntityTrace]:
    """Key -> story of everything that the Run read, left out, or marked gone."""
    if not recorded.is_over or "head" not in recorded.facts:
        return {}
    table = sorted(key for key, row in recorded.rows.items() if row.presence == "present")
    seen = recorded.facts.get("seen")
    placed = seen is not None and len(seen) == len(table)
    pages = dict(zip(table, seen or [], strict=False)) if placed else {}
    pages |= dict(recorded.facts.get("others", []))
    told = {key: _story(recorded, key, pages.get(key) if placed else None) for key in table}
    told |= {key: _story(recorded, key, page) for key, page in pages.items() if key not in told}
    gone = (key for key, row in recorded.rows.items() if row.by == recorded.run["id"])
    return told | {key: _story(recorded, key, 0) for key in gone if key not in told}


def trace_entity(
    recorded: RecordedRun, key: str, known: dict[str, EntityTrace]
) -> EntityTrace | None:
    """The story of a key; of a row that was gone before the Run too."""
    if key not in known and key in recorded.rows and known:
        return _story(recorded, key, 0)
    return known.get(key)


def page_facts(recorded: RecordedRun, number: int) -> list[Fact]:
    """What was recorded of a page on the way to its items."""
    page = recorded.facts["pages"][number - 1]
    url, place = page["url"], f"{recorded.attempt}/pages/{number}"
    first = recorded.source.get("url", url) if isinstance(recorded.source, dict) else url
    counts: dict[str, Param] = {"status": page["status"], "items": page["items"]}
    return [
        fact("discovery", "fact.declared_source", place, address=first),
        fact("selection", "fact.page_selected", place, address=url, number=number),
        fact("retrieval", "fact.page_read", place, **counts),
    ]


def fact(stage: Stage, code: str, evidence: str, **params: Param) -> Fact:
    """A fact as answered; one of `FAILURES` stood in the way."""
    name = code.split(".")[1]
    return {
        "stage": stage,
        "code": name,
        "detail": finding_sentence(code, **params),
        "evidenceId": evidence,
        "failure": name in FAILURES,
    }


def cell_failures(recorded: RecordedRun, key: str) -> Iterator[tuple[str, Fact]]:
    """(field id, fact) of each cell of an item that is recorded as unreadable, or as needed."""
    fields = [field["id"] for field in recorded.facts.get("fields", [])]
    for record in recorded.facts.get("offending", []):
        if record.get("key") != key:
            continue
        place = f"{recorded.attempt}/pages/{record['page']}/items/{record['item']}"
        for at, text in record["cells"].items():
            field = fields[int(at)]
            label = recorded.labels[field]
            yield field, fact("validation", "fact.cell_unreadable", place, label=label, text=text)
        for field in (fields[at] for at in record["missing"]):
            label = recorded.labels[field]
            yield field, fact("validation", "fact.required_cell_empty", place, label=label)


def _story(recorded: RecordedRun, key: str, page: int | None) -> EntityTrace:
    row = recorded.rows.get(key)
    accepted = recorded.run["status"] == "succeeded"
    if page == 0:
        return _left_out(recorded, key, row, accepted=accepted)
    if page is None and not accepted:
        return EntityTrace(key, "unknown", [], None, row)
    facts = [] if page is None else list(_read(recorded, key, page))
    facts.append(_output(recorded, row, accepted=accepted))
    return EntityTrace(key, "present" if accepted else "absent", facts, page, row)


def _left_out(
    recorded: RecordedRun, key: str, row: RowAtRun | None, *, accepted: bool
) -> EntityTrace:
    """An item that the Run did not read: absent only if it read the whole list."""
    if accepted and row is not None:
        now = row.by == recorded.run["id"]
        code = "fact.row_missing" if now else "fact.row_missing.before"
        missing = fact("output", code, row.revision)
        return EntityTrace(key, "absent", [missing], None, row)
    if not recorded.facts.get("complete"):
        return EntityTrace(key, "unknown", [], None, row)
    place = f"{recorded.attempt}/pages/{len(recorded.facts['pages'])}"
    not_offered = fact("extraction", "fact.not_offered", place)
    return EntityTrace(key, "absent", [not_offered], None, row)


def _read(recorded: RecordedRun, key: str, page: int) -> Iterator[Fact]:
    place = f"{recorded.attempt}/pages/{page}"
    yield fact("extraction", "fact.row_offered", place, number=page)
    problems = [failure for _, failure in cell_failures(recorded, key)]
    yield from problems
    if not any(problem["failure"] for problem in problems):
        yield fact("validation", "fact.row_supported", place)
    again = [one for one in recorded.facts.get("duplicateExamples", []) if one["key"] == key]
    for record in again:
        code = "fact.key_conflict" if record["differ"] else "fact.row_merged"
        item, number = record["item"], record["page"]
        where = f"{recorded.attempt}/pages/{number}/items/{item}"
        yield fact("reconciliation", code, where, item=item, number=number)
    if not again:
        yield fact("reconciliation", "fact.row_kept", place)


def _output(recorded: RecordedRun, row: RowAtRun | None, *, accepted: bool) -> Fact:
    run = recorded.run
    if not accepted:
        ending: dict[str, Param] = {"status": run["status"], "error": run["error"]}
        withheld = fact("output", "fact.output_withheld", run["id"], **ending)
        withheld["detail"] = withheld["detail"][:LONGEST_DETAIL]
        return withheld
    assert row is not None
    code = "fact.row_written" if row.by == run["id"] else "fact.row_unchanged"
    return fact("output", code, row.revision)


def parts(key: str) -> list[str]:
    """The parts of a composite row key."""
    try:
        found = json.loads(key)
    except ValueError:
        return []
    return [str(part) for part in found] if isinstance(found, list) else []
