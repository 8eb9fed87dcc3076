"""Texts are folded for comparison, and give back the page's own characters: rules 14.6."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livedata.rules.research.fold import FoldedText, fold
from livedata.rules.research.quotes import PageWords, holds_numbers

PAGE = "Module  mod_ssl\tStatus: Extension\nIt’s “fast” — since 2,011.\nC++ and .NET; naïve ﬁles\n"


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("  Two\n\twords ", "two words"),
        ("“Quoted” — it’s", '"quoted" - it\'s'),
        ("so\u00adft hy\u200bphen", "soft hyphen"),
        ("• item · other", "item other"),
        ("ﬁle Ⅷ １２", "file viii 12"),
        ("STRASSE straße", "strasse strasse"),
        ("na\u0131\u0308ve e\u0301", "naı̈ve é"),
    ],
)
def test_texts_that_read_alike_fold_alike(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize(
    ("quote", "excerpt"),
    [
        ("Status: Extension", "Status: Extension"),
        ("status:   extension", "Status: Extension"),
        ('It\'s "fast" - since', "It’s “fast” — since"),
        ("**mod_ssl** Status", "mod_ssl\tStatus"),
        ("`mod_ssl`", "mod_ssl"),
        ("since 2,011", "since 2,011"),
        ("Extension.", "Extension"),
        (".NET", ".NET"),
        ("naïve files", "naïve ﬁles"),
        ("since 2,012", None),
        ("since not 2,011", None),
        ("Status Extension", None),
        ("Status: Ext", None),
        ("2,01", None),
        ("", None),
        ("...", None),
    ],
)
def test_a_quote_is_the_pages_own_words_or_nothing(quote: str, excerpt: str | None) -> None:
    match = PageWords(PAGE).find(quote)
    assert (None if match is None else match.text) == excerpt


def test_an_excerpt_is_cut_between_characters() -> None:
    match = PageWords("é" * 2000).find("é" * 2000)
    assert match is not None
    assert match.text == "é" * 1024


@pytest.mark.parametrize(
    ("value", "quote", "holds"),
    [
        ("2011", "founded in 2011", True),
        ("2012", "founded in 2011", False),
        ("201", "founded in 2011", False),
        ("1234567", "1,234,567 people", True),
        ("1,234", "1.234 people", True),
        ("3 of 5", "5 or 3", True),
        ("none", "no digit", True),
        ("7", "no digit", False),
    ],
)
def test_each_number_of_a_value_stands_in_its_quote(value: str, quote: str, *, holds: bool) -> None:
    assert holds_numbers(quote, value) is holds


@given(st.text(st.sampled_from("aB1 \n\t•’—\u00ad\u200bﬁ̈e\u0301İß。¨"), max_size=30))
def test_each_folded_character_has_its_place_in_the_text(text: str) -> None:
    folded = FoldedText(text)
    assert folded.text == fold(text)
    places = [folded.place(position) for position in range(len(folded.text))]
    assert places == sorted(places)
    assert all(0 <= place < len(folded.original) for place in places)
