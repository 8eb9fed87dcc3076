"""``dataset export --archive`` and ``dataset import``, and archives that are none."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from tests.cli.shell import Shell
from tests.made import make_dataset, make_store, meet_owner, take
from tests.services.table import A, B, C, Table

if TYPE_CHECKING:
    from livedata.store.database.store import Store

Change = Callable[[dict[str, bytes]], object]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of a dataset with a little history."""
    home = tmp_path_factory.mktemp("first")
    with closing(make_store(home)) as store:
        meet_owner(store, "local", 1000)
        table = Table(store)
        table.take(A, B, C)
        table.edit("A1", {"title": "Lamp of mine"})
        table.take({**A, "price": 11}, B)
    Shell(home)("dataset", "export", "shop", "--archive", str(home / "shop.zip"))
    return home / "shop.zip"


def members(file: Path) -> dict[str, bytes]:
    """Member -> what it has."""
    with zipfile.ZipFile(file) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def written(file: Path, contents: dict[str, bytes]) -> Path:
    """A file with these members, as nobody checks them."""
    with zipfile.ZipFile(file, "w") as packed:
        for name, content in contents.items():
            packed.writestr(name, content)
    return file


def sealed(contents: dict[str, bytes]) -> None:
    """Make the manifest fit the members, as somebody would who forges an archive."""
    manifest = orjson.loads(contents["manifest.json"])
    for name, member in manifest["members"].items():
        content = contents[name]
        member |= {"bytes": len(content), "records": content.count(b"\n")}
        member["sha256"] = hashlib.sha256(content).hexdigest()
    contents["manifest.json"] = orjson.dumps(manifest)


def of_manifest(**values: Any) -> Change:
    """Change what the manifest says."""

    def change(contents: dict[str, bytes]) -> None:
        manifest = orjson.loads(contents["manifest.json"])
        contents["manifest.json"] = orjson.dumps({**manifest, **values})

    return change


def of_lines(name: str, old: bytes, new: bytes) -> Change:
    """Change a member, and seal the archive again."""

    def change(contents: dict[str, bytes]) -> None:
        assert old in contents[name]
        contents[name] = contents[name].replace(old, new, 1)
        sealed(contents)

    return change


def damaged(whole: bytes) -> bytes:
    """An archive in which one byte of its largest member is another."""
    # Within a member: a change of what a file system notes of it, such as a date, harms nothing.
    with zipfile.ZipFile(BytesIO(whole)) as packed:
        largest = max(packed.infolist(), key=lambda member: member.compress_size)
    place = largest.header_offset + 30 + len(largest.filename) + largest.compress_size // 2
    return whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]


DEEP = b"[" * 2_000 + b"]" * 2_000


def bomb(contents: dict[str, bytes]) -> None:
    contents["rows.jsonl"] += b" " * 50_000_000


def of_unknown_pages(contents: dict[str, bytes]) -> None:
    """Let Runs not know their pages, and rows with evidence of an earlier Run name no page."""

    def records(name: str) -> list[dict[str, Any]]:
        return [*map(orjson.loads, contents[f"{name}.jsonl"].splitlines())]

    observers = {each["id"]: each["run_id"] for each in records("observations")}
    runs = [run | {"facts": None} for run in records("runs")]
    rows = records("rows")
    for row in rows:
        if observers[row["observation_id"]] != row["last_run_id"]:
            row["source_url"] = "javascript:alert(1)"
    for name, changed in (("runs", runs), ("rows", rows)):
        contents[f"{name}.jsonl"] = b"".join(orjson.dumps(each) + b"\n" for each in changed)
    sealed(contents)


def test_an_archive_goes_out_and_in(archive: Path, livedata: Shell) -> None:
    said = livedata("dataset", "import", str(archive))
    lines = [line.split(maxsplit=1) for line in said.stdout.splitlines()]
    assert lines[0] == ["name", "shop"]
    assert lines[2:5] == [["rows", "2, and 1 gone"], ["changes", "6"], ["schedule", "none"]]
    assert said.stdout.splitlines()[-1] == "livedata dataset update shop --status active"
    assert said.stderr == "It is paused until you start it:\n"
    assert livedata.json("dataset", "show", "shop")["status"] == "paused"
    assert livedata.out("check") == "The store is sound: 1 dataset, 3 rows, 6 revisions.\n"
    first = Shell(archive.parent)
    assert livedata.out("changes", "shop", "--json") == first.out("changes", "shop", "--json")
    refused = livedata.error("dataset", "import", str(archive))
    assert refused.startswith("Error: The store has the dataset ")


