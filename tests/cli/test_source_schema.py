"""``livedata schema source``: what editors know of a source file is what create takes."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livedata.cli.source.source_file import read_source
from livedata.formats.json_schema import source_file_schema
from livedata.formats.source_toml import SCHEMA_FILE, SCHEMA_LINE
from livedata.messages.validation import read
from livedata.model.errors import Invalid
from livedata.model.source_file import SourceFile
from livedata.rules.declaration.consistency import check
from livedata.rules.network.targets import TargetPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.cli.shell import Shell

pytestmark = pytest.mark.one_database
ROOT = Path(__file__).parents[2]
TAPLO = Path(sys.executable).parent / "taplo"
Json = dict[str, Any]

WHOLE = tomllib.loads("""
name = "shop"
question = "What does it cost?"
schedule = { cron = "0 6 * * *", status = "active" }
test = { pages = "shop.pages" }

[[columns]]
name = "link"
type = "string"
key = true

[[columns]]
name = "price"
type = "number"
label = "Price"
description = "In pounds."

[[columns]]
name = "bought"
type = "date"
ownership = "user"

[source]
version = 1
url = "https://shop.example/list/1"
itemSelector = "li.item"
render = "static"
maxPages = 5
maxItems = 100
minimumItems = 10
proxy = "auto"
ignoreRobots = false
identity = { kind = "source-key", field = "link" }

[source.pagination]
kind = "url-pattern"
pattern = "https://shop.example/list/{page}"
startPage = 1
endSelector = ".end"

[[source.fields]]
name = "link"
required = true
read = { selector = "a", kind = "attribute", attribute = "href" }

[[source.fields]]
name = "price"
read = { selector = ".price" }

[[notice]]
name = "ops"
webhook = "env:HOOK"
on = "changes,silent"
silent-for = "2d"
after = 3
when = ["price falls by 10%"]
kind = ["updated"]

