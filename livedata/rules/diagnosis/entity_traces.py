"""Recorded facts -> what became of each entity of a Run (specification 2.12).

An entity is an item of the list, named by its row key. It is absent only where something recorded
stood in its way: a list that was read to its end without it, or an output that was not taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from livedata.model.diagnosis.entities import Fact, Outcome, Stage
from livedata.model.diagnosis.recorded_run import RecordedRun, RowAtRun

STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
MEANINGS: Final = {
    "declared_source": "The source declares the list.",
    "page_selected": "The page is one of the list.",
    "page_read": "The page was read.",
    "row_offered": "An item of the page has this key.",
    "not_offered": "The list was read to its end, and no item had this key.",
    "row_supported": "Nothing that its row needs was found missing.",
    "cell_unreadable": "A cell could not be read as its column's type.",
    "required_cell_empty": "A required cell is empty.",
    "row_kept": "The key stands for one record.",
    "row_merged": "The key was read again with the same data, and taken once.",
    "key_conflict": "The key stands for two different records.",
    "row_written": "The Run wrote the row.",
    "row_unchanged": "The row is in the table as it was before.",
    "row_missing": "The list was read to its end without this item, and its row marked gone.",
    "output_withheld": "The output of the Run was not taken.",
}
"""Code -> what it means, whatever the entity."""


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
    items = f"{page['items']} items"
    return [
        fact("discovery", "declared_source", f"The source declares {first}.", place),
        fact("selection", "page_selected", f"{url} is page {number} of the list.", place),
        fact("retrieval", "page_read", f"Status {page['status']}, {items}.", place),
    ]


def fact(stage: Stage, code: str, detail: str, evidence: str, *, failure: bool = False) -> Fact:
    """A fact as answered."""
    return {
        "stage": stage,
        "code": code,
        "detail": detail,
        "evidenceId": evidence,
        "failure": failure,
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
            detail = f"{recorded.labels[field]}: {text!r} could not be read as its type."
            yield field, fact("validation", "cell_unreadable", detail, place)
        for field in (fields[at] for at in record["missing"]):
            detail = f"{recorded.labels[field]} is required, and nothing was found."
            yield field, fact("validation", "required_cell_empty", detail, place, failure=True)


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
        told = MEANINGS["row_missing"]
        if row.by != recorded.run["id"]:
            told = "The list was read to its end without this item, whose row was gone already."
        missing = fact("output", "row_missing", told, row.revision, failure=True)
        return EntityTrace(key, "absent", [missing], None, row)
    if not recorded.facts.get("complete"):
        return EntityTrace(key, "unknown", [], None, row)
    place = f"{recorded.attempt}/pages/{len(recorded.facts['pages'])}"
    told = MEANINGS["not_offered"]
    return EntityTrace(
        key,
        "absent",
        [fact("extraction", "not_offered", told, place, failure=True)],
        None,
        row,
    )


def _read(recorded: RecordedRun, key: str, page: int) -> Iterator[Fact]:
    place = f"{recorded.attempt}/pages/{page}"
    yield fact("extraction", "row_offered", f"Read on page {page} of the list.", place)
    problems = [failure for _, failure in cell_failures(recorded, key)]
    yield from problems
    if not any(problem["failure"] for problem in problems):
        yield fact("validation", "row_supported", MEANINGS["row_supported"], place)
    again = [one for one in recorded.facts.get("duplicateExamples", []) if one["key"] == key]
    for record in again:
        code = "key_conflict" if record["differ"] else "row_merged"
        told = f"{MEANINGS[code]} It is item {record['item']} of page {record['page']} too."
        where = f"{recorded.attempt}/pages/{record['page']}/items/{record['item']}"
        yield fact("reconciliation", code, told, where, failure=code == "key_conflict")
    if not again:
        yield fact("reconciliation", "row_kept", MEANINGS["row_kept"], place)


def _output(recorded: RecordedRun, row: RowAtRun | None, *, accepted: bool) -> Fact:
    run = recorded.run
    if not accepted:
        told = f"The Run ended {run['status']}: {run['error']}"[:1000]
        return fact("output", "output_withheld", told, run["id"], failure=True)
    assert row is not None
    code = "row_written" if row.by == run["id"] else "row_unchanged"
    return fact("output", code, MEANINGS[code], row.revision)


def parts(key: str) -> list[str]:
    """The parts of a composite row key."""
    try:
        found = json.loads(key)
    except ValueError:
        return []
    return [str(part) for part in found] if isinstance(found, list) else []
