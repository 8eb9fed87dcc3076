"""Explains the end of a Run from what it recorded: the causes, the likeliest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from livedata.messages.findings import odd_sentences
from livedata.model.diagnosis.explanation import cause_code
from livedata.model.problem import Problem, Remedy, problem_of
from livedata.rules.changes.edits import EDITS_LEFT
from livedata.rules.changes.guards import KEYS_CHANGED, KEYS_MOVED, MASS_LOSS, without_output
from livedata.rules.changes.keys import another_key
from livedata.rules.explanation.explain_fields import (
    explain_fields,
    explain_keys,
    explain_strangers,
)
from livedata.rules.explanation.explain_page import (
    end_gone,
    explain_empty_page,
    explain_fetch_failure,
    explain_redirect,
)
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

FEWER: Final = 0.8
"""A complete list with less than this share of the earlier items is suspiciously short."""

_PAY: Final = (Remedy("grant_credits"), Remedy("accept_paid"))
_UNEXPLAINED: Final = {
    "page_failed": "cause.page_failed",
    "check_failed": "cause.check_failed",
}
"""Stop rule -> the cause that repeats what the Run says of itself."""
_TAKE: Final = Remedy("accept_loss")
_WAYS: Final = {"next-link": Remedy("mend_next_link"), "url-pattern": Remedy("mend_end")}
"""Kind of pagination -> what mends it."""
_LOSSES: Final = frozenset((MASS_LOSS, KEYS_CHANGED, "evidence.recorded"))


def explain(context: RunContext) -> list[Problem]:
    """The causes of a Run's end; none if it was accepted and nothing looks odd."""
    if not context.recorded.is_over:
        return []
    causes = [problem for rule in _RULES for problem in _as_list(rule(context))]
    if not causes:
        causes = list(_otherwise(context))
    # Several rules may come to the same cause: the first of them tells it.
    unique: dict[str, Problem] = {}
    for problem in causes:
        unique.setdefault(cause_code(problem), _helpful(context, problem))
    return list(unique.values())


def explain_research(context: RunContext) -> list[Problem]:
    """The cause of a research Run's end, which no selector can have caused."""
    run = context.recorded.run
    if not context.recorded.is_over or run["status"] == "succeeded":
        return []
    own = _own_end(context)
    sentence = run["error"] or "Nothing more was recorded."
    remedies = _own_remedies(context, RUN_AGAIN)
    told = own or cause("cause.unknown", (), remedies, sentence=sentence)
    return [_helpful(context, told)]


def _otherwise(context: RunContext) -> Iterator[Problem]:
    """What is said of a Run if no rule explains it."""
    if context.recorded.run["status"] != "succeeded":
        yield _unexplained(context)
    # Of hand edits that were left no selector is the cause.
    elif odd := {finding["code"] for finding in context.facts.get("odd", ())} - {EDITS_LEFT}:
        told = odd_sentences(context.facts)
        evidence = [fact("evidence.recorded", sentence=sentence) for sentence in told]
        no_record = not odd.isdisjoint(("finding.bare_rows", "finding.sparse_rows"))
        # The page of an accepted Run is not kept, so no selector can be tried on it here.
        mending = [Remedy("leave_out"), REVISE] if no_record else []
        yield cause("cause.looks_odd", evidence, [*mending, PREVIEW])


def _helpful(context: RunContext, problem: Problem) -> Problem:
    """A cause without the advice to look at a page, or accept an output, that is kept no more."""
    remedies = problem.remedies
    if context.page is None:
        remedies = tuple(remedy for remedy in remedies if remedy != SHOW_PAGE)
    if not context.output_kept:
        remedies = without_output(remedies)
    return replace(problem, remedies=remedies)


def _as_list(causes: Problem | Iterable[Problem] | None) -> list[Problem]:
    if causes is None:
        return []
    return [causes] if isinstance(causes, Problem) else list(causes)


def _unexplained(context: RunContext) -> Problem:
    """A cause in the Run's own words, for an end that no rule explains."""
    code = _UNEXPLAINED.get(context.rule, "cause.unknown")
    sentence = context.recorded.run["error"] or "Nothing more was recorded."
    return cause(code, (), _own_remedies(context, PREVIEW), sentence=sentence)


def _own_remedies(context: RunContext, *otherwise: Remedy) -> Sequence[Remedy]:
    """The remedies of the Run's own problem, which have its figures; else the given ones."""
    problem = context.recorded.problem
    return (problem.remedies if problem is not None else ()) or otherwise


def _own_end(context: RunContext) -> Problem | None:
    """The cause of an end that has nothing to do with the site."""
    own = context.own_words()
    if context.rule == "credits":
        return cause("cause.credits", own, _own_remedies(context, *_PAY))
    if context.rule == "worker_lost":
        return cause("cause.worker_lost", own, [RUN_AGAIN])
    if context.rule == "cancelled":
        return cause("cause.cancelled", [], [RUN_AGAIN])
    # A Run that was held before its first request recorded nothing: its recipe is not executable.
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


