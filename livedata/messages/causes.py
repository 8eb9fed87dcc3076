"""The sentences of causes, and of the facts that show them."""

from __future__ import annotations

from collections.abc import Mapping

from livedata.messages import fetch
from livedata.messages.run_end import list_cut_short
from livedata.messages.templates import Words, plural
from livedata.model.problem import Problem


def _own_words(cause: Problem) -> str:
    """A Run that no rule can explain, as it says of itself."""
    return str(cause.params["sentence"])


def _as_failed(cause: Problem) -> str:
    """A page that could not be read, as its failure says of itself."""
    if not cause.evidence:
        return _own_words(cause)
    failure = cause.evidence[0]
    if failure.code not in fetch.WHY:
        return str(failure.params.get("sentence", ""))
    why = fetch.why(failure)
    return f"{why[:1].upper()}{why[1:]}."


def _strangers(cause: Problem) -> str:
    params = cause.params
    others = params["others"]
    more = f" {others} more {'is' if others == 1 else 'are'} like it." if others else ""
    return (
        f"Item {params['item']} of page {params['page']} is no record like the others: it has none "
        f"of {_joined(cause, 'lacks')}.{more}"
    )


def _key_empty(cause: Problem) -> str:
    params = cause.params
    key = params["field"] or "of some records"
    return f"The key {key} is empty in {params['empty']} of {_items(cause)}."


def _key_shared(cause: Problem) -> str:
    shared = (
        f"One key stands for several records: they differ in {_joined(cause, 'differ')}, as "
        "variants of one thing do."
    )
    if not cause.params["better"]:
        return shared
    return f"{shared} {_together(cause)} would be the better key: it tells all apart."


def _keys_changed(cause: Problem) -> str:
    params = cause.params
    key, better = _joined(cause, "keys"), _together(cause)
    if better:
        return (
            f"The key {key} is the cause: it names the same things otherwise now. {better} would "
            f"be the better key: it knows {params['known']} of "
            f"{plural(params['fresh'], 'new row')} again."
        )
    if params["same"]:
        return (
            f"The key {key} is the cause: it names the same things otherwise now. "
            f"{plural(params['same'], 'new row')} of {params['fresh']} have all other cells of one "
            "that would be gone, and no other column tells all rows apart."
        )
    return (
        f"The key {key} has changed, or the list is another one: no other column knows the new "
        "rows again."
    )


def _field_gone(cause: Problem) -> str:
    field = cause.params["field"]
    return f"The selector of {field} died: {_read(cause)} matches in none of {_items(cause)}."


def _field_partly_gone(cause: Problem) -> str:
    params = cause.params
    have = "has" if params["missed"] == 1 else "have"
    return (
        f"{params['missed']} of {_items(cause)} {have} no {params['field']}: {_read(cause)} "
        "matches nothing there."
    )


def _field_format(cause: Problem) -> str:
    texts = cause.params["texts"]
    assert isinstance(texts, list)
    shown = ", ".join(repr(text) for text in texts)
    return f"{cause.params['field']} is written in another way now, and cannot be read: {shown}."


def _page(fact: Problem) -> str:
    title = fact.params["title"]
    titled = f", titled {title!r}" if title else ""
    return f"page {fact.page}: {fact.url}, status {fact.params['status']}{titled}"


def _end_unmatched(fact: Problem) -> str:
    params = fact.params
    pages, before = plural(params["pages"], "page"), params["before"]
    now = f"endSelector {params['selector']!r} matched on none of {pages}"
    return now if before is None else f"{now}, in the last accepted Run {plural(before, 'time')}"


def _matched(fact: Problem) -> str:
    return f"{_read(fact)} matched in {fact.params['matched']} of {_items(fact)}"


def _matched_and_filled(fact: Problem) -> str:
    return f"{_matched(fact)} and was filled in {fact.params['filled']}"


def _key_twice(fact: Problem) -> str:
    params = fact.params
    return (
        f"{params['key']!r}: item {params['first_item']} of page {params['first_page']} and item "
        f"{params['item']} of page {params['again']} differ in {_joined(fact, 'differ')}"
    )


def _items(problem: Problem) -> str:
    return plural(problem.params["items"], "item")


def _joined(problem: Problem, name: str) -> str:
    names = problem.params[name]
    assert isinstance(names, list)
    return ", ".join(map(str, names))


def _together(cause: Problem) -> str:
    """The columns that would be the better key; empty if there are none."""
    better = cause.params["better"]
    assert isinstance(better, list)
    return " with ".join(map(str, better))


def _read(problem: Problem) -> str:
    """What a field reads, as a person wrote it."""
    selector, attribute = problem.params["selector"], problem.params["attribute"]
    place = repr(selector) if selector else "the item itself"
    return f"{place} @{attribute}" if attribute else place


