"""The rows of a table as HTML: here and not in a template, since a page has thousands of cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape

from livedata.model.dataset import Column
from livedata.model.row import Row, Scalar
from livedata.pages.markup.filters import cell, moment
from livedata.services.browsing.table import TablePage
from livedata.store.browsing.marks import Marks

_NO_MARKS = Marks({}, frozenset())


def body(found: TablePage, columns: Sequence[Column], path: str) -> Markup:
    """The lines of a table; the row that each one is of has its page below `path`."""
    return Markup("\n").join(
        Markup("".join(_line(row, columns, found.marks.get(row["id"], _NO_MARKS), path)))  # noqa: S704
        for row in found.rows
    )


def _line(row: Row, columns: Sequence[Column], marks: Marks, path: str) -> Iterator[str]:
    yield '<tr class="gone">' if row["presence"] == "missing" else "<tr>"
    key = escape(row["rowKey"])
    yield f'<th scope="row"><a href="{path}/rows/{row["id"]}"><bdi dir="auto">{key}</bdi></a></th>'
    data, reasons = row["data"], row["missingReasons"]
    for column in columns:
        field = column["id"]
        value = cell(data[field], reasons.get(field))
        number = ' class="number"' if column["type"] == "number" else ""
        yield f"<td{number}>{value}{_mark(field, data[field], marks)}</td>"
    yield f"<td>{row['status']}</td><td>{moment(row['updatedAt'])}</td></tr>"


def _mark(field: str, value: Scalar, marks: Marks) -> str:
    mark = ' <span class="mark">edited by hand</span>' if field in marks.edited else ""
    # Under a hand edit the source may change, and what is shown does not.
    if field in marks.was and marks.was[field] != value:
        mark += f' <span class="mark was">was <del>{cell(marks.was[field])}</del></span>'
    return mark