def _pagination_fault(context: RunContext) -> Problem | None:
    """The cause of a fault on the way from page to page."""
    fault, count = context.facts.get("broken"), len(context.pages)
    if fault is None:
        return None
    evidence = context.own_words()
    if fault == "click_only":
        selector = context.pagination.get("selector")
        remedies = [Remedy("look_for_numbered_addresses"), REVISE, SHOW_PAGE]
        return cause("cause.click_only", evidence, remedies, selector=selector)
    # A lost end marker makes a site repeat its last page, so it is looked for before the repeat.
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
    """The cause of a list that is complete, but has fewer items than before."""
    now, then = items(context.pages), items(context.previous_pages)
    if not context.facts.get("complete") or not then or not now:
        return None
    pages, previous = len(context.pages), len(context.previous_pages)
    shorter = fact("evidence.shorter", now=now, pages=pages, then=then, previous=previous)
    # A next link that matches nowhere looks like the natural end of the list.
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


def _lost_pagination(context: RunContext) -> Problem | None:
    """The cause of a list that ends too early, if the next link is not gone from every page."""
    problem, kind = context.problem, context.pagination.get("kind", "none")
    if problem is None or problem.code != "run.lost_pagination":
        return None
    if kind == "next-link" and not links(context.pages):
        return None
    way = _WAYS.get(kind, PREVIEW)
    return replace(
        problem,
        code="cause.list_cut_short",
        evidence=tuple(context.previous_items()),
        remedies=(way, REVISE, SHOW_PAGE, _TAKE),
    )


def _mass_loss(context: RunContext) -> Problem | None:
    """The cause of a loss of rows that nothing else explains."""
    if context.rule != "mass_loss" or not _loses_most(context):
        return None
    if context.problem is not None and context.problem.code == KEYS_CHANGED:
        return _keys_changed(context.problem, _TAKE)
    seen, own = context.facts.get("seen", []), context.own_words()
    fresh = len(context.facts.get("others", [])) + context.facts.get("othersLeftOut", 0)
    # Another guard held it, or an older version: as many new keys as lost ones.
    if fresh >= len(seen) / 2:
        keys = fact("evidence.fresh_keys", fresh=fresh, seen=sum(map(bool, seen)))
        return cause("cause.keys_changed.counted", [*own, keys], [PREVIEW, _TAKE])
    return cause("cause.mass_loss", [*own, *context.previous_items()], [_TAKE, PREVIEW])


def _changed_keys(context: RunContext) -> Problem | None:
    """The cause of an accepted Run that found most rows under other keys."""
    run, before = context.recorded.run, context.before or {}
    if run["status"] != "succeeded":
        return None
    for oddity in context.facts.get("odd", []):
        if oddity["code"] == KEYS_MOVED:
            return _keys_changed(problem_of(oddity))
    new, gone = run["rowDeltas"]["new"], run["rowDeltas"]["gone"]
    if 2 * gone <= before.get("rowsInTable", 0) or 2 * new < gone:
        return None
    keys = fact("evidence.fresh_keys", fresh=new, seen=context.facts.get("rows", 0) - new)
    return cause("cause.keys_changed.accepted", [keys], [PREVIEW])


def _keys_changed(moved: Problem, *remedies: Remedy) -> Problem:
    """The cause of keys that have moved: which, and which columns would be better ones."""
    before, now, better = (moved.params[name] for name in ("keys_before", "keys_now", "better"))
    assert isinstance(before, list)
    assert isinstance(now, list)
    assert isinstance(better, list)
    examples = [
        fact("evidence.key_moved", before=old, now=new)
        for old, new in zip(before, now, strict=True)
    ]
    ways = another_key([str(name) for name in better], Remedy("stable_key"))
    return cause("cause.keys_changed", examples, [*ways, *remedies], **moved.params)


def _loses_most(context: RunContext) -> bool:
    """Whether most rows would be gone, which the other guards do not need."""
    if context.problem is None or context.problem.code in _LOSSES:
        return True
    seen = context.facts.get("seen", [])
    return 2 * sum(map(bool, seen)) < len(seen)


# The order is that of the answer: what stopped the Run before it could read comes before what it
# read, and a mass loss, which can follow from each of the others, comes last.
_RULES: Final[Sequence[Callable[[RunContext], Problem | Iterable[Problem] | None]]] = (
    _own_end,
    explain_fetch_failure,
    _limits,
    _pagination_fault,
    explain_empty_page,
    explain_redirect,
    explain_strangers,
    explain_keys,
    explain_fields,
    _lost_pagination,
    _shorter,
    _mass_loss,
    _changed_keys,
)
