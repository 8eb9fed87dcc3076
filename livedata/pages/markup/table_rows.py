"""The rows of a table as HTML: here and not in a template, since a page has thousands of cells."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from markupsafe import Markup

from livedata.model.dataset import Column
from livedata.model.row import Row, Scalar
from livedata.pages.markup.filters import cell, moment
from livedata.services.browsing.table import TablePage
from livedata.store.browsing.marks import Marks

LONGEST: Final = 300
"""The characters of a text that a table shows."""


def body(found: TablePage, columns: Sequence[Column], path: str) -> Markup:
    """The lines of a table; the row that each one is of has its page below `path`."""
    places = [
        (column["id"], '<td class="number">' if column["type"] == "number" else "<td>")
        for column in columns
    ]
    lines = (_line(row, places, found.marks.get(row["id"]), path) for row in found.rows)
    return Markup("\n".join(lines))  # noqa: S704  (escaped)


def _line(row: Row, places: Sequence[tuple[str, str]], marks: Marks | None, path: str) -> str:
    data, reasons = row["data"], row["missingReasons"]
    cells = "".join(
        f"{begin}{cell(_short(data[field]), reasons.get(field))}"
        f"{'' if marks is None else _mark(field, data[field], marks)}</td>"
        for field, begin in places
    )
    return (
        f"<tr{' class=gone' if row['presence'] == 'missing' else ''}>"
        f'<th scope="row"><a href="{path}/rows/{row["id"]}">'
        f'<bdi dir="auto">{escape(_name(row))}</bdi></a></th>{cells}'
        f"<td>{row['status']}</td><td>{moment(row['updatedAt'])}</td></tr>"
    )


def _short(value: Scalar) -> Scalar:
    """A value, a long text cut: the page of its row has all of it."""
    if isinstance(value, str) and len(value) > LONGEST:
        return f"{value[:LONGEST]}…"
    return value


def _name(row: Row) -> str:
    """What a person calls a row: its key, or what it stands for."""
    return row["rowKey"] if row["identity"] is None else row["identity"]["aliases"][0]


def _mark(field: str, value: Scalar, marks: Marks) -> str:
    mark = ' <span class="mark">edited by hand</span>' if field in marks.edited else ""
    # Under a hand edit the source may change, and what is shown does not.
    if field in marks.was and marks.was[field] != value:
        mark += f' <span class="mark was">was <del>{cell(_short(marks.was[field]))}</del></span>'
    return mark
