"""The forms in which a table is given, each described once: every door derives from `FORMS` what it
offers, takes and says.

What writes a form is imported when it writes: a help lists the forms without Parquet or Excel.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from livedata.formats.table_layout import TableLayout
    from livedata.model.row import Row, Scalar


class TableForm(Struct, frozen=True, kw_only=True):
    """A form of a table; `title` is what people call it.

    An export gives it if `exported` says what it is then: in its place, and for files that end in
    one of `endings`. It takes no option that is in `without`, for the reason that stands there.
    An address gives it if it has a `media_type`, with `has_changes` the history too, and the Export
    menu of a page if it is `in_menu`. With `tells_state` its text says how the table is. A
    spreadsheet `makes_formulas` of texts that look like one.

    `writer` is a function and its module: one of text takes a `TextTable`, any other what
    `write_file` takes. Without it the form is the export's alone, which has more than rows for it.
    """

    name: str
    title: str
    exported: str = ""
    endings: Sequence[str] = ()
    without: Mapping[str, str] = {}
    media_type: str = ""
    has_changes: bool = False
    in_menu: bool = False
    tells_state: bool = False
    makes_formulas: bool = False
    is_text: bool = False
    writer: str = ""


_WHOLE: Final = "a SQLite file has the whole table, for you to ask it"
FORMS: Final[Sequence[TableForm]] = (
    TableForm(
        name="csv",
        title="CSV",
        exported="CSV with a heading",
        endings=(".csv",),
        media_type="text/csv; charset=utf-8",
        has_changes=True,
        in_menu=True,
        makes_formulas=True,
        is_text=True,
        writer="livedata.formats.text_lines:csv_text",
    ),
    TableForm(
        name="jsonl",
        title="JSON Lines",
        exported="a JSON object a line",
        endings=(".jsonl", ".json"),
        media_type="application/x-ndjson",
        has_changes=True,
        is_text=True,
        writer="livedata.formats.text_lines:json_lines",
    ),
    TableForm(
        name="sqlite",
        title="SQLite",
        exported="a SQLite file with the history too",
        endings=(".db", ".sqlite", ".sqlite3"),
        without={
            "--times": "a SQLite file has both already",
            "--where": _WHOLE,
            "--columns": _WHOLE,
        },
    ),
    TableForm(
        name="datapackage",
        title="Data Package",
        exported="a data package: CSV with a description of its columns",
        endings=(".zip",),
        without={
            "--times": "a data package describes the columns of the dataset alone",
            "--columns": "a data package describes the columns of the dataset",
        },
    ),
    TableForm(
        name="parquet",
        title="Parquet",
        exported="a Parquet file with the types of the columns",
        endings=(".parquet",),
        media_type="application/vnd.apache.parquet",
        writer="livedata.formats.typed_files:write_parquet",
    ),
    TableForm(
        name="xlsx",
        title="XLSX",
        exported="a workbook of Excel with them",
        endings=(".xlsx",),
        media_type="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        in_menu=True,
        writer="livedata.formats.typed_files:write_xlsx",
    ),
    TableForm(
        name="json",
        title="JSON",
        media_type="application/json",
        in_menu=True,
        tells_state=True,
        is_text=True,
        writer="livedata.formats.text_lines:json_table",
    ),
)
"""In the order in which the help of an export lists them."""

DEFAULT_FORM: Final = "json"
"""What an address of the API gives to who asks for no form."""
EXPORT_FORMS: Final = {form.name: form for form in FORMS if form.exported}
SERVED_FORMS: Final = sorted(
    (form for form in FORMS if form.media_type), key=lambda form: form.name
)
"""The forms that an address gives."""
ROW_FORMS: Final = {
    form.name: form for form in sorted(SERVED_FORMS, key=lambda form: form.name != DEFAULT_FORM)
}
"""What an address of rows may end in, the default first."""
CHANGE_FORMS: Final = {f"changes.{form.name}": form for form in SERVED_FORMS if form.has_changes}
"""What an address of changes may end in."""
MENU_FORMS: Final = [form for form in FORMS if form.in_menu]
"""What the Export menu of a page offers, that of a spreadsheet first."""


class TextTable(Struct, frozen=True):
    """A table for a writer of text: the names of its columns, its rows, and what is said of it.

    Where a form has lines of cells, each ends in `line_end`, and `as_text` gives the text of each.
    """

    names: Sequence[str]
    rows: Iterable[Sequence[Scalar]]
    about: Mapping[str, object] = {}
    line_end: str = "\n"
    as_text: Callable[[str], str] = str


def text_pieces(form: TableForm, table: TextTable) -> Iterator[str] | Iterator[bytes]:
    """A table in a form of text, in pieces; those of JSON, and of nothing else, are bytes."""
    pieces: Iterator[str] | Iterator[bytes] = _writer(form)(table)
    return pieces


def write_file(
    form: TableForm,
    rows: Iterable[Row],
    layout: TableLayout,
    about: Mapping[str, object],
    file: Path,
) -> int:
    """Write a file in a form that is no text; how many rows it has.

    `about` is what the file says of itself. Raises FormUnavailable if a library is missing, and
    Invalid for what the form cannot hold.
    """
    count: int = _writer(form)(rows, layout, about, file)
    return count


def _writer(form: TableForm) -> Any:
    module, function = form.writer.split(":")
    return getattr(import_module(module), function)
