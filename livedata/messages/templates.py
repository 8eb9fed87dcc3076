"""How a table of words is written: a template, or a function of the problem."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from livedata.model.problem import Param, Problem

Words = str | Callable[[Problem], str]
"""A template names parameters, ``{page}`` and ``{url}``, as `str.format` has them.

``{pages:page(s)}`` becomes ``1 page`` or ``2 pages``.
"""

_LENGTHS: Final = (("h", 3_600), ("min", 60), ("s", 1))
"""A unit, and its seconds."""
_SHORTEST: Final = 0.1
_TELLING_TENTHS: Final = 9.95
"""Of what took so many seconds, tenths say nothing."""
_COUNT = re.compile(r"\{(\w+):([\w ]+)\(s\)\}")


def fill(table: Mapping[str, Words], problem: Problem) -> str:
    """The words that `table` has for the code of a problem."""
    words = table[problem.code]
    if not isinstance(words, str):
        return words(problem)
    counted = _COUNT.sub(lambda match: plural(problem.params[match[1]], match[2]), words)
    return counted.format(page=problem.page, url=problem.url, **problem.params)


def plural(count: Param, noun: str) -> str:
    """``1 page``, ``2 pages``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def few(names: Sequence[str], most: int = 5) -> str:
    """``a, b and 2 more``: the first of some names, and how many are not among them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def joined(names: Sequence[str]) -> str:
    """``a, b and c``."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def lasted(seconds: float) -> str:
    """How long something took, in words: in its two largest units."""
    if seconds < _SHORTEST:
        return f"under {_SHORTEST} s"
    if seconds < _TELLING_TENTHS:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    whole = round(seconds)
    for (unit, length), (finer, shorter) in pairwise(_LENGTHS):
        if whole >= length:
            rest = whole % length // shorter
            return f"{whole // length} {unit}" + (f" {rest} {finer}" if rest else "")
    return f"{whole} s"
