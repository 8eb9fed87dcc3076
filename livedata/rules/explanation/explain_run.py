"""What a Run recorded, and the page that stopped it -> the causes, the likeliest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from livedata.model.diagnosis.explanation import Suggestion, cause_code
from livedata.model.problem import Problem, Remedy
from livedata.rules.explanation.explain_fetch_failure import end_gone, explain_fetch_failure
from livedata.rules.explanation.explain_fields import explain_fields, explain_keys
from livedata.rules.explanation.page_kind import PageKind, classify_page
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
from livedata.rules.explanation.suggest_selectors import (
    count_known_values,
    suggest_field_selector,
    suggest_item_selector,
)
from livedata.rules.network.targets import site_of

FEWER: Final = 0.8
"""Below this share of the items of before, a complete list has become suspiciously short."""

_PAY: Final = (Remedy("grant_credits"), Remedy("accept_paid"))
_UNEXPLAINED: Final = {
    "page_failed": "cause.page_failed",
    "check_failed": "cause.check_failed",
}
"""Stop rule -> the cause that says no more than the Run itself."""


def explain(context: RunContext) -> list[Problem]:
    """The causes of a Run's end; none if it was accepted and nothing looks odd."""
    if not context.recorded.is_over:
        return []
    causes = [one for rule in _RULES for one in _all(rule(context))]
    if not causes and context.recorded.run["status"] != "succeeded":
        causes = [_unexplained(context)]
    # Several rules may come to the same cause: the first of them tells it.
    unique: dict[str, Problem] = {}
    for one in causes:
        unique.setdefault(cause_code(one), one)
    return list(unique.values())


def suggestions(context: RunContext, causes: Iterable[Problem]) -> list[Suggestion]:
    """Selectors that may replace those that died, from where known rows stand on the kept page."""
    if context.outline is None:
        return []
    if context.page is not None and context.page.counts and not context.page.counts["items"]:
        lost = {one.code for one in causes} & {"cause.items_gone", "cause.empty_page"}
        items_now = suggest_item_selector(context.outline, context.known)
        return [items_now] if items_now and lost else []
    dead = {one.params.get("field") for one in causes}
    places = [
        suggest_field_selector(context.outline, known)
        for known in context.known
        if known.name in dead
    ]
    return [place for place in places if place is not None]


def _all(causes: Problem | Iterable[Problem] | None) -> list[Problem]:
    if causes is None:
        return []
    return [causes] if isinstance(causes, Problem) else list(causes)


def _unexplained(context: RunContext) -> Problem:
    """The end in the Run's own words, if no rule knows more."""
    code = _UNEXPLAINED.get(context.rule, "cause.unknown")
    sentence = context.recorded.run["error"] or "Nothing more was recorded."
    return cause(code, (), _own_remedies(context, PREVIEW), sentence=sentence)


def _own_remedies(context: RunContext, *otherwise: Remedy) -> Sequence[Remedy]:
    """What the Run itself proposes, since it knows the figures."""
    problem = context.recorded.problem
    return (problem.remedies if problem is not None else ()) or otherwise


def _simple(context: RunContext) -> Problem | None:
    """Ends that have nothing to do with the site."""
    own = context.own_words()
    if context.rule == "credits":
        return cause("cause.credits", own, _own_remedies(context, *_PAY))
    if context.rule == "worker_lost":
        return cause("cause.worker_lost", own, [RUN_AGAIN])
    if context.rule == "cancelled":
        return cause("cause.cancelled", [], [RUN_AGAIN])
    if not context.facts and context.recorded.run["status"] == "held":
        return cause("cause.recipe", own)
    return None


def _limits(context: RunContext) -> Problem | None:
    if context.rule not in {"max_pages", "max_items"}:
        return None
    code, name = (
        ("cause.max_pages", "maxPages")
        if context.rule == "max_pages"
        else ("cause.max_items", "maxItems")
    )
    read = fact("evidence.read", pages=len(context.pages), items=items(context.pages))
    remedies = [Remedy("raise_limit", {"name": name}), REVISE]
    return cause(code, [read, *context.previous_items()], remedies, name=name)


def _empty_page(context: RunContext) -> Iterator[Problem]:
    """The first page without items, if there should be some."""
    if context.page is None and "extraction" in context.has_failed and not items(context.pages):
        yield _items_gone(context)
    if context.page is None or context.page.counts is None or context.page.counts["items"]:
        return
    if not context.has_failed & {"extraction", "minimum-items", "coverage"}:
        return
    assert context.outline is not None
    kind = classify_page(context.outline, context.page.title)
    if kind in {"challenge", "login", "consent"}:
        yield _wall(context, kind)
    if (moved := _moved(context)) is not None:
        yield moved
    if kind == "no_results":
        yield _no_results(context)
    if context.page.number > 1 and items(context.pages):
        yield _empty_later(context)
    if kind == "scripted" or _only_in_scripts(context):
        yield _scripted(context)
    if context.page.number == 1 or not items(context.pages):
        yield _items_gone(context)


def _wall(context: RunContext, kind: PageKind | None) -> Problem:
    code, remedy = {
        "challenge": ("cause.challenge.page", Remedy("use_proxy")),
        "login": ("cause.login", Remedy("choose_public_page")),
    }.get(str(kind), ("cause.consent", Remedy("find_open_address")))
    return cause(code, _page_and_before(context), [remedy, SHOW_PAGE])


