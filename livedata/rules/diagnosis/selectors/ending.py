"""How a Run of selectors ended, and what it did not record (interface 2.12, completion)."""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import partial
from typing import Final

from livedata.messages.findings import finding_sentence, oddity_sentence
from livedata.model.diagnosis.diagnostics import CompletionArea, Finding
from livedata.model.diagnosis.recorded_run import FailureFact, RecordedRun
from livedata.model.problem import problem_of
from livedata.rules.changes.edits import EDITS_LEFT
from livedata.rules.diagnosis import areas
from livedata.rules.diagnosis.areas import LONGEST_MESSAGE, finding, told

_ENDS: Final = {
    "max_pages": "finding.stopped_by_limit",
    "max_items": "finding.stopped_by_limit",
    "mass_loss": "finding.mass_loss",
    "run.keys_changed": "finding.keys_changed",
    "run.lost_pagination": "finding.lost_pagination",
    "run.emptied_field": "finding.emptied_field",
    "credits": "finding.credits_missing",
    "worker_lost": "finding.worker_lost",
    "cancelled": "finding.cancelled",
}
"""Stop rule, or the problem if that is finer -> the finding whose message is the Run's error."""
_ODD_ENDS: Final = frozenset({"finding.rows_lost", "finding.keys_moved", EDITS_LEFT})


def completion(recorded: RecordedRun) -> CompletionArea:
    """The area of the completion."""
    nothing = partial(nothing_recorded, recorded)
    return areas.completion(recorded.run, recorded.stop, _findings(recorded), nothing)


def _findings(recorded: RecordedRun) -> Iterator[Finding]:
    run = recorded.run
    code = "finding.site_refused" if run["status"] == "blocked" else _end(recorded)
    if code and run["error"]:
        yield finding(code, message=run["error"])
    yield from odd(recorded, _ODD_ENDS)
    if areas.accepted_by_hand(recorded.stop):
        yield finding("finding.accepted_by_hand")


def odd(recorded: RecordedRun, codes: Set[str]) -> list[Finding]:
    """What looked odd when the Run ended, as far as it belongs to one area."""
    return [
        told(fact["code"], oddity_sentence(problem_of(fact)))
        for fact in recorded.facts.get("odd", [])
        if fact["code"] in codes
    ]


def page_unread(failure: FailureFact) -> str:
    """The unknown of a page that could not be read."""
    sentence = finding_sentence(
        "unknown.page_unread", number=failure["number"], address=failure["url"]
    )
    return sentence[:LONGEST_MESSAGE]


def nothing_recorded(recorded: RecordedRun) -> str:
    """The unknown of a Run that recorded nothing, or nothing yet, or too long ago."""
    if not recorded.is_over:
        return finding_sentence("unknown.not_yet")
    return finding_sentence("unknown.not_kept" if recorded.forgotten else "unknown.not_recorded")


def rule_of(recorded: RecordedRun) -> str:
    """The rule that ended a Run; "" while it is open."""
    return recorded.stop["rule"] if recorded.stop else ""


def _end(recorded: RecordedRun) -> str:
    problem = recorded.problem.code if recorded.problem else ""
    return _ENDS.get(problem) or _ENDS.get(rule_of(recorded), "")
