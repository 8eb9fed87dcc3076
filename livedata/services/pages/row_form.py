"""The one form of a row: what a browser shows of each cell, and which ones come back changed.

A browser sends every cell, also those that nobody touched. A text is changed only if it differs
from what a browser would have sent for the revision that the form showed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from string import ascii_letters, digits
from typing import Final

from msgspec import Struct

from livedata.model import ids
from livedata.model.dataset import Column
from livedata.model.ids import DatasetId, OwnerName, RevisionId, RowId
from livedata.model.row import Scalar
from livedata.services.pages.table import words
from livedata.store import datasets, feed
from livedata.store.database.store import Database

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
