"""Edits by a person: the cells of a row that come back changed from its form, and of many rows.

A browser sends every cell, also those that nobody touched. A text is changed only if it differs
from what a browser would have sent for the revision that the form showed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from string import ascii_letters, digits
from typing import Final

from msgspec import Struct

from livedata.model import ids
from livedata.model.dataset import Column, words
from livedata.model.ids import DatasetId, OwnerName, RevisionId, RowId
from livedata.model.row import CellOverrides, Change, RowEdit, Scalar
from livedata.model.row_name import RowName
from livedata.rules.changes.compare import CurrentRow
from livedata.services.pages.table import ON_A_PAGE
from livedata.store import datasets, feed, rows
from livedata.store.database.backend import Reader
from livedata.store.database.codec import Fields
from livedata.store.database.store import Database
from livedata.store.datasets import DatasetRef
from livedata.store.shown_rows import names

PREFIX: Final = "value-"
"""What the name of each cell begins with in the form; its field follows."""
MOST_SENT: Final = 700_000
"""So many bytes of cells go into one form: the server refuses a larger one as a whole."""
_PLAIN: Final = f"{ascii_letters}{digits}*-._ ".encode()
"""What a form sends as one byte; every other byte takes three."""


class Typed(Struct, frozen=True):
    """What a person asks for: the new text of each cell that was changed, and what to reset."""

    texts: Mapping[str, str]
    resets: Sequence[str] = ()

    @property
    def fields(self) -> Collection[str]:
        """The fields that are named."""
        return [*self.texts, *self.resets]


def as_text(value: Scalar) -> str:
    """A value as the form has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else words(value)


