"""What a Check found wrong, in words, and a Check as it is answered."""

from __future__ import annotations

from collections.abc import Mapping

from livedata.messages.templates import Words, plural
from livedata.model.problem import Problem
from livedata.model.run import split_check_id

_ITEM = "item {item} of page {page} ({url})"


def _no_items(problem: Problem) -> str:
    page, url, params = problem.page, problem.url, problem.params
    titled = f", titled {params['title']!r}" if params["title"] else ""
    return (
        f"Page {page} ({url}, status {params['status']}{titled}) has no items: itemSelector "
        f"{params['selector']!r} matched nothing; compare it with the page as it is now."
    )


def _too_few_items(problem: Problem) -> str:
    params = problem.params
    return (
        f"{params['found']} of at least {plural(params['wanted'], 'item')} could be found on "
        f"{plural(params['pages'], 'page')}: if the list really became that short, lower "
        "minimumItems, else look at itemSelector."
    )


def _required_empty(problem: Problem) -> str:
    params = problem.params
    selector, text = params["selector"], params["text"]
    read = f"selector {selector!r}" if selector else "the item itself"
    seen = f"found {text!r}" if text else "found nothing"
    first = _ITEM.format(item=params["item"], page=problem.page, url=problem.url)
    return (
        f"{params['field']} is required and empty in {params['empty']} of "
        f"{plural(params['rows'], 'row')}: {read} matched in {params['matched']} of "
        f"{plural(params['items'], 'item')}; first in {first}, which {seen}."
    )


def _shared_key(problem: Problem) -> str:
    params = problem.params
    fields = params["fields"]
    assert isinstance(fields, list)
    first = _ITEM.format(
        item=params["first_item"], page=params["first_page"], url=params["first_url"]
    )
    again = _ITEM.format(item=params["item"], page=problem.page, url=problem.url)
    # Runs of earlier versions did not look for a better one.
    better = params.get("better") or []
    assert isinstance(better, list)
    how = (
        f"choose {' with '.join(map(str, better))} as the key, which tells all records apart"
        if better
        else "add a column to the identity, or choose one that tells them apart"
    )
    return (
        f"The key {params['key']!r} stands for two records that differ in "
        f"{', '.join(map(str, fields))}: {first} and {again}; {how}."
    )


def _few_pages_extracted(problem: Problem) -> str:
    params = problem.params
    said = params.get("detail")
    why = f"the model did not answer: {said}" if said else "look at what the model answered"
    return (
        f"{params['checked']} of {plural(params['read'], 'page')} that could be read were "
        f"extracted whole, and half of them is the least; {why}."
    )


def _empty_key(problem: Problem) -> str:
    params = problem.params
    text = params["text"]
    state = f"reads {text!r}, which is no {params['type']}" if text else "is empty"
    where = _ITEM.format(item=params["item"], page=problem.page, url=problem.url)
    return (
        f"{params['field']}, a part of the key, {state} in {where}: every record needs its whole "
        "key; choose key columns that every item has, or narrow itemSelector."
    )


def _too_much_text(problem: Problem) -> str:
    params = problem.params
    selector = params["selector"] or "none (the whole item)"
    return (
        f"The Run gathered over {params['mib']} MiB of text, most of it for {params['field']}: "
        f"selector {selector!r} takes in too much."
    )


def check_title(check_id: str, names: Mapping[str, str]) -> str:
    """The id of a Check for a person: the name of its field, for which the id says nothing."""
    kind, field = split_check_id(check_id)
    return f"{kind}: {names[field]}" if field in names else check_id


SENTENCES: Mapping[str, Words] = {
    "checks.empty_key": _empty_key,
    "checks.shared_key": _shared_key,
    "checks.no_items": _no_items,
    "checks.too_few_items": _too_few_items,
    "checks.too_few_before_failure": "{found} of at least {wanted:item(s)} could be found before "
    "the page that was not read.",
    "checks.required_empty": _required_empty,
    "checks.entity_twice": "{name} has one key, {key}, in two rows; report it: it is a fault of "
    "livedata.",
    "checks.entity_without": "{field} is required and empty in {empty} of {rows:row(s)}, first in "
    "that of {name}.",
    "checks.few_pages_extracted": _few_pages_extracted,
    "checks.no_page_read": "None of {asked:page(s)} could be read, so nothing is known; name pages "
    "to begin with, or ask for something else.",
    "checks.no_page_to_read": "There was no page to read, so nothing is known; name pages to begin "
    "with, or ask for something else.",
    "checks.no_entities": "Nothing that fits the question was found on {pages:page(s)}; ask for it "
    "in other words, or name pages to begin with.",
    "checks.too_many_cells": "The Run gathered over {cells:,} cells: itemSelector {selector!r} "
    "matches too much; narrow it.",
    "checks.too_much_text": _too_much_text,
}
