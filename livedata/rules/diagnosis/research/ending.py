"""How a research Run ended, and what it took (interface 2.12, completion and cost)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from livedata.messages.research_findings import research_sentence
from livedata.model.diagnosis.diagnostics import CompletionArea, Finding
from livedata.model.diagnosis.recorded_research import RecordedResearch
from livedata.model.problem import Param
from livedata.model.research.answers import CallUsage
from livedata.rules.diagnosis import areas
from livedata.rules.diagnosis.areas import finding, research_finding
from livedata.rules.diagnosis.research.pages import nothing_recorded

LIMITS: Final = frozenset({"page_budget", "token_limit", "cost_limit", "deadline"})
_ENDS: Final[Mapping[str, str]] = {
    "mass_loss": "finding.mass_loss",
    "credits": "finding.credits_missing",
    "worker_lost": "finding.worker_lost",
    "cancelled": "finding.cancelled",
}
"""Stop rule -> the finding whose message is the Run's error, as for a Run of selectors."""


def completion(recorded: RecordedResearch) -> CompletionArea:
    """The area of the completion."""
    nothing = partial(nothing_recorded, recorded)
    return areas.completion(recorded.run, recorded.stop, _findings(recorded), nothing)


def _findings(recorded: RecordedResearch) -> Iterator[Finding]:
    run, stop = recorded.run, recorded.stop
    if stop is None:
        return
    if stop["rule"] in LIMITS:
        of_day = "day_" if "day" in stop["inputs"] else ""
        message = research_sentence(f"stop.{of_day}{stop['rule']}")
        yield research_finding("stopped_by_limit", message=message)
    code = "finding.site_refused" if run["status"] == "blocked" else _ENDS.get(stop["rule"])
    if code and run["error"]:
        yield finding(code, message=run["error"])
    if areas.accepted_by_hand(stop):
        yield finding("finding.accepted_by_hand")


def usage(calls: Sequence[CallUsage]) -> dict[str, float]:
    """What the calls took as far as it is known; what nobody told is left out, and never 0."""
    sums: dict[str, float] = {}
    for name, took in (
        ("searchCredits", [call.search_credits for call in calls if call.model is None]),
        ("inputTokens", [call.input_tokens for call in calls if call.model is not None]),
        ("outputTokens", [call.output_tokens for call in calls if call.model is not None]),
        ("modelUsd", [call.usd for call in calls if call.model is not None]),
    ):
        known = [amount for amount in took if amount is not None]
        # What was never asked took nothing.
        if known or not took:
            sums[name] = sum(known)
    return sums


def usage_unknowns(calls: Sequence[CallUsage]) -> Iterator[str]:
    """What the calls took and nobody told."""
    model = [call for call in calls if call.model is not None]
    search = [call for call in calls if call.model is None]
    unpriced = [call for call in model if call.usd is None]
    if unpriced:
        names = ", ".join(sorted({str(call.model) for call in unpriced}))
        params: dict[str, Param] = {"calls": len(unpriced), "all": len(model), "model": names}
        yield research_sentence("unknown.price", **params)
    untold = sum(call.input_tokens is None or call.output_tokens is None for call in model)
    if untold:
        yield research_sentence("unknown.tokens", calls=untold, all=len(model))
    untold = sum(call.search_credits is None for call in search)
    if untold:
        yield research_sentence("unknown.credits", calls=untold, all=len(search))
