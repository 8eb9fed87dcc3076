"""The findings of fields: selectors that missed items, and cells that could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from livedata.model.diagnosis.diagnostics import Finding
from livedata.model.diagnosis.recorded_run import FieldFact, PageFact, RecordedRun
from livedata.model.problem import Param
from livedata.rules.diagnosis.finding import finding


def field_findings(recorded: RecordedRun) -> Iterator[Finding]:
    """The findings of each field, in the order of the source."""
    declared = recorded.source["fields"] if isinstance(recorded.source, dict) else []
    for at, (field, fact) in enumerate(zip(declared, recorded.facts["fields"], strict=False)):
        yield from _selected(recorded.facts["pages"], at, field)
        if fact["extractionFailed"]:
            yield _unreadable(recorded, at, field["name"], fact)


def _selected(pages: Sequence[PageFact], at: int, field: Any) -> Iterator[Finding]:
    """The finding of a field whose selector did not match on every item, with its worst page."""
    items = sum(page["items"] for page in pages)
    matched = sum(page["matches"][at] for page in pages)
    if matched >= items:
        return
    worst = min(
        (number for number, page in enumerate(pages, 1) if page["items"]),
        key=lambda number: pages[number - 1]["matches"][at] / pages[number - 1]["items"],
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
    params |= {"matched": matched, "here": page["matches"][at], "items_here": page["items"]}
    yield finding("finding.selector_matched_some", worst, **params)


def _unreadable(recorded: RecordedRun, at: int, name: str, fact: FieldFact) -> Finding:
    params: dict[str, Param] = {
        "field": name,
        "unreadable": fact["extractionFailed"],
        "cells": fact["populated"] + fact["notFound"] + fact["extractionFailed"],
    }
    for record in recorded.facts.get("offending", []):
        text = record.get("cells", {}).get(str(at))
        if text is not None:
            page = record["page"]
            params |= {"item": record["item"], "text": text, "address": recorded.page_url(page)}
            return finding("finding.cells_unreadable", page, **params)
    return finding("finding.cells_unreadable", **params)
