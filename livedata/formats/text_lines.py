"""Rows as text, some lines at a time: CSV, a JSON object a line, and one JSON object of all."""

from __future__ import annotations

import csv
import io
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

import orjson

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from livedata.formats.forms import TextTable
    from livedata.model.row import Scalar

Piece = TypeVar("Piece", str, bytes)
_FIRST: Final = 4
_TOGETHER: Final = 500
"""So many lines are held at once, at most."""
_PIECE: Final = 256 * 1024
"""About so long is a piece: while it is written, nobody else on the machine is answered."""


def csv_text(table: TextTable) -> Iterator[str]:
    """Yield a CSV file with a heading, in pieces."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator=table.line_end)
    writer.writerow(table.names)
    yield stream.getvalue()

    def written(together: Sequence[Sequence[Scalar]]) -> str:
        stream.seek(0)
        stream.truncate()
        writer.writerows([_cell(value, table.as_text) for value in row] for row in together)
        return stream.getvalue()

    yield from _pieces(table.rows, written)


def json_lines(table: TextTable) -> Iterator[bytes]:
    """Yield rows as JSON objects, each on its line, in pieces."""

    def written(together: Sequence[Sequence[Scalar]]) -> bytes:
        objects = (dict(zip(table.names, row, strict=True)) for row in together)
        return b"".join(
            orjson.dumps(values, option=orjson.OPT_APPEND_NEWLINE) for values in objects
        )

    return _pieces(table.rows, written)


def json_table(table: TextTable) -> Iterator[bytes]:
    """Yield a JSON object: the columns, what is said of the table, and last the rows as arrays."""
    yield orjson.dumps({"columns": table.names, **table.about})[:-1] + b',"rows":['
    comma = b""
    for piece in _pieces(table.rows, orjson.dumps):
        yield comma + piece[1:-1]
        comma = b","
    yield b"]}"


def _pieces(
    rows: Iterable[Sequence[Scalar]], written: Callable[[list[Sequence[Scalar]]], Piece]
) -> Iterator[Piece]:
    """Pieces of rows: how many make the next one is seen from the one before."""
    # Nobody knows yet how long a row is, and a single cell may have 32,768 characters.
    remaining, count = iter(rows), _FIRST
    while together := list(islice(remaining, count)):
        piece = written(together)
        yield piece
        count = min(max(1, count * _PIECE // (len(piece) + 1)), _TOGETHER)


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
