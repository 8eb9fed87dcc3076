"""The shapes that explain a Run: the page that stopped it, the causes, and a suggestion."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from msgspec import Struct

from livedata.model.diagnosis.recorded_run import PageCounts
from livedata.model.harvest import AnsweredPage
from livedata.model.problem import Problem


class FailedPage(AnsweredPage, frozen=True):
    """The kept page; `counts` is None if the answer could not be read as a page."""

    markup: str
    cut: bool
    counts: PageCounts | None
    screenshot: bytes | None


class Replacement(TypedDict):
    """What is to be read otherwise: ``itemSelector``, a field by its name, or ``pagination``."""

    target: str
    before: str
    after: str


class Suggestion(TypedDict):
    """What would read known rows on a page that has changed: for a person to judge, never applied.

    The page has so many `records`. Rows that are known are looked for in the first `searched` of
    them, and so many are there as `rows` says. `lost` are the fields whose values are nowhere on
    the page.
    """

    records: int
    searched: int
    rows: int
    replaced: list[Replacement]
    lost: list[str]


class SelectorCount(TypedDict):
    """What a selector matched on the kept page, and on the same page of the accepted Run before.

    `target` is ``itemSelector``, the name of a field, or ``pagination``; a field counts items.
    """

    target: str
    now: int
    before: int | None


class ShownPage(TypedDict):
    """The kept page as it is printed: all but the markup and the picture themselves."""

    number: int
    url: str
    finalUrl: str
    status: int
    title: str | None
    bytes: int
    cut: bool
    screenshot: bool
    counts: PageCounts | None


class RunExplanation(Struct, frozen=True):
    """Why a Run ended as it did, the likeliest cause first; a door says it.

    `error` is what the Run says of itself, `problem` the same as a value. `compared_with` is the
    Run that was accepted last before it. `suggestion` is None if the kept page needs no other
    selectors, or shows too few known rows. `unknown` says what is kept no more.
    """

    run: str
    dataset: str
    status: str
    error: str | None
    problem: Problem | None
    compared_with: str | None
    causes: list[Problem]
    suggestion: Suggestion | None
    matches: list[SelectorCount]
    page: ShownPage | None
    unknown: Problem | None


def cause_code(cause: Problem) -> str:
    """The code of a cause as it is answered: its kind, and the field that it is about if any.

    What follows a second point tells apart the forms in which one kind of cause comes.
    """
    # One kind can hold for several fields, and each of them is a cause of its own.
    kind, field = cause.code.split(".")[1], cause.params.get("field")
    return f"{kind}:{field}" if field else kind


class Cause(TypedDict):
    """One thing that explains how a Run ended: what, how that is known, and what to try."""

    code: str
    message: str
    evidence: list[str]
    next: list[str]


class Explanation(TypedDict):
    """Why a Run ended as it did, in words."""

    runId: str
    status: str
    error: str | None
    comparedWith: str | None
    causes: list[Cause]
    suggestion: Suggestion | None
    matches: list[SelectorCount]
    page: ShownPage | None
    unknowns: NotRequired[list[str]]
