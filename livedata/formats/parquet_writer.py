"""Rows with the types of their columns: as a Parquet file, and as a table of Arrow."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import orjson

from livedata.formats.table_layout import as_moment
from livedata.model.errors import FormUnavailable
from livedata.model.problem import Remedy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from livedata.formats.table_layout import Heading, TableLayout
    from livedata.model.dataset import ColumnType
    from livedata.model.row import Row, Scalar

_TOGETHER: Final = 10_000
"""So many rows are held at once, and make a group of the file."""


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
    kinds, remaining = [heading.type for heading in layout.headings], iter(rows)
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
        raise FormUnavailable(
            "Parquet files need a part of livedata that is not installed.",
            remedies=(Remedy("install_tables"),),
        ) from error
    return pa, parquet


def _field(pa: Any, heading: Heading) -> Any:
    types = {
        "number": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.timestamp("us", tz="UTC"),
    }
    about = {"label": heading.label, "description": heading.description}
    told = {name: text for name, text in about.items() if text}
    if heading.key:
        told["key"] = "true"
    return pa.field(heading.name, types.get(heading.type, pa.string()), metadata=told)


def _value(cell: Scalar, kind: ColumnType) -> object:
    """A cell as the type of its column."""
    if cell is None or kind not in {"number", "date"}:
        return cell
    return float(cell) if kind == "number" else as_moment(str(cell))