def test_an_archive_describes_itself(archive: Path) -> None:
    contents = members(archive)
    manifest = orjson.loads(contents.pop("manifest.json"))
    assert (manifest["format"], manifest["version"]) == ("livedata-archive", 1)
    assert manifest["dataset"]["name"] == "shop"
    assert contents.keys() == manifest["members"].keys()
    for name, content in contents.items():
        about = manifest["members"][name]
        assert about["sha256"] == hashlib.sha256(content).hexdigest()
        assert about["records"] == len(content.splitlines())
        for line in content.splitlines():
            assert orjson.loads(line).keys() == about["columns"].keys()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (of_manifest(version=3, livedata="9.1"), "was written by livedata 9.1, in version 3 of"),
        (of_manifest(format="zip"), "is no archive of livedata"),
        (of_manifest(version="1"), "is no archive of livedata"),
        (of_manifest(members={}), "has no "),
        (lambda contents: contents.pop("manifest.json"), "is no archive of livedata"),
        (lambda contents: contents.pop("rows.jsonl"), "has no rows.jsonl"),
        (
            lambda contents: contents.update({"../rows.jsonl": b""}),
            "has the member '../rows.jsonl', which no archive has",
        ),
        (
            lambda contents: contents.update({"/etc/passwd": b""}),
            "has the member '/etc/passwd', which no archive has",
        ),
        (
            lambda contents: contents.update({"rows.jsonl": contents["rows.jsonl"][:-2] + b" \n"}),
            "was changed or damaged since it was written: rows.jsonl",
        ),
        (bomb, "unpacks to more than it declares: rows.jsonl"),
        (of_lines("rows.jsonl", b'"data":', b'"date":'), "cannot be read: rows.jsonl, line 1: "),
        (of_lines("rows.jsonl", b'"id":"', b'"id":"x'), "cannot be read: rows.jsonl, line 1: "),
        (of_lines("rows.jsonl", b"{", b"["), "cannot be read: rows.jsonl, line 1: "),
        (
            of_lines("revisions.jsonl", b'"changed":', b'"changed":99999999999999999999'),
            "cannot be read: revisions.jsonl, line 1: ",
        ),
        (
            of_lines("rows.jsonl", b'"row_key":"', b'"row_key":"\\u0000'),
            "cannot be read: rows.jsonl, line 1: a text has a NUL",
        ),
        (
            of_lines("rows.jsonl", b'"row_key":"', b'"row_key":"\\udc00'),
            "cannot be read: rows.jsonl, line 1: ",
        ),
        (
            of_lines("rows.jsonl", b'{"', b'{"x":' + DEEP + b',"'),
            "cannot be read: rows.jsonl, line 1: ",
        ),
        (
            of_lines("recipes.jsonl", b'\\"version\\":1', b'\\"version\\":' + DEEP),
            "does not agree with itself: ",
        ),
        (
            of_lines("schemas.jsonl", b'[{\\"', b'[{\\"x\\":' + DEEP + b',\\"'),
            "does not agree with itself: ",
        ),
        (
            of_lines("runs.jsonl", b'"stop":"{', b'"stop":"{\\"x\\":' + DEEP + b","),
            "does not agree with itself: ",
        ),
        (
            lambda contents: contents.update({"manifest.json": b'{"format":' + DEEP}),
            "is no archive of livedata",
        ),
        (
            of_lines("rows.jsonl", b'"source_url":"https://shop.example/list', b'"source_url":"x'),
            "names another page than its observation",
        ),
        (
            of_lines("observations.jsonl", b'"https://shop.example/list', b'"javascript:alert(1)'),
            "names 'javascript:alert(1)",
        ),
        (of_unknown_pages, "names 'javascript:alert(1)"),
        (of_lines("datasets.jsonl", b'"head":6', b'"head":7'), "does not agree with itself: "),
        (of_lines("datasets.jsonl", b'"field_ids":"[', b'"field_ids":"'), "has no list of fields"),
        (
            of_lines("revisions.jsonl", b'"sequence":2', b'"sequence":1'),
            "has two records of one id, name or number",
        ),
        (of_lines("runs.jsonl", b'"facts":"', b'"facts":"{'), "does not agree with itself: "),
        (
            of_lines("datasets.jsonl", b'"schedule":null', b'"schedule":"often"'),
            "does not agree with itself: ",
        ),
        (
            of_lines("recipes.jsonl", b"https://shop.example/list", b"http://127.0.0.1/list"),
            "The recipe in {file} is refused today: source.url ",
        ),
        (
            of_lines("recipes.jsonl", b'\\"itemSelector\\":\\"li', b'\\"itemSelector\\":\\"li['),
            "The recipe in {file} is refused today: source.itemSelector: ",
        ),
    ],
)
def test_what_is_wrong_with_an_archive_is_one_sentence_and_nothing_is_imported(
    archive: Path, tmp_path: Path, change: Change, said: str
) -> None:
    contents = members(archive)
    change(contents)
    file = written(tmp_path / "odd.zip", contents)
    livedata = Shell(archive.parent / "second")
    told = livedata.error("dataset", "import", str(file))
    assert told.startswith("Error: ")
    assert said.format(file=file) in told
    assert "othing was imported" in told
    assert len(told.splitlines()) == 1
    assert livedata.json("dataset", "list") == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            lambda whole: whole[: len(whole) // 2],
            "is cut short; nothing was imported. Copy it again.",
        ),
        (lambda whole: whole[:-1], "is cut short; nothing was imported. Copy it again."),
        (lambda _: b"", "is no archive of livedata; nothing was imported."),
        (lambda _: b"PK", "is no archive of livedata; nothing was imported."),
        (lambda _: b"sku,title\n" * 100, "is no archive of livedata; nothing was imported."),
        (damaged, "nothing was imported."),
    ],
)
def test_a_file_that_is_no_whole_archive_is_refused(
    archive: Path, tmp_path: Path, content: Callable[[bytes], bytes], said: str
) -> None:
    file = tmp_path / "odd.zip"
    file.write_bytes(content(archive.read_bytes()))
    livedata = Shell(archive.parent / "second")
    told = livedata.error("dataset", "import", str(file))
    assert told.startswith(f"Error: {file} ")
    assert said in told
    assert len(told.splitlines()) == 1


