"""Summarizes a harvest as the facts that a Run stores at its end (rules 7.13).

The facts of every Run are kept, so they are small: a healthy row costs the number of its page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from livedata.model.diagnosis.recorded_run import (
    DuplicateFact,
    FailureFact,
    FieldFact,
    OddFact,
    OffendingFact,
    PageFact,
    RunFacts,
    StepFact,
    StrangerFacts,
)
from livedata.model.harvest import Harvest, PageFailure, PageRead, Record, Step
from livedata.model.problem import Problem
from livedata.model.recipe import Recipe
from livedata.model.run import ReadFailure
from livedata.rules.changes.checks import Seen, Verdict, checked_pages, differing_fields, distinct

# The limits bound the facts of a Run whose pages are bad on purpose or by accident: counts are
# exact, and only examples are cut. A person looks at a few of 20, and texts are there to be
# recognised, not to be read.
MOST_EXAMPLES = 20
LONGEST_TEXT = 200
LONGEST_KEY = 500
"""Longer keys of records without a row are only counted: nobody asks for one by name."""
# What browsers and servers take in practice; a longer address is left out, since a part of one
# leads elsewhere.
LONGEST_URL = 2048


def summarize_harvest(harvest: Harvest, recipe: Recipe) -> RunFacts:
    """The facts of what a Run read, for which the rows need not be known."""
    rows = [record for _, record in distinct(harvest).values()]
    repeats = list(_repeats(harvest))
    facts: RunFacts = {
        "checked": checked_pages(harvest),
        "pages": [_page(page) for page in harvest.pages],
        "failure": _failure(harvest.failure),
        "attempts": harvest.attempts,
        "refusals": harvest.refusals,
        "complete": harvest.ending.rule == "natural_end",
        "rows": len(rows),
        "fields": _fields(recipe, rows),
        "rejected": _rejected(harvest, repeats),
        "duplicates": len({first[1].key for first, _ in repeats}),
        "duplicateExamples": [_duplicate(*pair) for pair in repeats[:MOST_EXAMPLES]],
        "offending": _offending(harvest, recipe),
    }
    if harvest.ending.broken is not None:
        facts["broken"] = harvest.ending.broken
    if harvest.judged is not None:
        facts["judged"] = harvest.judged
    # Who lacks all that a record needs has offended too.
    strangers = find_strangers(harvest, recipe) if facts["offending"] else None
    if strangers is not None:
        facts["strangers"] = strangers
    return facts


def row_placement(harvest: Harvest, head: int, present: Iterable[str]) -> RunFacts:
    """The page of each row that is present at `head`, and the keys that no present row has."""
    pages = {key: page.number for key, (page, _) in distinct(harvest).items()}
    # Sorted, so that the page numbers need no keys: the history has the keys as of `head`.
    table = sorted(present)
    others = sorted(pages.keys() - set(table))
    kept = [key for key in others if len(key) <= LONGEST_KEY]
    return {
        "head": head,
        "rowsInTable": len(table),
        "seen": [pages.get(key, 0) for key in table],
        "others": [(key, pages[key]) for key in kept],
        "othersLeftOut": len(others) - len(kept),
    }


def oddities(problems: Iterable[Problem]) -> RunFacts:
    """What looks odd, as facts; empty if nothing does."""
    odd: list[OddFact] = [
        {
            "code": problem.code,
            "params": problem.params,
            "page": problem.page,
            "url": problem.url,
        }
        for problem in problems
    ]
    return {"odd": odd} if odd else {}


def stop_inputs(verdict: Verdict, harvest: Harvest, recipe: Recipe) -> dict[str, Any]:
    """The inputs of the rule that ended a Run, under the names of the wire."""
    counts = {"pagesRead": len(harvest.pages), "itemsFound": len(distinct(harvest))}
    if verdict.rule == "max_pages":
        return {"maxPages": recipe.max_pages, "pagesRead": counts["pagesRead"]}
    if verdict.rule == "max_items":
        return {"maxItems": recipe.max_items, "itemsFound": counts["itemsFound"]}
    if verdict.rule == "page_failed" and harvest.failure is not None:
        failure = harvest.failure
        return {"page": failure.number, "reason": failure.reason, "status": failure.status}
    if verdict.rule == "check_failed":
        failed = [check.id for check in verdict.checks if not check.passed]
        return {"failedChecks": failed}
    return dict(counts)


def steps(done: Iterable[Step]) -> list[StepFact]:
    """The facts of an attempt's steps."""
    return [_step(step) for step in done]


def _step(step: Step) -> StepFact:
    fact: StepFact = {"phase": step.phase, "status": step.status, "startedAt": step.started}
    if step.ended is not None:
        fact["endedAt"] = step.ended
    # Each part that is unknown is left out, which is shorter than null in a thousand steps.
    if step.url is not None and len(step.url) <= LONGEST_URL:
        fact["sourceUrl"] = step.url
    if step.failure is not None:
        fact["readFailure"] = _read_failure(step.failure)
    return fact


def _read_failure(failed: PageFailure) -> ReadFailure:
    return {"reason": failed.reason, "status": failed.status, "finalUrl": failed.origin}


