"""Rows as text, some lines at a time: CSV, and a JSON object a line."""

from __future__ import annotations

import csv
import io
from itertools import islice
from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from livedata.model.row import Scalar

_TOGETHER: Final = 500
"""So many lines are held at once."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def csv_text(
    names: Sequence[str],
    rows: Iterable[Sequence[Scalar]],
    *,
    line_end: str = "\n",
    as_text: Callable[[str], str] = str,
) -> Iterator[str]:
    """Yield a CSV file with a heading, in pieces; `as_text` gives each text of a cell."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator=line_end)
    writer.writerow(names)
    remaining = iter(rows)
    while together := list(islice(remaining, _TOGETHER)):
        writer.writerows([_cell(value, as_text) for value in row] for row in together)
        yield stream.getvalue()
        stream.seek(0)
        stream.truncate()
    if stream.tell():  # no row at all: the heading stands alone
        yield stream.getvalue()


def json_lines(names: Sequence[str], rows: Iterable[Sequence[Scalar]]) -> Iterator[bytes]:
    """Yield rows as JSON objects, each on its line, in pieces."""
    remaining = iter(rows)
    while together := list(islice(remaining, _TOGETHER)):
        objects = (dict(zip(names, row, strict=True)) for row in together)
        yield b"".join(orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE) for values in objects)


def no_formula(text: str) -> str:
    """A text that no spreadsheet takes for a formula: an apostrophe stands before what may be."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _cell(value: Scalar, as_text: Callable[[str], str]) -> str:
    match value:
        case str():
            return as_text(value)
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)