def test_a_file_that_cannot_be_read_makes_no_store(tmp_path: Path) -> None:
    livedata = Shell(tmp_path / "home")
    missing = tmp_path / "missing.zip"
    assert f"{missing}: No such file" in livedata.error("dataset", "import", str(missing))
    assert "Is a directory" in livedata.error("dataset", "import", str(tmp_path))
    assert not livedata.home.exists()


def test_an_archive_appears_whole_and_replaces_nothing(
    livedata: Shell, store: Store, tmp_path: Path
) -> None:
    take(store, make_dataset(store))
    file = tmp_path / "shop.zip"
    said = livedata("dataset", "export", "shop", "--archive", str(file)).stderr
    assert said.startswith(f"Wrote 3 rows, 3 changes and 1 Run to {file} (")
    first = file.read_bytes()
    assert "--archive names another" in livedata.error(
        "dataset", "export", "shop", "--archive", str(file)
    )
    assert file.read_bytes() == first
    told = livedata.json("dataset", "export", "shop", "--archive", str(file), "--force")
    assert told["records"]["revisions"] == 3
    assert told["bytes"] == file.stat().st_size
    said = livedata.error("dataset", "export", "shop", "--archive", "a", "-o", "b", code=2)
    assert "--archive writes the whole dataset" in said


def test_an_archive_can_have_another_name(archive: Path, livedata: Shell, store: Store) -> None:
    make_dataset(store)
    said = livedata.error("dataset", "import", str(archive))
    assert "There is a dataset named 'shop' already" in said
    assert "--name" in said
    assert livedata.json("dataset", "import", str(archive), "--name", "b")["name"] == "b"
    assert "must not begin" in livedata.error("dataset", "import", str(archive), "--name", " b")