def _page(page: PageRead) -> PageFact:
    fact: PageFact = {
        "url": page.url,
        "finalUrl": page.final_url,
        "status": page.status,
        "title": page.title[:LONGEST_TEXT] if page.title else page.title,
        "items": len(page.records),
        "matches": page.matches,
    }
    if page.links is not None:
        fact["links"] = page.links
    if page.leads_to is not None:
        fact["leadsTo"] = page.leads_to
    # Most pages have one next link, to the page that follows in this list: nothing to keep.
    if page.link_in_item or len(page.next_links) > 1 or _leads_to_other_host(page):
        fact["oddLinks"] = {"addresses": page.next_links, "inItem": page.link_in_item}
    return fact


def _leads_to_other_host(page: PageRead) -> bool:
    hosts = {urlsplit(address).hostname for address in page.next_links[:1]}
    return bool(hosts - {urlsplit(page.final_url).hostname})


def _failure(failed: PageFailure | None) -> FailureFact | None:
    if failed is None:
        return None
    return {
        "number": failed.number,
        "url": failed.url,
        "reason": failed.reason,
        "status": failed.status,
    }


def _fields(recipe: Recipe, rows: Sequence[Record]) -> list[FieldFact]:
    facts: list[FieldFact] = []
    for position, field in enumerate(recipe.fields):
        reasons = [row.reasons[position] for row in rows]
        facts.append(
            {
                "id": field.id,
                "populated": len(rows) - [row.values[position] for row in rows].count(None),
                "notFound": reasons.count("not_found"),
                "extractionFailed": reasons.count("extraction_failed"),
            }
        )
    return facts


def _repeats(harvest: Harvest) -> Iterator[tuple[Seen, Seen]]:
    """(first, again) for each record whose key was read before."""
    first = distinct(harvest)
    # By identity: a repeated record can be equal to the first one in all its values.
    for page in harvest.pages:
        for record in page.records:
            if record.key is not None and first[record.key][1] is not record:
                yield first[record.key], (page, record)


def _rejected(harvest: Harvest, repeats: Iterable[tuple[Seen, Seen]]) -> dict[str, int]:
    """The number of records that cannot be rows, by reason."""
    counts = Counter(
        "no_key" for page in harvest.pages for record in page.records if record.key is None
    )
    counts.update(
        "key_conflict" for first, again in repeats if differing_fields(first[1], again[1])
    )
    return dict(counts)


def _duplicate(first: Seen, again: Seen) -> DuplicateFact:
    return {
        "key": str(again[1].key)[:LONGEST_KEY],
        "page": again[0].number,
        "item": again[1].number,
        "firstPage": first[0].number,
        "firstItem": first[1].number,
        "differ": differing_fields(first[1], again[1]),
    }


def _offending(harvest: Harvest, recipe: Recipe) -> list[OffendingFact]:
    """The first records without a key or a required value, or with an unreadable cell."""
    required = [position for position, field in enumerate(recipe.fields) if field.required]
    offences: list[OffendingFact] = []
    for page in harvest.pages:
        for record in page.records:
            missing = [position for position in required if record.reasons[position] == "not_found"]
            if record.key is None or missing or "extraction_failed" in record.reasons:
                offences.append(_offence(page, record, missing))
            # The Checks have counted them all, so the search may end here.
            if len(offences) == MOST_EXAMPLES:
                return offences
    return offences


def _offence(page: PageRead, record: Record, missing: list[int]) -> OffendingFact:
    return {
        "page": page.number,
        "item": record.number,
        "key": None if record.key is None else record.key[:LONGEST_KEY],
        "cells": {
            str(position): (record.texts[position] or "")[:LONGEST_TEXT]
            for position, reason in enumerate(record.reasons)
            if reason == "extraction_failed"
        },
        "missing": missing,
    }


def find_strangers(harvest: Harvest, recipe: Recipe) -> StrangerFacts | None:
    """What is recorded of the items that are no records; None if there are none."""
    strangers = strangers_among(
        [record for page in harvest.pages for record in page.records], recipe
    )
    if not strangers:
        return None
    first = strangers[0]
    keys = [record.key for record in strangers if record.key is not None]
    return {
        "count": len(strangers),
        "keyless": len(strangers) - len(keys),
        "rows": len(set(keys)),
        "page": next(page.number for page in harvest.pages if first in page.records),
        "item": first.number,
        "lacks": _lacking(strangers),
    }


def strangers_among(records: Sequence[Record], recipe: Recipe) -> list[Record]:
    """The items that have nothing of what a record needs, if they are fewer than the others."""
    required = {position for position, field in enumerate(recipe.fields) if field.required}
    every = set(range(len(recipe.fields)))
    # One empty cell makes nobody a stranger: without a second one more cells are asked.
    choices = (required, required.union(recipe.key_indexes), every)
    asked = next((each for each in choices if len(each) > 1), choices[-1])
    # An advert has a link as records have, and nothing else of what is required of them.
    but_key = every.difference(recipe.key_indexes)
    asked_too = but_key if len(but_key) > 1 and not required.isdisjoint(but_key) else asked
    strangers = [record for record in records if _lacks(record, asked) or _lacks(record, asked_too)]
    return strangers if 2 * len(strangers) < len(records) else []


def _lacks(record: Record, fields: Iterable[int]) -> bool:
    return all(record.reasons[position] == "not_found" for position in fields)


def _lacking(strangers: Sequence[Record]) -> list[int]:
    """The indexes of the fields that no stranger has."""
    fields = range(len(strangers[0].values))
    return [
        position for position in fields if all(each.values[position] is None for each in strangers)
    ]
