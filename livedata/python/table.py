"""A table to be read in Python, wherever it is (rules 18)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from html import escape
from importlib import import_module
from typing import Any, Final, TypeAlias

from typing_extensions import override

from livedata.messages.controls import escape_controls
from livedata.model.dataset import Column
from livedata.model.errors import FormUnavailable, Invalid
from livedata.model.row import Scalar
from livedata.python.source import ChangeQuestion, RowQuestion, TableChanges, TableSource
from livedata.python.table_diff import diff_rows
from livedata.services.moments import RowDiff

When: TypeAlias = "str | int | date | datetime"
"""A moment with its zone, a day, a sequence, or the id of a Run (rules 15.1)."""
Texts: TypeAlias = "str | Iterable[str]"
"""A text, or some."""
_SHOWN: Final = 20
"""So many rows stand in a notebook."""
_LONGEST: Final = 200
"""So many characters of a cell stand in a notebook."""


class Table:
    """A table of livedata, to be read: nothing here writes.

    Each question reads the table anew. It raises LivedataError with one sentence: NotFound once the
    dataset is deleted, Invalid for what is wrong in the question.
    """

    def __init__(self, name: str, source: TableSource) -> None:
        """The table of a dataset; `livedata.open` and `livedata.connect` make one."""
        self.name = name
        self._source = source

    @property
    def columns(self) -> list[Column]:
        """The columns as they are now, each as interface 2.2 has it."""
        return self._source.dataset()["columns"]

    def rows(
        self,
        *,
        at: When | None = None,
        where: Texts = (),
        columns: Texts | None = None,
        gone: bool = False,
    ) -> list[dict[str, Scalar]]:
        """The rows as an export has them, each by the names of its columns (rules 18.3).

        `at` asks for the rows of another moment, `where` for those of which all clauses hold,
        `columns` for these columns alone, `gone` also for the rows that are gone.
        """
        table = self._source.rows(_rows_asked(at, where, columns, gone))
        return [dict(zip(table.names, row, strict=True)) for row in table.values]

    def changes(
        self,
        *,
        after: int | None = None,
        since: When | None = None,
        when: Texts = (),
        where: Texts = (),
        columns: Texts | None = None,
    ) -> TableChanges:
        """The changes after a sequence or since a moment, a dict for each cell (rules 17.4).

        `when` leaves out those that do not meet all of its clauses. The iterator knows the sequence
        `through` to which it goes, with which `after` goes on next time.
        """
        if after is not None:
            _check_sequence(after)
        moment = None if since is None else _moment("since", since)
        asked = ChangeQuestion(
            after, moment, _texts("when", when), _texts("where", where), _columns(columns)
        )
        return self._source.changes(asked)

    def diff(self, since: When, until: When | None = None) -> list[RowDiff]:
        """What became of the table between two moments, or up to now, net (rules 15.4).

        For each row that differs its `kind`, its key as `row`, and what `changed`, by column.
        """
        now = self._source.rows(_rows_asked(until, (), None, gone=True))
        then = self._source.rows(_rows_asked(since, (), None, gone=True))
        if then.through > now.through:
            raise Invalid(f"{since} is later than {until}: write the earlier moment first.")
        return diff_rows(then, now)

    def to_arrow(
        self,
        *,
        at: When | None = None,
        where: Texts = (),
        columns: Texts | None = None,
        gone: bool = False,
    ) -> Any:
        """The rows as a `pyarrow.Table`, with the types of their columns (rules 18.3).

        Raises FormUnavailable if pyarrow is not installed, here or on the server.
        """
        return self._source.arrow(_rows_asked(at, where, columns, gone))

    def to_pandas(
        self,
        *,
        at: When | None = None,
        where: Texts = (),
        columns: Texts | None = None,
        gone: bool = False,
    ) -> Any:
        """The same as a `pandas.DataFrame`."""
        _required("pandas")
        return self.to_arrow(at=at, where=where, columns=columns, gone=gone).to_pandas()

    def to_polars(
        self,
        *,
        at: When | None = None,
        where: Texts = (),
        columns: Texts | None = None,
        gone: bool = False,
    ) -> Any:
        """The same as a `polars.DataFrame`."""
        polars = _required("polars")
        return polars.from_arrow(self.to_arrow(at=at, where=where, columns=columns, gone=gone))

    @override
    def __repr__(self) -> str:
        return f"<Table {self.name!r} of {self._source.place}>"

    def _repr_html_(self) -> str:
        """The first rows, for a notebook; what a site wrote is text there, and nothing else."""
        dataset, table = self._source.dataset(), self._source.first_rows(_SHOWN)
        heads = "".join(f"<th>{_text(name)}</th>" for name in table.names)
        lines = "".join(
            f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in table.values
        )
        count = dataset["rowCount"]
        about = f"{count} {'row' if count == 1 else 'rows'}"
        if count > len(table.values):
            about += f", the first {len(table.values)} of them shown"
        last = dataset["lastRun"]
        if last is not None:
            about += f"; the last Run: {last['status']}"
        return (
            f"<table><caption>{_text(dataset['name'])}: {about}</caption>"
            f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
        )


def _rows_asked(
    when: When | None,
    where: Texts,
    columns: Texts | None,
    gone: bool,
) -> RowQuestion:
    moment = None if when is None else _moment("at", when)
    return RowQuestion(moment, _texts("where", where), _columns(columns), bool(gone))


def _moment(name: str, when: When) -> str:
    """A moment as text. Raises Invalid for what is none."""
    if isinstance(when, datetime):
        if when.utcoffset() is None:
            raise Invalid(
                f"{name} needs a zone, such as datetime(2026, 3, 1, 8, tzinfo=UTC), which {when} "
                "has not."
            )
        return when.isoformat()
    if isinstance(when, str) and when.strip():
        return _encodable(name, when.strip())
    if isinstance(when, date):
        return when.isoformat()
    if isinstance(when, int) and not isinstance(when, bool) and when >= 0:
        return str(when)
    raise Invalid(
        f"{name} must be a date, a datetime with its zone, a sequence, or a text of them or of a "
        f"Run's id, not {when!r}."
    )


def _check_sequence(after: object) -> None:
    if not isinstance(after, int) or isinstance(after, bool) or after < 0:
        raise Invalid(f"after must be a sequence, 0 or more, not {after!r}.")


def _columns(columns: Texts | None) -> tuple[str, ...]:
    if columns is None:
        return ()
    names = _texts("columns", columns)
    if not names:
        raise Invalid("columns names no column; leave it out for all of them.")
    return names


def _texts(name: str, given: object) -> tuple[str, ...]:
    """Texts, each once. Raises Invalid for what is none."""
    listed = [given] if isinstance(given, str) or not isinstance(given, Iterable) else [*given]
    texts = [text for text in listed if isinstance(text, str)]
    if len(texts) < len(listed):
        raise Invalid(f"{name} must be a text or a list of texts, not {given!r}.")
    return tuple(_encodable(name, text) for text in dict.fromkeys(texts))


def _encodable(name: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = text[error.start]
        raise Invalid(f"{name} holds half a character, {half!r}, which no text has.") from None
    return text


def _required(library: str) -> Any:
    try:
        return import_module(library)
    except ImportError as error:
        raise FormUnavailable(
            f"{library} is not installed here; install it: pip install {library}."
        ) from error


def _text(value: Scalar) -> str:
    """A value as text of a page."""
    match value:
        case None:
            text = ""
        case bool():
            text = "true" if value else "false"
        case _:
            text = str(value)
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return escape(escape_controls(shown))
