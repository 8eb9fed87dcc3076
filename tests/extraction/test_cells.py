import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livedata.extraction.cells import (
    MAX_CELL,
    MAX_EXCERPT,
    CellReading,
    Scalar,
    canonical,
    clean,
    excerpt,
    read_cell,
    read_presence,
    row_key,
    same,
)

FAILED = CellReading(None, "extraction_failed")
NOT_FOUND = CellReading(None, "not_found")

# With surrogates, which st.text() alone would leave out.
ANY_TEXT = st.text(st.characters(exclude_categories=()))
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.0, 1.0, 0.5, -0.0]), ANY_TEXT
)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("  a \t\r\n b ", "a b"),
        ("a\u00a0\u2009\u202f\u3000b", "a b"),
        ("a\x1c\x1d\x1e\x1f\x85b", "a b"),
        ("a\x00b", "ab"),
        ("a \x00 b", "a b"),
        ("a\ud800b\udfff", "ab"),
        ("\x00\ud800 ", ""),
        ("é😀", "é😀"),
        ("a\u200bb", "a\u200bb"),
    ],
)
def test_text_is_cleaned(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@given(ANY_TEXT)
def test_cleaning_twice_changes_nothing_and_leaves_what_can_be_stored(text: str) -> None:
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert b"\x00" not in cleaned.encode()


@pytest.mark.parametrize("kind", ["string", "number", "boolean"])
@pytest.mark.parametrize("text", [None, "", " \n\u00a0", "\x00"])
def test_nothing_is_not_found(text: str | None, kind: str) -> None:
    assert read_cell(text, kind) == NOT_FOUND


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        (" Blue\n socks ", "string", "Blue socks"),
        ("12", "string", "12"),
        (" 1 \n 234,50 € ", "number", 1234.5),
        ("TRUE", "boolean", True),
        ("0", "boolean", False),
    ],
)
def test_a_cell_is_read_as_its_kind(text: str, kind: str, value: Scalar) -> None:
    reading = read_cell(text, kind)
    assert reading == CellReading(value, None)
    assert type(reading.value) is type(value)


@pytest.mark.parametrize("word", ["true", "Yes", "Y", "1", "on", " In \n Stock "])
def test_words_for_true(word: str) -> None:
    assert read_cell(word, "boolean").value is True


@pytest.mark.parametrize("word", ["false", "No", "N", "0", "OFF", "Out of\u00a0stock"])
def test_words_for_false(word: str) -> None:
    assert read_cell(word, "boolean").value is False


@pytest.mark.parametrize("text", ["available", "1.0", "2", "yes!", "instock", "in stock: 3"])
def test_other_words_are_no_boolean(text: str) -> None:
    assert read_cell(text, "boolean") == FAILED


def test_a_text_without_one_number_is_no_number() -> None:
    assert read_cell("3 for 2", "number") == FAILED


def test_the_length_of_a_cell_is_that_of_its_cleaned_text() -> None:
    assert read_cell("  " + "é" * MAX_CELL + "  ", "string").value == "é" * MAX_CELL
    assert read_cell("é" * (MAX_CELL + 1), "string") == FAILED
    assert read_cell("0" * MAX_CELL + "1", "number") == FAILED


def test_another_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="'date'"):
        read_cell("2026-11-21", "date")


@pytest.mark.parametrize(
    ("matched", "has_attribute", "reading"),
    [
        (False, False, NOT_FOUND),
        (True, False, CellReading(value=False, reason=None)),
        (True, True, CellReading(value=True, reason=None)),
    ],
)
def test_a_boolean_attribute_is_its_presence(
    matched: bool, has_attribute: bool, reading: CellReading
) -> None:
    assert read_presence(matched, has_attribute) == reading


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (None, None, True),
        (10, 10.0, True),
        (0, -0.0, True),
        ("a", "a", True),
        (True, True, True),
        (True, 1, False),
        (False, 0.0, False),
        ("10", 10, False),
        ("a", "A", False),
        ("é", "e\u0301", False),
        (None, "", False),
        (None, False, False),
        (2**53, 2**53 - 1, False),
    ],
)
def test_cells_are_compared_by_value_and_type(a: Scalar, b: Scalar, equal: bool) -> None:
    assert same(a, b) is equal


