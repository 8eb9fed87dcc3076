"""Rows with the types of their columns: a Parquet file, a table of Arrow, a workbook of Excel."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import orjson

from livedata.formats.table_layout import as_moment
from livedata.model.errors import FormUnavailable, Invalid
from livedata.model.problem import Remedy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from livedata.formats.table_layout import Heading, TableLayout
    from livedata.model.row import Row, Scalar

_TOGETHER: Final = 10_000
"""So many rows are held at once, and make a group of a Parquet file."""
# The limits of a sheet of Excel.
MOST_ROWS: Final = 1_048_576
MOST_LINKS: Final = 65_530
LONGEST_LINK: Final = 2_079
LONGEST_TEXT: Final = 32_767
FIRST_YEAR: Final = 1900
_CREATED: Final = datetime(1980, 1, 1)  # noqa: DTZ001  (XlsxWriter writes it without a zone)
_WIDTH: Final = 18
_NARROW: Final = {"number": 12, "boolean": 10}


def write_parquet(
    rows: Iterable[Row], layout: TableLayout, about: dict[str, object], file: Path
) -> int:
    """Write a file; how many rows it has.

    `about` is what the file says of itself, under the key ``livedata``. Raises FormUnavailable
    if pyarrow is missing.
    """
    pa, parquet = pyarrow()
    schema, count = _schema(pa, layout, about), 0
    with parquet.ParquetWriter(file, schema) as writer:
        for part in _parts(pa, schema, rows, layout):
            writer.write_table(part)
            count += part.num_rows
    return count


def arrow_table(rows: Iterable[Row], layout: TableLayout, about: dict[str, object]) -> Any:
    """The same rows as a `pyarrow.Table`, as the file would be read.

    Raises FormUnavailable if pyarrow is missing.
    """
    pa, _ = pyarrow()
    schema = _schema(pa, layout, about)
    # pyarrow raises if it is given no table at all, and there may be no rows.
    return pa.concat_tables([schema.empty_table(), *_parts(pa, schema, rows, layout)])


def _schema(pa: Any, layout: TableLayout, about: dict[str, object]) -> Any:
    fields = [_field(pa, heading) for heading in layout.headings]
    return pa.schema(fields, metadata={"livedata": orjson.dumps(about)})


def _parts(pa: Any, schema: Any, rows: Iterable[Row], layout: TableLayout) -> Iterator[Any]:
    kinds = [heading.holds for heading in layout.headings]
    remaining = iter(rows)
    while together := list(islice(remaining, _TOGETHER)):
        cells = zip(*map(layout.values, together), strict=True)
        columns = [
            pa.array([_value(cell, kind) for cell in column], field.type)
            for column, kind, field in zip(cells, kinds, schema, strict=True)
        ]
        yield pa.table(columns, schema=schema)


def pyarrow() -> tuple[Any, Any]:
    """The library and its part for files. Raises FormUnavailable if it is not installed."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise _unavailable("Parquet files") from error
    return pa, parquet


def _unavailable(what: str) -> FormUnavailable:
    return FormUnavailable(
        f"{what} need a part of livedata that is not installed.",
        remedies=(Remedy("install_tables"),),
    )


def _field(pa: Any, heading: Heading) -> Any:
    types = {
        "number": pa.float64(),
        "boolean": pa.bool_(),
        "datetime": pa.timestamp("us", tz="UTC"),
    }
    about = {"label": heading.label, "description": heading.description}
    told = {name: text for name, text in about.items() if text}
    if heading.key:
        told["key"] = "true"
    kind = types.get(heading.holds, pa.string())
    return pa.field(heading.name, kind, metadata=told)


def _value(cell: Scalar, kind: str) -> object:
    """A cell as the type of its column."""
    if cell is None or kind not in {"number", "datetime"}:
        return cell
    return float(cell) if kind == "number" else as_moment(str(cell))


def write_xlsx(
    rows: Iterable[Row], layout: TableLayout, about: dict[str, object], file: Path
) -> int:
    """Write a workbook; how many rows it has.

    `about` stands in its properties. Raises Invalid for more rows than a sheet has, and
    FormUnavailable if XlsxWriter is missing.
    """
    make = _workbook()
    # Each row is written to the disk before the next: no table is too large for the memory.
    options = {"constant_memory": True}
    with make(str(file), options) as workbook:
        # The same table is the same file, byte by byte.
        workbook.set_properties({"created": _CREATED})
        for name, value in about.items():
            workbook.set_custom_property(f"livedata.{name}", str(value)[:255])
        sheet = _Sheet(workbook, layout)
        for row in rows:
            sheet.write(layout.values(row))
    return sheet.count


def _workbook() -> Any:
    try:
        from xlsxwriter import Workbook
    except ImportError as error:
        raise _unavailable("Workbooks") from error
    return Workbook


class _Sheet:
    """The sheet of a workbook: its heading stays where it is, and rows are added below."""

    def __init__(self, workbook: Any, layout: TableLayout) -> None:
        self._kinds = [heading.holds for heading in layout.headings]
        self._sheet = workbook.add_worksheet("rows")
        self._day = workbook.add_format({"num_format": "yyyy-mm-dd"})
        self._moment = workbook.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        self._links = 0
        self.count = 0
        bold = workbook.add_format({"bold": True})
        for place, heading in enumerate(layout.headings):
            width = _NARROW.get(heading.holds, _WIDTH)
            self._sheet.set_column(place, place, max(width, len(heading.name) + 2))
            self._sheet.write_string(0, place, heading.name, bold)
            if said := _note(heading):
                self._sheet.write_comment(0, place, said)
        self._sheet.freeze_panes(1, 0)

    def write(self, values: list[Scalar]) -> None:
        """Add a row."""
        self.count += 1
        if self.count >= MOST_ROWS:
            raise Invalid(
                f"A sheet has at most {MOST_ROWS - 1:,} rows below its heading, and there are "
                "more: take CSV or Parquet, or ask for fewer rows by a condition."
            )
        for place, (value, kind) in enumerate(zip(values, self._kinds, strict=True)):
            if value is not None:
                self._write_cell(place, value, kind)

    def _write_cell(self, place: int, value: Scalar, kind: str) -> None:
        sheet, row = self._sheet, self.count
        match kind:
            case "number":
                sheet.write_number(row, place, value)
            case "boolean":
                sheet.write_boolean(row, place, value)
            case "datetime" if (moment := as_moment(str(value))).year >= FIRST_YEAR:
                form = self._moment if "T" in str(value) else self._day
                # A sheet knows no zones.
                sheet.write_datetime(row, place, moment.replace(tzinfo=None), form)
            case "uri" if self._links < MOST_LINKS and len(str(value)) <= LONGEST_LINK:
                self._links += 1
                sheet.write_url(row, place, str(value), string=str(value))
            case _:
                sheet.write_string(row, place, _fitting(str(value)))


def _note(heading: Heading) -> str:
    """What people are told of a column."""
    parts = [heading.label if heading.label != heading.name else "", heading.description]
    return "\n".join(part for part in [*parts, "Identifies the row." * heading.key] if part)


def _fitting(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"
