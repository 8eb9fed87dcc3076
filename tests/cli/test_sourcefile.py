"""Declarations as files: read, placed by line, and written back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livedata.cli.source.source_file import locate_problems, read_source
from livedata.formats.source_toml import write_source
from livedata.messages.validation import read
from livedata.model.errors import Detail, Invalid
from livedata.model.source_file import SourceFile
from livedata.rules.declaration.declaration_text import MAX_BYTES, find_lines

if TYPE_CHECKING:
    from pathlib import Path

DECLARED: dict[str, object] = {
    "name": 'A "quoted" näme\n😀 \\',
    "question": "What?",
    "columns": [
        {"name": "sku", "type": "string", "key": True},
        {"name": "note", "type": "date", "ownership": "user", "description": "by hand"},
    ],
    "source": {
        "version": 1,
        "url": "https://a.example/1",
        "itemSelector": "li[data-x='a b']",
        "maxPages": 3,
        "ignoreRobots": True,
        "fields": [
            {"name": "sku", "read": {"selector": "a", "kind": "attribute", "attribute": "href"}}
        ],
        "identity": {"kind": "composite", "fields": ["sku"]},
        "pagination": {
            "kind": "url-pattern",
            "pattern": "https://a.example/{page}",
            "endSelector": "b",
        },
    },
}


def _message(path: Path) -> str:
    with pytest.raises(Invalid) as caught:
        read_source(path)
    assert "\n" not in caught.value.message
    return caught.value.message


def test_what_is_written_reads_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "source.toml"
    path.write_text(write_source(DECLARED))
    assert read_source(path) == read(SourceFile, DECLARED)


def test_it_is_written_in_the_order_in_which_people_read() -> None:
    text = write_source(DECLARED)
    assert [line for line in text.splitlines() if line.startswith("[")] == [
        "[[columns]]",
        "[[columns]]",
        "[source]",
        "[[source.fields]]",
        "[source.identity]",
        "[source.pagination]",
    ]
    assert text.startswith("name = ")
    assert 'read = { selector = "a", kind = "attribute", attribute = "href" }' in text


def test_what_is_null_is_left_out() -> None:
    assert "question" not in write_source({**DECLARED, "question": None})


@settings(deadline=None)
@given(st.text(min_size=1, max_size=60).filter(lambda text: "\x00" not in text))
def test_any_text_survives_writing_and_reading(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(write_source({**DECLARED, "name": text}).encode())
    assert read_source(path).name == text


def test_json_is_read_by_its_suffix(tmp_path: Path) -> None:
    path = tmp_path / "source.json"
    path.write_text(json.dumps(DECLARED))
    assert read_source(path) == read(SourceFile, DECLARED)


def test_a_byte_order_mark_and_line_ends_of_any_kind_are_read(tmp_path: Path) -> None:
    path = tmp_path / "source.toml"
    path.write_bytes(b"\xef\xbb\xbf" + write_source(DECLARED).replace("\n", "\r\n").encode())
    assert read_source(path).name == DECLARED["name"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"name = \n", ":1: the TOML cannot be read at column 8: invalid value."),
        (b"a = 1\nb = [1,\n", ":3: the TOML cannot be read: invalid value."),
        (b'a = 1\nb = "x\n', ":2: the TOML cannot be read at column 7: illegal character"),
        (b"a = 1\na = 2\n", ":2: the TOML cannot be read at column 6: this key is given twice."),
        (b"[a]\n[a]\n", ":2: the TOML cannot be read at column 3: the table a is declared twice."),
        (b"a = 1\nb = '\xff'\n", ":2: the file is not UTF-8."),
        (b"a = " + b"[" * 100_000, ": the TOML is nested too deep."),
        (b"a = " + b"1" * 5000, ": the TOML cannot be read"),
        (b".".join([b"a"] * 3000) + b" = 1", ": the TOML is nested too deep."),
        (b"#" * (MAX_BYTES + 1), ": the file is larger than 1 MiB."),
        (b"", ":1: name is required (and 2 more)."),
    ],
)
def test_a_file_that_is_no_toml_is_refused_with_its_place(
    tmp_path: Path, body: bytes, words: str
) -> None:
    path = tmp_path / "source.toml"
    path.write_bytes(body)
    assert _message(path).startswith(f"{path}{words}")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"name": 1,\n]', ":2: the JSON is unreadable at line 2, column 1"),
        ('{"name": NaN}', ": the JSON is unreadable: NaN is not a number"),
        ('{\n "name"\n: 5, "columns": [], "source": {}}', ":2: name must be a string, not 5"),
        ('{"a\\u002fb": 1,\n"name": [\n]}', ":1: columns is required"),
    ],
)
def test_a_file_that_is_no_good_json_is_refused_with_its_place(
    tmp_path: Path, body: str, words: str
) -> None:
    path = tmp_path / "source.json"
    path.write_text(body)
    assert _message(path).startswith(f"{path}{words}")


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    assert _message(tmp_path / "none.toml") == f"{tmp_path / 'none.toml'}: there is no such file."
    assert _message(tmp_path) == f"{tmp_path}: this is a folder, not a file."
    assert "cannot be read" in _message(tmp_path / ("x" * 300))


def test_an_error_raised_later_is_placed_once(tmp_path: Path) -> None:
    path = tmp_path / "source.toml"
    path.write_text(write_source(DECLARED))
    later = Invalid("wrong", (Detail("source.url", "must be nicer"), Detail("name", "is odd")))
    error = locate_problems(later, path)
    assert [detail.path for detail in error.details] == ["name", "source.url"]
    assert error.message == f"{path}:1: name is odd (and 1 more)."
    assert locate_problems(error, path) is error
    assert locate_problems(Invalid("All is lost."), path).message == f"{path}: All is lost."
    assert locate_problems(later, tmp_path / "gone.toml") is later


TOML = '''\
# a comment = "no key"
title = """
[not.a.table]
x = 1 \\""" still inside"""""
dotted.'quoted key'."b.c" = 'it''s' # a = 1
dates = 1979-05-27 07:32:00Z

