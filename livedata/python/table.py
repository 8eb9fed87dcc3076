"""A table to be read in Python, wherever it is (rules 18)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from html import escape
from importlib import import_module
from operator import index
from reprlib import repr as shorten
from typing import Any, Final, SupportsIndex, TypeAlias

from typing_extensions import override

from livedata.formats.table_layout import ABOUT
from livedata.messages.controls import escape_controls
from livedata.model.dataset import Column
from livedata.model.errors import FormUnavailable, Invalid
from livedata.model.row import Scalar
from livedata.python.source import (
    ChangeQuestion,
    RowQuestion,
    TableChanges,
    TableRows,
    TableSource,
    encodable,
)
from livedata.rules.conditions.clauses import LONGEST_CLAUSE
from livedata.services.moments import DIGITS, LONGEST_WHEN, RowDiff, row_diff

When: TypeAlias = "str | int | date | datetime"
"""A moment with its zone, a day, a sequence, or the id of a Run (rules 15.1)."""
Texts: TypeAlias = "str | Iterable[str]"
"""A text, or some."""
_KEY: Final = ABOUT.index("rowKey")
_PRESENCE: Final = ABOUT.index("presence")
_SHOWN: Final = 20
"""So many rows stand in a notebook."""
_LONGEST: Final = 80
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
        where: Texts | None = None,
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
        when: Texts | None = None,
        where: Texts | None = None,
        columns: Texts | None = None,
    ) -> TableChanges:
        """The changes after a sequence or since a moment, a dict for each cell (rules 17.4).

        `when` leaves out those that do not meet all of its clauses. The iterator knows the sequence
        `through` to which it goes, with which `after` goes on next time.
        """
        asked = ChangeQuestion(
            _after(after),
            None if since is None else _moment("since", since),
            _clauses("when", when),
            _clauses("where", where),
            _columns(columns),
        )
        return self._source.changes(asked)

    def diff(self, since: When, until: When | None = None) -> list[RowDiff]:
        """What became of the table between two moments, or up to now, net (rules 15.4).

        For each row that differs its `kind`, its key as `row`, and what `changed`, by column.
        """
        first = _moment("since", since)
        last = None if until is None else _moment("until", until)
        then, now = self._source.two_moments(first, last)
        if then.through > now.through:
            raise Invalid(f"{since} is later than {until}: write the earlier moment first.")
        return _diff_rows(then, now)

    def to_arrow(
        self,
        *,
        at: When | None = None,
        where: Texts | None = None,
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
        where: Texts | None = None,
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
        where: Texts | None = None,
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
        lines = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.values)
        count = dataset["rowCount"]
        about = f"{count} {'row' if count == 1 else 'rows'}"
        if count > len(table.values):
            about += f", the first {len(table.values)} of them shown"
        last = dataset["lastRun"]
        if last is not None:
            about += f"; the last Run: {_text(last['status'])}"
        return (
            f"<table><caption style='text-align:left'>{_text(dataset['name'])}: {about}</caption>"
            f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
        )


def _rows_asked(
    moment: When | None,
    where: Texts | None,
    columns: Texts | None,
    gone: bool,
) -> RowQuestion:
    then = None if moment is None else _moment("at", moment)
    return RowQuestion(then, _clauses("where", where), _columns(columns), bool(gone))


def _moment(name: str, when: When) -> str:
    """A moment as text. Raises Invalid for what is none."""
    # What pandas has where no moment is counts as one of Python's, and is not equal to itself.
    if isinstance(when, datetime) and when == when:
        if when.utcoffset() is None:
            raise Invalid(
                f"{name} needs a zone, such as datetime(2026, 3, 1, 8, tzinfo=UTC), which {when} "
                "has not."
            )
        return when.isoformat()
    if isinstance(when, date) and not isinstance(when, datetime):
        return when.isoformat()
    if (sequence := _sequence(when)) is not None:
        return str(sequence)
    if isinstance(when, str) and 0 < len(when.strip()) <= LONGEST_WHEN:
        return encodable(name, when.strip())
    raise Invalid(
        f"{name} must be a date, a datetime with its zone, a sequence, or a text of them or of a "
        f"Run's id, not {_short(when)}."
    )


def _after(after: object) -> int | None:
    sequence = _sequence(after)
    if after is not None and sequence is None:
        raise Invalid(f"after must be a sequence, 0 or more, not {_short(after)}.")
    return sequence


def _sequence(value: object) -> int | None:
    """A whole number, of whatever library, that a sequence can be."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    number = index(value)
    return number if 0 <= number < 10**DIGITS else None


def _columns(columns: Texts | None) -> tuple[str, ...]:
    if columns is None:
        return ()
    # Commas as in an address: a name has none.
    names = [part.strip() for text in _texts("columns", columns) for part in text.split(",")]
    if not names or not all(names):
        raise Invalid("columns must name columns, such as title,price; leave it out for all.")
    return tuple(dict.fromkeys(names))


def _clauses(name: str, clauses: Texts | None) -> tuple[str, ...]:
    texts = [text.strip() for text in _texts(name, () if clauses is None else clauses)]
    for text in texts:
        if not 0 < len(text) <= LONGEST_CLAUSE:
            raise Invalid(
                f"A clause of {name} has 1 to {LONGEST_CLAUSE} characters, not {len(text)}; an "
                "example: price < 20."
            )
    return tuple(dict.fromkeys(texts))


def _texts(name: str, given: object) -> list[str]:
    """Texts. Raises Invalid for what is none."""
    listed = [given] if isinstance(given, str) or not isinstance(given, Iterable) else [*given]
    texts = [text for text in listed if isinstance(text, str)]
    if len(texts) < len(listed):
        raise Invalid(f"{name} must be a text or a list of texts, not {_short(given)}.")
    return [encodable(name, text) for text in texts]


def _short(value: object) -> str:
    try:
        return shorten(value)
    except ValueError:
        return "a number of thousands of digits"


def _required(library: str) -> Any:
    try:
        return import_module(library)
    except ImportError as error:
        raise FormUnavailable(
            f"{library} is not installed here; install it: pip install {library}."
        ) from error


def _diff_rows(then: TableRows, now: TableRows) -> list[RowDiff]:
    """The rows that differ, in the order of `now`; both must have the rows that are gone."""
    names = dict.fromkeys([*now.names[len(ABOUT) :], *then.names[len(ABOUT) :]])
    known = {row[_KEY]: (_is_there(row), _cells(then, row)) for row in then.values}
    differences: list[RowDiff] = []
    for row in now.values:
        was_there, before = known.get(row[_KEY], (None, {}))
        after = _cells(now, row)
        values = ((name, before.get(name), after.get(name)) for name in names)
        difference = row_diff(str(row[_KEY]), values, was_there, is_there=_is_there(row))
        if difference is not None:
            differences.append(difference)
    return differences


def _is_there(row: Sequence[Scalar]) -> bool:
    return row[_PRESENCE] == "present"


def _cells(table: TableRows, row: Sequence[Scalar]) -> Mapping[str, Scalar]:
    return dict(zip(table.names[len(ABOUT) :], row[len(ABOUT) :], strict=True))


def _cell(value: Scalar) -> str:
    side = "left" if isinstance(value, str) else "right"  # numbers one below the other
    return f"<td style='text-align:{side}'>{_text(value)}</td>"


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
