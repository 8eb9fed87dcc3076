"""The settings of a dataset: what it is called, when it runs, its columns, its source, its end."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from flask import g, redirect, request
from msgspec import Struct
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.formats.source_toml import write_declaration
from livedata.hints import Subject
from livedata.messages.request import invalid
from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.dataset import CELL_TYPES, Dataset
from livedata.model.errors import Conflict, Detail, Invalid, NameTaken
from livedata.model.ids import DatasetId, Micros
from livedata.model.requests import UpdateDataset
from livedata.model.row_name import found_by, may_name_rows
from livedata.pages.answers import page, sentences
from livedata.pages.news import said
from livedata.pages.typed import CHANGED, WRONG, RefusedForm, now_says, settled, typed_fields
from livedata.pages.visits import at_one_moment, context
from livedata.rules.declaration.consistency import check_name
from livedata.rules.declaration.cron import next_fire, schedule_problem
from livedata.services import datasets, feed, queries, shares
from livedata.services.fires import TOLD, timetable
from livedata.services.kinds import choice as kinds
from livedata.store.database.store import Database

COMMON: Final = (
    *("0 * * * *", "0 */6 * * *", "0 6 * * *", "0 6 * * mon-fri", "0 6 * * mon", "0 6 1 * *"),
)
"""The schedules that are offered in words; any other is typed."""
OTHER: Final = "other"
PROPERTIES: Final = ("name", "question", "status", "schedule")
_TWO: Final = "is typed, and another one is chosen: choose “as cron:”, or empty the field"
STATES: Final = {
    "draft": "its schedule waits until it is active",
    "active": "its schedule starts Runs",
    "paused": "its schedule starts none",
}
SAVED: Final = {
    "properties": "Saved.",
    "columns": "The columns are saved.",
    "source": "The next Run reads with this source.",
}
"""What is told of a form that was saved."""


class ShownFire(Struct, frozen=True):
    """A moment at which a schedule fires, and how a clock of its zone shows it."""

    at: str
    local: str


@at_one_moment
def show(dataset: str, refused: RefusedForm | None = None, status: int = 200) -> Response:
    """The page of the settings; with what was typed and is not saved, if a form was refused."""
    raw, db, owner = DatasetId(identified(dataset)), g.db, g.caller.owner
    shown, declared = queries.dataset(db, owner, raw), queries.source(db, owner, raw)
    version, fires = queries.recipe_version(db, owner, raw), _fires(db, raw, shown)
    label = queries.label_column(db, owner, raw)
    named_by = label["name"] if label else None
    try:
        source, unwritten = write_declaration(shown["name"], declared), ""
    except Invalid as error:
        source, unwritten = "", error.message
    columns = shown["columns"]
    return page(
        "settings.html",
        data=lambda: {
            "data": shown,
            "upcoming": [fire.at for fire in fires if shown["status"] == "active"],
            "labelColumn": named_by,
            "recipeVersion": version,
            "declaration": declared,
        },
        status=status,
        dataset=shown,
        fires=fires,
        zone=context().zone,
        common=COMMON,
        states=STATES,
        refused=refused,
        saved=None if refused else SAVED.get(request.args.get("saved", "")),
        named_by=named_by or "",
        types=CELL_TYPES,
        may_name=[] if found_by(columns) else [each for each in columns if may_name_rows(each)],
        source=source,
        unwritten=unwritten,
        version=version,
        **_read_by(declared["source"]),
        about=Subject(owner, shown["name"]),
        changes=feed.head(db, owner, raw),
        shared=[each for each in shares.list_shares(db, owner, raw) if not each["revoked"]],
    )


def _read_by(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Whether Runs follow a plan of research, and else the address that they read first."""
    has_plan = kinds.of_source(declared).to_revise(declared) is not None
    return {"has_plan": has_plan, "reads": None if has_plan else declared.get("url")}


