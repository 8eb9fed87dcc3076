"""Recorded facts -> what they show and what they leave open, area by area (specification 2.12).

Every finding follows from a fixed rule; what was not recorded is an unknown, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from livedata.model.diagnosis.diagnostics import (
    CellsArea,
    CompletionArea,
    CompletionObservations,
    Finding,
    Plan,
    ReconciliationArea,
    RequestArea,
    SourceCounts,
    SourcesArea,
)
from livedata.model.diagnosis.recorded_run import FailureFact, FieldFact, PageFact, RecordedRun
from livedata.model.run import REFUSALS

LONGEST_MESSAGE: Final = 1000

NOT_YET: Final = "It is not over yet, and what it finds is recorded at its end."
NOT_RECORDED: Final = "What this Run read was not recorded."
LIST_GOES_ON: Final = "Whether more pages come after the last one that was read was not recorded."
OLDER: Final = "An older version recorded this Run, and did not record how records became rows."
LIMITS: Final = frozenset({"max_pages", "max_items"})
_ENDS: Final = {
    "max_pages": "stopped_by_limit",
    "max_items": "stopped_by_limit",
    "mass_loss": "mass_loss",
    "credits": "credits_missing",
    "worker_lost": "worker_lost",
    "cancelled": "cancelled",
}
"""Stop rule -> the code of the finding whose message is the Run's error."""


def request(recorded: RecordedRun) -> RequestArea:
    """What was asked for: the pinned declaration."""
    source = recorded.source
    if not isinstance(source, dict) or not isinstance(source.get("url"), str):
        unknown = "Its declaration is not a source of version 1, so what it asks for is not known."
        told = finding("not_declarative", recorded.run["error"] or unknown)
        return {"observations": {}, "findings": [told], "unknowns": [unknown]}
    return {
        "observations": {"sourceUrl": source["url"], "plan": _plan(recorded)},
        "findings": [],
        "unknowns": [],
    }


def sources(recorded: RecordedRun) -> SourcesArea:
    """The pages: which were read, and which one was not."""
    facts = recorded.facts
    if "pages" not in facts:
        return {"observations": {}, "findings": [], "unknowns": [_nothing(recorded)]}
    pages, failure = facts["pages"], facts.get("failure")
    found = [] if failure is None else list(_failure(recorded))
    if failure is None and _rule(recorded) not in LIMITS:
        found += _check(recorded, "coverage", "coverage_incomplete")
    unknowns = []
    if failure is not None:
        unknowns.append(unread(failure))
    if not facts.get("complete", recorded.run["status"] == "succeeded"):
        unknowns.append(LIST_GOES_ON)
    read = [_candidate(rank, page["url"], "checked", page) for rank, page in enumerate(pages, 1)]
    if failure is not None:
        outcome = "unknown" if failure["reason"] == "cancelled" else "unreadable"
        read.append(_candidate(failure["number"], failure["url"], outcome))
    return {
        "observations": {"counts": _counts(recorded), "candidates": read},  # type: ignore[typeddict-item]  # made one by one
        "findings": found,
        "unknowns": unknowns,
    }


def cells(recorded: RecordedRun) -> CellsArea:
    """The rows that were read, and what became of each field."""
    facts, labels = recorded.facts, recorded.labels
    if "fields" not in facts:
        return {"observations": {}, "findings": [], "unknowns": [_nothing(recorded)]}
    area: CellsArea = {
        "observations": {
            "fields": [
                {
                    "fieldId": field["id"],
                    "label": labels[field["id"]],
                    "populated": field["populated"],
                    "notFound": field["notFound"],
                    "extractionFailed": field["extractionFailed"],
                }
                for field in facts["fields"]
            ]
        },
        "findings": [
            *_check(recorded, "extraction", "extraction_failed"),
            *_check(recorded, "minimum-items", "too_few_items"),
            *_check(recorded, "present:", "required_field_empty"),
            *_fields(recorded),
        ],
        "unknowns": [],
    }
    if "rows" in facts and "rowsInTable" in facts:
        area["observations"]["rowsFromRun"] = facts["rows"]
        area["observations"]["rowsInTable"] = facts["rowsInTable"]
    else:
        area["unknowns"].append("How many rows the table then had was not recorded.")
    return area


def reconciliation(recorded: RecordedRun) -> ReconciliationArea:
    """Which records became rows, and which could not."""
    facts = recorded.facts
    if "rejected" not in facts:
        unknown = OLDER if facts else _nothing(recorded)
        return {"observations": {}, "findings": [], "unknowns": [unknown]}
    labels = recorded.labels
    fields = [labels[field["id"]] for field in facts["fields"]]
    found = _check(recorded, "identity", "identity_failed")
    found += _repeated(recorded)
    return {
        "observations": {
            "rejected": facts["rejected"],
            "duplicates": [
                {
                    "name": one["key"],
                    "url": recorded.page_url(one["page"]) or "",
                    "winnerUrl": recorded.page_url(one["firstPage"]) or "",
                    "offered": [fields[at] for at in one["differ"]],
                    "merged": [],
                }
                for one in facts["duplicateExamples"]
            ],
        },
        "findings": found,
        "unknowns": [],
    }


def completion(recorded: RecordedRun) -> CompletionArea:
    """How the Run ended, and what it was that ended it."""
    run, stop = recorded.run, recorded.stop
    observed: CompletionObservations = {"status": run["status"]}
    if stop is not None:
        observed["stop"] = stop
    if run["error"] is not None:
        observed["error"] = run["error"]
    found = []
    code = "site_refused" if run["status"] == "blocked" else _ENDS.get(_rule(recorded), "")
    if code and run["error"]:
        found.append(finding(code, run["error"]))
    if stop is not None and stop["inputs"].get("accepted") == "by hand":
        message = "The output was held, and a person took it as it stands."
        found.append(finding("accepted_by_hand", message))
    unknowns = [] if stop is not None else [NOT_YET if not recorded.is_over else NOT_RECORDED]
    return {"observations": observed, "findings": found, "unknowns": unknowns}


