"""An edit of one column in several rows: chosen in the table, told before, saved, and undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from flask import g, redirect, request
from msgspec import Struct
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.model import ids
from livedata.model.dataset import Column, Dataset
from livedata.model.errors import BadRequest, Invalid, NotFound, RequestIdReused, RevisionConflict
from livedata.model.ids import DatasetId, RowId
from livedata.pages.answers import page, sentences, wants_json
from livedata.pages.typed import request_id_of
from livedata.pages.visits import at_one_moment, context
from livedata.rules.changes import edits
from livedata.services import queries, rows
from livedata.services.pages.row_edits import MOST_ROWS, ColumnEdit, RowPlan, as_sent, done, planned
from livedata.services.pages.sessions import make_token

ACTS: Final = {
    "set": "Set to",
    "clear": "Clear",
    "reset": "Reset to the source",
}
_MOVED: Final = (
    "Rows have changed since you looked, and nothing was saved. This is what would change now."
)


class _Form(Struct, frozen=True):
    """What a person asks for: a column, an act, a value."""

    field: str = ""
    act: str = "set"
    value: str = ""

    @classmethod
    def sent(cls) -> _Form:
        """The form that came."""
        given = request.form
        return cls(given.get("field", ""), given.get("act", ""), as_sent(given.get("value", "")))

    def asked(self, columns: Sequence[Column]) -> ColumnEdit:
        """What it means. Raises Invalid, and BadRequest for what no form of ours sends."""
        column = next((each for each in columns if each["id"] == self.field), None)
        if column is None or column["key"] or self.act not in ACTS:
            raise BadRequest("This dataset has no such column: choose the rows again.")
        if self.act == "reset":
            return ColumnEdit(column, resets=True)
        if self.act == "clear":
            return ColumnEdit(column, resets=False)
        if not self.value:
            raise Invalid(f"Give {column['label']} a value, or choose Clear.")
        value = edits.parse_value(column, self.value)
        for problem in edits.value_problems({self.field: column}, {self.field: value}):
            raise Invalid(f"{column['label']} {problem.message}.")
        return ColumnEdit(column, resets=False, value=value)


@at_one_moment
def show(dataset: str) -> Response:
    """The rows that were chosen, and what can be done to them; or what an edit has done."""
    raw, owner = DatasetId(identified(dataset)), g.caller.owner
    shown, wanted = queries.dataset(g.db, owner, raw), _rows(request.args.getlist("row"))
    request_id = request.args.get("done")
    if not (wanted or wants_json()):
        return redirect(f"/datasets/{dataset}?edit=rows", 303)
    if request_id is None:
        return _form(shown, planned(g.db, owner, raw, wanted, None), _Form())
    edited = done(g.db, owner, raw, wanted, request_id)
    if edited is None:
        raise NotFound("There is no such edit of these rows.")
    return page(
        "edited.html",
        data=lambda: {"dataset": shown, "column": edited.column, "rows": _as_json(edited.rows)},
        dataset=shown,
        edited=edited,
        undoable=[row for row in edited.rows if row.changes],
        request_id=request_id,
    )


def save(dataset: str) -> Response:
    """Say what an edit would change; once that is confirmed save it, or undo what was saved."""
    raw, store, owner = DatasetId(identified(dataset)), context().store, g.caller.owner
    shown, sent = queries.dataset(store, owner, raw), request.form.getlist("row")
    wanted = _rows([row.partition(".")[0] for row in sent])
    if request.form.get("act") == "undo":
        return _undo(shown, wanted, request.form.get("done", ""))
    form = _Form.sent()
    try:
        asked = form.asked(shown["columns"])
    except Invalid as error:
        plans = planned(store, owner, raw, wanted, None)
        return _form(shown, plans, form, wrong=sentences(error), status=422)
    plans = planned(store, owner, raw, wanted, asked)
    revisions = dict(row.partition(".")[::2] for row in sent)
    # What is told first shows the rows as they are now; what is saved are those that were shown.
    if "confirm" not in request.form:
        return _form(shown, plans, form, asked)
    request_id = request_id_of(request.form)
    # Who clicks twice is led to what the first click has saved.
    if done(store, owner, raw, wanted, request_id) is None:
        changing = [plan for plan in plans if plan.changes]
        if any(plan.revision != revisions[plan.id] for plan in plans) or not changing:
            return _form(shown, plans, form, asked, wrong=_MOVED, status=409)
        try:
            _save(raw, changing, asked.column, request_id)
        except (RevisionConflict, RequestIdReused):
            plans = planned(store, owner, raw, wanted, asked)
            return _form(shown, plans, form, asked, wrong=_MOVED, status=409)
    return _done(raw, wanted, request_id)


def _undo(shown: Dataset, wanted: Sequence[RowId], request_id: str) -> Response:
    raw, owner = DatasetId(ids.raw_id(shown["id"])), g.caller.owner
    edited = done(context().store, owner, raw, wanted, request_id)
    if edited is None:
        raise NotFound("There is no such edit of these rows.")
    undoing = [row for row in edited.rows if row.changes]
    try:
        if undoing:
            _save(raw, undoing, edited.column, edited.undo)
    except (RevisionConflict, RequestIdReused):
        return _done(raw, wanted, request_id)
    # Where all rows have changed since there is nothing to lead to but the edit itself.
    rest = done(context().store, owner, raw, wanted, edited.undo)
    return _done(raw, wanted, request_id if rest is None else edited.undo)


def _save(dataset: DatasetId, plans: Sequence[RowPlan], column: Column, request_id: str) -> None:
    wanted = {RowId(ids.raw_id(plan.id)): plan.edit(column["id"], request_id) for plan in plans}
    rows.edit_together(context().store, g.caller.owner, dataset, wanted, g.caller.key)


def _done(dataset: DatasetId, wanted: Sequence[RowId], request_id: str) -> Response:
    """Lead to what an edit has done."""
    named = [("done", request_id), *(("row", ids.format_uuid(row)) for row in wanted)]
    return redirect(f"/datasets/{ids.format_uuid(dataset)}/edits?{urlencode(named)}", 303)


def _form(
    shown: Dataset,
    plans: Sequence[RowPlan],
    form: _Form,
    asked: ColumnEdit | None = None,
    *,
    wrong: str = "",
    status: int = 200,
) -> Response:
    """The page of the form, with what it would change if that is asked."""
    return page(
        "edit_rows.html",
        data=lambda: {"dataset": shown, "rows": _as_json(plans)},
        status=status,
        dataset=shown,
        plans=plans,
        form=form,
        asked=asked,
        changing=[plan for plan in plans if plan.changes],
        wrong=wrong,
        acts=ACTS,
        columns=[column for column in shown["columns"] if not column["key"]],
        request_id=make_token(),
    )


def _as_json(plans: Sequence[RowPlan]) -> list[Mapping[str, Any]]:
    return [
        {"id": plan.id, "rowKey": plan.name.key, "before": plan.before, "after": plan.after}
        for plan in plans
    ]


def _rows(given: Sequence[str]) -> list[RowId]:
    """The rows that are named, each once. Raises BadRequest."""
    if len(given) > MOST_ROWS:
        raise BadRequest(f"{MOST_ROWS} rows are edited at once: choose the rows of one page.")
    try:
        return [RowId(ids.raw_id(row)) for row in dict.fromkeys(given)]
    except ValueError as error:
        raise BadRequest("This dataset has no such row: choose the rows again.") from error