def as_sent(text: str) -> str:
    """A text as it comes back from a form: with one kind of line end, and without NUL."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


def fitting(columns: Sequence[Column], values: Mapping[str, Scalar]) -> frozenset[str]:
    """The fields that go into one form, in their order: all but those of a very long row."""
    fits, left = set(), MOST_SENT
    for column in columns:
        size = _size(as_text(values.get(column["id"])))
        if not column["key"] and size <= left:
            fits.add(column["id"])
            left -= size
    return frozenset(fits)


def typed(form: Mapping[str, str], before: Mapping[str, Scalar]) -> Typed:
    """What a person has changed in a form that showed the values `before`."""
    resets = [form["reset"]] if form.get("reset") else []
    texts = {
        name.removeprefix(PREFIX): as_sent(text)
        for name, text in form.items()
        if name.startswith(PREFIX)
    }
    changed = {
        field: text
        for field, text in texts.items()
        if field not in resets and text != as_sent(as_text(before.get(field)))
    }
    return Typed(changed, resets)


def values_at(
    db: Database, owner: OwnerName, dataset: DatasetId, row: RowId, revision: str
) -> Mapping[str, Scalar] | None:
    """What a row said at a revision; None if it never had that. Raises NotFound."""
    try:
        wanted = RevisionId(ids.raw_id(revision))
    except ValueError:
        return None
    with db.reading() as reader:
        fields = datasets.ref(reader, owner, dataset).fields
        change = feed.revision(reader, dataset, fields, wanted)
    return None if change is None or ids.raw_id(change["rowId"]) != row else change["data"]


def _size(text: str) -> int:
    sent = text.encode(errors="replace")
    return len(sent) + 2 * len(sent.translate(None, _PLAIN))


MOST_ROWS: Final = ON_A_PAGE
"""So many rows are edited at once: those of a page."""
_UNDO: Final = "undo "
"""How the request id of what undoes an edit begins."""


class ColumnEdit(Struct, frozen=True):
    """What is to be done to a column: to `set` it to a value, or to `reset` it to the source."""

    column: Column
    resets: bool
    value: Scalar = None


class RowPlan(Struct, frozen=True):
    """A row of several: what its cell says now, and what it would say; if it changes, by an edit.

    One that `resets` is given back to the source. `now` has what its cells say by their fields, as
    long as no edit is asked for. Its source has a row that `is_gone` no more.
    """

    id: str
    name: RowName
    revision: str
    before: Scalar
    after: Scalar
    changes: bool
    resets: bool = False
    now: Mapping[str, Scalar] = {}
    is_gone: bool = False

    def edit(self, field: str, request_id: str) -> RowEdit:
        """The edit of the row."""
        if self.resets:
            return RowEdit(self.revision, request_id, reset_field_ids=[field])
        return RowEdit(self.revision, request_id, values={field: self.after})


class DoneEdit(Struct, frozen=True):
    """An edit of several rows that was saved: its column, and what undoes it in each of the rows.

    A row that has changed since is not undone.
    """

    column: Column
    rows: Sequence[RowPlan]
    undo: str
    """The request id of what undoes it."""


def planned(
    db: Database,
    owner: OwnerName,
    dataset: DatasetId,
    wanted: Sequence[RowId],
    asked: ColumnEdit | None,
) -> list[RowPlan]:
    """What an edit would change in these rows; those that are gone from the dataset are left out.

    Without an edit only what they say now. Raises NotFound for a dataset that is not the owner's.
    """
    with db.reading() as reader:
        ref = datasets.ref(reader, owner, dataset)
        name = ref.fields.namer
        return [
            _planned(row, name(row.key, row.cells.values), ref.fields, asked)
            for row in _current(reader, ref, wanted)
        ]


def _current(reader: Reader, ref: DatasetRef, wanted: Sequence[RowId]) -> Iterator[CurrentRow]:
    # Without evidence and pages: what an edit changes needs the cells alone.
    each = (rows.current_one(reader, ref.id, row) for row in wanted)
    return (row for row in each if row is not None)


def _planned(row: CurrentRow, name: RowName, fields: Fields, asked: ColumnEdit | None) -> RowPlan:
    row_id, revision = ids.format_uuid(row.id), ids.format_uuid(row.revision_id)
    is_gone = row.presence == "missing"
    if asked is None:
        # A row may be older than the last columns.
        now = fields.cells(row.cells.values)
        return RowPlan(row_id, name, revision, None, None, changes=False, now=now, is_gone=is_gone)
    position = fields.positions[asked.column["id"]]
    before, source = row.cells.value(position), row.cells.source(position)
    # To pin a value that stands there already would write a revision that nobody sees.
    after = source[0] if asked.resets else asked.value
    changes = position in row.cells.overrides if asked.resets else _differ(before, after)
    told = row_id, name, revision, before, after
    return RowPlan(*told, changes, resets=asked.resets, is_gone=is_gone)


def done(
    db: Database, owner: OwnerName, dataset: DatasetId, wanted: Sequence[RowId], request_id: str
) -> DoneEdit | None:
    """What an edit of a request id has changed in these rows; None if there is no such edit.

    Raises NotFound for a dataset that is not the owner's.
    """
    with db.reading() as reader:
        ref = datasets.ref(reader, owner, dataset)
        called = names(reader, ref.fields, [ids.format_uuid(row) for row in wanted])
        changes = list(_changes(reader, ref, wanted, request_id))
        if not changes:
            return None
        column = ref.fields.columns.get(changes[0]["changedFieldIds"][0])
        if column is None:  # it was dropped since
            return None
        current = {row.revision_id for row in _current(reader, ref, wanted)}
        undone = [_undone(each, called[each["rowId"]], column, current) for each in changes]
    # A digest, so that an edit which is undone and done again for long has ids of one length.
    undo = f"{_UNDO}{sha256(request_id.encode()).hexdigest()}"
    return DoneEdit(column, undone, undo)


def _changes(
    reader: Reader, ref: DatasetRef, wanted: Sequence[RowId], request_id: str
) -> Iterator[Change]:
    for row in wanted:
        written = feed.by_request(reader, row, request_id)
        change = written and feed.revision(reader, ref.id, ref.fields, RevisionId(written[0]))
        # Only one column of a row is edited together with those of others.
        if change and len(change["changedFieldIds"]) == 1:
            yield change


def _undone(
    change: Change, name: RowName, column: Column, current: Collection[RevisionId]
) -> RowPlan:
    """What undoes a change: `after` is what stood there before."""
    field, revision = column["id"], change["id"]
    before: Mapping[str, Scalar] = change["before"] or {}
    overrides: CellOverrides = change.get("beforeOverrides", {})
    # A cell without a hand edit before gets the source's value of today, not that of then.
    follows = column["ownership"] == "collected" and field not in overrides
    return RowPlan(
        *(change["rowId"], name, revision, change["data"].get(field), before.get(field)),
        changes=ids.raw_id(revision) in current,
        resets=follows,
    )


def _differ(before: Scalar, after: Scalar) -> bool:
    """Whether two values differ: to Python True is 1."""
    return before != after or isinstance(before, bool) != isinstance(after, bool)