def finding(code: str, message: str) -> Finding:
    """A finding within its limits."""
    return {"code": code, "message": message[:LONGEST_MESSAGE]}


def unread(failure: FailureFact) -> str:
    """What is not known of a page that could not be read."""
    page = f"page {failure['number']} ({failure['url']})"
    return f"Which items {page} has was not recorded, since it could not be read."


def _nothing(recorded: RecordedRun) -> str:
    return NOT_RECORDED if recorded.is_over else NOT_YET


def _rule(recorded: RecordedRun) -> str:
    return recorded.stop["rule"] if recorded.stop else ""


def _plan(recorded: RecordedRun) -> Plan:
    plan: Plan = {"attributes": []}
    for column in recorded.columns:
        if column["ownership"] == "collected":
            plan["attributes"].append({"fieldId": column["id"], "label": column["label"]})
            if "description" in column:
                plan["attributes"][-1]["description"] = column["description"]
    return plan


def _counts(recorded: RecordedRun) -> SourceCounts:
    """The pages by what became of them; a limit has left one unread that was seen to be there."""
    failure = recorded.facts.get("failure")
    checked = len(recorded.facts["pages"])
    unknown = int(failure is not None and failure["reason"] == "cancelled")
    unreadable = int(failure is not None) - unknown
    unattempted = int(_rule(recorded) == "max_pages")
    return {
        "discovered": checked + unreadable + unknown + unattempted,
        "checked": checked,
        "unreadable": unreadable,
        "unknown": unknown,
        "unattempted": unattempted,
    }


def _candidate(rank: int, url: str, outcome: str, page: PageFact | None = None) -> dict[str, Any]:
    title = {"title": page["title"]} if page and page["title"] else {}
    return {"rank": rank, "url": url, **title, "outcome": outcome}


def _failure(recorded: RecordedRun) -> Iterator[Finding]:
    failure = recorded.facts["failure"]
    assert failure is not None
    if failure["reason"] == "cancelled":
        return
    code = "page_refused" if failure["reason"] in REFUSALS else "page_unreadable"
    yield finding(code, recorded.run["error"] or failure.get("message", ""))


def _check(recorded: RecordedRun, check_id: str, code: str) -> list[Finding]:
    """The messages of the failed Checks whose id begins so; no id begins with another's."""
    return [
        finding(code, check.get("message", ""))
        for check in recorded.run["checks"]
        if not check["passed"] and check["checkId"].startswith(check_id)
    ]


def _fields(recorded: RecordedRun) -> Iterator[Finding]:
    declared = recorded.source["fields"] if isinstance(recorded.source, dict) else []
    for at, (field, fact) in enumerate(zip(declared, recorded.facts["fields"], strict=False)):
        yield from _selected(recorded.facts["pages"], at, field)
        if fact["extractionFailed"]:
            yield _unreadable(recorded, at, field["name"], fact)


def _selected(pages: Sequence[PageFact], at: int, field: Any) -> Iterator[Finding]:
    """Whether a field's selector matched on every item."""
    items = sum(page["items"] for page in pages)
    matched = sum(page["matches"][at] for page in pages)
    if matched >= items:
        return
    told = f"{field['name']}: {_read(field['read'])} matched in"
    worst = min(
        (number for number, page in enumerate(pages, 1) if page["items"]),
        key=lambda number: pages[number - 1]["matches"][at] / pages[number - 1]["items"],
    )
    page = pages[worst - 1]
    where = f"page {worst} ({page['url']})"
    if matched == 0:
        message = f"{told} none of {items} items; first on {where}."
        yield finding("selector_matched_nothing", message)
        return
    here = f"{page['matches'][at]} of {page['items']} items"
    message = f"{told} {matched} of {items} items; fewest on {where}: in {here}."
    yield finding("selector_matched_some", message)


def _read(read: Any) -> str:
    """A read as a person wrote it."""
    told = f"selector {read['selector']!r}" if read.get("selector") else "the item itself"
    return f"attribute {read['attribute']!r} of {told}" if read.get("attribute") else told


def _unreadable(recorded: RecordedRun, at: int, name: str, fact: FieldFact) -> Finding:
    total = fact["populated"] + fact["notFound"] + fact["extractionFailed"]
    message = f"{name}: {fact['extractionFailed']} of {total} cells could not be read as its type"
    for one in recorded.facts.get("offending", []):
        text = one.get("cells", {}).get(str(at))
        if text is not None:
            where = f"item {one['item']} of page {one['page']} ({recorded.page_url(one['page'])})"
            return finding("cells_unreadable", f"{message}; first in {where}: {text!r}.")
    return finding("cells_unreadable", message + ".")


def _repeated(recorded: RecordedRun) -> list[Finding]:
    """The keys that were read more than once with the same data."""
    facts = recorded.facts
    equal = [one for one in facts["duplicateExamples"] if not one["differ"]]
    if not equal:
        return []
    one = equal[0]
    pages = f"page {one['firstPage']} and page {one['page']} ({recorded.page_url(one['page'])})"
    count = "1 key was" if facts["duplicates"] == 1 else f"{facts['duplicates']} keys were"
    message = f"{count} read more than once; {one['key']!r} on {pages}, and was taken once."
    return [finding("duplicate_records", message)]
