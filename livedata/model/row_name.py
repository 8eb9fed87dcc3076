"""What people call a row: the text of one of its cells, with its key beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from livedata.model.dataset import Column
from livedata.model.row import Scalar

LONGEST_NAME: Final = 120
"""So many characters has a name at most: it stands in lines, lists and messages."""
_LOOKED_AT: Final = 1_000
"""So many characters of a text are looked at for a name."""
_OF_ENTITY: Final = "entity:"
"""How the key of an entity begins, as research gives them; a digest follows."""


class RowName(Struct, frozen=True):
    """What a row is called, and its key; as a text ``Lamp (A1)``."""

    name: str
    key: str

    @property
    def beside(self) -> str:
        """The key where it tells a reader more than the name does; else nothing."""
        return "" if is_digest(self.key) or self.key == self.name else self.key

    @property
    def row(self) -> str:
        """What programs that do not know its id are told of the row: its key, no digest."""
        return self.name if is_digest(self.key) else self.key

    def _in_words(self) -> str:
        return f"{self.name} ({self.beside})" if self.beside else self.name

    __str__ = _in_words


def is_digest(key: str) -> bool:
    """Whether a key is that of an entity, which tells a reader nothing."""
    return key.startswith(_OF_ENTITY) and len(key) == len(_OF_ENTITY) + 64


def label_of(columns: Iterable[Column], chosen: str | None = None) -> str | None:
    """The field whose text names the rows of a dataset with these columns; None for their keys.

    Rows that were found by a name are called by it, all others by the `chosen` column while that
    may name rows, else by the first collected text beside the key.
    """
    known = [*columns]
    if (match := found_by(known)) is not None:
        return match["id"]
    texts = [column for column in known if may_name_rows(column)]
    if any(column["id"] == chosen for column in texts):
        return chosen
    return next((column["id"] for column in texts if column["ownership"] == "collected"), None)


def may_name_rows(column: Column) -> bool:
    """Whether the owner may choose a column to name rows by: a text that is no part of the key."""
    return column["type"] == "string" and not column["key"]


def found_by(columns: Sequence[Column]) -> Column | None:
    """The column of the names by which rows were found; None if a site gives them their keys."""
    # Only who finds rows by name collects an address: that of the page which has the name.
    if any(column["type"] == "url" and column["ownership"] == "collected" for column in columns):
        return next((column for column in columns if column["key"]), None)
    return None


def name_row(key: str, cells: Mapping[str, Scalar], label: str | None) -> RowName:
    """What the row with a key and these cells by field is called, where `label` names rows.

    Without a text there it is called by its key.
    """
    return RowName(key if label is None else name_of(cells.get(label)) or key, key)


def name_of(text: Scalar) -> str:
    """The name that a cell gives to its row: its text on one line, cut; empty if it has none."""
    if not isinstance(text, str):
        return ""
    name = " ".join(text[:_LOOKED_AT].split())
    is_cut = len(name) > LONGEST_NAME or (len(text) > _LOOKED_AT and bool(name))
    return f"{name[: LONGEST_NAME - 1].rstrip()}…" if is_cut else name
