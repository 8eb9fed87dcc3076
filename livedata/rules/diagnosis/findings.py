"""Derives findings and unknowns from recorded facts, area by area (interface 2.12).

Every finding follows from a fixed rule. A fact that was not recorded is an unknown, never a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any, Final

from livedata.messages.diagnosis.findings import finding_sentence, oddity_sentence
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
from livedata.model.diagnosis.recorded_run import FailureFact, PageFact, RecordedRun
from livedata.model.problem import problem_of
from livedata.model.run import REFUSALS, split_check_id
from livedata.model.wire import as_uri
from livedata.rules.diagnosis.field_findings import field_findings
from livedata.rules.diagnosis.finding import LONGEST_MESSAGE, finding

LIMITS: Final = frozenset({"max_pages", "max_items"})
_ENDS: Final = {
    "max_pages": "finding.stopped_by_limit",
    "max_items": "finding.stopped_by_limit",
    "mass_loss": "finding.mass_loss",
    "run.keys_changed": "finding.keys_changed",
    "run.lost_pagination": "finding.lost_pagination",
    "run.emptied_field": "finding.emptied_field",
    "credits": "finding.credits_missing",
    "worker_lost": "finding.worker_lost",
    "cancelled": "finding.cancelled",
}
"""Stop rule, or the problem if that is finer -> the finding whose message is the Run's error."""
_ODD_CELLS: Final = frozenset(
    {
        "finding.field_emptied",
        "finding.field_less_filled",
        "finding.more_cells_unreadable",
        "finding.other_texts_unreadable",
        "finding.bare_rows",
    }
)
_ODD_ENDS: Final = frozenset({"finding.rows_lost", "finding.keys_moved"})
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
    if failure is None and _rule(recorded) not in LIMITS:
        findings += _check(recorded, "coverage", "finding.coverage_incomplete")
    findings += _odd(recorded, _ODD_SOURCES)
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
            *_check(recorded, "extraction", "finding.extraction_failed"),
            *_check(recorded, "minimum-items", "finding.too_few_items"),
            *_check(recorded, "present", "finding.required_field_empty"),
            *field_findings(recorded),
            *_odd(recorded, _ODD_CELLS),
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
    findings = _check(recorded, "identity", "finding.identity_failed")
    findings += _repeated(recorded)
    return {
        "observations": {
            "rejected": facts["rejected"],
            "duplicates": [
                {
                    "name": record["key"],
                    "url": recorded.page_url(record["page"]) or "",
                    "winnerUrl": recorded.page_url(record["firstPage"]) or "",
                    "offered": [fields[at] for at in record["differ"]],
                    "merged": [],
                }
                for record in facts["duplicateExamples"]
            ],
        },
        "findings": findings,
        "unknowns": [],
    }


def completion(recorded: RecordedRun) -> CompletionArea:
    """The area of the completion: the end of the Run, and the rule that ended it."""
    run, stop = recorded.run, recorded.stop
    observed: CompletionObservations = {"status": run["status"]}
    if stop is not None:
        observed["stop"] = stop
    if run["error"] is not None:
        observed["error"] = run["error"]
    findings = []
    code = "finding.site_refused" if run["status"] == "blocked" else _end(recorded)
    if code and run["error"]:
        findings.append(finding(code, message=run["error"]))
    findings += _odd(recorded, _ODD_ENDS)
    if stop is not None and stop["inputs"].get("accepted") == "by hand":
        findings.append(finding("finding.accepted_by_hand"))
    unknowns = [] if stop is not None else [nothing_recorded(recorded)]
    return {"observations": observed, "findings": findings, "unknowns": unknowns}


def _odd(recorded: RecordedRun, codes: Set[str]) -> list[Finding]:
    """What looked odd when the Run ended, as far as it belongs to one area."""
    return [
        {
            "code": fact["code"].removeprefix("finding."),
            "message": oddity_sentence(problem_of(fact))[:LONGEST_MESSAGE],
        }
        for fact in recorded.facts.get("odd", [])
        if fact["code"] in codes
    ]


def page_unread(failure: FailureFact) -> str:
    """The unknown of a page that could not be read."""
    sentence = finding_sentence(
        "unknown.page_unread", number=failure["number"], address=failure["url"]
    )
    return sentence[:LONGEST_MESSAGE]


def nothing_recorded(recorded: RecordedRun) -> str:
    """The unknown of a Run that recorded nothing, or nothing yet, or too long ago."""
    if not recorded.is_over:
        return finding_sentence("unknown.not_yet")
    return finding_sentence("unknown.not_kept" if recorded.forgotten else "unknown.not_recorded")


def _rule(recorded: RecordedRun) -> str:
    return recorded.stop["rule"] if recorded.stop else ""


def _end(recorded: RecordedRun) -> str:
    problem = recorded.problem.code if recorded.problem else ""
    return _ENDS.get(problem) or _ENDS.get(_rule(recorded), "")


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
    refused = failure["reason"] in REFUSALS
    code = "finding.page_refused" if refused else "finding.page_unreadable"
    yield finding(code, message=recorded.run["error"] or failure.get("message", ""))


def _check(recorded: RecordedRun, kind: str, code: str) -> list[Finding]:
    """The findings of the failed Checks of a kind; of "present" there is one per field."""
    return [
        finding(code, message=check.get("message", ""))
        for check in recorded.run["checks"]
        if not check["passed"] and split_check_id(check["checkId"])[0] == kind
    ]


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
