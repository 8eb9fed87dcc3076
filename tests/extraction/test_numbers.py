import math
import re
import time
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livedata.extraction.cells import read_cell
from livedata.extraction.numbers import read_number
from livedata.extraction.page import Page
from livedata.extraction.selectors import parse
from livedata.model.row import MAX_NUMBER

DOCUMENT = Path(__file__).parents[2] / "docs" / "cells.md"
ROW = re.compile(r"^\| `([^`]+)` \| `(null|[-0-9.]+)` \|", re.MULTILINE)
DOCUMENTED = ROW.findall(DOCUMENT.read_text(encoding="utf-8"))

READ = [
    ("EUR 1.234,50", 1234.5),
    ("1,23,456.50", 123456.5),
    ("1.234,567", 1234.567),
    ("1,234.567", 1234.567),
    ("1 234.567", 1234.567),
    ("Rating 4 120 reviews", 4120),
    ("12 345 678", 12345678),
    ("12\u00a0345,60\u00a0kr", 12345.6),
    ("12\u202f345,60", 12345.6),
    ("12\u2009345", 12345),
    ("1’234’567,8", 1234567.8),
    ("１，２３４．５", 1234.5),
    ("١٬٢٣٤٫٥٠", 1234.5),
    ("१२", 12),
    ("\u200e-5 ₪", -5),
    ("012,345", 12.345),
    ("Only 5, hurry!", 5),
    ("199:-", 199),
    ("5.–", 5),
    ("1 299 ,-", 1299),
    ("Price...5", 5),
    ("$.99", 0.99),
    ("-.5", -0.5),
    ("-,5", -0.5),
    ("-0", 0),
    ("-0.0", 0),
    ("$-5", -5),
    ("-EUR 5", -5),
    ("EUR-5", -5),
    ("-US$ 5", -5),
    ("-Rs. 500", -500),
    ("− 5 °C", -5),
    ("S/ 5.00", 5),
    ("S/5", 5),
    ("Rp1.500.000", 1500000),
    ("CHF12.50", 12.5),
    ("R 500", 500),
    ("12 €/m2", 12),
    ("120m2", 120),
    ("120m²", 120),
    ("£12 m²", 12),
    ("5 m³", 5),
    ("CO₂: 5 g", 5),
    ("第5页", 5),
    ("约5元", 5),
    ("5th", 5),
    ("No. 5", 5),
    ("№5", 5),
    ("5 T-shirts", 5),
    ("£5/month", 5),
    ("5 t", 5),
    ("5 mm", 5),
    ("500 MB", 500),
    ("Reviews (12)", 12),
    ("(+5%)", 5),
    ("4.50000", 4.5),
    ("  7\n", 7),
    ("9,007,199,254,740,992", MAX_NUMBER),
    ("-9007199254740992", -MAX_NUMBER),
    ("0." + "1" * 30_000, 1 / 9),
    ("0" * 30_000 + "5", 5),
]

REJECTED = [
    "",
    "none",
    "-",
    "1,234,56",
    "1.234,567,8",
    "1,234 567",
    "1234,567,890",
    "1234 567",
    "0 123",
    "1,2,3",
    "1_000",
    "A_5",
    "5_",
    "1\u00b7234",
    "5 −",
    "--5",
    "+-5",
    "COVID-19",
    "- $5",
    "–$5",
    "($5.00)",
    "$(5.00)",
    "(EUR 5)",
    "PS/2",
    "/5",
    "–/5",
    "MP3",
    "v1.5",
    "0x1F",
    "2x5",
    "A4, 5 sheets",
    "m2",
    "5 K",
    "5 B",
    "5M+",
    "$5mm",
    "₹5 L",
    "5 m EUR",
    "EUR 5 m",
    "5kEUR",
    "5 k€",
    "5 USD bn",
    "5 million",
    "5 Milliarden Euro",
    "5 тыс.",
    "5 lakh",
    "5 crores",
    "5rb",
    "5천원",
    "Mio. € 5",
    "moins 5",
    "1½",
    "2 ½",
    "Ⅳ",
    "5 ①",
    "9007199254740992.5",
    "9007199254740993.0",
    "-9,007,199,254,740,993",
    "9" * 5_000,
    "0." + "0" * 400 + "1",
    "inf",
    "nan",
]


