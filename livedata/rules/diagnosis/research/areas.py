"""Derives findings and unknowns of a research Run, area by area (interface 2.12).

Every finding follows from a fixed rule. What was not recorded is an unknown, never a guess.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

import msgspec

from livedata.messages.research_findings import research_sentence
from livedata.model.diagnosis.diagnostics import (
    CellsArea,
    Duplicate,
    FieldCounts,
    Finding,
    Plan,
    ReconciliationArea,
    RequestArea,
    SourcesArea,
)
from livedata.model.diagnosis.recorded_research import RecordedResearch
from livedata.model.diagnosis.recorded_run import RowAtRun
from livedata.model.research.recipe import SEARCHED, ResearchField, ResearchRecipe
from livedata.model.research.record import Merge, ResearchFact
from livedata.model.run import REFUSALS
from livedata.model.wire import as_uri
from livedata.rules.diagnosis.areas import research_finding
from livedata.rules.diagnosis.research import pages
from livedata.rules.diagnosis.research.ending import completion
from livedata.rules.diagnosis.research.pages import (
    ResearchPage,
    nothing_recorded,
    page_uri,
    unknowns_of_run,
)

__all__ = ["cells", "completion", "reconciliation", "request", "sources"]

MOST_DUPLICATES: Final = 20
_REFUSED: Final = frozenset(f"read_{reason}" for reason in REFUSALS)
_REJECTIONS: Final = frozenset({"identity_ambiguous", "over_row_limit"})


def request(recorded: RecordedResearch) -> RequestArea:
    """The area of the request: the question and the plan that was made of it."""
    recipe = recorded.recipe
    area: RequestArea = {"observations": {}, "findings": [], "unknowns": []}
    if recipe is not None:
        area["observations"]["prompt"] = recipe.prompt
        area["observations"]["sourceUrl"] = as_uri(recipe.urls[0]) if recipe.urls else SEARCHED
    if recipe is None or recipe.plan is None:
        area["unknowns"].append(research_sentence("unknown.no_plan"))
    else:
        area["observations"]["plan"] = _plan(recipe)
    return area


def _plan(recipe: ResearchRecipe) -> Plan:
    plan = recipe.plan
    if plan is None:
        return {}
    return {
        "title": plan.title,
        "rowMeaning": plan.row_meaning,
        "nameLabel": plan.name_label,
        "query": plan.query,
        "attributes": [
            {
                "fieldId": attribute.field.id,
                "label": attribute.label,
                "description": attribute.description,
            }
            for attribute in plan.attributes
        ],
    }


def sources(recorded: RecordedResearch) -> SourcesArea:
    """The area of the sources: the search, and every page with what became of it."""
    known = pages.list_pages(recorded)
    area: SourcesArea = {
        "observations": {"counts": pages.count_pages(known), "candidates": pages.candidates(known)},
        "findings": list(_source_findings(recorded, known)),
        "unknowns": list(unknowns_of_run(recorded)),
    }
    if not recorded.facts:
        area["observations"] = {}
    discovery = pages.discovery_observed(recorded)
    if discovery is not None:
        area["observations"]["discovery"] = discovery
    return area


def _source_findings(
    recorded: RecordedResearch, known: Sequence[ResearchPage]
) -> Iterator[Finding]:
    counts = pages.count_pages(known)
    asked = counts["discovered"] - counts["unattempted"]
    refused = {fact.url for fact in recorded.facts if fact.code in _REFUSED}
    if asked and len(refused) == asked:
        yield research_finding("all_pages_refused", pages=asked)
    elif asked and 2 * counts["unreadable"] >= asked:
        yield research_finding(
            "most_pages_unreadable", unreadable=counts["unreadable"], pages=asked
        )
    results = {fact.url for fact in recorded.facts if fact.code == "candidate_found"}
    checked = [page.url for page in known if page.outcome == "checked" and page.url in results]
    hosts = {urlsplit(url).hostname for url in checked}
    # One page has one host, and who names pages knows theirs: only of several results it says
    # something.
    if len(checked) > 1 and len(hosts) == 1:
        yield research_finding("single_host", host=hosts.pop())
    cut = sum(page.outcome == "checked" and page.fault in pages.CUT for page in known)
    if cut:
        yield research_finding("pages_cut", pages=cut)
    if counts["unattempted"]:
        yield research_finding("candidates_left", pages=counts["unattempted"])


def cells(recorded: RecordedResearch) -> CellsArea:
    """The area of the cells: the rows of this Run, and the cells of each field in them."""
    if not recorded.facts:
        unknown = nothing_recorded(recorded)
        return {"observations": {}, "findings": [], "unknowns": [unknown]}
    kept = {fact.key for fact in recorded.facts if fact.code == "row_kept" and fact.key}
    rows = [row for row in recorded.rows.values() if row.key in kept and row.presence == "present"]
    area: CellsArea = {
        "observations": {"rowsFromRun": len(kept)},
        "findings": [],
        "unknowns": [],
    }
    present = sum(row.presence == "present" for row in recorded.rows.values())
    table = recorded.summary.get("rowsInTable", present if recorded.rows else None)
    if table is None:
        area["unknowns"].append(research_sentence("unknown.table_size"))
    else:
        area["observations"]["rowsInTable"] = table
    if not recorded.accepted:
        area["unknowns"].append(research_sentence("unknown.cells_of_output"))
        return area
    counts = [_count(recorded, field, rows) for field in _fields(recorded)]
    area["observations"]["fields"] = counts
    area["findings"] += _field_findings(counts, len(rows))
    return area


def _fields(recorded: RecordedResearch) -> Sequence[ResearchField]:
    return () if recorded.recipe is None else recorded.recipe.fields


def _count(
    recorded: RecordedResearch, field: ResearchField, rows: Sequence[RowAtRun]
) -> FieldCounts:
    cells = [cell for row in rows for cell in row.cells if cell.field == field.id]
    reasons = Counter(cell.reason for cell in cells)
    return {
        "fieldId": field.id,
        "label": recorded.labels.get(field.id, field.label),
        "populated": sum(cell.value is not None for cell in cells),
        "notFound": reasons["not_found"],
        "extractionFailed": reasons["extraction_failed"],
    }


def _field_findings(counts: Sequence[FieldCounts], rows: int) -> Iterator[Finding]:
    for field in counts if rows else ():
        if not field["populated"]:
            yield research_finding("field_never_found", label=field["label"], rows=rows)
        failed = field["extractionFailed"]
        if 10 * failed >= 3 * rows:
            yield research_finding(
                "field_often_failed", label=field["label"], failed=failed, rows=rows
            )


def reconciliation(recorded: RecordedResearch) -> ReconciliationArea:
    """The area of the reconciliation: what was rejected, dropped and offered again."""
    if not recorded.facts:
        unknown = nothing_recorded(recorded)
        return {"observations": {}, "findings": [], "unknowns": [unknown]}
    rejected = Counter(fact.code for fact in recorded.facts if _rejects(fact))
    dropped = sum(fact.stage == "validation" and _is_of_cell(fact) for fact in recorded.facts)
    merged = [fact for fact in recorded.facts if fact.code == "row_merged"]
    return {
        "observations": {
            "rejected": dict(sorted(rejected.items())),
            "quotesDropped": dropped,
            "duplicates": [_duplicate(recorded, fact) for fact in merged[:MOST_DUPLICATES]],
        },
        "findings": list(_rejections(recorded, rejected.total(), dropped)),
        "unknowns": [],
    }


def _rejects(fact: ResearchFact) -> bool:
    """Whether a fact says that an offered row became none."""
    if fact.code in _REJECTIONS:
        return True
    return fact.stage == "validation" and fact.failure and not _is_of_cell(fact)


def _is_of_cell(fact: ResearchFact) -> bool:
    return fact.failure and fact.field is not None


def _rejections(recorded: RecordedResearch, rejected: int, dropped: int) -> Iterator[Finding]:
    offered = sum(fact.code == "row_offered" for fact in recorded.facts)
    if rejected and 10 * rejected >= 3 * offered:
        yield research_finding("many_rows_rejected", rejected=rejected, offered=offered)
    attributes = {field.id for field in _fields(recorded)[3:]}
    kept = sum(
        cell.value is not None
        for row in recorded.rows.values()
        for cell in row.cells
        if cell.field in attributes
    )
    if dropped and 5 * dropped >= dropped + kept:
        yield research_finding("many_quotes_dropped", dropped=dropped, cells=dropped + kept)


def _duplicate(recorded: RecordedResearch, fact: ResearchFact) -> Duplicate:
    labels = recorded.labels
    try:
        merge = msgspec.json.decode(fact.detail, type=Merge)
    except msgspec.DecodeError:
        merge = Merge("", [], [])
    return {
        "name": fact.entity or "",
        "url": page_uri(fact.url or ""),
        "winnerUrl": page_uri(merge.winner),
        "offered": [labels.get(field, field) for field in merge.offered],
        "merged": [labels.get(field, field) for field in merge.merged],
    }
