"""``dataset export --format parquet`` and ``xlsx``, and ``--columns``."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import openpyxl
import openpyxl.utils.escape
import orjson
import pandas as pd
import polars as pl
import pytest
from pyarrow import parquet

from livedata.formats import typed_files
from livedata.hints import install_command
from livedata.model.ids import DatasetId
from tests.made import ITEMS, make_dataset, take

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

COLUMNS: list[dict[str, object]] = [
    {"name": "sku", "type": "string", "key": True},
    {"name": "title", "type": "string"},
    {"name": "price", "type": "number", "description": "With tax."},
    {"name": "sold", "type": "boolean", "ownership": "user"},
    {"name": "due", "type": "date", "ownership": "user"},
    {"name": "link", "type": "url", "ownership": "user"},
]
FORMULA = "=HYPERLINK(0)"
LONG = "x" * 32_768


@pytest.fixture
def shop(store: Store, livedata: Shell) -> DatasetId:
    """Three rows with cells of each type, of which some are empty."""
    dataset = make_dataset(store, columns=COLUMNS)
    take(store, dataset, [{**ITEMS[0], "title": FORMULA}, ITEMS[1], {"sku": "C3", "title": LONG}])
    edits = ("sold=true", "due=2026-03-01", "link=https://a.example/lamp")
    livedata("rows", "edit", "shop", "A1", *edits)
    livedata("rows", "edit", "shop", "B2", "sold=false", "due=2026-03-01T10:30:00+02:00")
    return dataset


def exported(livedata: Shell, tmp_path: Path, file_format: str, *options: str) -> Path:
    file = tmp_path / f"table.{file_format}"
    livedata("dataset", "export", "shop", "--format", file_format, "-o", str(file), *options)
    return file


def openpyxl_text(cell: object) -> str:
    """A text as Excel shows it: what stands for a character that XML has not, written out."""
    return str(openpyxl.utils.escape.unescape(str(cell)))


def sheet(file: Path) -> Any:
    return openpyxl.load_workbook(file).active


@pytest.mark.usefixtures("shop")
def test_parquet_has_the_types_of_the_columns(livedata: Shell, tmp_path: Path) -> None:
    table = parquet.read_table(exported(livedata, tmp_path, "parquet"))
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds == {
        **dict.fromkeys(("rowKey", "status", "presence", "sku", "title", "link"), "string"),
        "price": "double",
        "sold": "bool",
        "due": "timestamp[us, tz=UTC]",
    }
    first, second, third = table.to_pylist()
    assert (first["title"], first["price"], first["sold"]) == (FORMULA, 10.0, True)
    assert first["due"] == datetime(2026, 3, 1, tzinfo=UTC)
    assert second["due"] == datetime(2026, 3, 1, 8, 30, tzinfo=UTC)
    assert (third["title"], third["price"], third["due"]) == (LONG, None, None)


READ_BACK: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    "pandas": lambda file: pd.read_parquet(file, dtype_backend="pyarrow").to_dict("records"),
    "polars": lambda file: pl.read_parquet(file).to_dicts(),
    "duckdb": lambda file: duckdb.sql(f"SELECT * FROM '{file}'").to_arrow_table().to_pylist(),
}


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("reader", READ_BACK)
def test_parquet_is_read_back_with_its_types_and_values_by(
    livedata: Shell, tmp_path: Path, reader: str
) -> None:
    file = exported(livedata, tmp_path, "parquet")
    expected = parquet.read_table(file).to_pylist()
    rows = READ_BACK[reader](file)
    assert len(rows) == len(expected) == 3
    for row, cells in zip(rows, expected, strict=True):
        for name, cell in cells.items():
            value = None if row[name] is pd.NA or row[name] is pd.NaT else row[name]
            assert value == cell, name
            assert cell is None or isinstance(value, type(cell)), name


@pytest.mark.usefixtures("shop")
def test_a_workbook_is_read_back_by_pandas(livedata: Shell, tmp_path: Path) -> None:
    table = pd.read_excel(exported(livedata, tmp_path, "xlsx"))
    assert table["title"].to_list()[:2] == [FORMULA, "Chair"]
    assert table["price"].to_list()[:2] == [10, 25.5]
    assert table["sold"].to_list()[:2] == [True, False]
    assert table["due"].to_list()[:2] == [datetime(2026, 3, 1), datetime(2026, 3, 1, 8, 30)]  # noqa: DTZ001  (a sheet knows no zones)


@pytest.mark.usefixtures("shop")
def test_a_file_says_of_which_table_it_is(livedata: Shell, tmp_path: Path) -> None:
    schema = parquet.read_schema(exported(livedata, tmp_path, "parquet"))
    about = orjson.loads(schema.metadata[b"livedata"])
    assert (about["dataset"], about["key"], about["sequence"]) == ("shop", "sku", 5)
    assert schema.field("sku").metadata[b"key"] == b"true"
    assert schema.field("price").metadata == {b"label": b"price", b"description": b"With tax."}
    book = openpyxl.load_workbook(exported(livedata, tmp_path, "xlsx"))
    told = {each.name: each.value for each in book.custom_doc_props.props}
    assert told["livedata.dataset"] == "shop"
    assert told["livedata.sequence"] == "5"
    notes = {cell.value: cell.comment.text for cell in book.active[1] if cell.comment}
    assert notes == {"sku": "Identifies the row.", "price": "With tax."}


@pytest.mark.usefixtures("shop")
def test_a_workbook_has_the_types_of_the_columns(livedata: Shell, tmp_path: Path) -> None:
    rows = sheet(exported(livedata, tmp_path, "xlsx"))
    assert rows.freeze_panes == "A2"
    names, first, second, third = ([cell.value for cell in row] for row in rows.iter_rows())
    assert names == [
        *("rowKey", "status", "presence"),
        *("sku", "title", "price", "sold", "due", "link"),
    ]
    assert first[4:] == [FORMULA, 10, True, datetime(2026, 3, 1), "https://a.example/lamp"]  # noqa: DTZ001
    assert rows["E2"].data_type == "s"
    assert rows["I2"].hyperlink.target == "https://a.example/lamp"
    assert (rows["H2"].number_format, rows["H3"].number_format) == (
        "yyyy-mm-dd",
        "yyyy-mm-dd hh:mm:ss",
    )
    assert second[6:8] == [False, datetime(2026, 3, 1, 8, 30)]  # noqa: DTZ001
    # One character more than a cell of Excel takes.
    assert third[4] == "x" * 32_766 + "…"


@pytest.mark.usefixtures("shop")
def test_more_links_than_a_sheet_has_are_texts(
    livedata: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typed_files, "MOST_LINKS", 0)
    cell = sheet(exported(livedata, tmp_path, "xlsx"))["I2"]
    assert (cell.value, cell.hyperlink) == ("https://a.example/lamp", None)


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("day", ["1819-12-14", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+10:00"])
def test_a_date_that_a_sheet_does_not_know_is_a_text(
    livedata: Shell, tmp_path: Path, day: str
) -> None:
    livedata("rows", "edit", "shop", "C3", f"due={day}")
    value = sheet(exported(livedata, tmp_path, "xlsx"))["H4"].value
    assert str(value)[:4] == day[:4]
    (*_, row) = parquet.read_table(exported(livedata, tmp_path, "parquet")).to_pylist()
    assert str(row["due"])[:10] == day[:10]


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    "text", ["a\tb\x0bc\x1f", "_x0041_", "<&>\"'", "日本 👍🏽", "'=1+1", " x "]
)
def test_every_text_is_read_back_as_it_was(livedata: Shell, tmp_path: Path, text: str) -> None:
    livedata("rows", "edit", "shop", "C3", f"title={text}")
    cell = sheet(exported(livedata, tmp_path, "xlsx"))["E4"].value
    (*_, row) = parquet.read_table(exported(livedata, tmp_path, "parquet")).to_pylist()
    assert (openpyxl_text(cell), row["title"]) == (text, text)


@pytest.mark.usefixtures("shop")
def test_more_rows_than_a_sheet_has_are_refused(
    livedata: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typed_files, "MOST_ROWS", 3)
    file = tmp_path / "table.xlsx"
    said = livedata.error("dataset", "export", "shop", "--format", "xlsx", "-o", str(file))
    assert "A sheet has at most 2 rows below its heading, and there are more:" in said
    assert list(tmp_path.glob("*.xlsx")) == []


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("file_format", ["parquet", "xlsx"])
def test_rows_columns_times_and_moments_are_chosen(
    livedata: Shell, tmp_path: Path, file_format: str
) -> None:
    options = ("--columns", "price,sku", "--times", "--where", "price > 20", "--at", "3")
    file = exported(livedata, tmp_path, file_format, *options)
    if file_format == "parquet":
        (row,) = parquet.read_table(file).to_pylist()
        names, values = list(row), list(row.values())
    else:
        names, values = ([cell.value for cell in line] for line in sheet(file).iter_rows())
    assert names == ["price", "sku", "observedAt", "updatedAt"]
    assert values[:2] == [25.5, "B2"]
    assert isinstance(values[2], datetime)


@pytest.mark.usefixtures("shop")
def test_columns_that_are_named_stand_alone_in_their_order(livedata: Shell) -> None:
    export = ("dataset", "export", "shop", "--columns")
    text = livedata.out(*export, "price, sku,price")
    assert next(csv.reader(io.StringIO(text))) == ["price", "sku"]
    line = livedata.out(*export, "sku", "--format", "jsonl").splitlines()[0]
    assert orjson.loads(line) == {"sku": "A1"}
    assert "There is no column 'prise'. There is: sku, title" in livedata.error(*export, "prise")
    assert "names of columns, with commas between them" in livedata.error(*export, ",", code=2)


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("file_format", ["sqlite", "datapackage"])
def test_what_has_the_whole_table_takes_no_columns(
    livedata: Shell, tmp_path: Path, file_format: str
) -> None:
    said = livedata.error(
        *("dataset", "export", "shop", "--format", file_format, "-o", str(tmp_path / "x")),
        *("--columns", "sku"),
        code=2,
    )
    assert "--columns is for other formats: " in said


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("file_format", ["parquet", "xlsx"])
def test_a_file_of_types_is_no_stream(livedata: Shell, file_format: str) -> None:
    said = livedata.error("dataset", "export", "shop", "--format", file_format, code=2)
    assert f"--format {file_format} writes a file: name it with -o" in said


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("file_format", "module", "kind"),
    [("parquet", "pyarrow", "Parquet files"), ("xlsx", "xlsxwriter", "Workbooks")],
)
def test_what_is_not_installed_is_told_with_the_command_that_installs_it(
    livedata: Shell,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file_format: str,
    module: str,
    kind: str,
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    file = tmp_path / "table"
    said = livedata.error("dataset", "export", "shop", "--format", file_format, "-o", str(file))
    assert f"{kind} need a part of livedata that is not installed." in said
    assert install_command("tables") in said
    assert not file.exists()


def test_a_table_without_rows_is_a_file_with_its_columns(
    store: Store, livedata: Shell, tmp_path: Path
) -> None:
    make_dataset(store)
    assert parquet.read_table(exported(livedata, tmp_path, "parquet")).num_rows == 0
    assert sheet(exported(livedata, tmp_path, "xlsx")).max_row == 1
