"""Rows as text, some lines at a time: CSV, a JSON object a line, and one JSON object of all."""

from __future__ import annotations

import csv
import io
from itertools import islice
from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from livedata.model.row import Scalar

_TOGETHER: Final = 500
"""So many lines are held at once."""


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
    yield stream.getvalue()
    remaining = iter(rows)
    while together := list(islice(remaining, _TOGETHER)):
        stream.seek(0)
        stream.truncate()
        writer.writerows([_cell(value, as_text) for value in row] for row in together)
        yield stream.getvalue()


def json_lines(names: Sequence[str], rows: Iterable[Sequence[Scalar]]) -> Iterator[bytes]:
    """Yield rows as JSON objects, each on its line, in pieces."""
    remaining = iter(rows)
    while together := list(islice(remaining, _TOGETHER)):
        objects = (dict(zip(names, row, strict=True)) for row in together)
        yield b"".join(orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE) for values in objects)


def json_table(head: Mapping[str, object], rows: Iterable[Sequence[Scalar]]) -> Iterator[bytes]:
    """Yield a JSON object with the members of `head`, and last with `rows` as arrays, in pieces."""
    yield orjson.dumps(head)[:-1] + b',"rows":['
    comma, remaining = b"", iter(rows)
    while together := list(islice(remaining, _TOGETHER)):
        yield comma + orjson.dumps(together)[1:-1]
        comma = b","
    yield b"]}"


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
