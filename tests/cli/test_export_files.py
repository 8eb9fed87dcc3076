"""An exported file appears when it is whole, and touches no file beside it."""

from __future__ import annotations

import fcntl
import os
import secrets
from io import BytesIO
from pathlib import Path

import click
import openpyxl
import pytest
from pyarrow import parquet

from livedata.cli.dataset.export import export as export_rows
from livedata.cli.output.whole_file import fresh_folder, whole_file
from livedata.store.database.store import Store
from tests.cli.shell import Shell
from tests.cli.test_home import nobody, open_to_all
from tests.made import make_dataset, take

__all__ = ["open_to_all"]
(CHOICE,) = [option.type for option in export_rows.params if option.name == "file_format"]
assert isinstance(CHOICE, click.Choice)
FORMATS = [name for name in CHOICE.choices if name != "datapackage"]
"""The formats that are one file."""
LEFT = ".rows.0123abcd.part"


@pytest.fixture
def folder(store: Store, tmp_path: Path) -> Path:
    """A folder to export to, beside a store with rows."""
    take(store, make_dataset(store))
    path = tmp_path / "out"
    path.mkdir()
    return path


def export(livedata: Shell, folder: Path, file_format: str) -> None:
    name = "package" if file_format == "datapackage" else "rows"
    livedata("dataset", "export", "shop", "--format", file_format, "-o", str(folder / name))


@pytest.mark.parametrize("file_format", FORMATS)
def test_files_of_others_beside_an_export_stay(
    livedata: Shell, folder: Path, file_format: str
) -> None:
    for name in ("rows.part", ".rows.part", ".other.0123abcd.part"):
        (folder / name).write_text("mine")
    export(livedata, folder, file_format)
    others = {path.name: path.read_text() for path in folder.iterdir() if path.name != "rows"}
    assert others == dict.fromkeys(("rows.part", ".rows.part", ".other.0123abcd.part"), "mine")
    assert (folder / "rows").stat().st_size > 0


def test_no_two_formats_write_the_same(livedata: Shell, folder: Path) -> None:
    files = {}
    for name in FORMATS:
        livedata("dataset", "export", "shop", "--format", name, "-o", str(folder / name))
        files[name] = (folder / name).read_bytes()
    assert len(set(files.values())) == len(FORMATS) > 2


@pytest.mark.parametrize(
    ("name", "file_format"),
    [
        ("rows.csv", "csv"),
        ("rows.jsonl", "jsonl"),
        ("rows.json", "jsonl"),
        ("rows.parquet", "parquet"),
        ("Rows.XLSX", "xlsx"),
        ("rows.txt", "csv"),
    ],
)
def test_the_name_of_a_file_says_its_format(
    livedata: Shell, folder: Path, name: str, file_format: str
) -> None:
    livedata("dataset", "export", "shop", "-o", str(folder / name))
    livedata("dataset", "export", "shop", "--format", file_format, "-o", str(folder / "rows"))
    read = {"parquet": _parquet, "xlsx": _workbook}.get(file_format, Path.read_bytes)
    assert read(folder / name) == read(folder / "rows")


def _parquet(file: Path) -> object:
    return parquet.read_table(file).to_pylist()


def _workbook(file: Path) -> object:
    return [*openpyxl.load_workbook(BytesIO(file.read_bytes())).active.values]


@pytest.mark.parametrize(("name", "is_table"), [("rows.db", True), ("rows.zip", False)])
def test_a_name_may_say_a_format_of_several_parts(
    livedata: Shell, folder: Path, name: str, is_table: bool
) -> None:
    livedata("dataset", "export", "shop", "-o", str(folder / name))
    began = (folder / name).read_bytes()[:6]
    assert began.startswith(b"SQLite" if is_table else b"PK")


def test_a_name_that_says_another_format_is_refused(livedata: Shell, folder: Path) -> None:
    file = folder / "rows.csv"
    error = livedata.error("dataset", "export", "shop", "--format", "xlsx", "-o", str(file), code=2)
    assert f"--format xlsx is not what the name {file} says, which is csv" in error
    assert not file.exists()
    livedata("dataset", "export", "shop", "--format", "xlsx", "-o", str(folder / "rows.bak"))