@given(SCALARS, SCALARS)
def test_sameness_is_symmetric_and_holds_for_itself(a: Scalar, b: Scalar) -> None:
    assert same(a, b) is same(b, a)
    assert same(a, a)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("", None),
        (" \n", None),
        (" a \u00a0 b", "a b"),
        ("e\u0301", "é"),
        ("A", "A"),
        (10, "10"),
        (10.0, "10"),
        (-0.0, "0"),
        (10.50, "10.5"),
        (-0.25, "-0.25"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e-7, "1e-07"),
        (1e16, "10000000000000000"),
        (2**53, "9007199254740992"),
        (True, "true"),
        (False, "false"),
    ],
)
def test_a_value_has_one_canonical_text(value: Scalar, text: str | None) -> None:
    assert canonical(value) == text


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("e\u0301" + "-" * 40, "é" + "-" * 40),
        ("e\u0301" * 40, "é" * 40),
        ("e" + "\u0301" * 30, "é" + "\u0301" * 29),
        ("e" + "\u0301" * 31, "e" + "\u0301" * 31),
    ],
)
def test_a_text_of_more_marks_than_any_language_has_is_only_cleaned(text: str, key: str) -> None:
    assert canonical(text) == key


@pytest.mark.timed
@pytest.mark.parametrize("marks", ["\u0301\u0323", "\u0f73"])
def test_no_text_takes_long_to_make_canonical(marks: str) -> None:
    began = time.process_time()
    for _ in range(20):
        assert canonical("a" + marks * (MAX_CELL // len(marks) - 1))
    assert time.process_time() - began < 3


@given(ANY_TEXT)
def test_a_canonical_text_is_its_own(text: str) -> None:
    once = canonical(text)
    assert canonical(once) == once
    assert canonical(unicodedata.normalize("NFD", text)) == once


@given(st.floats(-(2**53), 2**53))
def test_the_canonical_text_of_a_number_reads_back_equal(number: float) -> None:
    text = canonical(number)
    assert text is not None
    assert float(text) == number


@given(SCALARS, SCALARS)
def test_cells_that_are_the_same_have_the_same_canonical_text(a: Scalar, b: Scalar) -> None:
    assert not same(a, b) or canonical(a) == canonical(b)


@pytest.mark.parametrize(
    ("parts", "composite", "key"),
    [
        (["a  b"], False, "a b"),
        ([10.0], False, "10"),
        ([None], False, None),
        (["a"], True, '["a"]'),
        (["é", 10.5, True], True, '["é","10.5","true"]'),
        (['a"', "b,c"], True, '["a\\"","b,c"]'),
        (["a", None], True, None),
        (["a", " "], True, None),
    ],
)
def test_a_key_is_made_of_its_parts(parts: list[Scalar], composite: bool, key: str | None) -> None:
    assert row_key(parts, composite=composite) == key


@pytest.mark.parametrize(("parts", "composite"), [([], True), ([], False), (["a", "b"], False)])
def test_a_key_of_the_wrong_number_of_parts_is_an_error(
    parts: list[Scalar], composite: bool
) -> None:
    with pytest.raises(ValueError, match="parts"):
        row_key(parts, composite=composite)


KEYS = st.lists(st.text('ab",[]\\ é1', min_size=1, max_size=3), min_size=1, max_size=3)


@given(KEYS, KEYS)
def test_two_composite_keys_are_equal_only_if_all_parts_are(a: list[str], b: list[str]) -> None:
    parts_a, parts_b = [canonical(part) for part in a], [canonical(part) for part in b]
    if None in parts_a or None in parts_b:
        return
    keys_equal = row_key(a, composite=True) == row_key(b, composite=True)
    assert keys_equal is (parts_a == parts_b)


@pytest.mark.parametrize(
    ("text", "length", "cut"),
    [
        ("", 0, False),
        ("a" * MAX_EXCERPT, 2048, False),
        ("a" * (MAX_EXCERPT + 1), 2048, True),
        ("é" * 1024, 1024, False),
        ("a" + "é" * 1024, 1024, True),
        ("😀" * 513, 512, True),
        ("aaa" + "😀" * 512, 512 + 2, True),
    ],
)
def test_an_excerpt_ends_on_a_character(text: str, length: int, cut: bool) -> None:
    assert excerpt(text) == (text[:length], cut)


# Characters of one to four bytes, long enough to be cut.
@given(st.text("aé€😀", min_size=400, max_size=1100).map(lambda text: text * 2))
def test_an_excerpt_is_the_longest_beginning_that_fits(text: str) -> None:
    part, cut = excerpt(text)
    size = len(part.encode())
    assert text.startswith(part)
    assert size <= MAX_EXCERPT
    assert cut is (part != text)
    assert not cut or size + len(text[len(part)].encode()) > MAX_EXCERPT
