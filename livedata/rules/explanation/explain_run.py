"""What a Run recorded, and the page that stopped it -> the causes, the likeliest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from livedata.model.diagnosis.explanation import Cause, Suggestion
from livedata.rules.explanation.explain_fetch_failure import end_gone, explain_fetch_failure
from livedata.rules.explanation.explain_fields import explain_fields, explain_keys
from livedata.rules.explanation.page_kind import PageKind, classify_page
from livedata.rules.explanation.run_context import (
    AGAIN,
    PAGE,
    PREVIEW,
    REVISE,
    RunContext,
    cause,
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


def explain(case: RunContext) -> list[Cause]:
    """The causes of a Run's end; none where it was accepted and nothing looks odd."""
    if not case.recorded.is_over:
        return []
    found = [one for rule in _RULES for one in _all(rule(case))]
    if not found and case.recorded.run["status"] != "succeeded":
        error = case.recorded.run["error"] or "Nothing more was recorded."
        found = [cause(case.rule or "unknown", error, (), [PREVIEW])]
    codes = [one["code"] for one in found]
    return [one for at, one in enumerate(found) if one["code"] not in codes[:at]]


def suggestions(case: RunContext, found: Iterable[Cause]) -> list[Suggestion]:
    """Selectors that may replace those that died, from where known rows stand on the kept page."""
    codes = {one["code"] for one in found}
    if case.outline is None:
        return []
    if case.page is not None and case.page.counts and not case.page.counts["items"]:
        clue = suggest_item_selector(case.outline, case.known)
        return [clue] if clue and codes & {"items_gone", "empty_page"} else []
    dead = {code.partition(":")[2] for code in codes if ":" in code}
    clues = [
        suggest_field_selector(case.outline, known) for known in case.known if known.name in dead
    ]
    return [clue for clue in clues if clue is not None]


def _all(found: Cause | Iterable[Cause] | None) -> list[Cause]:
    if found is None:
        return []
    return [found] if isinstance(found, dict) else list(found)  # type: ignore[list-item]  # a Cause


def _simple(case: RunContext) -> Cause | None:
    """Ends that have nothing to do with the site."""
    error = case.recorded.run["error"] or ""
    if case.rule == "credits":
        take = "Add credits, then take the output: livedata runs accept {run}"
        return cause("credits", "The credits do not suffice.", [error], [take])
    if case.rule == "worker_lost":
        return cause("worker_lost", "The process that executed the Run was lost.", [error], [AGAIN])
    if case.rule == "cancelled":
        return cause("cancelled", "The Run was cancelled.", [], [AGAIN])
    if not case.facts and case.recorded.run["status"] == "held":
        return cause("recipe", "The recipe of this dataset cannot be executed.", [error], [])
    return None


def _limits(case: RunContext) -> Cause | None:
    if case.rule not in {"max_pages", "max_items"}:
        return None
    name = "maxPages" if case.rule == "max_pages" else "maxItems"
    found = [f"{len(case.pages)} pages with {items(case.pages)} items were read"]
    return cause(
        case.rule,
        f"{name} cut the list: it goes on after what was read, and a part is never taken over.",
        [*found, *case.items_then()],
        [f"Raise {name} in the source, or narrow the list. " + REVISE],
    )


def _empty_page(case: RunContext) -> Iterator[Cause]:
    """The first page without items, where there should be some."""
    if case.page is None and "extraction" in case.has_failed and not items(case.pages):
        yield _items_gone(case)
    if case.page is None or case.page.counts is None or case.page.counts["items"]:
        return
    if not case.has_failed & {"extraction", "minimum-items", "coverage"}:
        return
    assert case.outline is not None
    looks = classify_page(case.outline, case.page.title)
    moved = _moved(case)
    if looks in {"challenge", "login", "consent"}:
        yield _wall(case, looks)
    if moved:
        yield moved
    if looks == "no_results":
        yield _no_results(case)
    if case.page.number > 1 and items(case.pages):
        yield _empty_later(case)
    if looks == "scripted" or _only_in_scripts(case):
        yield _scripted(case)
    if case.page.number == 1 or not items(case.pages):
        yield _items_gone(case)


def _wall(case: RunContext, looks: PageKind | None) -> Cause:
    message, next_ = {
        "challenge": (
            "The page is a challenge for browsers now, not the list.",
            'LIVEDATA_PROXY names a way through another address; proxy = "auto" uses it.',
        ),
        "login": (
            "The page is behind a login now.",
            "Choose a page that is public: livedata does not log in.",
        ),
    }.get(
        str(looks),
        (
            "The page asks for consent (cookies, age or the like) instead of showing the list.",
            "Look for an address of the list that does not ask: another language, a feed.",
        ),
    )
    return cause(str(looks), message, [*case.told_page(), *case.items_then()], [next_, PAGE])


def _moved(case: RunContext) -> Cause | None:
    """The site sends the reader to another host."""
    if case.page is None or site_of(case.page.final_url) == site_of(case.page.url):
        return None
    if any(site_of(old["finalUrl"]) == site_of(case.page.final_url) for old in case.old_pages):
        return None
    return cause(
        "moved_host",
        f"The site sends its readers on to another host: {case.page.final_url}.",
        [f"asked for {case.page.url}", *case.told_page(), *case.items_then()],
        ["If the list lives there now, put its address into url and mend the selectors.", REVISE],
    )