list = [ # one
  "a]",
  { x = 1, y = { z = [ 1, 2 ] } },

  [ 3,
    4 ], # trailing
]
[[table]]
one = 1
[table.inner]
two = 2
[[table.deep]]
three = 3
[[ table . deep ]]
four = \'\'\'
five = 5\'\'\'\'
[[table]]
one = 1
[a.b.c]
d.e = 1
'''.replace("'it''s'", "'it'")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 2),
        (("dotted",), 5),
        (("dotted", "quoted key"), 5),
        (("dotted", "quoted key", "b.c"), 5),
        (("dates",), 6),
        (("list",), 8),
        (("list", 0), 9),
        (("list", 1), 10),
        (("list", 1, "y", "z", 1), 10),
        (("list", 2), 12),
        (("list", 2, 1), 13),
        (("table",), 15),
        (("table", 0), 15),
        (("table", 0, "one"), 16),
        (("table", 0, "inner"), 17),
        (("table", 0, "inner", "two"), 18),
        (("table", 0, "deep", 0, "three"), 20),
        (("table", 0, "deep", 1), 21),
        (("table", 0, "deep", 1, "four"), 22),
        (("table", 1), 24),
        (("table", 1, "one"), 25),
        (("a",), 26),
        (("a", "b", "c", "d", "e"), 27),
    ],
)
def test_every_key_of_a_toml_text_has_its_line(path: tuple[str | int, ...], line: int) -> None:
    assert find_lines(TOML, json=False)[path] == line


def test_nothing_inside_strings_and_comments_is_a_key() -> None:
    lines = find_lines(TOML, json=False)
    assert ("x",) not in lines
    assert ("five",) not in lines
    assert ("not",) not in lines


def test_every_key_of_a_json_text_has_its_line() -> None:
    lines = find_lines('{"a": [1,\n{"b"\n:\n"}"}],\n"\\ud83d\\ude00": -1e5}', json=True)
    assert lines == {("a",): 1, ("a", 0): 1, ("a", 1): 2, ("a", 1, "b"): 2, ("😀",): 5}
