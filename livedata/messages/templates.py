"""How a table of words is written: a template, or a function of the problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from livedata.model.problem import Problem

Words = str | Callable[[Problem], str]
"""A template names parameters, ``{page}`` and ``{url}``, as `str.format` has them."""


def fill(table: Mapping[str, Words], problem: Problem) -> str:
    """The words that `table` has for the code of a problem."""
    words = table[problem.code]
    if not isinstance(words, str):
        return words(problem)
    return words.format(page=problem.page, url=problem.url, **problem.params)


def plural(count: int, noun: str) -> str:
    """``1 page``, ``2 pages``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
