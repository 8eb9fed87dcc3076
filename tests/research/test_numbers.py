"""A number counts only as the figure that its quote gives, in whichever notation: rules 14.6."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from livedata.rules.research.quotes import PageWords, holds_numbers


@pytest.mark.parametrize(
    ("value", "quote"),
    [
        ("2011", "founded in 2011"),
        ("1234567", "1,234,567 people"),
        ("1,234", "1.234 people"),
        ("1.234", "1.234 people"),
        ("3 of 5", "5 or 3"),
        ("none", "no digit"),
        ("1,234.5", "1 234,5 kg"),
        ("1 234,5", "1'234.5 kg"),
        ("1234.5", "1.234,5 kg"),
        ("1,234", "1\u202f234"),
        ("12,34,567", "1234567 rupees"),
        ("3,5", "3.5 m"),
        ("-5", "at \u22125 °C"),
        ("\u22125", "-5 °C"),
        ("-$5", "a change of $-5"),
        ("3-5", "3\u20135 people"),
        ("5", "3-5 people"),
        ("10 %", "5%-10%"),
        ("2026", "on 22.11.2026"),
        ("22 November 2026", "2026-11-22"),
        ("1.10", "version 1.10"),
        ("2.68.0", "version 2.68.0"),
        ("5", "for $5.00"),
        ("0.5", ".5 l"),
        ("10²", "10² m"),
        ("123", "\u0661\u0662\u0663"),
        ("1999", "in 1999, 2001 and 2003"),
        ("F-16", "the F-16"),
        ("380", "an A380"),
    ],
)
def test_a_number_stands_in_its_quote_in_any_notation(value: str, quote: str) -> None:
    assert holds_numbers(quote, value)


@pytest.mark.parametrize(
    ("value", "quote"),
    [
        ("2012", "founded in 2011"),
        ("201", "founded in 2011"),
        ("7", "no digit"),
        ("3.141", "3141 people"),
        ("3141", "3.141 as a rule"),
        ("1.234", "1,234 people"),
        ("-5", "5 °C"),
        ("5", "-5 °C"),
        ("5", "\u22125 °C"),
        ("-5", "3-5 people"),
        ("5", "$-5"),
        ("35", "3-5 people"),
        ("234.5", "1 234,5 kg"),
        ("34567", "12,34,567"),
        ("1.1", "version 1.10"),
        ("1.2", "version 1.2.3"),
        ("102", "10² m"),
        ("11", "1½ l"),
        ("5", ".5 l"),
        ("12345", "12\t345"),
        ("12345", "12\n345"),
        ("20112012", "2011 2012"),
    ],
)
def test_another_figure_never_passes(value: str, quote: str) -> None:
    assert not holds_numbers(quote, value)


@pytest.mark.parametrize(
    ("page", "quote", "value", "holds"),
    [
        ("about 1,234 people", "234 people", "234", False),
        ("about 3.5 m", "5 m", "5", False),
        ("at -5 °C", "5 °C", "5", False),
        ("some 12 345 people", "345 people", "345", False),
        ("Bolt 1,234.5 kg", "Bolt 1,234", "1234", False),
        ("Bolt\t12\t345 people", "345 people", "345", True),
        ("in 1999, 345 people", "345 people", "1999", False),
        ("3-5 people", "5 people", "5", True),
    ],
)
def test_a_quote_that_cuts_a_number_supports_no_piece_of_it(
    page: str, quote: str, value: str, *, holds: bool
) -> None:
    excerpt = PageWords(page).find(quote)
    assert excerpt is not None
    assert excerpt.holds_numbers(value) is holds


WHOLE = st.integers(0, 10**9)
PART = st.text("0123456789", min_size=1, max_size=2).filter(lambda part: part.strip("0") != "")
NOTATIONS = [(",", "."), (".", ","), (" ", ","), ("\u00a0", ","), ("'", "."), ("\u202f", ".")]


def written(whole: int, part: str, notation: tuple[str, str], sign: str) -> str:
    thousands, decimal = notation
    return f"{sign}{whole:,}".replace(",", thousands) + decimal + part


@given(
    WHOLE,
    PART,
    st.sampled_from(NOTATIONS),
    st.sampled_from(NOTATIONS),
    st.sampled_from(["", "-", "\u2212"]),
)
def test_a_number_is_the_same_in_all_notations(
    whole: int, part: str, here: tuple[str, str], there: tuple[str, str], sign: str
) -> None:
    quote = f"about {written(whole, part, there, sign)} kg"
    assert holds_numbers(quote, written(whole, part, here, sign.replace("\u2212", "-")))
    assert holds_numbers(quote, f"{sign}{whole}.{part}")


@given(WHOLE, PART, WHOLE, PART, st.sampled_from(NOTATIONS), st.booleans(), st.booleans())
def test_no_other_number_passes_in_any_notation(
    whole: int,
    part: str,
    other: int,
    other_part: str,
    notation: tuple[str, str],
    minus: bool,
    other_minus: bool,
) -> None:
    assume((whole, part, minus) != (other, other_part, other_minus))
    quote = f"about {written(whole, part, notation, '-' if minus else '')} kg"
    assert not holds_numbers(quote, f"{'-' if other_minus else ''}{other}.{other_part}")


@given(st.text("0123456789.,' -\t²½", max_size=20))
def test_a_text_holds_its_own_numbers(text: str) -> None:
    assert holds_numbers(text, text)


@given(st.text("0123456789.,' -kg", max_size=20), st.data())
def test_no_piece_of_a_number_is_a_number_of_the_page(text: str, data: st.DataObject) -> None:
    page = f"a {text} b"
    start = data.draw(st.integers(0, len(page)))
    quote = page[start : data.draw(st.integers(start, len(page)))]
    excerpt = PageWords(page).find(quote)
    value = data.draw(st.integers(0, 999))
    if excerpt is not None and excerpt.holds_numbers(str(value)):
        assert holds_numbers(page, str(value))
