"""Explains a page without items: what stands there in their place, and what to try."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from livedata.model.harvest import PageJudgement
from livedata.model.problem import Problem, Remedy
from livedata.rules.diagnosis.page_kind import scripts_rows, shows_rows
from livedata.rules.explanation.explain_fetch_failure import end_gone
from livedata.rules.explanation.run_context import (
    PREVIEW,
    REVISE,
    RUN_AGAIN,
    SHOW_PAGE,
    RunContext,
    cause,
    fact,
    items,
    links,
)
from livedata.rules.network.targets import site_of

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
    return cause("cause.items_gone", evidence, [PREVIEW, REVISE, SHOW_PAGE], selector=selector)


def _page_and_before(context: RunContext) -> list[Problem]:
    return [*context.page_evidence(), *context.previous_items()]
