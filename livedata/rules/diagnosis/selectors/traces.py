"""Traces each item of a list through the recorded facts (interface 2.12).

An entity is an item of the list, named by its row key. It is absent only if a recorded fact shows
why: the list was read to its end without it, or the output was not accepted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from livedata.messages.findings import finding_sentence
from livedata.model.diagnosis.entities import Fact, Outcome
from livedata.model.diagnosis.recorded_run import RecordedRun, RowAtRun
from livedata.model.problem import Param
from livedata.model.run import Stage
from livedata.rules.diagnosis.entities import LONGEST_DETAIL, EntityTrace, Failure

FAILURES: Final = frozenset(
    {"required_cell_empty", "not_offered", "key_conflict", "row_missing", "output_withheld"}
)
"""The codes of facts that keep an entity out of the table."""


class ItemTrace(EntityTrace, frozen=True):
    """The trace of an item; `page` is the page it was read on, None if unknown."""

    page: int | None

    @property
    def key(self) -> str:
        """The row key, by which an item is named."""
        return self.name


def trace_entities(recorded: RecordedRun) -> dict[str, ItemTrace]:
    """Key -> trace of every entity that the Run read, did not read, or marked gone."""
    # An unfinished Run has read no more than a part, from which no absence follows.
    if not recorded.is_over or "head" not in recorded.facts:
        return {}
    table = sorted(key for key, row in recorded.rows.items() if row.presence == "present")
    seen = recorded.facts.get("seen")
    # `seen` has page numbers in the order of the keys, without the keys. If the counts differ, no
    # number can be given to a key, so the pages are unknown and not guessed.
    placed = seen is not None and len(seen) == len(table)
    pages = dict(zip(table, seen or [], strict=False)) if placed else {}
    pages |= dict(recorded.facts.get("others", []))
    traces = {key: _trace(recorded, key, pages.get(key) if placed else None) for key in table}
    traces |= {key: _trace(recorded, key, page) for key, page in pages.items() if key not in traces}
    # Last, the rows that this Run itself marked gone: they were neither present nor read.
    gone = (key for key, row in recorded.rows.items() if row.by == recorded.run["id"])
    return traces | {key: _trace(recorded, key, 0) for key in gone if key not in traces}


def trace_entity(recorded: RecordedRun, key: str, traces: dict[str, ItemTrace]) -> ItemTrace | None:
    """The trace of a key, also of a row that was gone before the Run; None for an unknown key."""
    if key not in traces and key in recorded.rows and traces:
        return _trace(recorded, key, 0)
    return traces.get(key)


def page_facts(recorded: RecordedRun, number: int) -> list[Fact]:
    """The facts of a page, from the declared source to its answer."""
    page = recorded.facts["pages"][number - 1]
    url, place = page["url"], f"{recorded.attempt}/pages/{number}"
    first = recorded.source.get("url", url) if isinstance(recorded.source, dict) else url
    counts: dict[str, Param] = {"status": page["status"], "items": page["items"]}
    return [
        fact("discovery", "fact.declared_source", place, address=first),
        fact("selection", "fact.page_selected", place, address=url, number=number),
        fact("retrieval", "fact.page_read", place, **counts),
    ]


def item_place(recorded: RecordedRun, page: int, item: int) -> str:
    """The evidence id of an item of a page."""
    return f"{recorded.attempt}/pages/{page}/items/{item}"


def fact(stage: Stage, code: str, evidence: str, **params: Param) -> Fact:
    """A fact as answered; it is a failure if its code is one of `FAILURES`."""
    # A third part of a code only chooses other words for the same fact.
    name = code.split(".")[1]
    return {
        "stage": stage,
        "code": name,
        "detail": finding_sentence(code, **params),
        "evidenceId": evidence,
        "failure": name in FAILURES,
    }


def cell_failures(recorded: RecordedRun, key: str) -> Iterator[tuple[str, Fact]]:
    """(field id, fact) of each cell of an item that is unreadable, or required and empty."""
    fields = [field["id"] for field in recorded.facts.get("fields", [])]
    for record in recorded.facts.get("offending", []):
        if record.get("key") != key:
            continue
        place = item_place(recorded, record["page"], record["item"])
        for position, text in record["cells"].items():
            field = fields[int(position)]
            label = recorded.labels[field]
            yield field, fact("validation", "fact.cell_unreadable", place, label=label, text=text)
        for field in (fields[position] for position in record["missing"]):
            label = recorded.labels[field]
            yield field, fact("validation", "fact.required_cell_empty", place, label=label)


def _trace(recorded: RecordedRun, key: str, page: int | None) -> ItemTrace:
    row = recorded.rows.get(key)
    accepted = recorded.run["status"] == "succeeded"
    # Page 0 is no page: the Run did not read the item. None is a page that was not recorded.
    if page == 0:
        return _left_out(recorded, key, row, accepted=accepted)
    if page is None and not accepted:
        return _item(recorded, key, "unknown", [], None, row)
    facts = [] if page is None else list(_read(recorded, key, page))
    facts.append(_output(recorded, row, accepted=accepted))
    return _item(recorded, key, "present" if accepted else "absent", facts, page, row)


def _item(
    recorded: RecordedRun,
    key: str,
    outcome: Outcome,
    facts: Sequence[Fact],
    page: int | None,
    row: RowAtRun | None,
) -> ItemTrace:
    url = recorded.page_url(page) if page else None
    failures = [Failure(fact, url) for fact in facts if fact["failure"]]
    return ItemTrace(key, (), outcome, facts, failures, row, page)


def _left_out(
    recorded: RecordedRun, key: str, row: RowAtRun | None, *, accepted: bool
) -> ItemTrace:
    """The trace of an item that the Run did not read: absent only if it read the whole list."""
    # An accepted Run was complete by definition; of another one, the facts say whether it was.
    if accepted and row is not None:
        now = row.by == recorded.run["id"]
        code = "fact.row_missing" if now else "fact.row_missing.before"
        missing = fact("output", code, row.revision)
        return _item(recorded, key, "absent", [missing], None, row)
    if not recorded.facts.get("complete"):
        return _item(recorded, key, "unknown", [], None, row)
    place = f"{recorded.attempt}/pages/{len(recorded.facts['pages'])}"
    not_offered = fact("extraction", "fact.not_offered", place)
    return _item(recorded, key, "absent", [not_offered], None, row)


def _read(recorded: RecordedRun, key: str, page: int) -> Iterator[Fact]:
    place = f"{recorded.attempt}/pages/{page}"
    yield fact("extraction", "fact.row_offered", place, number=page)
    problems = [failure for _, failure in cell_failures(recorded, key)]
    yield from problems
    if not any(problem["failure"] for problem in problems):
        yield fact("validation", "fact.row_supported", place)
    again = [
        record for record in recorded.facts.get("duplicateExamples", []) if record["key"] == key
    ]
    for record in again:
        code = "fact.key_conflict" if record["differ"] else "fact.row_merged"
        item, number = record["item"], record["page"]
        where = item_place(recorded, number, item)
        yield fact("reconciliation", code, where, item=item, number=number)
    if not again:
        yield fact("reconciliation", "fact.row_kept", place)


def _output(recorded: RecordedRun, row: RowAtRun | None, *, accepted: bool) -> Fact:
    run = recorded.run
    if not accepted:
        ending: dict[str, Param] = {"status": run["status"], "error": run["error"]}
        withheld = fact("output", "fact.output_withheld", run["id"], **ending)
        # The error of a Run can name every failed Check, and the wire limits the length.
        withheld["detail"] = withheld["detail"][:LONGEST_DETAIL]
        return withheld
    assert row is not None
    code = "fact.row_written" if row.by == run["id"] else "fact.row_unchanged"
    return fact("output", code, row.revision)


def parts(key: str) -> list[str]:
    """The parts of a composite row key, which is a JSON list; empty for any other text."""
    try:
        decoded = json.loads(key)
    except (ValueError, RecursionError):
        return []
    return [str(part) for part in decoded] if isinstance(decoded, list) else []
