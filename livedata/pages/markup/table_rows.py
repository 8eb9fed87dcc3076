"""The rows of a table as HTML: here and not in a template, since a page has thousands of cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from markupsafe import Markup

from livedata.model.dataset import Column
from livedata.model.row import Scalar
from livedata.pages.markup.filters import cell, moment
from livedata.pages.markup.texts import BEGINNING, cut, is_address
from livedata.store.browsing.lines import Line

MOST: Final = 12
"""No paper is wide enough for more columns: each cell of a wider table prints below its label."""


def body(lines: Sequence[Line], columns: Sequence[Column], path: str) -> Markup:
    """The rows of a table; the page of each is below `path`."""
    places = [(column["id"], _begin(column, wide=len(columns) > MOST)) for column in columns]
    return Markup("\n".join([_row(line, places, path) for line in lines]))  # noqa: S704  (escaped)


def _begin(column: Column, *, wide: bool) -> str:
    number = ' class="number"' if column["type"] == "number" else ""
    label = f' data-label="{escape(column["label"])}"' if wide else ""
    return f"<td{number}{label}>"


def _row(line: Line, places: Sequence[tuple[str, str]], path: str) -> str:
    data, missing, marks = line.data, line.missing, dict(_marks(line))
    cells = "".join(
        [
            f"{begin}{_cell(data[field], missing.get(field))}{marks.get(field, '')}</td>"
            for field, begin in places
        ]
    )
    return (
        f"<tr{' class=gone' if line.presence == 'missing' else ''}>"
        f'<th scope="row"><a href="{path}/rows/{line.id}">'
        f'<bdi dir="auto">{escape(line.alias or line.key)}</bdi></a></th>{cells}'
        f"<td>{line.status}</td><td>{moment(line.updated_at)}</td></tr>"
    )


def _cell(value: Scalar, reason: str | None = None) -> str:
    """A cell, a long text cut: the page of its row has all of it."""
    # An address is cut where it is shown: its link still leads there.
    if isinstance(value, str) and len(value) > BEGINNING and not is_address(value):
        value = cut(value)
    return cell(value, reason)


def _marks(line: Line) -> Iterator[tuple[str, str]]:
    """What stands beside the cells that changed last or were edited."""
    for field in {*line.edited, *line.was}:
        mark = ' <span class="mark">edited by hand</span>' if field in line.edited else ""
        # Under a hand edit the source may change, and what is shown does not.
        if field in line.was and line.was[field] != line.data[field]:
            mark += f' <span class="mark was">was <del>{_cell(line.was[field])}</del></span>'
        yield field, mark