[[share]]
label = "sheet"
columns = "link,price"
where = ["price < 20"]
""")
OTHER_KINDS = {
    "identity": {"kind": "composite", "fields": ["link"]},
    "pagination": {"kind": "next-link", "selector": "a.next"},
}


@pytest.fixture(scope="module")
def schema() -> Json:
    return source_file_schema()


VALID = jsonschema_rs.Draft202012Validator(source_file_schema())


def properties(schema: Json) -> Iterator[tuple[str, Json]]:
    for name, shape in {"": schema, **schema["$defs"]}.items():
        for key, about in shape["properties"].items():
            yield f"{name}.{key}", about


def test_it_is_a_schema_of_the_dialect_that_it_names(schema: Json) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema_rs.meta.validate(schema)


def test_the_command_prints_it(livedata: Shell, schema: Json) -> None:
    assert json.loads(livedata.out("schema", "source")) == schema


def test_each_property_has_a_title_a_description_and_what_may_stand_there(schema: Json) -> None:
    for place, about in properties(schema):
        assert about["title"][0].isupper(), place
        assert about["description"].endswith("."), place
        chosen = {"enum", "const"} & about.keys() or about.get("type") == "boolean"
        assert chosen or about["examples"], place
    titles = {about["title"] for _, about in properties(schema)}
    assert {"Item selector", "Silent for", "Minimum items"} <= titles


def test_every_example_is_one(schema: Json) -> None:
    for place, about in properties(schema):
        validator = jsonschema_rs.Draft202012Validator({**about, "$defs": schema["$defs"]})
        for each in about.get("examples", ()):
            assert validator.is_valid(each), place


def test_nothing_else_may_stand_in_any_table(schema: Json) -> None:
    for shape in (schema, *schema["$defs"].values()):
        assert shape["additionalProperties"] is False


def test_it_has_no_words_that_only_one_program_understands(schema: Json) -> None:
    text = json.dumps(schema)
    for word in ("discriminator", "x-", "prefixItems", "unevaluated", "$dynamic", "Interface 2"):
        assert f'"{word}' not in text


def test_the_template_and_all_examples_are_valid(livedata: Shell, tmp_path: Path) -> None:
    livedata("init", "--template", "-o", str(tmp_path / "source.toml"))
    for file in (tmp_path / "source.toml", *(ROOT / "examples").rglob("*.toml")):
        VALID.validate(tomllib.loads(file.read_text(encoding="utf-8")))
    VALID.validate(WHOLE)


# --- What the schema takes, and what create takes


def shape_takes(value: object) -> bool:
    try:
        read(SourceFile, value)
    except Invalid:
        return False
    return True


def rules_take(value: object) -> bool:
    try:
        check(read(SourceFile, value), TargetPolicy())
    except Invalid:
        return False
    return True


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else ()
    for step, each in enumerate(value) if isinstance(value, list) else inner:
        yield from places(each, (*path, step))


def put(whole: Json, path: Sequence[Any], value: object) -> Json:
    changed: Any = copy.deepcopy(whole)
    at = changed
    for step in path[:-1]:
        at = at[step]
    if value is LEFT_OUT:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return changed  # type: ignore[no-any-return]


LEFT_OUT = object()
PLACES = [path for path in places(WHOLE) if path]
VALUES = st.sampled_from(
    [
        *(LEFT_OUT, None, True, False, 0, 1, -1, 2, 51, 1001, 10**6 + 1, 0.5, [], {}, "", "x"),
        *("0 6 * * *", "link", "price", "date", "url", "user", "attribute", "text", "composite"),
        *("https://a.example/", "https://a.example/{page}", "ftp://a.example/", "a b", "1a", "ä"),
        *("x" * 81, "x" * 121, "x" * 501, "x" * 2049, ["link"], ["link", "link"], [1], [{}]),
        *(list(range(101)), {"kind": "none"}, {"kind": "odd"}, *OTHER_KINDS.values()),
        *(WHOLE["columns"], WHOLE["source"]["fields"], WHOLE["source"]["identity"]),
    ]
)
EDITS = st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=3)
NEW_KEYS = st.sampled_from(["", "kind", "attribute", "selector", "nmae", "label", "startPage"])


def edited(edits: Sequence[tuple[Sequence[Any], object]]) -> Json:
    value = WHOLE
    for path, new in edits:
        try:
            value = put(value, path, new)
        except (KeyError, IndexError, TypeError):
            continue  # an edit before it took the place away
    return value


@given(EDITS)
def test_what_the_schema_takes_has_its_shape_and_what_it_refuses_create_refuses(
    edits: list[tuple[Sequence[Any], object]],
) -> None:
    value = edited(edits)
    if VALID.is_valid(value):
        assert shape_takes(value)
    else:
        assert not rules_take(value)


@given(st.sampled_from(PLACES), NEW_KEYS, VALUES)
@example(("schedule",), "corn", "0 6 * * *")
def test_a_property_more_is_taken_by_both_or_by_neither(
    path: tuple[Any, ...], key: str, new: object
) -> None:
    value = edited([((*path, key), None if new is LEFT_OUT else new)])
    assert not VALID.is_valid(value) or shape_takes(value)
    assert VALID.is_valid(value) or not rules_take(value)


PATTERN = ("source", "pagination", "pattern")
BEYOND_SHAPE: list[tuple[tuple[Any, ...], object]] = [
    (("source", "url"), "ftp://shop.example/"),
    (PATTERN, "https://shop.example/"),
    (("source", "identity"), {"kind": "composite", "fields": ["link", "link"]}),
    (("source", "fields", 0, "read", "attribute"), LEFT_OUT),
    (("source", "fields", 0, "read", "kind"), "text"),
    (("columns", 1, "type"), "date"),
    (("columns", 2, "key"), True),
]


@pytest.mark.parametrize(("path", "new"), BEYOND_SHAPE)
def test_these_rules_of_create_an_editor_knows_too(path: tuple[Any, ...], new: object) -> None:
    value = put(WHOLE, path, new)
    assert shape_takes(value)
    assert not rules_take(value)
    assert not VALID.is_valid(value)


ONLY_CREATE: list[tuple[tuple[Any, ...], object]] = [
    (("source", "url"), "http://127.0.0.1/"),
    (("source", "url"), "https://shop.example/list/2"),
    (("source", "itemSelector"), "li:hover"),
    (("source", "fields", 1, "name"), "prise"),
    (("source", "identity", "field"), "price"),
    (("source", "minimumItems"), 101),
    (("columns", 1, "name"), "link"),
]


@pytest.mark.parametrize(("path", "new"), ONLY_CREATE)
def test_these_rules_only_create_and_lint_know(path: tuple[Any, ...], new: object) -> None:
    value = put(WHOLE, path, new)
    assert VALID.is_valid(value)
    assert not rules_take(value)


# --- The line by which an editor finds it


def taplo(*args: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TAPLO, "lint", *args], cwd=folder, capture_output=True, text=True, check=False
    )


def test_init_writes_the_schema_beside_the_file_that_names_it(
    livedata: Shell, tmp_path: Path
) -> None:
    file = tmp_path / "shops" / "source.toml"
    file.parent.mkdir()
    said = livedata("init", "--template", "-o", str(file)).stderr
    schema = file.parent / SCHEMA_FILE
    assert said.endswith(f"complete and check it by {schema}, which is new beside it.\n")
    assert file.read_text().startswith(SCHEMA_LINE)
    assert schema.read_text() == livedata.out("schema", "source")
    assert str(tmp_path) not in schema.read_text()


def test_a_schema_that_is_there_stays(livedata: Shell, tmp_path: Path) -> None:
    schema = tmp_path / SCHEMA_FILE
    schema.write_text("{}")
    said = livedata("init", "--template", "-o", str(tmp_path / "a.toml"), "--force").stderr
    assert schema.read_text() == "{}"
    assert SCHEMA_FILE not in said


def test_taplo_finds_the_schema_and_takes_what_create_takes(
    livedata: Shell, tmp_path: Path
) -> None:
    file = tmp_path / "source.toml"
    livedata("init", "--template", "-o", str(file))
    done = taplo("source.toml", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    examples = [str(path) for path in sorted((ROOT / "examples").rglob("*.toml"))]
    address = (tmp_path / SCHEMA_FILE).as_uri()
    done = taplo("--schema", address, *examples, folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("itemSelector", "itemSelctor", "itemSelctor"),
        ("maxPages = 10", "maxPages = 99", "99 is greater than the maximum of 50"),
        ('kind = "source-key"', 'kind = "key"', '"key" is not one of ["composite","source-key"]'),
        ('kind = "attribute", ', "", "attribute"),
        ('type = "number"', 'type = "date"', '"date" is not one of'),
    ],
)
def test_taplo_says_what_is_wrong(
    livedata: Shell, tmp_path: Path, right: str, wrong: str, told: str
) -> None:
    file = tmp_path / "source.toml"
    livedata("init", "--template", "-o", str(file))
    text = file.read_text()
    lines = [line for line in text.splitlines() if right in line and not line.startswith("#")]
    file.write_text(text.replace(lines[0], lines[0].replace(right, wrong)))
    done = taplo("source.toml", folder=tmp_path)
    assert done.returncode == 1
    assert told in done.stderr


def test_what_dataset_source_prints_names_the_schema_and_reads_back_equal(
    livedata: Shell, tmp_path: Path
) -> None:
    file = tmp_path / "source.toml"
    livedata("init", "--template", "-o", str(file))
    livedata("dataset", "create", str(file))
    again = tmp_path / "again.toml"
    again.write_text(livedata.out("dataset", "source", "products"))
    assert again.read_text().startswith(SCHEMA_LINE)
    assert taplo("again.toml", folder=tmp_path).returncode == 0
    assert "Nothing to revise" in livedata("dataset", "revise", "products", str(again)).stderr
    assert read_source(again).source.pinned() == read_source(file).source.pinned()