@pytest.mark.parametrize(("text", "value"), DOCUMENTED)
def test_every_row_of_the_documented_table_holds(text: str, value: str) -> None:
    expected = None if value == "null" else float(value)
    # Rows of the table may be markup: where digits stand on a page is a part of what they say.
    page = Page(f"<p>{text}</p>".encode(), "text/html; charset=utf-8", "https://site.test/")
    cell = read_cell(page.marked_text(page.select(parse("p"))[0], "p"), "number")
    assert cell.value == expected
    assert "<" in text or read_number(text) == expected


def test_the_documented_table_is_found_whole() -> None:
    assert len(DOCUMENTED) >= 70


@pytest.mark.parametrize(("text", "value"), READ)
def test_a_number_is_read(text: str, value: float) -> None:
    number = read_number(text)
    assert number == value
    assert isinstance(number, int) is float(value).is_integer()


@pytest.mark.parametrize("text", REJECTED)
def test_what_is_not_one_clear_number_is_rejected(text: str) -> None:
    assert read_number(text) is None


def test_zero_has_no_sign() -> None:
    assert math.copysign(1, read_number("-0.00") or 0) == 1
    assert str(read_number("−0,0 €")) == "0"


def grouped(whole: int, fraction: str, group: str, point: str) -> str:
    return f"{whole:,}".replace(",", group) + (point + fraction if fraction else "")


NOTATIONS = [
    *[(",", "."), (".", ","), (" ", ","), (" ", "."), ("\u00a0", ","), ("\u202f", ",")],
    *[("'", "."), ("’", "."), ("'", ","), ("", "."), ("", ",")],
]


@given(
    whole=st.integers(0, 10**12),
    fraction=st.text("0123456789", min_size=1, max_size=2),
    notation=st.sampled_from(NOTATIONS),
    frame=st.sampled_from(["{}", "${}", "{} €", "EUR {}", "{} kg", "Price: {} incl.", "{},"]),
    sign=st.sampled_from(["", "-"]),
)
def test_a_price_in_any_notation_reads_back(
    whole: int, fraction: str, notation: tuple[str, str], frame: str, sign: str
) -> None:
    text = frame.format(sign + grouped(whole, fraction, *notation))
    assert read_number(text) == float(Decimal(f"{sign}{whole}.{fraction}"))


@given(
    whole=st.integers(0, MAX_NUMBER),
    group=st.sampled_from([",", " ", "'", "’", "\u00a0", "\u2009", ""]),
)
def test_a_whole_number_in_any_clear_notation_reads_back(whole: int, group: str) -> None:
    assert read_number(grouped(whole, "", group, "")) == whole


@given(st.floats(-(2**53), 2**53).filter(lambda x: "e" not in repr(x)))
def test_a_decimal_point_alone_reads_back_every_float(number: float) -> None:
    assert read_number(repr(number)) == number


HARD = st.text(st.sampled_from("0123456789.,' -−–+$€()/kmM%EURx½²١\u00a0_:"), max_size=14)


@given(st.one_of(st.text(), HARD))
def test_any_text_gives_a_bounded_number_or_none(text: str) -> None:
    number = read_number(text)
    if number is None:
        return
    assert type(number) in (int, float)
    assert abs(number) <= MAX_NUMBER
    assert isinstance(number, int) or not number.is_integer()


@given(HARD)
def test_the_ways_for_common_and_for_odd_texts_agree(text: str) -> None:
    # An invisible mark and a line break send the same text through the general way.
    assert read_number(f"\u2060{text}\n") == read_number(text)


N = 32_768


@pytest.mark.parametrize(
    "text",
    [
        *["1" * N, "1." * (N // 2), "1" + ",234" * (N // 4), "1" + ",23" * (N // 3) + "x"],
        *["1" + " 234" * (N // 4), "a" * N + "5", "5 " + "a-" * (N // 2), "5" + "$" * N],
        *["-" * N + "5", "5" + "-" * N, "0." + "1" * N, "1." + "0" * N, "." * N + "5"],
        *["(" * (N // 2) + "5" + ")" * (N // 2), "m2" * (N // 2), "m" * N + "2 2"],
        *["a" + "²" * N + "5", "١" * N, "$ " * (N // 2) + "5", "5 " + "EUR " * (N // 4)],
    ],
    ids=lambda text: text[:6],
)
def test_a_hostile_text_takes_no_time(text: str) -> None:
    started = time.process_time()
    read_number(text)
    # Quadratic work on such a text would take many seconds; this takes at most some 20 ms.
    assert time.process_time() - started < 0.5
