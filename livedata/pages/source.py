"""The source of a dataset: revised as the text that `dataset revise` reads, or another one tried.

Another one is typed, or looked for on the page as it is; a worker tries it as it looks at pages,
and its preview says what a Run of it would change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from flask import g, redirect, request
from msgspec import Struct
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.formats.source_toml import write_declaration
from livedata.messages.list_doubts import known_records
from livedata.model import ids
from livedata.model.dataset import Column
from livedata.model.diagnosis.recorded_run import PageFact
from livedata.model.errors import (
    ChangedMeanwhile,
    Conflict,
    InsufficientCredits,
    Invalid,
    NotFound,
    RunInProgress,
)
from livedata.model.ids import DatasetId, LookId, OwnerName, RunId
from livedata.model.recipe import Kind, Read, run_kind
from livedata.model.requests import CreateDataset
from livedata.model.research.declaration import PlanFile
from livedata.pages import settings
from livedata.pages.answers import page, sentences
from livedata.pages.looks import PATIENCE, seconds_of
from livedata.pages.typed import CHANGED, WRONG, RefusedForm
from livedata.pages.visits import at_one_moment, context
from livedata.rules.declaration.declaration_text import DeclarationText
from livedata.rules.declaration.research import check_plan_file
from livedata.services import datasets, looks, queries
from livedata.services.kept_output import ProposedChanges
from livedata.services.kinds import choice as kinds
from livedata.services.looks import USABLE, proposed_source
from livedata.services.pages.row_edits import as_sent
from livedata.services.research import declaring
from livedata.store import runs as run_store
from livedata.store.database.store import Database
from livedata.store.looks import StoredLook

LOOKED_BACK: Final = 20
"""Among so many Runs one is looked for that has read a page by the source as it is."""


def revise(dataset: str) -> Response:
    """Pin the source of the form as the next recipe."""
    raw, owner, form = DatasetId(identified(dataset)), g.caller.owner, request.form
    pinned = queries.source(context().store, owner, raw)["source"]
    typed, version = as_sent(form.get("source", "")), form.get("version", "")
    after = int(version) if version.isascii() and version.isdecimal() and len(version) < 10 else 0
    written = DeclarationText(typed)

    def refused(status: int, why: str, error: Invalid | None = None) -> Response:
        lines = () if error is None else [each.message for each in error.details]
        lines = lines or ([] if error is None else [error.message])
        return settings.show(
            dataset, RefusedForm("source", {"source": typed}, why, {}, lines), status
        )

    try:
        _REVISES[run_kind(pinned)](raw, written, after)
    except ChangedMeanwhile:
        return refused(409, CHANGED)
    except RunInProgress as error:
        return refused(409, f"{WRONG} {sentences(error)}")
    except Invalid as error:
        return refused(422, WRONG, written.locate(error))
    return redirect(f"/datasets/{dataset}/settings?saved=source#source", 303)


def typed_source(written: DeclarationText) -> CreateDataset:
    """The source that a person has typed, which is one of selectors. Raises Invalid."""
    declared = written.shaped(CreateDataset, written.value())
    if (mark := written.not_ready) is not None:
        line, why = mark
        sentence = f"this source is marked as not ready: {why}. Mend it, then delete this line."
        raise Invalid(written.told(sentence, line))
    return declared


def _revise_source(dataset: DatasetId, written: DeclarationText, after: int) -> None:
    declared, shared = typed_source(written), context()
    datasets.revise(shared.store, g.caller.owner, dataset, declared, shared.targets, after=after)


def _revise_plan(dataset: DatasetId, written: DeclarationText, after: int) -> None:
    declared, shared = written.shaped(PlanFile, written.value()), context()
    check_plan_file(declared, shared.research, shared.targets)
    declaring.revise(shared.store, g.caller.owner, dataset, declared, after=after)


_REVISES: Final[Mapping[Kind, Callable[[DatasetId, DeclarationText, int], None]]] = {
    "selectors": _revise_source,
    "research": _revise_plan,
}
"""What reads the text of each kind of declaration, and pins it."""


_REVISED: Final = (
    "Nothing was changed. The source was revised after this was tried: look at it in Settings, "
    "then try again."
)


@at_one_moment
def preview(dataset: str, refused: RefusedForm | None = None, status: int = 200) -> Response:
    """The page of the newest preview: how far it is, or what a Run would change."""
    raw, db, owner = DatasetId(identified(dataset)), g.db, g.caller.owner
    shown, look = queries.dataset(db, owner, raw), looks.of_dataset(db, owner, raw)
    tried = None if look is None or look.is_open else look.tried
    changes = None if tried is None else _changes(tried)
    declared = queries.source(db, owner, raw)
    # What was tried says what it reads by itself.
    reading = _reading(db, owner, raw, shown["columns"]) if tried is None else None
    return page(
        "preview.html",
        data=lambda: {"data": _as_json(look), "changes": changes},
        status=status,
        dataset=shown,
        path=f"/datasets/{dataset}/preview",
        look=look,
        id=None if look is None else ids.format_uuid(look.id),
        tried=tried,
        suggestion=None if tried is None else tried["suggestion"],
        changes=changes,
        more=None,
        usable=changes is not None and tried is not None and tried["outcome"] in USABLE,
        reading=reading,
        source=_source(shown["name"], look, refused, None if reading is None else declared),
        version=queries.recipe_version(db, owner, raw),
        known_records=known_records,
        refused=refused,
        **_progress(look),
    )


def _changes(tried: Any) -> ProposedChanges | None:
    """The rows that would change, of a trial that the Checks have not refused."""
    return msgspec.convert(tried["changes"], ProposedChanges) if "changes" in tried else None


def _source(
    name: str,
    look: StoredLook | None,
    refused: RefusedForm | None,
    pinned: Mapping[str, Any] | None,
) -> str:
    """The source as TOML that was typed last, or tried, or else the one that is read with.

    Nothing if it cannot be written.
    """
    if refused is not None and refused.typed:
        return refused.typed["source"]
    declared = pinned if look is None else proposed_source(look) or pinned
    try:
        return "" if declared is None else write_declaration(name, declared)
    except Invalid:
        return ""


class ReadField(Struct, frozen=True):
    """What reads a column, and in how many items its selector matched when a Run read it last."""

    label: str
    place: str
    matched: int
    is_whole: bool


def _reading(
    db: Database, owner: OwnerName, dataset: DatasetId, columns: Sequence[Column]
) -> dict[str, Any] | None:
    """What a source of selectors reads, and how much of it was found; None of any other.

    What finds least comes first.
    """
    source = queries.source(db, owner, dataset)["source"]
    if kinds.of_source(source).to_revise(source) is not None:
        return None
    run, pages = _last_read(db, owner, dataset)
    named = {column["name"]: column["label"] for column in columns}
    count = sum(page["items"] for page in pages)
    fields = []
    for place, each in enumerate(source["fields"]):
        matched = sum(page["matches"][place] for page in pages)
        where = Read(**each["read"]).place
        is_whole = bool(count) and matched == count
        fields.append(ReadField(named.get(each["name"], each["name"]), where, matched, is_whole))
    fields.sort(key=lambda each: each.matched)
    counts = {"run": run, "items": count, "pages": len(pages)}
    return {"url": source["url"], "rows": source["itemSelector"], "fields": fields, **counts}


def _last_read(
    db: Database, owner: OwnerName, dataset: DatasetId
) -> tuple[str | None, Sequence[PageFact]]:
    """The last Run that has read a page by the newest recipe, and its pages; None if none has."""
    version = queries.recipe_version(db, owner, dataset)
    for run in queries.runs(db, owner, dataset, LOOKED_BACK):
        raw = RunId(ids.raw_id(run["id"]))
        with db.reading() as reader:
            is_by_it = run_store.recipe_version(reader, raw) == version
            pages = run_store.facts(reader, raw)[1].get("pages", []) if is_by_it else []
        if pages:
            return run["id"], pages
    return None, []


def _progress(look: StoredLook | None) -> dict[str, Any]:
    """How far an open preview is."""
    if look is None or not look.is_open:
        return {}
    return {
        "since": ids.format_timestamp(look.started or look.asked),
        "seconds": seconds_of(look),
        "patience": PATIENCE,
    }


def _as_json(look: StoredLook | None) -> dict[str, object] | None:
    """A preview for a program."""
    if look is None:
        return None
    return {
        "id": ids.format_uuid(look.id),
        "status": look.status,
        "askedAt": ids.format_timestamp(look.asked),
        "far": look.far,
        "declaration": proposed_source(look),
        "tried": look.tried,
        "error": look.error,
    }


def try_out(dataset: str) -> Response:
    """Try the source of the form, or one that is looked for on the page as it is now."""
    raw, owner, form = DatasetId(identified(dataset)), g.caller.owner, request.form
    text = as_sent(form.get("source", ""))
    written = DeclarationText(text)
    typed = {"source": text} if "source" in form else {}
    store = context().store

    def refused(status: int, why: str, *lines: str) -> Response:
        return preview(dataset, RefusedForm("source", typed, why, {}, lines), status)

    if typed and form.get("version") != str(queries.recipe_version(store, owner, raw)):
        return refused(409, CHANGED)
    try:
        declaration = _declaration(written) if typed else None
        looks.try_source(store, owner, raw, declaration, context().targets)
    except Invalid as error:
        told = written.locate(error) if typed else error
        lines = [each.message for each in told.details] or [told.message]
        return refused(422, WRONG if typed else "Nothing was tried.", *lines)
    except Conflict as error:
        return refused(409, sentences(error))
    return redirect(f"/datasets/{dataset}/preview", 303)


def _declaration(written: DeclarationText) -> Mapping[str, Any]:
    """The source that was typed, as it stands there. Raises Invalid."""
    typed_source(written)
    value = written.value()
    assert isinstance(value, dict)  # it was read as one
    return value


def stop(dataset: str) -> Response:
    """Stop a preview that is open."""
    looks.stop_trial(context().store, g.caller.owner, DatasetId(identified(dataset)))
    return redirect(f"/datasets/{dataset}/preview", 303)


def use(dataset: str) -> Response:
    """Revise the dataset by the source that was tried, and run it."""
    shared, owner = context(), g.caller.owner
    raw = DatasetId(identified(dataset))
    try:
        look = LookId(identified(request.form.get("look", "")))
        run = looks.use(shared.store, owner, look, shared.targets)
    except NotFound:
        return _used(dataset, raw)
    except ChangedMeanwhile:
        return preview(dataset, RefusedForm("use", {}, _REVISED), 409)
    except (Invalid, Conflict, InsufficientCredits) as error:
        why = f"Nothing was changed. {sentences(error)}"
        status = 422 if isinstance(error, Invalid) else 409
        return preview(dataset, RefusedForm("use", {}, why), status)
    return redirect(f"/runs/{ids.format_uuid(run)}", 303)


def _used(dataset: str, raw: DatasetId) -> Response:
    """What answers whoever clicks twice: the Run that the first click has enqueued."""
    last = queries.dataset(context().store, g.caller.owner, raw)["lastRun"]
    if last is not None and last["status"] in {"queued", "running"}:
        return redirect(f"/runs/{last['id']}", 303)
    why = "This preview was used, or is older than a day: try the source again."
    return preview(dataset, RefusedForm("use", {}, why), 409)
