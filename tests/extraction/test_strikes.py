"""What a page draws a line through, and sheets that are made to stall whoever asks them."""

from __future__ import annotations

import time

import pytest

from livedata.extraction.strikes import Strikes, by_style

LINE = "text-decoration: line-through"
SIZE = 520_000
HOSTILE = {
    "one rule of many selectors": ".a," * (SIZE // 3) + f"b {{{LINE}}}",
    "many rules": f".a {{{LINE}}}" * (SIZE // 34),
    "many classes": "".join(f".a{i}.b{{{LINE}}}" for i in range(13_000)),
    "blocks that do not end": "{" * SIZE + LINE,
    "ends of nothing": "}" * SIZE + LINE,
    "spaces": f".a {{{' ' * SIZE}{LINE}}}",
    "brackets": "(" * SIZE + f"{{{LINE}}}",
    "comments": "/*" * (SIZE // 2) + LINE,
}


@pytest.mark.parametrize(
    ("style", "struck"),
    [
        (LINE, True),
        ("color: red;text-decoration:underline line-through", True),
        ("TEXT-DECORATION-LINE: line-through !important", True),
        ("text-decoration: none", False),
        (f"{LINE}; text-decoration: none", False),
        ("content: 'line-through'", None),
        ("", None),
    ],
)
def test_a_style_says_whether_it_draws_a_line_or_nothing_of_it(
    style: str, struck: bool | None
) -> None:
    assert by_style(style) is struck


@pytest.mark.timed
@pytest.mark.parametrize("name", HOSTILE)
def test_sheets_that_are_made_to_take_long_take_no_time(name: str) -> None:
    began = time.process_time()
    strikes = Strikes([HOSTILE[name]])
    for number in range(1_000):
        strikes.through("p", [f"c{number}", "b"], None)
    assert time.process_time() - began < 1.0
