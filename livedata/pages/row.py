"""A row: each cell with where it was read, edits by hand, and its history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from flask import g, redirect, request
from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.hints import Subject
from livedata.model.dataset import CELL_TYPES, Column, columns_by_id, is_numeric, words
from livedata.model.errors import (
    BadRequest,
    Detail,
    Invalid,
    RequestIdReused,
    RevisionConflict,
)
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
from livedata.model.row_name import RowName, name_row
from livedata.pages.answers import page, sentences
from livedata.pages.changes import earlier, later, narrowing
from livedata.pages.markup.filters import cut
from livedata.pages.markup.plot import plot
from livedata.pages.typed import request_id_of
from livedata.pages.visits import at_one_moment, context
from livedata.rules.changes import edits
from livedata.rules.changes.edits import parse_value
from livedata.services import queries, rows
from livedata.services.pages import row_edits
from livedata.services.pages.history import history, of_cell
from livedata.services.pages.row_edits import Typed
from livedata.services.pages.sessions import make_token

LONG: Final = 80
"""A longer text is edited in a field of several lines."""
_CHANGED: Final = (
    "This row has changed since you opened it, and nothing was saved. What you typed is still "
    "in the form: look at the cells again, then save."
)
_WRONG: Final = "Nothing was saved. What you typed is still in the form."


class ShownCell(Struct, frozen=True):
    """A cell with its column, where it was read, and what the source says under a hand edit.

    `text` is what its field of the form has: what was `typed` and not saved, or the value. A cell
    that does not fit into the form is edited elsewhere.
    """

    column: Column
    value: Scalar
    reason: MissingReason | None
    entry: ObservationEntry | None
    observation: SourceObservation | None
    override: CellOverride | None
    text: str
    typed: bool
    fits: bool

    @property
    def long(self) -> bool:
        """Whether it is edited in a field of several lines: any other drops line ends."""
        return len(self.text) > LONG or "\n" in self.text or "\r" in self.text

    @property
    def is_quoted(self) -> bool:
        """Whether its page says it in other words than those that stand beside it."""
        if self.entry is None:
            return False
        value = self.value if self.override is None else self.override["value"]
        said = self.entry["excerpt"]
        text = "" if value is None else words(value, self.column["type"])
        return not text.startswith(said) if self.entry["truncated"] else text != said


class RefusedEdit(Struct, frozen=True):
    """What a person typed that was not saved, why, and what is to be said of single cells."""

    typed: Typed
    why: str
    lines: Sequence[str] = ()


@at_one_moment
def show(dataset: str, row: str, refused: RefusedEdit | None = None, status: int = 200) -> Response:
    """The page of a row; with what was typed and is not saved, if an edit was refused."""
    raw, store, owner = DatasetId(identified(dataset)), g.db, g.caller.owner
    raw_row = RowId(identified(row))
    detail = queries.row(store, owner, raw, raw_row)
    shown = queries.dataset(store, owner, raw)
    wanted = replace(narrowing(request.args), row=raw_row)
    told = history(store, owner, raw, wanted)
    cells = _cells(detail, shown["columns"], refused)
    # What stands at the end of an earlier page changed later on.
    seen = detail["observedAt"] if wanted.before is None else None
    return page(
        "row.html",
        data=lambda: {"data": detail, "changes": told.changes},
        status=status,
        dataset=shown,
        row=detail,
        name=_name(detail, queries.label_field(store, owner, raw)),
        cells=cells,
        source=_source(cells),
        refused=refused,
        elsewhere=Subject(owner, shown["name"]),
        request_id=make_token(),
        narrowed=wanted.field,
        told=told,
        types=CELL_TYPES,
        columns=told.columns,
        plots=_plots(_told_of(shown["columns"], wanted.field), told.changes, seen),
        more=earlier(f"/datasets/{dataset}/rows/{row}", told.before),
        back=later(f"/datasets/{dataset}/rows/{row}", told),
    )


def _name(detail: RowDetail, label: str | None) -> RowName:
    """What a row is called: of research by the name under which it was found first."""
    if detail["identity"]:
        return RowName(detail["identity"]["aliases"][0], detail["rowKey"])
    return name_row(detail["rowKey"], detail["data"], label)


def _cells(
    detail: RowDetail, columns: Sequence[Column], refused: RefusedEdit | None
) -> list[ShownCell]:
    fits = row_edits.fitting(columns, detail["data"])
    typed = {} if refused is None else refused.typed.texts
    return [
        _cell(column, detail, typed.get(column["id"]), fits=column["id"] in fits)
        for column in columns
    ]


def _cell(column: Column, detail: RowDetail, typed: str | None, *, fits: bool) -> ShownCell:
    field = column["id"]
    override = detail["overrides"].get(field)
    references = detail["evidence"].get(field, []) if override is None else override["evidence"]
    observation, entry = _read(detail, references)
    reason = detail["missingReasons"].get(field)
    value = detail["data"][field]
    text = row_edits.as_text(value) if typed is None else typed
    is_typed = typed is not None
    return ShownCell(column, value, reason, entry, observation, override, text, is_typed, fits)


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


def _source(cells: Sequence[ShownCell]) -> SourceObservation | None:
    """The reading of a page that most cells are from, which is told once; None without any."""
    sources = {each.observation["id"]: each.observation for each in cells if each.observation}
    counted = Counter(each.observation["id"] for each in cells if each.observation)
    return sources[counted.most_common(1)[0][0]] if counted else None


def _told_of(columns: Sequence[Column], field: str | None) -> list[Column]:
    """The columns of which a history tells everything: that of one cell only its own."""
    return [column for column in columns if field in {None, column["id"]}]


def _plots(
    columns: Sequence[Column], changes: Sequence[Change], until: str | None
) -> list[tuple[str, Markup]]:
    """The label of each number that has changed, with how it developed."""
    numbers = [column for column in columns if is_numeric(column) and not column["key"]]
    plots = [
        (column["label"], plot(of_cell(changes, column["id"], until=until), column["type"]))
        for column in numbers
    ]
    return [(label, drawn) for label, drawn in plots if drawn is not None]


def edit(dataset: str, row: str) -> Response:
    """Save the cells of a row that a person has changed, and reset one to what the source says."""
    raw, store, owner = DatasetId(identified(dataset)), context().store, g.caller.owner
    raw_row, revision = RowId(identified(row)), request.form.get("revision", "")
    columns = columns_by_id(queries.dataset(store, owner, raw)["columns"])
    now = queries.row(store, owner, raw, raw_row)["data"]
    shown = row_edits.values_at(store, owner, raw, raw_row, revision)
    before = now if shown is None else shown
    typed = row_edits.typed(request.form, before)
    if any(field not in columns for field in typed.fields):
        raise BadRequest("This dataset has no such column: open the row again.")
    try:
        values = _values(typed, columns)
        if typed.fields:
            form_id = request_id_of(request.form)
            wanted = RowEdit(revision, form_id, values or None, typed.resets or None)
            rows.edit(store, owner, raw, raw_row, wanted, g.caller.key)
    except (RevisionConflict, RequestIdReused):
        now = queries.row(store, owner, raw, raw_row)["data"]
        # What the form showed may be older than a column: that had no value then.
        moved = [field for field in typed.fields if now[field] != before.get(field)]
        lines = [
            f"{columns[field]['label']} now {_says(now[field], columns[field])}." for field in moved
        ]
        return show(dataset, row, RefusedEdit(typed, _CHANGED, lines), 409)
    except Invalid as error:
        return show(dataset, row, RefusedEdit(typed, _WRONG, _lines(error, columns)), 422)
    except ValueError:
        return show(dataset, row, RefusedEdit(typed, "Nothing was saved: open the row again."), 422)
    return redirect(f"/datasets/{dataset}/rows/{row}", 303)


def _values(typed: Typed, columns: Mapping[str, Column]) -> dict[str, Scalar]:
    """The value of each text. Raises Invalid with a detail for each that its column cannot have."""
    values, wrong = {}, []
    for field, text in typed.texts.items():
        column = columns[field]
        try:
            values[field] = parse_value(column, text)
        except Invalid as error:
            wrong.append(Detail(field, error.message))
        else:
            wrong += edits.value_problems({field: column}, {field: values[field]})
    if wrong:
        raise Invalid(wrong[0].message, tuple(wrong))
    return values


def _lines(error: Invalid, columns: Mapping[str, Column]) -> list[str]:
    """What is wrong in each cell, by the labels of their columns."""
    lines = []
    for detail in error.details:
        column = columns.get(detail.path.removeprefix("values."))
        # What is no value of its column's type says so itself.
        if column is None or detail.path == column["id"]:
            lines.append(detail.message)
        else:
            lines.append(f"{column['label']} {detail.message}.")
    return lines or [sentences(error)]


def _says(value: Scalar, column: Column) -> str:
    """What a cell says, within a sentence."""
    if value is None:
        return "is empty"
    said = words(value, column["type"])
    return f"says “{cut(said)}”" if isinstance(value, str) else f"says {said}"
