"""Derives findings and unknowns from recorded facts, area by area (interface 2.12).

Every finding follows from a fixed rule. A fact that was not recorded is an unknown, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from livedata.messages.findings import finding_sentence
from livedata.model.diagnosis.diagnostics import (
    CellsArea,
    Finding,
    Plan,
    ReconciliationArea,
    RequestArea,
    SourceCounts,
    SourcesArea,
)
from livedata.model.diagnosis.recorded_run import FieldFact, PageFact, RecordedRun
from livedata.model.problem import Param
from livedata.model.run import REFUSALS, split_check_id
from livedata.model.wire import as_uri
from livedata.rules.diagnosis.areas import finding, told
from livedata.rules.diagnosis.selectors.ending import (
    completion,
    nothing_recorded,
    odd,
    page_unread,
    rule_of,
)

__all__ = ["cells", "completion", "reconciliation", "request", "sources"]

LIMITS: Final = frozenset({"max_pages", "max_items"})
_ODD_CELLS: Final = frozenset(
    {
        "finding.field_emptied",
        "finding.field_less_filled",
        "finding.more_cells_unreadable",
        "finding.other_texts_unreadable",
        "finding.bare_rows",
        "finding.sparse_rows",
    }
)
_ODD_SOURCES: Final = frozenset(
    {
        "finding.list_cut_short",
        "finding.list_redirected",
        "finding.fewer_pages",
        "finding.next_link_in_item",
        "finding.next_link_to_other_host",
        "finding.several_next_links",
    }
)
_CHECKS: Final[Mapping[str, tuple[str, str]]] = {
    "coverage": ("sources", "finding.coverage_incomplete"),
    "identity": ("reconciliation", "finding.identity_failed"),
    "extraction": ("cells", "finding.extraction_failed"),
    "minimum-items": ("cells", "finding.too_few_items"),
    "present": ("cells", "finding.required_field_empty"),
}
"""Kind of a Check -> the area of its finding, and what that is called if not as the Check."""


def request(recorded: RecordedRun) -> RequestArea:
    """The area of the request: the pinned declaration."""
    source = recorded.source
    if not isinstance(source, dict) or not isinstance(source.get("url"), str):
        unknown = finding_sentence("unknown.not_declarative")
        message = recorded.run["error"] or unknown
        findings = [finding("finding.not_declarative", message=message)]
        return {"observations": {}, "findings": findings, "unknowns": [unknown]}
    return {
        "observations": {"sourceUrl": as_uri(source["url"]), "plan": _plan(recorded)},
        "findings": [],
        "unknowns": [],
    }


def sources(recorded: RecordedRun) -> SourcesArea:
    """The area of the sources: the pages that were read, and the one that failed."""
    facts = recorded.facts
    if "pages" not in facts:
        return {"observations": {}, "findings": [], "unknowns": [nothing_recorded(recorded)]}
    pages, failure = facts["pages"], facts.get("failure")
    findings = [] if failure is None else list(_failure(recorded))
    # A failed page and a limit fail the coverage Check too: each is told once, by its own finding.
    if failure is None and rule_of(recorded) not in LIMITS:
        findings += _failed_checks(recorded, "sources")
    findings += odd(recorded, _ODD_SOURCES)
    unknowns = [] if failure is None else [page_unread(failure)]
    # Older versions did not record `complete`, but accepted nothing that was not.
    if not facts.get("complete", recorded.run["status"] == "succeeded"):
        unknowns.append(finding_sentence("unknown.list_goes_on"))
    read = [_candidate(rank, page["url"], "checked", page) for rank, page in enumerate(pages, 1)]
    if failure is not None:
        outcome = "unknown" if failure["reason"] == "cancelled" else "unreadable"
        read.append(_candidate(failure["number"], failure["url"], outcome))
    return {
        "observations": {"counts": _counts(recorded), "candidates": read},  # type: ignore[typeddict-item]  # made one by one
        "findings": findings,
        "unknowns": unknowns,
    }


def cells(recorded: RecordedRun) -> CellsArea:
    """The area of the cells: the counts of rows, and of each field's cells."""
    facts, labels = recorded.facts, recorded.labels
    if "fields" not in facts:
        return {"observations": {}, "findings": [], "unknowns": [nothing_recorded(recorded)]}
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
            *_failed_checks(recorded, "cells"),
            *_field_findings(recorded),
            *odd(recorded, _ODD_CELLS),
        ],
        "unknowns": [],
    }
    if "rows" in facts and "rowsInTable" in facts:
        area["observations"]["rowsFromRun"] = facts["rows"]
        area["observations"]["rowsInTable"] = facts["rowsInTable"]
    else:
        area["unknowns"].append(finding_sentence("unknown.table_size"))
    return area


