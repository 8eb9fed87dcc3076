"""Writes rows to a file or a pipe as CSV or JSON lines, as they come out of the store."""

from __future__ import annotations

import codecs
import csv
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import orjson

from livedata.cli.output.streams import escape_controls, escape_json, on_terminal
from livedata.cli.output.values import format_value
from livedata.cli.output.whole_file import whole_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from livedata.cli.dataset.table_layout import TableLayout
    from livedata.model.row import Row, Scalar

Stream = codecs.StreamWriter | TextIO


class RowWriter:
    """Writes the rows of a dataset in one format of text."""

    def __init__(self, file_format: str, layout: TableLayout) -> None:
        self.file_format = file_format
        self.layout = layout

    def write(self, rows: Iterable[Row], output: Path | None) -> int:
        """Write `rows` to `output`, or to stdout if there is none; return how many they are."""
        with _opened(output) as stream:
            if self.file_format == "csv":
                # A file or a program gets the cells as they are, a terminal none that steers it.
                return self._csv(rows, stream, safe=output is None and on_terminal())
            return self._json_lines(rows, stream)

    def _csv(self, rows: Iterable[Row], stream: Stream, *, safe: bool) -> int:
        # The default of "\r\n" would leave a carriage return to grep, cut and diff.
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.layout.names)
        count = 0
        for row in rows:
            texts = [_text(value) for value in self.layout.values(row)]
            writer.writerow([escape_controls(text) for text in texts] if safe else texts)
            count += 1
        return count

    def _json_lines(self, rows: Iterable[Row], stream: Stream) -> int:
        count, names = 0, self.layout.names
        for row in rows:
            line = orjson.dumps(dict(zip(names, self.layout.values(row), strict=True)))
            # Escaped in files too: to a program an escape in JSON is the same text.
            stream.write(escape_json(line).decode() + "\n")
            count += 1
        return count


def _text(value: Scalar) -> str:
    return value if isinstance(value, str) else format_value(value)


@contextmanager
def _opened(output: Path | None) -> Iterator[Stream]:
    """Open the stream to write; a file appears under its name only when it is complete."""
    if output is None:
        stdout = sys.stdout.buffer
        # Data is UTF-8 in every locale: another program reads it.
        yield codecs.getwriter("utf-8")(stdout)
        # At the exit of Python it would be too late to report a full disk or a closed pipe.
        stdout.flush()
        return
    # A device or a named pipe cannot be replaced by a file.
    if output.exists() and not output.is_file():
        with output.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        return
    # newline="": line ends within cells are written as they are.
    with whole_file(output) as part, part.open("w", encoding="utf-8", newline="") as stream:
        yield stream
