"""How pages write a moment, a number and a cell: for a reader, with the exact one at hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from livedata import pages
from livedata.messages.templates import lasted
from livedata.model import ids
from livedata.pages.markup.filters import ago, cell, moment

if TYPE_CHECKING:
    from livedata.model.row import Scalar

ADDRESS = "https://shop.example/a?b=1&c=2"
ESCAPED = "https://shop.example/a?b=1&amp;c=2"


def test_a_moment_is_short_and_the_exact_one_is_at_hand() -> None:
    exact = "2026-11-23T18:35:29.492001Z"
    assert moment(exact) == f'<time datetime="{exact}" title="{exact}">23 Nov 2026 18:35 UTC</time>'
    assert moment(None) == '<span class="none">none</span>'


@pytest.mark.parametrize(
    ("value", "reason", "expected"),
    [
        ("שלום", None, "<bdi>שלום</bdi>"),
        ("a <b> & c", None, "<bdi>a &lt;b&gt; &amp; c</bdi>"),
        (7.0, None, '<data value="7">7</data>'),
        (0.1, None, '<data value="0.1">0.1</data>'),
        (True, None, '<data class="worded" value="true">yes</data>'),
        (False, None, '<data class="worded" value="false">no</data>'),
        (None, "extraction_failed", '<span class="none">unreadable</span>'),
        (None, None, '<span class="none">empty</span>'),
        *(
            (text, None, f"<bdi>{text}</bdi>")
            for text in ("javascript:alert(1)", "data:text/html,x", "//x.example", "ftp://x/")
        ),
        ("https://x.example/ y", None, "<bdi>https://x.example/ y</bdi>"),
        (
            ADDRESS,
            None,
            f'<a href="{ESCAPED}" rel="noreferrer nofollow external" dir="ltr">{ESCAPED}</a>',
        ),
    ],
)
def test_a_cell_is_what_it_says_and_a_link_only_if_it_is_an_address(
    value: Scalar, reason: str | None, expected: str
) -> None:
    assert cell(value, reason=reason) == expected


@pytest.mark.parametrize("value", ["a text", ADDRESS, 7, True, False])
def test_whatever_a_row_says_that_is_gone_is_struck_out(value: Scalar) -> None:
    style = (Path(str(pages.__file__)).parent / "assets" / "style.css").read_text("utf-8")
    struck = re.search(r"\.gone :is\(([^)]+)\) \{ text-decoration: line-through", style)
    element = re.match(r"<(\w+)", cell(value))
    assert struck is not None
    assert element is not None
    assert element[1] in struck[1].split(", ")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.5, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (89 * 60, "89 min ago"),
        (90 * 60, "2 h ago"),
        (35 * 3600, "35 h ago"),
        (36 * 3600, "2 days ago"),
        (400 * 86_400, "400 days ago"),
        (-30, "in a moment"),
        (-3 * 3600, "in 3 h"),
    ],
)
def test_a_moment_is_told_by_its_distance_with_the_exact_one_at_hand(
    seconds: float, told: str
) -> None:
    then = ids.format_timestamp(ids.Micros(ids.now() - int(seconds * 1_000_000)))
    written = ago(then)
    assert f">{told}</time>" in written
    assert f'title="{then}"' in written


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "under 0.1 s"),
        (0.099, "under 0.1 s"),
        (0.1, "0.1 s"),
        (2, "2 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (12.4, "12 s"),
        (59.6, "1 min"),
        (125, "2 min 5 s"),
        (3_600, "1 h"),
        (3_599.9, "1 h"),
        (3_725, "1 h 2 min"),
        (2_678_400.088, "744 h"),
    ],
)
def test_what_something_took_is_told_in_its_two_largest_units(seconds: float, told: str) -> None:
    assert lasted(seconds) == told
