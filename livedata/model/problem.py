"""What went wrong, as a value: `livedata.messages` has the words, and a door says them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

Param = str | int | float | bool | None | Sequence[str | int]
Params = Mapping[str, Param]


class Remedy(Struct, frozen=True):
    """Something that a person may try, by its code; a door may know a command for it."""

    code: str
    params: Params = field(default_factory=dict)


class Problem(Struct, frozen=True):
    """What went wrong: a code with its parameters, and what a person may try, the best first.

    `page` is the number of the page from 1 and `url` its address, if the problem has a page.
    `evidence` are facts, coded like the problem itself, that show it.
    """

    code: str
    params: Params = field(default_factory=dict)
    page: int | None = None
    url: str | None = None
    evidence: tuple[Problem, ...] = ()
    remedies: tuple[Remedy, ...] = ()


def place(problem: Problem, page: int | None, url: str | None = None) -> Problem:
    """`problem` at a page, if it does not know its page yet."""
    if problem.page is not None:
        return problem
    return replace(problem, page=page, url=problem.url if url is None else url)


def problem_of(stored: Mapping[str, Any]) -> Problem:
    """The problem that JSON holds: the opposite of writing its fields as an object."""
    return Problem(
        code=stored["code"],
        params=stored.get("params", {}),
        page=stored.get("page"),
        url=stored.get("url"),
        evidence=tuple(problem_of(fact) for fact in stored.get("evidence", ())),
        remedies=tuple(
            Remedy(remedy["code"], remedy.get("params", {}))
            for remedy in stored.get("remedies", ())
        ),
    )
