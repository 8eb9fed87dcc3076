"""``dataset export --format datapackage``: what a tool of Frictionless Data makes of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from frictionless import Package, validate

from livedata.store import rows
from tests.made import ITEMS, make_dataset, take

if TYPE_CHECKING:
    from pathlib import Path

    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

EXPORT = ("dataset", "export", "shop", "--format", "datapackage", "-o")
COLUMNS = (
    {"name": "sku", "type": "string", "key": True, "label": "Article", "description": "Its code."},
    {"name": "title", "type": "string"},
    {"name": "price", "type": "number"},
    {"name": "stock", "type": "boolean"},
    {"name": "status", "type": "string"},
    {"name": "seen", "type": "date", "ownership": "user"},
    {"name": "photo", "type": "url", "ownership": "user"},
)
ODD: list[dict[str, Any]] = [
    {"sku": "A1", "title": 'a, "b"\nc; = 1', "price": 1e21, "stock": True, "status": "sold"},
    {"sku": "B2", "title": "Größe 東京", "price": -0.5, "stock": False},
    {"sku": "C3"},
]


@pytest.fixture
def shop(store: Store) -> None:
    dataset = make_dataset(store, columns=COLUMNS)
    take(store, dataset, ODD)
    take(store, dataset, ODD[:2])


def described(folder: Path) -> Any:
    return json.loads((folder / "datapackage.json").read_text())


def assert_valid(package: Path) -> None:
    report = validate(str(package))
    assert report.valid, report.flatten(["type", "note"])


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("name", ["shop", "shop.zip"])
def test_a_package_is_valid_and_has_the_cells_as_they_are(
    livedata: Shell, tmp_path: Path, name: str
) -> None:
    livedata("rows", "edit", "shop", "A1", "seen=2026-01-31", "photo=https://shop.example/a.jpg")
    livedata("rows", "edit", "shop", "B2", "seen=2026-01-31T08:00:00Z")
    output = tmp_path / name
    assert f"Wrote 3 rows to {output}." in livedata(*EXPORT, str(output)).stderr
    place = output if output.suffix else output / "datapackage.json"
    assert_valid(place)
    rows = Package(str(place)).get_resource("rows").read_rows()
    assert [row["rowKey"] for row in rows] == ["A1", "B2", "C3"]
    assert [(row["_status"], row["presence"]) for row in rows][-1] == ("gone", "missing")
    assert [row["title"] for row in rows] == [item.get("title") for item in ODD]
    assert [row["price"] and float(row["price"]) for row in rows] == [1e21, -0.5, None]
    assert [row["stock"] for row in rows] == [True, False, None]


@pytest.mark.usefixtures("shop")
def test_a_package_describes_every_column(livedata: Shell, tmp_path: Path) -> None:
    livedata("dataset", "update", "shop", "--name", "My Shop: Größe", "--question", "What is sold?")
    livedata("dataset", "export", "My Shop: Größe", *EXPORT[3:], str(tmp_path / "out"))
    package = described(tmp_path / "out")
    assert (package["name"], package["title"]) == ("my-shop-gr-e", "My Shop: Größe")
    assert package["description"] == "What is sold?"
    (table,) = package["resources"]
    assert table["schema"]["primaryKey"] == ["rowKey"]
    fields = {field["name"]: field for field in table["schema"]["fields"]}
    assert fields["sku"] == {
        "name": "sku",
        "title": "Article",
        "description": "Its code.",
        "type": "string",
        "constraints": {"required": True},
    }
    types = {name: field["type"] for name, field in fields.items()}
    assert types["price"] == "number"
    assert types["stock"] == "boolean"
    assert fields["photo"]["format"] == "uri"


@pytest.mark.usefixtures("shop")
def test_a_place_that_holds_something_else_is_left_alone(livedata: Shell, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "letter.txt").write_text("dear")
    assert "is no data package" in livedata.error(*EXPORT, str(mine), "--force")
    assert [file.name for file in mine.iterdir()] == ["letter.txt"]
    assert "there is no folder" in livedata.error(*EXPORT, str(tmp_path / "no" / "where"))


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("name", ["shop", "shop.zip"])
def test_a_package_is_replaced_only_with_force(livedata: Shell, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    output = str(folder / name)
    livedata(*EXPORT, output)
    assert "exists; --force replaces it" in livedata.error(*EXPORT, output)
    livedata(*EXPORT, output, "--force", "--present")
    assert (
        len(
            Package(f"{output}/datapackage.json" if name == "shop" else output)
            .get_resource("rows")
            .read_rows()
        )
        == 2
    )
    assert [file.name for file in folder.iterdir()] == [name]


def test_a_package_that_breaks_off_is_not_there(
    livedata: Shell, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(store, make_dataset(store), ITEMS)
    monkeypatch.setattr(rows, "in_order", lambda *_: iter([None]))
    folder = tmp_path / "exports"
    folder.mkdir()
    with pytest.raises(TypeError):
        livedata(*EXPORT, str(folder / "shop"))
    assert list(folder.iterdir()) == []


def test_a_package_needs_a_place(livedata: Shell) -> None:
    for args in ((*EXPORT[:-1],), (*EXPORT, "x", "--json")):
        assert "datapackage writes a file" in livedata.error(*args, code=2)
