"""A row: each cell with where it was read, edits by hand, and its history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flask import g, redirect, request
from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.model.dataset import Column, labels
from livedata.model.errors import BadRequest, Invalid, RequestIdReused, RevisionConflict
from livedata.model.ids import DatasetId, RowId
from livedata.model.row import (
    CellOverride,
    Change,
    EvidenceRef,
    MissingReason,
    ObservationEntry,
    RowDetail,
    RowEdit,
    Scalar,
    SourceObservation,
)
from livedata.pages.answers import page, sentences
from livedata.pages.changes import earlier, narrowing
from livedata.pages.markup.plot import plot
from livedata.pages.markup.texts import cut
from livedata.pages.visits import context
from livedata.rules.changes.typed import parse_value
from livedata.services import queries, rows
from livedata.services.browsing.developments import of_cell
from livedata.services.browsing.history import history
from livedata.services.browsing.sessions import make_token
from livedata.services.browsing.words import words

LONG: Final = 80
"""A text of so many characters is edited in a field of several lines."""


class ShownCell(Struct, frozen=True):
    """A cell with its column, where it was read, and what the source says under a hand edit."""

    column: Column
    value: Scalar
    reason: MissingReason | None
    entry: ObservationEntry | None
    observation: SourceObservation | None
    override: CellOverride | None


class Typed(Struct, frozen=True):
    """What a person wrote into a cell that was not taken, and why."""

    field: str
    text: str
    refusal: str


def show(dataset: str, row: str, typed: Typed | None = None, status: int = 200) -> Response:
    """The page of a row; with what was typed and not taken, if an edit was refused."""
    raw, store, owner = DatasetId(identified(dataset)), context().store, g.caller.owner
    raw_row = RowId(identified(row))
    detail = queries.row(store, owner, raw, raw_row)
    shown = queries.dataset(store, owner, raw)
    wanted = replace(narrowing(request.args, shown), row=raw_row)
    told = history(store, owner, raw, wanted)
    # What stands at the end of an earlier page changed later on.
    seen = detail["observedAt"] if wanted.before is None else None
    return page(
        "row.html",
        data=lambda: {"data": detail, "changes": told.changes},
        status=status,
        dataset=shown,
        row=detail,
        cells=[_cell(column, detail) for column in shown["columns"]],
        typed=typed,
        request_id=make_token(),
        narrowed=wanted.field,
        told=told,
        labels=labels(shown["columns"]),
        plots=_plots(_told_of(shown["columns"], wanted.field), told.changes, seen),
        more=earlier(f"/datasets/{dataset}/rows/{row}", told.before),
        long=LONG,
    )


def _cell(column: Column, detail: RowDetail) -> ShownCell:
    field = column["id"]
    override = detail["overrides"].get(field)
    references = detail["evidence"].get(field, []) if override is None else override["evidence"]
    observation, entry = _read(detail, references)
    reason = detail["missingReasons"].get(field)
    return ShownCell(column, detail["data"][field], reason, entry, observation, override)


def _read(
    detail: RowDetail, references: Sequence[EvidenceRef]
) -> tuple[SourceObservation | None, ObservationEntry | None]:
    """The page and the text that a cell was read from, the first of several."""
    for reference in references[:1]:
        for observation in detail["observations"]:
            for entry in observation["entries"]:
                if (observation["id"], entry["id"]) == (*reference.values(),):
                    return observation, entry
    return None, None


def _told_of(columns: Sequence[Column], field: str | None) -> list[Column]:
    """The columns of which a history tells everything: that of one cell only its own."""
    return [column for column in columns if field in {None, column["id"]}]


def _plots(
    columns: Sequence[Column], changes: Sequence[Change], until: str | None
) -> list[tuple[str, Markup]]:
    """The label of each number that has changed, with how it developed."""
    numbers = [column for column in columns if column["type"] == "number" and not column["key"]]
    plots = [
        (column["label"], plot(of_cell(changes, column["id"], until=until))) for column in numbers
    ]
    return [(label, drawn) for label, drawn in plots if drawn is not None]


def edit(dataset: str, row: str, field: str) -> Response:
    """Edit a cell by hand, or reset it to what the source says."""
    raw, store, owner = DatasetId(identified(dataset)), context().store, g.caller.owner
    form = request.form
    columns = queries.dataset(store, owner, raw)["columns"]
    column = next((each for each in columns if each["id"] == field), None)
    if column is None:
        raise BadRequest("This dataset has no such column: open the row again.")
    text = form.get("value", "").replace("\r\n", "\n")
    resets = form.get("act") == "reset"
    try:
        wanted = RowEdit(
            form.get("revision", ""),
            _request_id(form.get("request", "")),
            None if resets else {field: parse_value(column, text)},
            [field] if resets else None,
        )
        rows.edit(store, owner, raw, RowId(identified(row)), wanted, g.caller.key)
    except RevisionConflict:
        now = queries.row(store, owner, raw, RowId(identified(row)))["data"][field]
        refusal = (
            "This row has changed since you opened it, and nothing was written. Now this cell "
            f"{_says(now)}. Look at it again, then save what you want."
        )
        return show(dataset, row, Typed(field, text, refusal), 409)
    except (Invalid, RequestIdReused, ValueError) as error:
        why = sentences(error) if isinstance(error, Invalid | RequestIdReused) else "Open it again."
        return show(dataset, row, Typed(field, text, why), 422)
    return redirect(f"/datasets/{dataset}/rows/{row}", 303)


def _says(value: Scalar) -> str:
    """What a cell says, within a sentence."""
    if value is None:
        return "is empty"
    return f"says “{cut(value)}”" if isinstance(value, str) else f"says {words(value)}"


def _request_id(given: str) -> str:
    """The id of a form; a new one if it is none that a store can keep."""
    return (given if given.isprintable() else "")[:128] or make_token()
