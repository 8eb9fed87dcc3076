"""A look at a page for somebody who makes a table of it, or mends one: what was seen there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from livedata.model.ids import DatasetId, OwnerName
from livedata.model.recipe import Render
from livedata.model.row import Scalar

LONGEST_LIKE: Final = 200
"""So many characters has a text of the list that is meant."""
LONGEST_ADDRESS: Final = 2048


class LookWish(Struct, frozen=True):
    """The page to look at, and which of its lists is meant, if somebody says so.

    `like` is a text of one of its records, `number` its place among the lists, from 1.
    """

    url: str
    render: Render = "static"
    like: str = ""
    number: int | None = None


class ListOnPage(Struct, frozen=True):
    """A list of a page: how many records it has, and its first rows; it may have no columns."""

    number: int
    selector: str
    records: int
    begins: str
    names: Sequence[str] = ()
    rows: Sequence[Sequence[Scalar]] = ()


class ProvenKey(Struct, frozen=True):
    """Columns that tell all records apart that were read, and why they may or may not stay so."""

    names: Sequence[str]
    reason: str
    sure: bool


class PageLook(Struct, frozen=True):
    """What was seen of a page: its lists, and a declaration for one of them, if there is any.

    `read` has the address of each page that was read for it, with its records.
    `filled` says in how many of the `records` each column has a value. `unsure` are sentences
    without their points, and `error` says why no declaration is ready.
    """

    lists: Sequence[ListOnPage] = ()
    number: int | None = None
    declaration: Mapping[str, Any] | None = None
    names: Sequence[str] = ()
    rows: Sequence[Sequence[Scalar]] = ()
    filled: Sequence[int] = ()
    records: int = 0
    read: Sequence[tuple[str, int]] = ()
    keys: Sequence[ProvenKey] = ()
    unsure: Sequence[str] = ()
    error: str | None = None


class LookTask(Struct, frozen=True):
    """What the program is to do that reads websites for looks: look, or try a declaration.

    With a `dataset` the declaration is the next one of that, which is looked for if there is none.
    """

    wish: LookWish
    declaration: Mapping[str, Any] | None = None
    owner: OwnerName | None = None
    dataset: DatasetId | None = None


class LookAnswer(Struct, frozen=True, omit_defaults=True):
    """A line that this program writes: how far it is, at last what it saw or tried, or why not."""

    far: str = ""
    seen: PageLook | None = None
    tried: Mapping[str, Any] | None = None
    error: str | None = None