def test_a_folder_that_may_not_be_written_is_told_by_the_name_that_was_given(
    open_to_all: Path,
) -> None:
    open_to_all.chmod(0o555)
    file = open_to_all / "rows.csv"
    with nobody(), pytest.raises(PermissionError) as raised, whole_file(file):
        pass
    assert raised.value.filename == str(file)


@pytest.mark.parametrize("file_format", FORMATS)
def test_no_link_is_followed(
    livedata: Shell, folder: Path, tmp_path: Path, file_format: str
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    links = [folder / name for name in ("rows.part", LEFT)]
    for link in links:
        link.symlink_to(precious)
    export(livedata, folder, file_format)
    assert precious.read_text() == "mine"
    assert [path.is_symlink() for path in (*links, folder / "rows")] == [True, True, False]


def test_a_link_at_the_very_name_of_the_fresh_file_ends_the_export(
    livedata: Shell, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (folder / LEFT).symlink_to(precious)
    monkeypatch.setattr(secrets, "token_hex", lambda _: "0123abcd")
    said = livedata.error("dataset", "export", "shop", "-o", str(folder / "rows"))
    assert said == f"Error: {folder / LEFT}: File exists.\n"
    assert precious.read_text() == "mine"


def test_a_pipe_with_the_name_of_a_leftover_is_not_waited_for(
    livedata: Shell, folder: Path
) -> None:
    os.mkfifo(folder / LEFT)
    os.mkfifo(folder / ".livedata-left.part")
    export(livedata, folder, "csv")
    export(livedata, folder, "datapackage")


@pytest.mark.parametrize("file_format", FORMATS)
def test_what_a_killed_export_left_is_removed_but_nothing_that_is_written_now(
    livedata: Shell, folder: Path, file_format: str
) -> None:
    (folder / LEFT).write_text("half")
    now = folder / ".rows.ffffffff.part"
    with now.open("w") as written:
        fcntl.flock(written, fcntl.LOCK_EX)
        export(livedata, folder, file_format)
        assert sorted(path.name for path in folder.iterdir()) == [now.name, "rows"]


def test_two_that_write_the_same_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    output = tmp_path / "rows"
    with whole_file(output) as first, whole_file(output) as second:
        assert first.is_file()
        assert second.is_file()
        first.write_text("first")
        second.write_text("second")
    assert output.read_text() == "first"
    with fresh_folder(output) as first, fresh_folder(output) as second:
        assert first.is_dir()
        assert second.is_dir()
    assert list(tmp_path.iterdir()) == [output]


@pytest.mark.parametrize("file_format", [*FORMATS, "datapackage"])
def test_an_export_that_breaks_off_leaves_nothing(
    livedata: Shell, store: Store, folder: Path, file_format: str
) -> None:
    with store.writing() as writer:
        writer.execute("UPDATE rows SET data = '{' WHERE row_key = 'C3'")
    options = ("--format", file_format, "-o", str(folder / "rows"))
    assert "The store is damaged" in livedata.error("dataset", "export", "shop", *options)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["package", "package.zip"])
def test_what_a_killed_package_left_is_removed_but_none_that_is_written_now(
    livedata: Shell, folder: Path, name: str
) -> None:
    left, now, mine = (folder / f".livedata-{word}" for word in ("left.part", "now.part", "mine"))
    for path in (left, now, mine):
        path.mkdir()
        (path / "rows.csv").write_text("half")
    handle = os.open(now, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    livedata("dataset", "export", "shop", "--format", "datapackage", "-o", str(folder / name))
    os.close(handle)
    assert sorted(path.name for path in folder.iterdir()) == [mine.name, now.name, name]


def test_an_export_is_for_whom_the_umask_says(livedata: Shell, folder: Path) -> None:
    export(livedata, folder, "csv")
    plain = folder / "plain"
    plain.touch()
    assert (folder / "rows").stat().st_mode == plain.stat().st_mode


def test_a_file_called_minus_is_stdout(
    livedata: Shell, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    plain, named = (
        livedata("dataset", "export", "shop"),
        livedata("dataset", "export", "shop", "-o", "-"),
    )
    assert named.stdout == plain.stdout != ""
    assert [*folder.iterdir()] == []
