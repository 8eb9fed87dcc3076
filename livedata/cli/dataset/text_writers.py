"""Writes rows as text, and as a Data Package, which is CSV beside a description."""

from __future__ import annotations

import codecs
import hashlib
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import orjson

from livedata.cli.output.streams import on_terminal
from livedata.cli.output.whole_file import check_output, fresh_folder, whole_file
from livedata.formats.forms import EXPORT_FORMS, TableForm, TextTable, text_pieces
from livedata.formats.table_layout import TableLayout
from livedata.messages.controls import escape_controls, escape_json
from livedata.model import ids
from livedata.model.dataset import CELL_TYPES
from livedata.model.errors import Conflict, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from livedata.model.dataset import Column, Dataset
    from livedata.model.row import Row, Scalar

Stream = codecs.StreamWriter | TextIO

DESCRIPTOR = "datapackage.json"
ROWS = "rows.csv"
_ABOUT: Mapping[str, Mapping[str, object]] = {
    "rowKey": {
        "title": "Row key",
        "description": "What identifies the row.",
        "constraints": {"required": True, "unique": True},
    },
    "status": {
        "title": "Status",
        "description": "What the last accepted Run did to the row.",
        "constraints": {"enum": ["new", "changed", "unchanged", "gone"]},
    },
    "presence": {
        "title": "Presence",
        "description": "Whether the row was there when the site was read last.",
        "constraints": {"enum": ["present", "missing"]},
    },
}


class RowWriter:
    """Writes the rows of a dataset in one form of text."""

    def __init__(self, form: TableForm, layout: TableLayout) -> None:
        self.form = form
        self.layout = layout
        self._count = 0

    def write(self, rows: Iterable[Row], output: Path | None) -> int:
        """Write `rows` to `output`, or to stdout if there is none; return how many they are."""
        # A file or a program gets the cells as they are, a terminal none that steers it.
        as_text = escape_controls if output is None and on_terminal() else str
        table = TextTable(self.layout.names, self._values(rows), as_text=as_text)
        with _opened(output) as stream:
            for piece in text_pieces(self.form, table):
                # JSON is escaped in files too: to a program an escape in it is the same text.
                stream.write(piece if isinstance(piece, str) else escape_json(piece).decode())
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


def check_package(output: Path, *, force: bool) -> None:
    """Refuse at once a package that cannot be written, or a place that holds something else."""
    if _is_zip(output):
        check_output(output, force=force)
    elif not output.absolute().parent.is_dir():
        raise NotFound(f"{output} cannot be written: there is no folder {output.parent}.")
    elif output.exists() and not (output / DESCRIPTOR).is_file():
        raise Conflict(f"{output} exists and is no data package; -o names another folder.")
    elif output.exists() and not force:
        raise Conflict(f"{output} exists; --force replaces it, -o names another folder.")


def write_package(rows: Iterable[Row], dataset: Dataset, output: Path) -> int:
    """Write a folder, or a zip file if `output` ends so; it appears when it is complete.

    Returns how many rows it has.
    """
    layout = TableLayout(dataset["columns"])
    writer = RowWriter(EXPORT_FORMS["csv"], layout)
    # Beside the place of the output, where renaming is one step.
    with fresh_folder(output.absolute()) as scratch:
        folder = scratch / "package"
        folder.mkdir()
        count = writer.write(rows, folder / ROWS)
        described = _descriptor(dataset, layout.names, folder / ROWS)
        (folder / DESCRIPTOR).write_bytes(orjson.dumps(described, option=orjson.OPT_INDENT_2))
        if _is_zip(output):
            _zip(folder, scratch / "zip").replace(output)
            return count
        # A folder with files cannot be replaced in one step; the old one goes with the others.
        if output.exists():
            output.rename(scratch / "old")
        folder.rename(output)
    return count


def _is_zip(output: Path) -> bool:
    return output.suffix.lower() == ".zip"


def _zip(folder: Path, archive: Path) -> Path:
    # Imported late, as nothing else needs it.
    import zipfile

    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in (DESCRIPTOR, ROWS):
            packed.write(folder / name, name)
    return archive


def _descriptor(dataset: Dataset, names: list[str], table: Path) -> dict[str, object]:
    """Describe the package as https://specs.frictionlessdata.io/tabular-data-package."""
    with table.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    fields = [
        {"name": name, "type": "string", **about}
        for name, about in zip(names, _ABOUT.values(), strict=False)
    ]
    question = {"description": dataset["question"]} if dataset["question"] else {}
    return {
        "profile": "tabular-data-package",
        "name": _slug(dataset["name"]),
        "title": dataset["name"],
        **question,
        "id": dataset["id"],
        "created": ids.format_timestamp(ids.now()),
        "resources": [
            {
                "profile": "tabular-data-resource",
                "name": "rows",
                "path": ROWS,
                "format": "csv",
                "mediatype": "text/csv",
                "encoding": "utf-8",
                "bytes": table.stat().st_size,
                "hash": f"sha256:{digest}",
                "dialect": {"lineTerminator": "\n"},
                "schema": {
                    "fields": [*fields, *map(_field, dataset["columns"])],
                    "primaryKey": [names[0]],
                    "missingValues": [""],
                },
            }
        ],
    }


def _field(column: Column) -> dict[str, object]:
    described = {"description": column["description"]} if "description" in column else {}
    # A part of the identity is never empty.
    key = {"constraints": {"required": True}} if column["key"] else {}
    return {
        "name": column["name"],
        "title": column["label"],
        **described,
        **CELL_TYPES[column["type"]].package,
        **key,
    }


def _slug(name: str) -> str:
    """Return a name of the letters that the name of a package may have."""
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-") or "dataset"
