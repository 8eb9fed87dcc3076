"""The columns of a dataset as a person changes them: labels, descriptions, order, one's own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Final

from flask import g, redirect, request
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.messages.request import format_detail
from livedata.messages.validation import read
from livedata.model.dataset import Column, columns_by_id
from livedata.model.errors import ChangedMeanwhile, Detail, Invalid, SchemaVersionConflict
from livedata.model.ids import DatasetId
from livedata.model.requests import UpdateDataset
from livedata.pages.settings import show
from livedata.pages.typed import CHANGED, WRONG, RefusedForm, now_says, settled, typed_fields
from livedata.pages.visits import context
from livedata.services import datasets, queries

_TEXTS: Final = ("label", "description")
_LABEL: Final = "label-column"
_PLACE: Final = re.compile(r"[0-9]{1,4}")
_OF_A_COLUMN: Final = re.compile(r"columns\[(\d+)\]\.(\w+)")
_REORDERED: Final = "The columns stand in another order now than you saw."


class _ColumnsForm:
    """What a person has changed of the columns: texts, places, what names rows, and a new one."""

    def __init__(
        self, form: MultiDict[str, str], columns: Sequence[Column], label: Column | None
    ) -> None:
        self._columns = columns_by_id(columns)
        now = {
            f"{name}-{column['id']}": str(column.get(name, ""))
            for column in columns
            for name in _TEXTS
        }
        self._fields = typed_fields(form, {**now, _LABEL: label["name"] if label else ""})
        self._shown = [each for each in form.get("order", "").split() if each in self._columns]
        self._places = {
            each: form.get(f"place-{each}", str(place)).strip()
            for place, each in enumerate(self._shown, 1)
        }
        self._new = {name: form.get(f"new-{name}", "").strip() for name in ("name", "type")}
        # Whoever clicks twice has added it already.
        if self._has_new():
            self._new["name"] = ""

    def _has_new(self) -> bool:
        wanted = (self._new["name"], self._new["type"], "user")
        return any(
            (column["name"], column["type"], column["ownership"]) == wanted
            for field, column in self._columns.items()
            if field not in self._shown
        )

    @property
    def typed(self) -> dict[str, str]:
        """What was changed, by the names of the fields."""
        typed = {name: field.typed for name, field in self._fields.items() if field.is_changed}
        typed |= {
            f"place-{each}": text
            for place, (each, text) in enumerate(self._places.items(), 1)
            if text != str(place)
        }
        new = {f"new-{name}": text for name, text in self._new.items()}
        return typed | (new if self._new["name"] else {})

    @property
    def moved(self) -> dict[str, str]:
        """What stands now in fields that a person and somebody else have changed. Raises Invalid"""
        moved = {name: now_says(each.now) for name, each in self._fields.items() if each.is_moved}
        return moved if self.order is not None else {**moved, "order": _REORDERED}

    @property
    def order(self) -> list[str] | None:
        """The columns by their ids as they are to stand; None if somebody else has moved them too.

        Raises Invalid for a place that is no number.
        """
        wanted = self._sorted()
        now = [each for each in self._columns if each in self._places]
        if wanted in (self._shown, now):
            return [*self._columns]
        if now != self._shown:
            return None
        return [*wanted, *(each for each in self._columns if each not in self._places)]

    def _sorted(self) -> list[str]:
        wrong = [each for each, text in self._places.items() if not _PLACE.fullmatch(text)]
        if wrong:
            why = "must be a whole number"
            raise Invalid(f"place {why}.", tuple(Detail(f"place-{each}", why) for each in wrong))
        keys = {}
        for place, (each, text) in enumerate(self._places.items(), 1):
            # One that moves up comes before the one that has its place, one that moves down after.
            keys[each] = (int(text), (int(text) > place) - (int(text) < place), place)
        return sorted(self._places, key=keys.__getitem__)

    @property
    def label(self) -> str | None:
        """The column that is to name rows, if another one is wanted."""
        field = self._fields.get(_LABEL)
        return field.typed if field is not None and field.is_changed else None

    def update(self, version: int) -> dict[str, object] | None:
        """The body of the update of the columns; None if they stay as they are."""
        order, changes = self.order or [], bool(self._new["name"])
        changes |= order != [*self._columns]
        listed: list[dict[str, object]] = []
        for each in order:
            column = self._columns[each]
            sent: dict[str, object] = {"id": each, "name": column["name"], "type": column["type"]}
            for name in _TEXTS:
                field = self._fields.get(f"{name}-{each}")
                if field is not None and field.is_changed:
                    sent[name], changes = field.typed, True
            listed.append(sent)
        if self._new["name"]:
            listed.append({**self._new, "ownership": "user"})
        return {"expectedSchemaVersion": version, "columns": listed} if changes else None

    def refused(self, error: Invalid) -> RefusedForm:
        """The form with what is wrong beside its fields."""
        wrong, lines, order = {}, [], []
        if not any(detail.path.startswith("place-") for detail in error.details):
            order = self.order or []
        for detail in error.details:
            name = _field(detail.path, order)
            if name is None:
                lines.append(f"{format_detail(detail)}.")
            else:
                wrong[name] = f"It {detail.message}." if detail.is_predicate else detail.message
        return RefusedForm("columns", self.typed, WRONG, wrong, lines or ())


def _field(path: str, order: Sequence[str]) -> str | None:
    """The field of the form that a place of an update is about."""
    if path.startswith("place-"):
        return path
    if path == "labelColumn":
        return _LABEL
    match = _OF_A_COLUMN.fullmatch(path)
    if match is None:
        return None
    place, name = int(match[1]), match[2]
    if place >= len(order):
        return f"new-{name}" if name in {"name", "type"} else None
    return f"{name}-{order[place]}" if name in _TEXTS else None


def save(dataset: str) -> Response:
    """Save what a person has changed of the columns, and add one of their own if it is named."""
    return settled(partial(_save, dataset, request.form))


def _save(dataset: str, form: MultiDict[str, str]) -> Response:
    raw, owner, store = DatasetId(identified(dataset)), g.caller.owner, context().store
    current = queries.dataset(store, owner, raw)
    label = queries.label_column(store, owner, raw)
    sent = _ColumnsForm(form, current["columns"], label)
    try:
        if moved := sent.moved:
            return show(dataset, RefusedForm("columns", sent.typed, CHANGED, moved), 409)
        body = sent.update(current["schemaVersion"])
        if body or sent.label is not None:
            wanted, zone = read(UpdateDataset, body) if body else None, context().zone
            label_column = sent.label
            datasets.update(
                store, owner, raw, wanted, zone, label_column=label_column, as_read=current
            )
    except SchemaVersionConflict as error:
        raise ChangedMeanwhile from error
    except Invalid as error:
        return show(dataset, sent.refused(error), 422)
    return redirect(f"/datasets/{dataset}/settings?saved=columns#columns", 303)
