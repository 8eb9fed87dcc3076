"""Numbers in front of a text that say at which place it stands: 1., 4.1., A.2.

Such a number has one of these forms, with a space behind it and a text after that:

- up to six digits and a sign, `1.` or `1)`;
- several numbers with dots between them, `1.1` or `4.1.` or `4.1)`, none of which begins with a 0
  but 0 itself; the first may be one capital letter, as in `A.2`;
- up to three digits alone, `1`, if a letter, a quotation mark or a bracket follows.

`#` or `№` may stand before it. So a year (2001: A Space Odyssey), a word that begins with a digit
(3D, 7-Zip), a quantity in groups (1,000 or 1.000 or 1 000) and a date (01.02.) are none. A quantity
that looks like a number of a place (12 Monkeys, 1.5 litres) cannot be told from one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_PARTS: Final = r"(?:[A-Z]|0|[1-9]\d{0,3})(?:\.(?:0|[1-9]\d{0,3})){1,5}"
_NUMBERED: Final = re.compile(
    rf"(?:[#№] ?)?(?:(?P<signed>\d{{1,6}})[.)]|(?P<parts>{_PARTS})[.)]?"
    r"|(?P<alone>\d{1,3})(?= [^\W\d_]| [\"'“”„‟‘’‚«»‹›(\[{「『【《〈¿¡]))"
    r" (?P<rest>\S.*)",
    re.DOTALL,
)


class Numbered(NamedTuple):
    """The number in front of a text, one part for each that dots divide, and the text behind it.

    A letter counts as its code, so that B is one more than A.
    """

    number: tuple[int, ...]
    rest: str


def numbered(text: str) -> Numbered | None:
    """A text without breaks as its number and the rest; None if no such number is in front."""
    match = _NUMBERED.match(text)
    if match is None:
        return None
    written = match["signed"] or match["parts"] or match["alone"]
    parts = (int(part) if part.isdecimal() else ord(part) for part in written.split("."))
    return Numbered(tuple(parts), match["rest"])


def unnumbered(text: str) -> str:
    """A text without the number in front that says its place, if it has one."""
    match = _NUMBERED.match(text)
    return text if match is None else match["rest"]


def follows(before: Sequence[int], after: Sequence[int]) -> bool:
    """Whether a number comes next in a list: where they first differ, it is one more.

    So 1.2 comes after 1.1, 2 after 1.9, and 1.1 after 1; after A.2 comes A.3, or B.1.
    """
    length = max(len(before), len(after))
    filled = ([*number, *[0] * (length - len(number))] for number in (before, after))
    step = next((new - old for old, new in zip(*filled, strict=True) if new != old), 0)
    return step == 1
