"""Writes rows as a workbook of Excel, with the types of their columns."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from livedata.formats.table_layout import as_moment
from livedata.model.errors import FormUnavailable, Invalid
from livedata.model.problem import Remedy

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from livedata.formats.table_layout import Heading, TableLayout
    from livedata.model.dataset import ColumnType
    from livedata.model.row import Row, Scalar

# The limits of a sheet of Excel.
MOST_ROWS: Final = 1_048_576
MOST_LINKS: Final = 65_530
LONGEST_LINK: Final = 2_079
LONGEST_TEXT: Final = 32_767
FIRST_YEAR: Final = 1900
_CREATED: Final = datetime(1980, 1, 1)  # noqa: DTZ001  (XlsxWriter writes it without a zone)
_WIDTH: Final = 18
_NARROW: Final = {"number": 12, "boolean": 10}


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
        raise FormUnavailable(
            "Workbooks need a part of livedata that is not installed.",
            remedies=(Remedy("install_tables"),),
        ) from error
    return Workbook


class _Sheet:
    """The sheet of a workbook: its heading stays where it is, and rows are added below."""

    def __init__(self, workbook: Any, layout: TableLayout) -> None:
        self._kinds = [heading.type for heading in layout.headings]
        self._sheet = workbook.add_worksheet("rows")
        self._day = workbook.add_format({"num_format": "yyyy-mm-dd"})
        self._moment = workbook.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        self._links = 0
        self.count = 0
        bold = workbook.add_format({"bold": True})
        for place, heading in enumerate(layout.headings):
            width = _NARROW.get(heading.type, _WIDTH)
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

    def _write_cell(self, place: int, value: Scalar, kind: ColumnType) -> None:
        sheet, row = self._sheet, self.count
        match kind:
            case "number":
                sheet.write_number(row, place, value)
            case "boolean":
                sheet.write_boolean(row, place, value)
            case "date" if (moment := as_moment(str(value))).year >= FIRST_YEAR:
                form = self._moment if "T" in str(value) else self._day
                # A sheet knows no zones.
                sheet.write_datetime(row, place, moment.replace(tzinfo=None), form)
            case "url" if self._links < MOST_LINKS and len(str(value)) <= LONGEST_LINK:
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
