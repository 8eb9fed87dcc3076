"""A single row as agents read it: where each cell was read, and how it came to be so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from livedata.mcp.access import DatasetAccess, OpenDataset
from livedata.mcp.answers import (
    LONGEST_ANSWER,
    LONGEST_CELL,
    Answer,
    compact,
    cut_cell,
    cut_text,
    fit,
    fitting,
)
from livedata.mcp.changes import named_change
from livedata.model.dataset import Column
from livedata.model.errors import NotFound
from livedata.model.ids import RowId
from livedata.model.row import EvidenceRef, RowDetail
from livedata.services import feed, queries
from livedata.services.notices.told_changes import ChangesByName
from livedata.store import datasets, rows
from livedata.store import feed as feed_store

_CHANGES: Final = 20
_MOST_CHANGED: Final = 8
"""So many texts of a change beside those of its row: changes are shorter than the cells."""
_BESIDE: Final = 100
"""So many bytes has what stands around the changes."""


def get_row(access: DatasetAccess, *, dataset: str, row: str) -> Answer:
    """A row with its evidence and its last changes."""
    with access.opened(dataset) as opened:
        row_id = _find(opened, row)
        detail = queries.row(opened.db, opened.owner, opened.id, row_id)
        columns = opened.dataset()["columns"]
        changes = _last_changes(opened, row_id)
        about = opened.about()

    def build(most: int) -> Answer:
        return {
            **about,
            "from_websites": True,
            "row": cut_text(detail["rowKey"], most),
            "presence": detail["presence"],
            "status": detail["status"],
            "cells": {column["name"]: _cell(detail, column, most) for column in columns},
        }

    answer = fitting(build)
    room = LONGEST_ANSWER - len(compact(answer)) - _BESIDE
    # The newest ones first, since those are there for sure.
    told, _ = fit(reversed(changes), _change, _CHANGES, room)
    return {**answer, "changes": told[::-1]}


def _find(opened: OpenDataset, given: str) -> RowId:
    """The row of a key, also as answers show it: cut, or with characters that are written out."""
    try:
        return queries.find_row(opened.db, opened.owner, opened.id, given)
    except NotFound:
        every = rows.keys(opened.reader, opened.id, given)
        shown = [row for row, key in every if cut_text(key, LONGEST_CELL) == given]
        if len(shown) != 1:
            raise
        return shown[0]


def _change(line: Mapping[str, Any], most: int) -> Answer:
    return named_change(line, max(most // _MOST_CHANGED, 10))


def _last_changes(opened: OpenDataset, row: RowId) -> list[Mapping[str, Any]]:
    after = feed_store.before_last(opened.reader, row, _CHANGES)
    page = feed.changes(opened.db, opened.owner, opened.id, after=after, limit=_CHANGES, row_id=row)
    ref = datasets.ref(opened.reader, opened.owner, opened.id)
    return [change.line for change in ChangesByName.of(opened.reader, ref).of_page(page)]


def _cell(row: RowDetail, column: Column, most: int) -> Answer:
    field = column["id"]
    cell: Answer = {"value": cut_cell(row["data"].get(field), most)}
    reason = row["missingReasons"].get(field)
    if reason:
        cell["emptyBecause"] = reason
    override = row["overrides"].get(field)
    references: Iterable[EvidenceRef] = row["evidence"].get(field, [])
    if override is not None:
        # A hand edit has no page: the evidence is that of the value below it.
        cell.update(edited=True, source=cut_cell(override["value"], most))
        references = override["evidence"]
    cell.update(_read_at(row, references, most))
    return cell


def _read_at(row: RowDetail, references: Iterable[EvidenceRef], most: int) -> Mapping[str, Any]:
    """The text of the site of which a cell was made, its page, and when that was read."""
    for reference in references:
        for page in row["observations"]:
            for entry in page["entries"]:
                if (page["id"], entry["id"]) == (reference["observationId"], reference["entryId"]):
                    return {
                        "quote": cut_text(entry["excerpt"], most),
                        "page": cut_text(page["sourceUrl"], most),
                        "readAt": page["observedAt"],
                    }
    return {}
