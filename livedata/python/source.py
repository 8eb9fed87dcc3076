"""What a table in Python is read from: a store, or a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from reprlib import repr as shorten
from typing import Any, Protocol, Self, TypedDict

from msgspec import Struct
from typing_extensions import override

from livedata.hints import Subject, hints
from livedata.model.dataset import Dataset
from livedata.model.errors import BadRequest, Invalid, LivedataError
from livedata.model.row import RevisionKind, Scalar


class RowQuestion(Struct, frozen=True):
    """Which rows of a table: those of a moment, of which clauses hold, with `gone` the gone too.

    With `columns` only these, and nothing else of a row.
    """

    at: str | None = None
    where: Sequence[str] = ()
    columns: Sequence[str] = ()
    gone: bool = False


class ChangeQuestion(Struct, frozen=True):
    """Which changes of a table: after a sequence or since a moment, and by conditions."""

    after: int | None = None
    since: str | None = None
    when: Sequence[str] = ()
    where: Sequence[str] = ()
    columns: Sequence[str] = ()


class TableRows(Struct, frozen=True):
    """Rows with the names of their columns, of the table as it was at the sequence `through`."""

    names: Sequence[str]
    values: Sequence[Sequence[Scalar]]
    through: int


class CellChange(TypedDict):
    """A cell that changed; without a `column`, a row that came without a value, or left."""

    sequence: int
    at: str
    kind: RevisionKind
    rowKey: str
    column: str | None
    before: Scalar
    after: Scalar


class TableChanges(Iterator[CellChange]):
    """The changes of a table, the oldest first, up to the sequence `through`.

    Who keeps `through` and asks ``changes(after=through)`` next time misses none, and gets none
    twice.
    """

    def __init__(self, through: int, lines: Iterator[CellChange]) -> None:
        self.through = through
        self._lines = lines

    @override
    def __repr__(self) -> str:
        return f"<TableChanges up to {self.through}>"

    @override
    def __iter__(self) -> Self:
        return self

    @override
    def __next__(self) -> CellChange:
        return next(self._lines)


class TableSource(Protocol):
    """A table as one door gives it; each method raises LivedataError with a sentence.

    Of these NotFound if the dataset was deleted, Invalid for what is wrong in a question.
    """

    @property
    def place(self) -> str:
        """Where the table is, for people."""

    def dataset(self) -> Dataset:
        """The dataset as it is (interface 2.1)."""

    def rows(self, asked: RowQuestion) -> TableRows:
        """Rows, all of one moment."""

    def two_moments(self, since: str, until: str | None) -> tuple[TableRows, TableRows]:
        """The rows at two moments, those that are gone too; `until` is now without one."""

    def first_rows(self, most: int) -> TableRows:
        """The first rows of the table as it is; no more is read."""

    def changes(self, asked: ChangeQuestion) -> TableChanges:
        """Changes, a line for each cell."""

    def arrow(self, asked: RowQuestion) -> Any:
        """Rows as a `pyarrow.Table`; raises FormUnavailable where pyarrow is missing."""


def named(dataset: object) -> str:
    """The name of a dataset, as it was given. Raises Invalid for what is no text."""
    if not isinstance(dataset, str):
        raise Invalid(f"A dataset is given by its name or its id, not by {shorten(dataset)}.")
    return encodable("The name of a dataset", dataset)


def encodable(name: str, text: str) -> str:
    """The same text. Raises Invalid if a character of it is none, as Python's texts may have."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = text[error.start]
        raise Invalid(f"{name} holds half a character, {half!r}, which no text has.") from None
    return text


@contextmanager
def sentences(owner: str = "local") -> Iterator[None]:
    """Let what goes wrong say in its own text what to do; a wrong question is Invalid."""
    try:
        yield
    except LivedataError as error:
        whole = " ".join([error.message, *hints(error.remedies, Subject(owner))])
        if isinstance(error, BadRequest):
            raise Invalid(whole, error.details, error.remedies) from None
        error.args = (whole,)
        raise
