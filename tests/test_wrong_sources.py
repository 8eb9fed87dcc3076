"""Wrong sources: each refused with one sentence that names the file, the line and the place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from livedata.cli.source.source_file import locate_problems, read_source
from livedata.model.errors import Invalid
from livedata.rules.declaration.consistency import check
from livedata.rules.network.targets import TargetPolicy

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """\
name = "Shop prices"
question = "What does it cost?"

[[columns]]
name = "sku"
type = "string"
key = true

[[columns]]
name = "price"
type = "number"
label = "Price"

[[columns]]
name = "note"
type = "date"
ownership = "user"

[source]
version = 1
url = "https://shop.example/items?page=1"
itemSelector = "li.item"
render = "static"
maxPages = 5
maxItems = 100
minimumItems = 10
proxy = "auto"
ignoreRobots = false

[[source.fields]]
name = "sku"
required = true
read = { selector = "a.name", kind = "attribute", attribute = "href" }

[[source.fields]]
name = "price"

[source.fields.read]
selector = "span.price"

[source.identity]
kind = "source-key"
field = "sku"

[source.pagination]
kind = "url-pattern"
pattern = "https://shop.example/items?page={page}"
startPage = 1
endSelector = ".no-more"
"""

ATTRIBUTE = "source.fields[0].read.attribute"
PRICE = "source.fields[1].read.selector"
PATTERN = "source.pagination.pattern"

# line of GOOD to edit, new text, line named, path named, words said
WRONG: list[tuple[int, str, int, str, str]] = [
    (1, "", 1, "name", "is required"),
    (1, "name = 5", 1, "name", "must be a string, not 5"),
    (1, 'name = ""', 1, "name", "must not be empty"),
    (1, f'name = "{"x" * 121}"', 1, "name", "must have at most 120 characters, not 121"),
    (1, "name = 2024-01-01", 1, "name", "must be a string, not the date 2024-01-01"),
    (1, "name = 07:30:00", 1, "name", "must be a string, not the time 07:30:00"),
    (1, 'name = "a\\u0000"', 1, "name", "must not contain NUL"),
    (1, 'nmae = "Shop"\nname = "a"', 1, "nmae", "unknown property nmae; did you mean name?"),
    (2, 'schedule = "0 0 * * *"', 2, "schedule", "must be an object"),
    (2, 'every = "1d"', 2, "every", "known here: name, question, columns, source, schedule"),
    (2, "maxPages = 5", 2, "maxPages", "unknown property maxPages; it belongs to source"),
    (5, "", 4, "columns[0].name", "is required"),
    (5, 'name = "1sku"', 5, "columns[0].name", "must start with a letter and go on"),
    (5, 'name = "s k u"', 5, "columns[0].name", 'not "s k u"'),
    (6, 'type = "text"', 6, "columns[0].type", 'be "string", "number" or "boolean", not "text"'),
    (6, 'type = "strng"', 6, "columns[0].type", 'did you mean "string"?'),
    (6, "", 4, "columns[0].type", "is required"),
    (6, 'type = "url"', 6, "columns[0].type", '"boolean" in a collected column, not "url"'),
    (7, 'key = "yes"', 7, "columns[0].key", 'must be true or false, not "yes"'),
    (7, "key = 1", 7, "columns[0].key", "must be true or false, not 1"),
    (7, "key = false", 43, "source.identity.field", 'names "sku", which is not a key'),
    (7, 'key = true\nid = "a"', 8, "columns[0].id", "must not be given"),
    (10, 'name = "sku"', 10, "columns[1].name", 'repeats the name "sku" of columns[0]'),
    (12, f'label = "{"x" * 121}"', 12, "columns[1].label", "at most 120 characters"),
    (12, "key = true", 41, "source.identity", 'leaves out the key column "price"'),
    (12, "description = []", 12, "columns[1].description", "must be a string, not a list"),
    (17, 'ownership = "users"', 17, "columns[2].ownership", 'did you mean "user"?'),
    (17, 'ownership = "user"\nkey = true', 18, "columns[2].key", "must not be true in a user"),
    (20, "version = 2", 20, "source.version", "must be 1, not 2"),
    (20, 'version = "1"', 20, "source.version", 'must be 1, not "1"'),
    (20, "version = true", 20, "source.version", "must be 1, not true"),
    (20, "", 19, "source.version", "is required"),
    (21, "", 19, "source.url", "is required"),
    (21, 'url = "ftp://shop.example"', 21, "source.url", "must begin with http:// or https://"),
    (21, 'url = "https://a:b@shop.example/"', 21, "source.url", "user name or password"),
    (21, 'url = "http://10.0.0.7/"', 21, "source.url", "private address 10.0.0.7"),
    (21, 'url = "http://0x7f.1/"', 21, "source.url", "private address 127.0.0.1"),
    (21, 'url = "https://shop.example/a b"', 21, "source.url", "a space (character 23)"),
    (21, 'url = "https:///a"', 21, "source.url", "must have a host"),
    (21, 'url = "https://shop.example:x/"', 21, "source.url", "its port must be a number"),
    (21, f'url = "https://{"x" * 2041}"', 21, "source.url", "at most 2048 characters, not 2049"),
    (21, 'url = "https://a/"', 21, "source.url", '/items?page=1", not "https://a/"'),
    (22, 'itemSelctor = "li"', 22, "source.itemSelctor", "did you mean itemSelector?"),
    (22, "", 19, "source.itemSelector", "is required"),
    (22, 'itemSelector = ""', 22, "source.itemSelector", "must not be empty"),
    (
        22,
        f'itemSelector = "{"x" * 501}"',
        22,
        "source.itemSelector",
        "500 characters, not 501",
    ),
    (22, 'itemSelector = "li:hover"', 22, "source.itemSelector", ":hover"),
    (22, 'itemSelector = "ul + li"', 22, "source.itemSelector", "position 3"),
    (22, 'itemSelector = "li["', 22, "source.itemSelector", "["),
    (22, 'itemSelector = "//li"', 22, "source.itemSelector", "position 0"),
    (23, 'render = "chrome"', 23, "source.render", 'must be "static" or "browser", not "chrome"'),
    (24, "maxPages = 0", 24, "source.maxPages", "must be at least 1, not 0"),
    (24, "maxPages = 51", 24, "source.maxPages", "must be at most 50, not 51"),
    (24, 'maxPages = "5"', 24, "source.maxPages", 'must be a whole number, not "5"'),
    (24, "maxPages = 2.5", 24, "source.maxPages", "must be a whole number, not 2.5"),
    (24, "maxPages = true", 24, "source.maxPages", "must be a whole number, not true"),
    (24, "maxPages = nan", 24, "source.maxPages", "must be a whole number, not NaN"),
    (24, "maxPages = 0x" + "f" * 5000, 24, "source.maxPages", "not a number beyond 64 bits"),
    (24, "max_pages = 5", 24, "source.max_pages", "did you mean maxPages?"),
    (25, "maxItems = 1001", 25, "source.maxItems", "must be at most 1000, not 1001"),
    (25, "maxItems = 9", 26, "source.minimumItems", "must be at most maxItems, 9, not 10"),
    (26, "minimumItems = -1", 26, "source.minimumItems", "must be at least 0, not -1"),
    (27, 'proxy = "sometimes"', 27, "source.proxy", 'must be "auto", "always" or "never"'),
    (28, 'ignoreRobots = "no"', 28, "source.ignoreRobots", 'must be true or false, not "no"'),
    (28, '"odd key" = 1', 28, 'source["odd key"]', 'unknown property "odd key"'),
    (31, 'name = "skuu"', 31, "source.fields[0].name", 'did you mean "sku"?'),
    (31, 'name = "colour"', 31, "source.fields[0].name", 'names "colour", which is not a column'),
    (31, 'name = "note"', 31, "source.fields[0].name", 'names the user column "note"'),
    (31, 'name = "price"', 36, "source.fields[1].name", 'repeats "price"'),
    (32, 'required = "yes"', 32, "source.fields[0].required", "must be true or false"),
    (32, 'selector = "a"', 32, "source.fields[0].selector", "it belongs to source.fields.read"),
    (33, "", 30, "source.fields[0].read", "is required"),
    (33, 'read = "a.name"', 33, "source.fields[0].read", 'must be an object, not "a.name"'),
    (
        33,
        'read = { kind = "attribute" }',
        33,
        ATTRIBUTE,
        "is required where",
    ),
    (33, 'read = { attribute = "1x" }', 33, ATTRIBUTE, "must start with a letter or underscore"),
    (33, 'read = { attribute = "href" }', 33, ATTRIBUTE, 'did you mean kind = "attribute"?'),
    (33, 'read = { kind = "html" }', 33, "source.fields[0].read.kind", 'not "html"'),
    (33, 'read = { selector = "a > > b" }', 33, "source.fields[0].read.selector", "position"),
    (39, 'selector = "td:nth-child(2)"', 39, "source.fields[1].read.selector", ":nth-child"),
    (39, 'selector = "td:nth-child(2)"', 39, PRICE, "write td[livedata-header='Price'] for"),
    (39, 'selector = "[livedata-heading=a]"', 39, PRICE, 'did you mean "livedata-header"?'),
    (39, 'selektor = "td"', 39, "source.fields[1].read.selektor", "did you mean selector?"),
    (42, 'kind = "key"', 42, "source.identity.kind", 'must be "source-key" or "composite"'),
    (42, "", 41, "source.identity.kind", "is required"),
    (43, "", 41, "source.identity.field", "is required"),
    (43, 'fields = ["sku"]', 43, "source.identity.fields", 'it belongs to kind = "composite"'),
    (43, 'fiield = "sku"', 43, "source.identity.fiield", "did you mean field?"),
    (43, 'field = "skuu"', 43, "source.identity.field", 'did you mean "sku"?'),
    (43, 'field = "note"', 43, "source.identity.field", 'names the user column "note"'),
    (46, 'kind = "scroll"', 46, "source.pagination.kind", '"url-pattern", not "scroll"'),
    (46, 'kind = "none"', 47, PATTERN, 'kind = "url-pattern"'),
    (47, 'pattern = "https://shop.example/"', 47, PATTERN, "not 0 times"),
    (47, 'pattern = "https://a/{page}{page}"', 47, PATTERN, "not 2 times"),
    (
        47,
        'pattern = "https://a/{page}{x}"',
        47,
        PATTERN,
        "no braces other than",
    ),
    (47, 'pattern = "//a/{page}"', 47, PATTERN, "must begin with http://"),
    (47, 'pattern = "https://{page}@s.example/"', 47, PATTERN, "user"),
    (47, 'pattern = "http://10.0.0.{page}/"', 47, PATTERN, "private address 10.0.0.1"),
    (47, 'pattern = "http://[::1]/{page}"', 47, PATTERN, "private address ::1"),
    (48, "startPage = -1", 48, "source.pagination.startPage", "must be at least 0, not -1"),
    (48, "startPage = 1000001", 48, "source.pagination.startPage", "must be at most 1000000"),
    (48, "startPage = 0", 21, "source.url", "page=0"),
    (49, "", 45, "source.pagination.endSelector", "is required"),
    (49, 'endSelector = "p ~ p"', 49, "source.pagination.endSelector", "position 2"),
]


def _refused(path: Path, text: str) -> Invalid:
    """What a person is told who creates a dataset from `text`."""
    path.write_text(text)
    with pytest.raises(Invalid) as caught:
        _create(path)
    return caught.value


def _create(path: Path) -> None:
    declared = read_source(path)
    try:
        check(declared, TargetPolicy())
    except Invalid as error:
        raise locate_problems(error, path) from None


def _edited(line: int, text: str) -> str:
    lines = GOOD.splitlines()
    lines[line - 1] = text
    return "\n".join(lines) + "\n"


def test_the_good_source_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "source.toml"
    path.write_text(GOOD)
    _create(path)


@pytest.mark.parametrize(
    ("edited", "text", "line", "place", "words"), WRONG, ids=[f"{w[3]}-{w[4]}" for w in WRONG]
)
def test_a_wrong_source_is_refused_at_its_line(
    tmp_path: Path, edited: int, text: str, line: int, place: str, words: str
) -> None:
    path = tmp_path / "source.toml"
    error = _refused(path, _edited(edited, text))
    position = {detail.path: detail.message for detail in error.details}
    assert position[place].startswith(f"{path}:{line}: {place}")
    assert words in position[place]
    assert error.message.startswith(error.details[0].message)


@pytest.mark.parametrize("wrong", WRONG, ids=[f"{w[3]}-{w[4]}" for w in WRONG])
def test_each_problem_is_one_sentence_for_a_person(
    tmp_path: Path, wrong: tuple[int, str, int, str, str]
) -> None:
    for detail in _refused(tmp_path / "source.toml", _edited(*wrong[:2])).details:
        assert not re.search(
            r"pydantic|Traceback|ValidationError|Error\b|Input should|tuple|dict|None|function-",
            detail.message.removeprefix(str(tmp_path)),
        )
        assert not re.search(r"\n|\. |\.$", detail.message)


def test_a_single_slip_is_said_once(tmp_path: Path) -> None:
    for line, text in [
        (22, 'itemSelctor = "li"'),
        (33, 'read = { kind = "attribute", attribute = "" }'),
    ]:
        assert len(_refused(tmp_path / "source.toml", _edited(line, text)).details) == 1


def test_five_kinds_of_wrong_shape_are_all_reported_by_line(tmp_path: Path) -> None:
    text = GOOD
    for old, new in [
        ('type = "string"', 'type = "text"'),
        ("version = 1\n", ""),
        ("maxPages = 5", "maxPages = 99"),
        ('render = "static"', 'rendering = "static"'),
        ("required = true", 'required = "yes"'),
    ]:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "source.toml"
    error = _refused(path, text)
    assert [(detail.path, detail.message.split(": ")[0]) for detail in error.details] == [
        ("columns[0].type", f"{path}:6"),
        ("source.version", f"{path}:19"),
        ("source.rendering", f"{path}:22"),
        ("source.maxPages", f"{path}:23"),
        ("source.fields[0].required", f"{path}:31"),
    ]
    assert error.message.endswith("(and 4 more).")


def test_five_kinds_of_broken_rules_are_all_reported_by_line(tmp_path: Path) -> None:
    text = GOOD
    for old, new in [
        ("page=1", "page=2"),
        ('itemSelector = "li.item"', 'itemSelector = "li:hover"'),
        ("minimumItems = 10", "minimumItems = 200"),
        ('kind = "attribute", ', ""),
        ('field = "sku"', 'field = "price"'),
    ]:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "source.toml"
    error = _refused(path, text)
    assert [(detail.path, detail.message.split(": ")[0]) for detail in error.details] == [
        ("source.url", f"{path}:21"),
        ("source.itemSelector", f"{path}:22"),
        ("source.minimumItems", f"{path}:26"),
        ("source.fields[0].read.attribute", f"{path}:33"),
        ("source.identity", f"{path}:41"),
        ("source.identity.field", f"{path}:43"),
    ]
