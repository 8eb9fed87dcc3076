"""A problem -> the sentence that says it, without commands and without variables."""

from __future__ import annotations

from collections.abc import Mapping

from livedata.messages import causes, checks, deliveries, fetch, run_end
from livedata.messages.templates import Words, fill
from livedata.model.problem import Problem
from livedata.model.run import Check, CheckResult

SENTENCES: Mapping[str, Words] = {
    **fetch.SENTENCES,
    **fetch.PAGINATION,
    **checks.SENTENCES,
    **run_end.SENTENCES,
    **causes.SENTENCES,
    **deliveries.SENTENCES,
}
"""Every code of a problem, of a cause and of the facts that show it -> its sentence."""


def check_result(check: Check) -> CheckResult:
    """A Check as it is answered."""
    if check.problem is None:
        return {"checkId": check.id, "passed": True}
    return {"checkId": check.id, "passed": False, "message": sentence(check.problem)}


def statement(problem: Problem) -> str:
    """The sentence for a door that shows the remedies itself: it does not give the advice twice."""
    if problem.code in run_end.STATEMENTS:
        return f"{fill(run_end.STATEMENTS, problem)}."
    return sentence(problem)


def sentence(problem: Problem) -> str:
    """What a person reads of a problem."""
    return fill(SENTENCES, problem)


def entry(problem: Problem) -> str:
    """The place of a problem in the catalogue of errors: its code is the anchor there."""
    return f"docs/errors.md#{problem.code}"
