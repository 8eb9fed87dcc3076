"""Writes rows to a file or a pipe as CSV or JSON lines, as they come out of the store."""

from __future__ import annotations

import codecs
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from livedata.cli.output.streams import on_terminal
from livedata.cli.output.whole_file import whole_file
from livedata.formats.text_lines import csv_text, json_lines
from livedata.messages.controls import escape_controls, escape_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from livedata.formats.table_layout import TableLayout
    from livedata.model.row import Row, Scalar

Stream = codecs.StreamWriter | TextIO


class RowWriter:
    """Writes the rows of a dataset in one format of text."""

    def __init__(self, file_format: str, layout: TableLayout) -> None:
        self.file_format = file_format
        self.layout = layout
        self._count = 0

    def write(self, rows: Iterable[Row], output: Path | None) -> int:
        """Write `rows` to `output`, or to stdout if there is none; return how many they are."""
        names, values = self.layout.names, self._values(rows)
        with _opened(output) as stream:
            if self.file_format == "csv":
                # A file or a program gets the cells as they are, a terminal none that steers it.
                as_text = escape_controls if output is None and on_terminal() else str
                for text in csv_text(names, values, as_text=as_text):
                    stream.write(text)
            else:
                for lines in json_lines(names, values):
                    # Escaped in files too: to a program an escape in JSON is the same text.
                    stream.write(escape_json(lines).decode())
        return self._count

    def _values(self, rows: Iterable[Row]) -> Iterator[Sequence[Scalar]]:
        for row in rows:
            self._count += 1
            yield self.layout.values(row)


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
