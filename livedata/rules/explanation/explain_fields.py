"""Keys and fields that are not what they were -> why, and what to try."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from livedata.model.diagnosis.explanation import Cause
from livedata.rules.explanation.run_context import (
    PAGE,
    PREVIEW,
    REVISE,
    RunContext,
    cause,
    items,
    matched,
)

DIED: Final = 0.5
"""An optional field that lost more than this share of its cells is worth a word."""
MOST_EXAMPLES: Final = 3


def explain_keys(case: RunContext) -> Iterator[Cause]:
    """Why records have no key, or share one."""
    rejected = case.facts.get("rejected", {})
    if rejected.get("no_key"):
        yield _no_key(case, rejected["no_key"])
    if rejected.get("key_conflict"):
        yield _shared_key(case)


def explain_fields(case: RunContext) -> Iterator[Cause]:
    """Why required cells are empty, and optional ones that were filled before."""
    if not items(case.pages) or case.facts.get("rejected", {}).get("no_key"):
        return
    for at, declared in enumerate(case.source.get("fields", [])):
        found = _field(case, at, declared)
        if found is not None:
            yield found


def _no_key(case: RunContext, count: int) -> Cause:
    name, told = _empty_key(case)
    total = items(case.pages)
    return cause(
        f"key_empty:{name}" if name else "key_empty",
        f"The key {name or 'of some records'} is empty in {count} of {total} items.",
        [*told, *case.told_page(), *case.items_then()],
        ["Read the key from where every item has it, or narrow itemSelector.", REVISE, PAGE],
    )


def _empty_key(case: RunContext) -> tuple[str, list[str]]:
    """The key column that is empty most often on the kept page."""
    counts = case.page.counts if case.page else None
    if counts is None:
        return "", []
    identity = case.source.get("identity", {})
    names = identity.get("fields") or [identity.get("field")]
    declared = enumerate(case.source.get("fields", []))
    places = [(counts["filled"][at], at, one) for at, one in declared if one["name"] in names]
    filled, at, one = min(places, key=lambda place: place[0])
    told = f"{_selector(one)} matched in {counts['matched'][at]} of {counts['items']} items"
    return one["name"], [f"{told} and was filled in {filled}"]


def _shared_key(case: RunContext) -> Cause:
    names = [one["name"] for one in case.source.get("fields", [])]
    examples = [one for one in case.facts.get("duplicateExamples", []) if one["differ"]]
    differ = sorted({names[at] for one in examples for at in one["differ"]})
    told = [
        f"{one['key']!r}: item {one['firstItem']} of page {one['firstPage']} and item "
        f"{one['item']} of page {one['page']} differ in "
        + ", ".join(names[at] for at in one["differ"])
        for one in examples[:MOST_EXAMPLES]
    ]
    return cause(
        "key_shared",
        f"One key stands for several records: they differ in {', '.join(differ)}, as variants of "
        "one thing do.",
        told,
        [
            "Choose a key that tells them apart, in a new dataset: an identity never changes.",
            "If the variants are not wanted, narrow itemSelector. " + REVISE,
        ],
    )


def _field(case: RunContext, at: int, declared: dict[str, Any]) -> Cause | None:
    now, then = case.field(at), case.old_field(at)
    if now is None:
        return None
    rows = case.facts.get("rows", 0)
    empty = rows - now["populated"]
    odd = bool(empty) if declared.get("required") else _died(now["populated"], rows, then, case)
    if not odd:
        return None
    total, found = items(case.pages), matched(case.pages, at)
    counted = [f"{_selector(declared)} matched in {found} of {total} items", *_then(case, at)]
    name = declared["name"]
    if now["extractionFailed"] * 2 >= empty:
        return _format(case, at, name, counted)
    if not found:
        return cause(
            f"field_gone:{name}",
            f"The selector of {name} died: {_selector(declared)} matches in none of {total} items.",
            counted,
            [PREVIEW, REVISE, PAGE],
        )
    if found < total:
        return cause(
            f"field_partly_gone:{name}",
            f"Some items have {name} elsewhere, or not at all: {_selector(declared)} misses "
            f"{total - found} of {total}.",
            counted,
            ["Choose a selector that fits all items, or make the field optional.", REVISE, PAGE],
        )
    return cause(
        f"field_empty:{name}",
        f"The site leaves {name} empty in {empty} of {rows} rows: its place is there, and has "
        "no text.",
        counted,
        ["If it may be empty, make the field optional.", REVISE, PAGE],
    )


def _format(case: RunContext, at: int, name: str, counted: list[str]) -> Cause:
    texts = [
        one["cells"][str(at)] for one in case.facts.get("offending", []) if str(at) in one["cells"]
    ]
    shown = ", ".join(repr(text[:40]) for text in texts[:MOST_EXAMPLES])
    return cause(
        f"field_format:{name}",
        f"{name} is written in another way now, and cannot be read: {shown}.",
        counted,
        [
            "Narrow the selector to the value itself; docs/cells.md says what can be read.",
            REVISE,
        ],
    )


def _died(populated: int, rows: int, then: Any, case: RunContext) -> bool:
    """Whether an optional field lost most of the cells that it had before."""
    before = (case.before or {}).get("rows", 0)
    if then is None or not before or not rows:
        return False
    return bool(populated / rows < DIED * then["populated"] / before)


def _then(case: RunContext, at: int) -> list[str]:
    then = case.old_field(at)
    if then is None or case.before is None:
        return []
    return [
        f"the last accepted Run filled {then['populated']} of {case.before.get('rows', 0)} rows"
    ]


def _selector(declared: dict[str, Any]) -> str:
    read = declared["read"]
    place = repr(read["selector"]) if read.get("selector") else "the item itself"
    return f"{place} @{read['attribute']}" if read.get("attribute") else place