CAUSES: Mapping[str, Words] = {
    # Ends that have nothing to do with the site.
    "cause.credits": "The credits do not suffice.",
    "cause.worker_lost": "The process that executed the Run was lost.",
    "cause.cancelled": "The Run was cancelled.",
    "cause.recipe": "The recipe of this dataset cannot be executed.",
    "cause.max_pages": "{name} cut the list: it goes on after what was read, and a part is never "
    "accepted.",
    "cause.max_items": "{name} cut the list: it goes on after what was read, and a part is never "
    "accepted.",
    "cause.page_failed": _own_words,
    "cause.check_failed": _own_words,
    "cause.unknown": _as_failed,
    # A page that could not be read.
    "cause.challenge": "The site shows a challenge for browsers instead of the page.",
    "cause.forbidden": "The site refuses to give the page out.",
    "cause.forbidden.answered": "The site answers 403: it refuses to give the page out.",
    "cause.rate_limited": "The site was asked too often.",
    "cause.login_redirect": "The site wants a login for this page now.",
    "cause.empty_body": "The site answers with an empty page.",
    "cause.connection_reset": "The connection was cut before the page was complete.",
    "cause.robots_disallowed": "The site's robots.txt does not allow this page.",
    "cause.robots_disallowed.unanswered": "The site's robots.txt is answered with an error (status "
    "{status}), and while it is, nothing may be read.",
    "cause.timeout": "The time that the page, or the whole Run, may take was over.",
    "cause.invalid_content": "The address does not lead to an HTML page that can be read.",
    "cause.network": _as_failed,
    "cause.limit_exceeded": _as_failed,
    "cause.unsafe_target": _as_failed,
    "cause.page_gone": "The page of the list is gone: the site says that there is no such page any "
    "more.",
    "cause.no_access": "The site does not let everybody read this page (status {status}).",
    "cause.site_error": "The site itself is broken at the moment (status {status}).",
    "cause.http_error": "The site answers with an error (status {status}).",
    # The way from page to page.
    "cause.next_page_gone": "The list leads to page {number}, which the site does not have.",
    "cause.end_marker_gone": "The end marker is gone: endSelector {selector!r} matches on no page, "
    "so the Run read on past the end of the list.",
    "cause.click_only": "The next link {selector!r} works by clicks only now: it has no address to "
    "follow.",
    "cause.repeated_page": "The site repeats itself: page {number} has the records of page "
    "{before}, so what comes after is not known.",
    "cause.circle": "The pages go round in a circle.",
    "cause.next_link_gone": "The next link is gone: {selector!r} matches on no page, so the list "
    "seems to end after page {pages}.",
    "cause.list_cut_short": lambda cause: f"{list_cut_short(cause)}.",
    # A page that is something else than the list.
    "cause.challenge.page": "The page is a challenge for browsers now, not the list.",
    "cause.login": "The page is behind a login now.",
    "cause.consent": "The page asks for consent (cookies, age or the like) instead of showing the "
    "list.",
    "cause.moved_host": "The site sends its readers on to another host: {address}.",
    "cause.redirected": "The site sends its readers on from the list to another page: {address}.",
    "cause.no_results": "The list is empty: the page itself says that there is nothing.",
    "cause.empty_page": "Page {number} has no items, although the pages before it have some.",
    "cause.scripted": "The list is made by scripts now: the page as sent has nothing for "
    "itemSelector {selector!r}.",
    "cause.items_gone": "The items look different now: itemSelector {selector!r} matches nothing.",
    "cause.items_gone.never": "itemSelector {selector!r} matches nothing on the page.",
    # Keys, fields and rows.
    "cause.strangers": _strangers,
    "cause.key_empty": _key_empty,
    "cause.key_shared": _key_shared,
    "cause.field_format": _field_format,
    "cause.field_gone": _field_gone,
    "cause.field_partly_gone": _field_partly_gone,
    "cause.field_empty": "The site leaves {field} empty in {empty} of {rows:row(s)}: its place is "
    "there, and has no text.",
    "cause.attribute_gone": "The attribute of {field} is gone: its element is in every item, but "
    "has no {attribute}, or an empty one, in {empty} of {rows:row(s)}.",
    "cause.looks_odd": "The Run was accepted, but it differs from the accepted Run before it.",
    "cause.fewer_items": "The list is much shorter than before: {now:item(s)} instead of {then}.",
    "cause.keys_changed": _keys_changed,
    "cause.keys_changed.counted": "The keys have changed: most rows would be gone, and as many "
    "new.",
    "cause.keys_changed.accepted": "The keys have changed: most rows are gone, as many are new.",
    "cause.mass_loss": "The site shows far fewer rows than the table has.",
}
"""Code of a cause -> its sentence."""

EVIDENCE: Mapping[str, Words] = {
    "evidence.recorded": "{sentence}",
    "evidence.page": _page,
    "evidence.asked_for": "asked for {address}",
    "evidence.read": "read {pages:page(s)} with {items:item(s)}",
    "evidence.other_items": "{items:item(s)} on the other pages",
    "evidence.known_rows": "the page shows {shown} of {known:row(s)} known from before",
    "evidence.sizes": "{text:character(s)} of text, {scripts} of scripts",
    "evidence.matched": _matched,
    "evidence.matched_and_filled": _matched_and_filled,
    "evidence.key_twice": _key_twice,
    "evidence.key_moved": "the key {before!r} is {now!r} now",
    "evidence.fresh_keys": "new keys: {fresh}; keys seen before: {seen}",
    "evidence.end_unmatched": _end_unmatched,
    "evidence.shorter": "{now:item(s)} on {pages:page(s)}; before {then} on {previous}",
    "evidence.links_before": "next links: 0; before {before}",
    "evidence.never_accepted": "no Run was accepted before, so there is nothing to compare with",
    "evidence.items_before": "the last accepted Run found {items:item(s)} on {pages:page(s)}",
    "evidence.page_before": "the last accepted Run read page {number} with {items:item(s)}",
    "evidence.filled_before": "the last accepted Run filled {filled} of {rows:row(s)}",
}
"""Code of a fact -> the fact, as a line without a point."""

SENTENCES: Mapping[str, Words] = {**CAUSES, **EVIDENCE}