def _moved(context: RunContext) -> Problem | None:
    """The site sends the reader to another host."""
    page = context.page
    if page is None or site_of(page.final_url) == site_of(page.url):
        return None
    if any(site_of(old["finalUrl"]) == site_of(page.final_url) for old in context.previous_pages):
        return None
    asked = fact("evidence.asked_for", address=page.url)
    return cause(
        "cause.moved_host",
        [asked, *_page_and_before(context)],
        [Remedy("follow_list"), REVISE],
        address=page.final_url,
    )


def _no_results(context: RunContext) -> Problem:
    remedies = [Remedy("check_emptiness"), Remedy("allow_empty"), REVISE]
    return cause("cause.no_results", _page_and_before(context), remedies)


def _empty_later(context: RunContext) -> Problem:
    assert context.page is not None
    if context.pagination.get("kind") == "url-pattern" and not links(context.pages):
        return end_gone(context, context.page_evidence())
    others = fact("evidence.other_items", items=items(context.pages))
    return cause(
        "cause.empty_page",
        [*context.page_evidence(), others],
        [RUN_AGAIN, Remedy("check_end"), SHOW_PAGE],
        number=context.page.number,
    )


def _only_in_scripts(context: RunContext) -> bool:
    """Whether known rows stand in the markup, but not in the text."""
    assert context.outline is not None
    assert context.page is not None
    return bool(count_known_values(context.page.markup, context.known)) and not count_known_values(
        context.outline.text, context.known
    )


def _scripted(context: RunContext) -> Problem:
    assert context.outline is not None
    sizes = fact("evidence.sizes", text=len(context.outline.text), scripts=context.outline.scripts)
    return cause(
        "cause.scripted",
        [*context.page_evidence(), sizes, *context.previous_items()],
        [Remedy("set_option", {"name": "render", "value": "browser"}), REVISE, SHOW_PAGE],
        selector=context.source.get("itemSelector"),
    )


def _items_gone(context: RunContext) -> Problem:
    selector = context.source.get("itemSelector")
    remedies = [PREVIEW, REVISE, SHOW_PAGE]
    return cause("cause.items_gone", _page_and_before(context), remedies, selector=selector)


def _broken_way(context: RunContext) -> Problem | None:
    """What is wrong with the way from page to page."""
    fault, count = context.facts.get("broken"), len(context.pages)
    if fault is None:
        return None
    evidence = context.own_words()
    if fault == "click_only":
        selector = context.pagination.get("selector")
        remedies = [Remedy("look_for_numbered_addresses"), REVISE, SHOW_PAGE]
        return cause("cause.click_only", evidence, remedies, selector=selector)
    marked = context.pagination.get("kind") == "url-pattern" and links(context.previous_pages)
    if marked and not links(context.pages) and count > len(context.previous_pages):
        return end_gone(context, evidence)
    if fault == "repeat":
        return cause(
            "cause.repeated_page",
            [*evidence, *context.previous_items()],
            [RUN_AGAIN, Remedy("check_last_page"), SHOW_PAGE],
            number=count,
            before=count - 1,
        )
    return cause("cause.circle", evidence, [PREVIEW, REVISE, SHOW_PAGE])


def _shorter(context: RunContext) -> Problem | None:
    """A list that seems complete, but has fewer items than before."""
    now, then = items(context.pages), items(context.previous_pages)
    if not context.facts.get("complete") or not then or not now:
        return None
    pages, previous = len(context.pages), len(context.previous_pages)
    shorter = fact("evidence.shorter", now=now, pages=pages, then=then, previous=previous)
    had_links = context.pagination.get("kind") == "next-link" and links(context.previous_pages)
    if had_links and not links(context.pages) and pages < previous:
        lost = fact("evidence.links_before", before=links(context.previous_pages))
        return cause(
            "cause.next_link_gone",
            [shorter, lost],
            [Remedy("mend_next_link"), REVISE],
            selector=context.pagination.get("selector"),
            pages=pages,
        )
    if now < FEWER * then:
        remedies = [Remedy("compare_items"), PREVIEW]
        return cause("cause.fewer_items", [shorter], remedies, now=now, then=then)
    return None


def _mass_loss(context: RunContext) -> Problem | None:
    if context.rule != "mass_loss":
        return None
    seen, own = context.facts.get("seen", []), context.own_words()
    fresh = len(context.facts.get("others", [])) + context.facts.get("othersLeftOut", 0)
    take = Remedy("accept_loss")
    if fresh >= len(seen) / 2:
        keys = fact("evidence.fresh_keys", fresh=fresh, seen=sum(map(bool, seen)))
        return cause("cause.keys_changed", [*own, keys], [PREVIEW, take])
    return cause("cause.mass_loss", [*own, *context.previous_items()], [take, PREVIEW])


def _page_and_before(context: RunContext) -> list[Problem]:
    return [*context.page_evidence(), *context.previous_items()]


_RULES: Final[Sequence[Callable[[RunContext], Problem | Iterable[Problem] | None]]] = (
    _simple,
    explain_fetch_failure,
    _limits,
    _broken_way,
    _empty_page,
    explain_keys,
    explain_fields,
    _shorter,
    _mass_loss,
)
