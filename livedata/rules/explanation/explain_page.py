"""Explains the page that stopped a Run: it could not be read, or has no items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from livedata.model.diagnosis.recorded_run import FailureFact
from livedata.model.harvest import PageJudgement
from livedata.model.problem import Problem, Remedy
from livedata.rules.diagnosis.page_kind import scripts_rows, shows_rows
from livedata.rules.explanation.run_context import (
    PREVIEW,
    REVISE,
    RUN_AGAIN,
    RUN_LATER,
    SHOW_PAGE,
    RunContext,
    cause,
    fact,
    items,
    links,
)
from livedata.rules.network.targets import site_of

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


_WALLS: Final = {
    "challenge": ("cause.challenge.page", Remedy("use_proxy")),
    "refused": ("cause.forbidden", Remedy("open_in_browser")),
    "login": ("cause.login", Remedy("choose_public_page")),
    "gone": ("cause.page_gone", Remedy("find_list")),
    "consent": ("cause.consent", Remedy("find_open_address")),
}
"""Kind of a page -> the cause that it stands before the list, and what to try."""


def explain_empty_page(context: RunContext) -> Iterator[Problem]:
    """The causes of the first page without items, if items are expected on it."""
    judged = context.judged
    # Of an older Run neither page nor judgement is left: all there is to say is that nothing
    # matched.
    if judged is None and "extraction" in context.failed_checks and not items(context.pages):
        yield _items_gone(context)
    if judged is None or judged["number"] > len(context.pages):
        return
    if not context.failed_checks & {"extraction", "minimum-items", "coverage"}:
        return
    yield from _causes(context, judged)


def _causes(context: RunContext, judged: PageJudgement) -> Iterator[Problem]:
    """What may stand in place of the items, from the surest sign to the weakest."""
    # Rows that stand on the page settle it, with any words around them. Without them a wall, a
    # move or a notice is on the page itself, while "the items look different" only says that
    # nothing else fits, so it comes last.
    settled = shows_rows(judged) or scripts_rows(judged)
    if judged["kind"] in _WALLS and not settled:
        yield _wall(context, judged["kind"])
    yield from explain_redirect(context)
    if shows_rows(judged):
        yield _items_gone(context)
        return
    if settled:
        yield _scripted(context, judged)
    if judged["kind"] == "no_results":
        yield _no_results(context)
    if judged["number"] > 1 and items(context.pages):
        yield _empty_later(context, judged["number"])
    if judged["kind"] == "scripted":
        yield _scripted(context, judged)
    if judged["number"] == 1 or not items(context.pages):
        yield _items_gone(context)


def _wall(context: RunContext, kind: str) -> Problem:
    code, remedy = _WALLS[kind]
    return cause(code, _page_and_before(context), [remedy, SHOW_PAGE])


def explain_redirect(context: RunContext) -> Iterator[Problem]:
    """The cause that the site leads away from the list, if it did not do so before."""
    if not context.pages:
        return
    page = context.pages[0]
    known = [page["url"], *(old["finalUrl"] for old in context.previous_pages)]
    if _place(page["finalUrl"]) in map(_place, known):
        return
    # To another host the whole site may have moved; on the same one the list may just be gone.
    moved = site_of(page["finalUrl"]) not in map(site_of, known)
    # Before a Run was accepted, nobody knows whether the list has always been redirected.
    if not context.previous_pages and (items(context.pages) or not moved):
        return
    asked = fact("evidence.asked_for", address=page["url"])
    yield cause(
        "cause.moved_host" if moved else "cause.redirected",
        [asked, *_page_and_before(context)],
        [Remedy("follow_list"), REVISE],
        address=page["finalUrl"],
    )


def _place(url: str) -> str:
    """An address without its query, in which a site may write what is new each time."""
    return url.partition("#")[0].partition("?")[0]


def _no_results(context: RunContext) -> Problem:
    remedies = [Remedy("check_emptiness"), Remedy("allow_empty"), REVISE]
    return cause("cause.no_results", _page_and_before(context), remedies)


def _empty_later(context: RunContext, number: int) -> Problem:
    if context.pagination.get("kind") == "url-pattern" and not links(context.pages):
        return end_gone(context, context.page_evidence())
    others = fact("evidence.other_items", items=items(context.pages))
    return cause(
        "cause.empty_page",
        [*context.page_evidence(), others],
        [RUN_AGAIN, Remedy("check_end"), SHOW_PAGE],
        number=number,
    )


def _scripted(context: RunContext, judged: PageJudgement) -> Problem:
    sizes = fact("evidence.sizes", text=judged["text"], scripts=judged["scripts"])
    return cause(
        "cause.scripted",
        [*context.page_evidence(), sizes, *context.previous_items()],
        [Remedy("set_option", {"name": "render", "value": "browser"}), REVISE, SHOW_PAGE],
        selector=context.source.get("itemSelector"),
    )


def _items_gone(context: RunContext) -> Problem:
    selector, judged = context.source.get("itemSelector"), context.judged
    rows = []
    if judged and judged["shown"]:
        rows = [fact("evidence.known_rows", shown=judged["shown"], known=judged["known"])]
    evidence = [*context.page_evidence(), *rows, *context.previous_items()]
    # Of a source that was never accepted nobody knows that it once matched.
    code = "cause.items_gone" if context.before else "cause.items_gone.never"
    return cause(code, evidence, [PREVIEW, REVISE, SHOW_PAGE], selector=selector)


def _page_and_before(context: RunContext) -> list[Problem]:
    return [*context.page_evidence(), *context.previous_items()]
