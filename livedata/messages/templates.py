"""How a table of words is written: a template, or a function of the problem."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from livedata.model.problem import Param, Problem

Words = str | Callable[[Problem], str]
"""A template names parameters, ``{page}`` and ``{url}``, as `str.format` has them.

``{pages:page(s)}`` becomes ``1 page`` or ``2 pages``.
"""

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
