"""What can be read, what cannot, and how it is said."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livedata.messages.request import format_path, format_value, invalid, nearest
from livedata.messages.strict_json import parse_json
from livedata.messages.validation import read
from livedata.model.errors import BadRequest, Detail, Invalid
from livedata.model.requests import CreateDataset, EditRow, UpdateDataset
from livedata.model.source import CompositeKey, NewColumn, SourceField
from livedata.model.wire import MAX_DEPTH

ID = "0190a0a0-0000-7000-8000-00000000000a"
OTHER = "0190a0a0-0000-7000-8000-00000000000b"
EDIT = {"expectedRevisionId": ID, "requestId": "r"}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"a": "\xff"}', "not UTF-8 from byte 7"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
        ("", "line 1, column 1"),
        ('{"a": 1, 2}', "line 1, column 10"),
        ('{\n"a" 1}', "line 2, column 5"),
        ("{'a': 1}", "line 1, column 2"),
        ("[1] 2", "extra data"),
        ("\ufeff{}", "BOM"),
        ("NaN", "NaN is not a number"),
        ('{"a": [-Infinity]}', "-Infinity is not a number"),
        ("1e400", "1e400 is too large"),
        ("-1e400", "-1e400 is too large"),
        ("1" * 5000, "is too large"),
        ('{"a": 1, "b": 2, "a": 3}', 'the property "a" is given twice'),
        ('[{"b": {"c": 1, "c": 1}}]', 'the property "c" is given twice'),
        (r'{"a": "\ud800"}', "surrogate"),
        (r'{"\udfff": 1}', "surrogate"),
        ("[" * 100_000, "nested too deep"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "nested more than"),
        ('{"a":' * 80 + "1" + "}" * 80, "nested more than"),
    ],
)
def test_what_json_leaves_to_chance_is_unreadable(body: bytes | str, words: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parse_json(body)
    assert words in caught.value.message
    assert caught.value.message.startswith("the JSON is unreadable")


def test_a_large_whole_number_is_the_same_however_it_is_written() -> None:
    for number in (10**25, 2**63, -(2**63) - 1):
        assert parse_json(str(number)) == parse_json(f"{float(number)!r}") == float(number)


def test_ten_point_zero_is_the_integer_ten() -> None:
    value = parse_json(b'{"a": 10.0, "b": [-0.0, 1e3, 10.5, 1e300], "c": "10.0"}')
    assert value == {"a": 10, "b": [0, 1000, 10.5, 1e300], "c": "10.0"}
    assert isinstance(value, dict)
    assert [type(number) for number in (value["a"], *value["b"])] == [int, int, int, float, float]


@pytest.mark.parametrize("text", [str(2**63 - 1), str(-(2**63)), "0", "-5"])
def test_integers_that_64_bits_hold_are_read(text: str) -> None:
    assert parse_json(text) == int(text)


def test_a_surrogate_pair_is_a_character() -> None:
    assert parse_json(r'"\ud83d\ude00"') == "😀"


@settings(deadline=None)
@given(st.binary(max_size=40) | st.text(alphabet='[]{}",:0123eE.-NaN\\u d8', max_size=40))
def test_any_body_is_read_or_refused_as_unreadable(body: bytes | str) -> None:
    with suppress(BadRequest):
        assert parse_json(json.dumps(parse_json(body))) == parse_json(body)


def _column(**changes: object) -> dict[str, object]:
    return {"name": "sku", "type": "string", **changes}


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        (_column(label=None), "label", "must not be null; leave it out instead"),
        (_column(key=None), "key", "must be true or false, not null"),
        (_column(key=1), "key", "must be true or false, not 1"),
        (_column(labell="x"), "labell", "unknown property labell; did you mean label?"),
        (_column(zzz=1), "zzz", "unknown property zzz; known here: name, type, label, ownership"),
        (_column(id=ID), "id", "must not be given: the service allocates ids"),
        (_column(type="date "), "type", 'did you mean "date"?'),
        (_column(name="a\n"), "name", "must start with a letter"),
        (_column(name="ä"), "name", 'digits or underscores, not "ä"'),
        (_column(label="\ud800"), "label", "must not contain half of a surrogate pair"),
        ({"type": "string"}, "name", "is required"),
        ([], "", "must be an object, not a list"),
        (None, "", "must be an object, not null"),
    ],
)
def test_a_wrong_place_is_said_in_a_sentence(value: object, path: str, message: str) -> None:
    with pytest.raises(Invalid) as caught:
        read(NewColumn, value)
    [detail] = caught.value.details
    assert detail.path == path
    assert message in detail.message


def test_names_are_those_of_the_wire_alone() -> None:
    with pytest.raises(Invalid) as caught:
        read(EditRow, {"expected_revision_id": ID, "requestId": "r"})
    assert caught.value.details == (
        Detail(
            "expected_revision_id",
            "unknown property expected_revision_id; did you mean expectedRevisionId?",
            is_predicate=False,
        ),
    )


def test_a_path_holds_no_name_of_a_union_member() -> None:
    with pytest.raises(Invalid) as caught:
        read(CompositeKey, {"kind": "composite", "fields": ["a", 5]})
    assert caught.value.details == (Detail("fields[1]", "must be a string, not 5"),)
    with pytest.raises(Invalid) as caught:
        read(UpdateDataset, {"expectedSchemaVersion": 1, "columns": [{"name": 1, "type": "url"}]})
    assert [detail.path for detail in caught.value.details] == ["columns[0].name"]


@pytest.mark.parametrize("value", [[1], {"a": 1}])
def test_a_cell_that_is_no_scalar_is_one_problem(value: object) -> None:
    with pytest.raises(Invalid) as caught:
        read(EditRow, {**EDIT, "values": {ID: value}})
    [detail] = caught.value.details
    assert detail.path == f"values.{ID}"
    assert detail.message.startswith("must be true or false, a number, a string or null, not a")


@pytest.mark.parametrize("value", [True, 0, 1.5, "", "x", None])
def test_every_scalar_is_a_cell_and_keeps_its_type(value: object) -> None:
    cells = read(EditRow, {**EDIT, "values": {ID: value}}).values
    assert cells == {ID: value}
    assert type(cells[ID]) is type(value)


def test_ids_are_taken_in_any_case_and_never_twice() -> None:
    assert read(EditRow, {**EDIT, "values": {ID.upper(): 1}}).values == {ID: 1}
    with pytest.raises(Invalid, match="names the same field twice"):
        read(EditRow, {**EDIT, "values": {ID.upper(): 1, ID: 2}})
    with pytest.raises(Invalid, match=r"resetFieldIds\[1\] must be a UUID, not \"x\""):
        read(EditRow, {**EDIT, "resetFieldIds": [OTHER, "x"]})


def test_an_update_says_what_to_change_and_from_which_schema() -> None:
    with pytest.raises(Invalid, match="what was sent must name at least one property"):
        read(UpdateDataset, {})
    with pytest.raises(Invalid, match="expectedSchemaVersion is required where columns are sent"):
        read(UpdateDataset, {"columns": [{"name": "note", "type": "date"}]})
    cleared = read(UpdateDataset, {"question": None})
    assert cleared.model_fields_set == {"question"}


def test_one_wrong_entry_does_not_make_its_list_too_short() -> None:
    with pytest.raises(Invalid) as caught:
        read(CreateDataset, {"name": "a", "columns": [5], "source": []})
    assert [detail.path for detail in caught.value.details] == ["columns[0]", "source"]
    assert caught.value.message == "columns[0] must be an object, not 5 (and 1 more)."


def test_a_value_nested_without_end_is_refused() -> None:
    value: object = "a"
    for _ in range(5000):
        value = [value]
    with pytest.raises(Invalid, match="nested more than"):
        read(SourceField, {"name": "a", "read": value})


def test_what_was_found_is_shown_short() -> None:
    assert format_value("x" * 100) == f'"{"x" * 60}…"'
    assert format_value('say "a"') == r'"say \"a\""'
    assert format_value(2**70) == "a number beyond 64 bits"
    assert [format_value(None), format_value(1.5)] == ["null", "1.5"]
    assert [format_value({}), format_value(())] == ["an object", "a list"]


def test_a_path_is_written_as_people_write_it() -> None:
    assert format_path(("source", "fields", 0, "read")) == "source.fields[0].read"
    assert format_path(("a", "odd. key", "ü")) == 'a["odd. key"]["ü"]'
    assert format_path(()) == ""


@pytest.mark.parametrize(
    ("word", "meant"),
    [("item_selector", "itemSelector"), ("MaxPages", "maxPages"), ("url", None), ("x", None)],
)
def test_the_nearest_name_is_offered_when_it_is_near(word: str, meant: str | None) -> None:
    assert nearest(word, ["itemSelector", "maxPages", "maxItems"]) == meant


def test_an_error_says_its_first_problem_and_counts_the_others() -> None:
    unknown = Detail("c", "unknown property c; did you mean d?", is_predicate=False)
    details = [Detail("a", "must be b"), unknown]
    assert invalid(details).message == "a must be b (and 1 more)."
    assert invalid(details[1:]).message == "c: unknown property c; did you mean d?"


def test_a_flood_of_wrong_properties_is_cut_short() -> None:
    flood = {f"property {n}": n for n in range(20_000)}
    with pytest.raises(Invalid) as caught:
        read(NewColumn, {**_column(), **flood, "x" * 500_000: 1})
    assert len(caught.value.details) == 100


def test_many_properties_of_which_the_last_is_repeated_are_refused_at_once() -> None:
    body = "{" + ",".join(f'"{n}": 1' for n in range(100_000)) + ', "99999": 2}'
    with pytest.raises(BadRequest, match='the property "99999" is given twice'):
        parse_json(body)