def _fires(db: Database, raw: DatasetId, shown: Dataset) -> list[ShownFire]:
    """The next fires of a schedule; those that it would have if it were followed."""
    zone, schedule = context().zone, shown["schedule"]
    moments = [*timetable(db, raw, zone).upcoming]
    # A schedule of before may be one that cannot be read any more.
    if schedule and not moments and shown["status"] != "active" and not schedule_problem(schedule):
        moments = [ids.now()]
        while len(moments) <= TOLD:
            after = ids.to_datetime(moments[-1])
            moments.append(Micros(ids.microseconds(next_fire(schedule, after, zone))))
        del moments[0]
    fires = map(ids.format_timestamp, moments)
    return [ShownFire(fire, said(fire, zone)) for fire in fires]


def save(dataset: str) -> Response:
    """Save the properties that a person has changed."""
    return settled(partial(_save, dataset, request.form))


def _save(dataset: str, form: MultiDict[str, str]) -> Response:
    raw, owner = DatasetId(identified(dataset)), g.caller.owner
    current = queries.dataset(context().store, owner, raw)
    texts: Mapping[str, object] = {**current}
    now = {name: str(texts[name] or "") for name in PROPERTIES}
    form = form.copy()
    clash = _choose_schedule(form)
    # Whoever chooses a state as well means that one.
    if form.get("activate") and form.get("schedule") and form.get("status") == now["status"]:
        form["status"] = "active"
    sent = typed_fields(form, now, long=("question",))
    changed = {name: field.typed for name, field in sent.items() if field.is_changed}
    wrong = {name: now_says(now[name]) for name in changed if sent[name].is_moved}
    if wrong:
        return show(dataset, RefusedForm("properties", changed, CHANGED, wrong), 409)
    body: dict[str, object] = {**changed}
    body |= {name: None for name in ("question", "schedule") if changed.get(name) == ""}
    try:
        if clash:
            raise Invalid(clash, (Detail("schedule", clash),))
        if body:
            _check(body)
            wanted, zone = read(UpdateDataset, body), context().zone
            datasets.update(context().store, owner, raw, wanted, zone, as_read=current)
    except NameTaken as error:
        wrong = {"name": sentences(error)}
        return show(dataset, RefusedForm("properties", changed, WRONG, wrong), 409)
    except Invalid as error:
        wrong = {each.path: f"It {each.message}." for each in error.details}
        return show(dataset, RefusedForm("properties", changed, WRONG, wrong), 422)
    return redirect(f"/datasets/{dataset}/settings?saved=properties", 303)


def _choose_schedule(form: MultiDict[str, str]) -> str | None:
    """Write into a form the schedule that is meant: the chosen or the typed one; or what is wrong.

    Whoever types one need not choose "as cron", and whoever chooses one need not empty the field.
    """
    typed, shown = form.get("schedule", ""), form.get("was-schedule", "")
    offered = shown if shown in {*COMMON, ""} else OTHER
    chosen = form.get("common", OTHER)
    # The field is empty while another one is chosen.
    is_typed = typed not in {shown, "" if offered != OTHER else shown}
    if chosen == OTHER:
        is_lost = "common" in form and shown and offered != OTHER and not typed
        return "is empty: type the five fields of cron, or choose another one" if is_lost else None
    if is_typed and typed != chosen:
        return None if chosen == offered else _TWO
    form["schedule"] = chosen
    return None


def _check(body: Mapping[str, object]) -> None:
    """Judge by the rules what the shape of an update would refuse with less of an explanation."""
    name, schedule = body.get("name"), body.get("schedule")
    wrong: list[Detail] = []
    try:
        if isinstance(name, str):
            check_name(name)
    except Invalid as error:
        wrong += error.details
    problem = schedule_problem(schedule) if isinstance(schedule, str) else None
    wrong += [Detail("schedule", problem)] if problem else []
    if wrong:
        raise invalid(wrong)


def delete(dataset: str) -> Response:
    """Delete a dataset whose name was typed."""
    raw, owner = DatasetId(identified(dataset)), g.caller.owner
    name = queries.dataset(context().store, owner, raw)["name"]
    typed = {"sure": request.form.get("sure", "")}
    if typed["sure"].split() != name.split():
        wrong = {"sure": "Nothing was deleted: type the name of the dataset as it stands here."}
        return show(dataset, RefusedForm("delete", typed, "Nothing was deleted.", wrong), 422)
    try:
        datasets.remove(context().store, owner, raw)
    except Conflict as error:
        return show(dataset, RefusedForm("delete", typed, sentences(error)), 409)
    return redirect("/", 303)
