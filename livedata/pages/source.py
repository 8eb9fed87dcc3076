"""The source of a dataset as a person revises it: the text that `dataset revise` reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from flask import g, redirect, request
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.model.errors import ChangedMeanwhile, Invalid, RunInProgress
from livedata.model.ids import DatasetId
from livedata.model.recipe import Kind, run_kind
from livedata.model.requests import CreateDataset
from livedata.model.research.declaration import PlanFile
from livedata.pages.answers import sentences
from livedata.pages.settings import show
from livedata.pages.typed import CHANGED, WRONG, RefusedForm
from livedata.pages.visits import context
from livedata.rules.declaration.declaration_text import DeclarationText
from livedata.rules.declaration.research import check_plan_file
from livedata.services import datasets, queries
from livedata.services.pages.row_form import as_sent
from livedata.services.research import declaring


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
        return show(dataset, RefusedForm("source", {"source": typed}, why, {}, lines), status)

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