def _no_results(case: RunContext) -> Cause:
    return cause(
        "no_results",
        "The list is empty: the page itself says that there is nothing.",
        [*case.told_page(), *case.items_then()],
        [
            "See in a browser whether that is true; a filter in url may match nothing any more.",
            "If the list may be empty at times, set minimumItems = 0. " + REVISE,
        ],
    )


def _empty_later(case: RunContext) -> Cause:
    assert case.page is not None
    if case.pagination.get("kind") == "url-pattern" and not links(case.pages):
        return end_gone(case, case.told_page())
    return cause(
        "empty_page",
        f"Page {case.page.number} has no items, although the pages before it have some.",
        [*case.told_page(), f"{items(case.pages)} items on the other pages"],
        [AGAIN, "If it stays: see whether the list ends one page earlier.", PAGE],
    )


def _only_in_scripts(case: RunContext) -> bool:
    """Whether known rows stand in the markup, but not in the text."""
    assert case.outline is not None
    assert case.page is not None
    return bool(count_known_values(case.page.markup, case.known)) and not count_known_values(
        case.outline.text, case.known
    )


def _scripted(case: RunContext) -> Cause:
    assert case.outline is not None
    selector = case.source.get("itemSelector")
    sizes = f"{len(case.outline.text)} characters of text, {case.outline.scripts} of scripts"
    return cause(
        "scripted",
        f"The list is made by scripts now: the page as sent has nothing for itemSelector "
        f"{selector!r}.",
        [*case.told_page(), sizes, *case.items_then()],
        ['Set render = "browser" in the source. ' + REVISE, PAGE],
    )


def _items_gone(case: RunContext) -> Cause:
    selector = case.source.get("itemSelector")
    return cause(
        "items_gone",
        f"The items look different now: itemSelector {selector!r} matches nothing.",
        [*case.told_page(), *case.items_then()],
        [PREVIEW, REVISE, PAGE],
    )


def _broken_way(case: RunContext) -> Cause | None:
    """What is wrong with the way from page to page."""
    broken, count = case.facts.get("broken"), len(case.pages)
    if broken is None:
        return None
    error = _said(case, "coverage")
    if broken == "click_only":
        return cause(
            "click_only",
            f"The next link {case.pagination.get('selector')!r} works by clicks only now: it has "
            "no address to follow.",
            error,
            ["Look for numbered addresses, such as ?page=2, and use url-pattern. " + REVISE, PAGE],
        )
    marked = case.pagination.get("kind") == "url-pattern" and links(case.old_pages)
    if marked and not links(case.pages) and count > len(case.old_pages):
        return end_gone(case, error)
    if broken == "repeat":
        return cause(
            "repeated_page",
            f"The site repeats itself: page {count} has the records of page {count - 1}, so what "
            "comes after is not known.",
            [*error, *case.items_then()],
            [
                AGAIN,
                "If it stays, the site gives out no more pages than this; see the last one.",
                PAGE,
            ],
        )
    return cause("circle", "The pages go round in a circle.", error, [PREVIEW, REVISE, PAGE])


def _shorter(case: RunContext) -> Iterator[Cause]:
    """A list that seems complete, but has fewer items than before."""
    now, then = items(case.pages), items(case.old_pages)
    if not case.facts.get("complete") or not then or not now:
        return
    counted = [f"{now} items on {len(case.pages)} pages; before {then} on {len(case.old_pages)}"]
    has_links = case.pagination.get("kind") == "next-link" and links(case.old_pages)
    if has_links and not links(case.pages) and len(case.pages) < len(case.old_pages):
        selector = case.pagination.get("selector")
        counted.append(f"next links: 0; before {links(case.old_pages)}")
        yield cause(
            "next_link_gone",
            f"The next link is gone: {selector!r} matches on no page, so the list seems to end "
            f"after page {len(case.pages)}.",
            counted,
            ["See whether the page links to a next one, and mend pagination.selector.", REVISE],
        )
    elif now < FEWER * then:
        yield cause(
            "fewer_items",
            f"The list is much shorter than before: {now} items instead of {then}.",
            counted,
            ["See whether the site shows so few, or itemSelector misses some.", PREVIEW],
        )


def _mass_loss(case: RunContext) -> Cause | None:
    if case.rule != "mass_loss":
        return None
    seen, error = case.facts.get("seen", []), case.recorded.run["error"] or ""
    fresh = len(case.facts.get("others", [])) + case.facts.get("othersLeftOut", 0)
    take = "If the site is right, take the output: livedata runs accept {run}"
    if fresh >= len(seen) / 2:
        evidence = [error, f"{fresh} keys were never seen before, {sum(map(bool, seen))} were"]
        message = "The keys have changed: most rows would be gone, and as many new."
        return cause("keys_changed", message, evidence, [PREVIEW, take])
    return cause(
        "mass_loss",
        "The site shows far fewer rows than the table has.",
        [error, *case.items_then()],
        [take, PREVIEW],
    )


def _said(case: RunContext, check_id: str) -> list[str]:
    checks = case.recorded.run["checks"]
    return [one["message"] for one in checks if one["checkId"] == check_id and not one["passed"]]


_RULES: Final[Sequence[Callable[[RunContext], Cause | Iterable[Cause] | None]]] = (
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