def reconciliation(recorded: RecordedRun) -> ReconciliationArea:
    """The area of the reconciliation: rejected and repeated records."""
    facts = recorded.facts
    if "rejected" not in facts:
        older = finding_sentence("unknown.older_version")
        unknown = older if facts else nothing_recorded(recorded)
        return {"observations": {}, "findings": [], "unknowns": [unknown]}
    labels = recorded.labels
    fields = [labels[field["id"]] for field in facts["fields"]]
    findings = [*_failed_checks(recorded, "reconciliation"), *_repeated(recorded)]
    return {
        "observations": {
            "rejected": facts["rejected"],
            "duplicates": [
                {
                    "name": record["key"],
                    "url": recorded.page_url(record["page"]) or "",
                    "winnerUrl": recorded.page_url(record["firstPage"]) or "",
                    "offered": [fields[position] for position in record["differ"]],
                    "merged": [],
                }
                for record in facts["duplicateExamples"]
            ],
        },
        "findings": findings,
        "unknowns": [],
    }


def _plan(recorded: RecordedRun) -> Plan:
    plan: Plan = {"attributes": []}
    for column in recorded.columns:
        if column["ownership"] == "collected":
            plan["attributes"].append({"fieldId": column["id"], "label": column["label"]})
            if "description" in column:
                plan["attributes"][-1]["description"] = column["description"]
    return plan


def _counts(recorded: RecordedRun) -> SourceCounts:
    """The number of pages by outcome."""
    failure = recorded.facts.get("failure")
    checked = len(recorded.facts["pages"])
    unknown = int(failure is not None and failure["reason"] == "cancelled")
    unreadable = int(failure is not None) - unknown
    # The limit of pages ends a Run only when a next page exists; more than that one is not known.
    unattempted = int(rule_of(recorded) == "max_pages")
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
    refused = failure["reason"] in REFUSALS
    code = "finding.page_refused" if refused else "finding.page_unreadable"
    yield finding(code, message=recorded.run["error"] or failure.get("message", ""))


def _failed_checks(recorded: RecordedRun, area: str) -> Iterator[Finding]:
    """The findings of the Checks that failed, in their words, as far as they belong to an area."""
    for check in recorded.run["checks"]:
        kind, _ = split_check_id(check["checkId"])
        belongs, code = _CHECKS.get(kind, ("cells", f"{kind.replace('-', '_')}_failed"))
        if not check["passed"] and belongs == area:
            yield told(code, check.get("message", ""))


def _repeated(recorded: RecordedRun) -> list[Finding]:
    """The finding of keys that were read more than once with the same data."""
    # Records with one key and other data are conflicts, which the identity Check tells.
    facts = recorded.facts
    equal = [record for record in facts["duplicateExamples"] if not record["differ"]]
    if not equal:
        return []
    first = equal[0]
    return [
        finding(
            "finding.duplicate_records",
            first["page"],
            count=facts["duplicates"],
            key=first["key"],
            first_page=first["firstPage"],
            address=recorded.page_url(first["page"]),
        )
    ]


def _field_findings(recorded: RecordedRun) -> Iterator[Finding]:
    """The findings of each field, in the order of the source."""
    declared = recorded.source["fields"] if isinstance(recorded.source, dict) else []
    for position, (field, fact) in enumerate(zip(declared, recorded.facts["fields"], strict=False)):
        yield from _selected(recorded.facts["pages"], position, field)
        if fact["extractionFailed"]:
            yield _unreadable(recorded, position, field["name"], fact)


def _selected(pages: Sequence[PageFact], position: int, field: Any) -> Iterator[Finding]:
    """The finding of a field whose selector did not match on every item, with its worst page."""
    items = sum(page["items"] for page in pages)
    matched = sum(page["matches"][position] for page in pages)
    if matched >= items:
        return
    worst = min(
        (number for number, page in enumerate(pages, 1) if page["items"]),
        key=lambda number: pages[number - 1]["matches"][position] / pages[number - 1]["items"],
    )
    page, read = pages[worst - 1], field["read"]
    params: dict[str, Param] = {
        "field": field["name"],
        "selector": read.get("selector"),
        "attribute": read.get("attribute"),
        "items": items,
        "address": page["url"],
    }
    if matched == 0:
        yield finding("finding.selector_matched_nothing", worst, **params)
        return
    params |= {"matched": matched, "here": page["matches"][position], "items_here": page["items"]}
    yield finding("finding.selector_matched_some", worst, **params)


def _unreadable(recorded: RecordedRun, position: int, name: str, fact: FieldFact) -> Finding:
    params: dict[str, Param] = {
        "field": name,
        "unreadable": fact["extractionFailed"],
        "cells": fact["populated"] + fact["notFound"] + fact["extractionFailed"],
    }
    for record in recorded.facts.get("offending", []):
        text = record.get("cells", {}).get(str(position))
        if text is not None:
            page = record["page"]
            params |= {"item": record["item"], "text": text, "address": recorded.page_url(page)}
            return finding("finding.cells_unreadable", page, **params)
    return finding("finding.cells_unreadable", **params)
