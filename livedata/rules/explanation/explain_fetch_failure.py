"""Explains a page that could not be read: the cause, and what to try."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from livedata.model.diagnosis.recorded_run import FailureFact
from livedata.model.problem import Problem, Remedy
from livedata.rules.explanation.run_context import (
    PREVIEW,
    REVISE,
    RUN_AGAIN,
    RUN_LATER,
    SHOW_PAGE,
    RunContext,
    cause,
    fact,
    links,
)

_ANOTHER_WAY: Final = (Remedy("open_in_browser"), Remedy("use_proxy"))
_PUBLIC: Final = Remedy("choose_public_page")
_UNCHANGED: Final = Remedy("keep_source")

_CAUSES: Final[Mapping[str, tuple[str, Sequence[Remedy]]]] = {
    "challenge": ("cause.challenge", _ANOTHER_WAY),
    "forbidden": ("cause.forbidden.answered", _ANOTHER_WAY),
    "rate_limited": ("cause.rate_limited", [RUN_LATER, Remedy("run_less_often")]),
    "login_redirect": ("cause.login_redirect", [_PUBLIC]),
    "empty_body": ("cause.empty_body", [*_ANOTHER_WAY, RUN_LATER]),
    "connection_reset": ("cause.connection_reset", [RUN_LATER]),
    "robots_disallowed": (
        "cause.robots_disallowed",
        [Remedy("choose_allowed_page"), Remedy("ignore_robots"), REVISE],
    ),
    "timeout": ("cause.timeout", [RUN_LATER, Remedy("more_time")]),
    "cancelled": ("cause.cancelled", [RUN_AGAIN]),
    "invalid_content": ("cause.invalid_content", [Remedy("choose_list_page"), REVISE]),
}
"""Reason -> its cause, and what to try."""

_GENERIC_CAUSES: Final[Mapping[str, str]] = {
    "network": "cause.network",
    "limit_exceeded": "cause.limit_exceeded",
    "unsafe_target": "cause.unsafe_target",
    "unknown": "cause.unknown",
}
"""Reason that covers many cases -> a cause that uses the words of the failure itself."""


def explain_fetch_failure(context: RunContext) -> Problem | None:
    """The cause of the page that stopped the Run; None if no page failed."""
    failure = context.facts.get("failure")
    if failure is None:
        return None
    evidence = [*context.own_words(), *_read_before(context, failure)]
    if failure["reason"] == "http_error":
        return _http_error(context, failure, evidence)
    # With a status, robots.txt itself was answered with an error: it forbids nothing by its rules.
    if failure["reason"] == "robots_disallowed" and failure["status"] is not None:
        return _robots_down(failure["status"], evidence)
    reason = failure["reason"]
    # The crawler knows challenges by headers and markup; here the words of the page count too.
    if reason == "forbidden" and context.judged and context.judged["kind"] == "challenge":
        reason = "challenge"
    code, remedies = _CAUSES.get(reason) or _generic_cause(context, reason)
    return cause(code, evidence, [*remedies, *_page_remedy(context)])


def end_gone(context: RunContext, evidence: Iterable[Problem]) -> Problem:
    """The cause that the end marker of a url-pattern matches on no page."""
    selector = context.pagination.get("endSelector")
    before = links(context.previous_pages) if context.previous_pages else None
    unmatched = fact(
        "evidence.end_unmatched", selector=selector, pages=len(context.pages), before=before
    )
    remedies = [Remedy("mark_end"), REVISE, SHOW_PAGE]
    return cause("cause.end_marker_gone", [unmatched, *evidence], remedies, selector=selector)


def _generic_cause(context: RunContext, reason: str) -> tuple[str, Sequence[Remedy]]:
    """A cause that says what the failure says, with the remedies of the Run's own problem."""
    remedies = context.problem.remedies if context.problem is not None else ()
    return _GENERIC_CAUSES.get(reason, "cause.unknown"), remedies


def _page_remedy(context: RunContext) -> list[Remedy]:
    """The remedy to look at the kept page, if it has text."""
    # Of a document or a picture no markup is kept, so the command would show nothing.
    return [SHOW_PAGE] if context.page is not None and context.page.markup.strip() else []


def _http_error(context: RunContext, failure: FailureFact, evidence: list[Problem]) -> Problem:
    status = failure["status"] or 0
    number = failure["number"]
    # A later page that is gone is a matter of pagination; the first one is a matter of its address.
    if status in {404, 410} and number > 1:
        return _past_the_end(context, number, evidence)
    if status in {404, 410}:
        return cause("cause.page_gone", evidence, [Remedy("find_list"), REVISE])
    if status in {401, 451}:
        return cause("cause.no_access", evidence, [_PUBLIC], status=status)
    if status >= 500:
        return cause("cause.site_error", evidence, [RUN_LATER, _UNCHANGED], status=status)
    return cause("cause.http_error", evidence, _page_remedy(context), status=status)


def _robots_down(status: int, evidence: list[Problem]) -> Problem:
    remedies = [RUN_LATER, _UNCHANGED]
    return cause("cause.robots_disallowed.unanswered", evidence, remedies, status=status)


def _past_the_end(context: RunContext, number: int, evidence: list[Problem]) -> Problem:
    # Without any match of the end marker the Run had to count on past the last page.
    if context.pagination.get("kind") == "url-pattern" and not links(context.pages):
        return end_gone(context, evidence)
    remedies = [RUN_LATER, Remedy(PREVIEW.code, {"pages": number})]
    return cause("cause.next_page_gone", evidence, remedies, number=number)


def _read_before(context: RunContext, failure: FailureFact) -> list[Problem]:
    number = failure["number"]
    if number <= len(context.previous_pages):
        items = context.previous_pages[number - 1]["items"]
        return [fact("evidence.page_before", number=number, items=items)]
    return []
