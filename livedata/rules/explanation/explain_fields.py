"""Explains keys and fields with empty or conflicting values: the causes, and what to try."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from livedata.model.diagnosis.recorded_run import FieldFact
from livedata.model.problem import Param, Problem, Remedy
from livedata.rules.changes.keys import another_key
from livedata.rules.explanation.run_context import (
    PREVIEW,
    REVISE,
    SHOW_PAGE,
    RunContext,
    cause,
    fact,
    items,
    matched,
)

DIED: Final = 0.5
"""An optional field that lost more than this share of its cells has a cause."""
MOST_EXAMPLES: Final = 3
LONGEST_EXAMPLE: Final = 40


def explain_strangers(context: RunContext) -> Problem | None:
    """The cause that items are no records: one, whatever each of them lacks."""
    strangers = context.facts.get("strangers")
    if strangers is None or context.recorded.run["status"] == "succeeded":
        return None
    fields = context.source.get("fields", [])
    return cause(
        "cause.strangers",
        [*context.page_evidence(), *context.previous_items()],
        [_leave_out(context), REVISE, SHOW_PAGE],
        page=strangers["page"],
        item=strangers["item"],
        others=strangers["count"] - 1,
        lacks=[fields[position]["name"] for position in strangers["lacks"]],
    )


def _leave_out(context: RunContext) -> Remedy:
    # Imported here because the parser is heavy, and few Runs have strangers.
    from livedata.rules.explanation.mended_source import narrower_selector

    selector = narrower_selector(context)
    return Remedy("leave_out_by", {"selector": selector}) if selector else Remedy("leave_out")


def explain_keys(context: RunContext) -> Iterator[Problem]:
    """The causes of records that have no key, or share one."""
    no_key = _without_key(context)
    if no_key:
        yield _no_key(context, no_key)
    if context.facts.get("rejected", {}).get("key_conflict"):
        yield _shared_key(context)


def explain_fields(context: RunContext) -> Iterator[Problem]:
    """The causes of empty cells: of required fields, and of optional ones that were filled."""
    # Records without a key make no rows, so the counts of fields would blame the wrong field.
    if not items(context.pages) or _without_key(context):
        return
    for position, declared in enumerate(context.source.get("fields", [])):
        problem = _field(context, position, declared)
        if problem is not None:
            yield problem


def _without_key(context: RunContext) -> int:
    """How many records have no key, without those that are no records at all."""
    strangers = context.facts.get("strangers")
    count = context.facts.get("rejected", {}).get("no_key", 0)
    return count if strangers is None else count - strangers["keyless"]


def _no_key(context: RunContext, count: int) -> Problem:
    name, evidence = _empty_key(context)
    return cause(
        "cause.key_empty",
        [*evidence, *context.page_evidence(), *context.previous_items()],
        [Remedy("move_key"), REVISE, SHOW_PAGE],
        field=name,
        empty=count,
        items=items(context.pages),
    )


def _empty_key(context: RunContext) -> tuple[str | None, list[Problem]]:
    """The key column that is empty most often on the kept page, with its counts as evidence."""
    counts = context.page.counts if context.page else None
    if counts is None:
        return None, []
    identity = context.source.get("identity", {})
    names = identity.get("fields") or [identity.get("field")]
    fields = enumerate(context.source.get("fields", []))
    places = [
        (counts["filled"][index], index, field) for index, field in fields if field["name"] in names
    ]
    filled, index, field = min(places, key=lambda place: place[0])
    evidence = fact(
        "evidence.matched_and_filled",
        **_read(field),
        matched=counts["matched"][index],
        items=counts["items"],
        filled=filled,
    )
    return field["name"], [evidence]


def _shared_key(context: RunContext) -> Problem:
    names = [field["name"] for field in context.source.get("fields", [])]
    examples = [record for record in context.facts.get("duplicateExamples", []) if record["differ"]]
    evidence = [
        fact(
            "evidence.key_twice",
            key=record["key"],
            first_item=record["firstItem"],
            first_page=record["firstPage"],
            item=record["item"],
            again=record["page"],
            differ=[names[index] for index in record["differ"]],
        )
        for record in examples[:MOST_EXAMPLES]
    ]
    better = _telling_apart(context.problem)
    has_rows = bool(context.facts.get("rowsInTable") or context.before)
    keys = another_key(better, Remedy("choose_key"), has_rows=has_rows)
    return cause(
        "cause.key_shared",
        evidence,
        [*keys, Remedy("narrow_items"), REVISE],
        differ=sorted({names[index] for record in examples for index in record["differ"]}),
        better=better,
    )


def _telling_apart(problem: Problem | None) -> list[str]:
    """The columns that tell all records apart, if the Run has found some."""
    better = problem.params.get("better") if problem is not None else None
    return [str(name) for name in better] if isinstance(better, list) else []


def _field(context: RunContext, position: int, declared: Mapping[str, Any]) -> Problem | None:
    now, before = context.field(position), context.previous_field(position)
    if now is None:
        return None
    # One empty cell is a fault of a required field; an optional one may always miss some.
    strangers = context.facts.get("strangers")
    rows = context.facts.get("rows", 0)
    strange = strangers["rows"] if strangers and position in strangers["lacks"] else 0
    empty = rows - now["populated"] - strange
    if declared.get("required"):
        odd = bool(empty)
    else:
        odd = _died(context, now["populated"], rows, before) or _looks_odd(context, declared)
    return _lost(context, position, declared, now, empty) if odd else None


def _looks_odd(context: RunContext, declared: Mapping[str, Any]) -> bool:
    """Whether a field was told as odd when the Run was accepted."""
    accepted = context.recorded.run["status"] == "succeeded"
    odd = context.facts.get("odd", []) if accepted else []
    return any(finding["params"].get("field") == declared["name"] for finding in odd)


def _lost(
    context: RunContext, position: int, declared: Mapping[str, Any], now: FieldFact, empty: int
) -> Problem:
    """The cause of a field's empty cells: its format, its selector, or the site itself."""
    total, matching, name = items(context.pages), matched(context.pages, position), declared["name"]
    counts: dict[str, Param] = {"matched": matching, "items": total}
    evidence = [
        fact("evidence.matched", **_read(declared), **counts),
        *_filled_before(context, position),
    ]
    # A text that was read and not understood shows that the selector works, so it comes first.
    if now["extractionFailed"] * 2 >= empty:
        remedies = [Remedy("narrow_value"), REVISE]
        texts = _unreadable(context, position)
        return cause("cause.field_format", evidence, remedies, field=name, texts=texts)
    selector = {**_read(declared), "field": name}
    if not matching:
        remedies = [PREVIEW, REVISE, SHOW_PAGE]
        return cause("cause.field_gone", evidence, remedies, **selector, items=total)
    if matching < total:
        remedies = [Remedy("fit_all_items"), REVISE, SHOW_PAGE]
        missed = total - matching
        return cause(
            "cause.field_partly_gone", evidence, remedies, **selector, missed=missed, items=total
        )
    rows = context.facts.get("rows", 0)
    if selector["attribute"] is not None:
        remedies = [PREVIEW, REVISE, SHOW_PAGE]
        return cause("cause.attribute_gone", evidence, remedies, **selector, empty=empty, rows=rows)
    # The selector matched in every item: the element is there, and the site has left it empty.
    remedies = [Remedy("make_optional"), REVISE, SHOW_PAGE]
    return cause("cause.field_empty", evidence, remedies, field=name, empty=empty, rows=rows)


def _unreadable(context: RunContext, position: int) -> list[str]:
    """The first texts of a field that could not be read."""
    texts = [record["cells"].get(str(position)) for record in context.facts.get("offending", [])]
    return [text[:LONGEST_EXAMPLE] for text in texts if text is not None][:MOST_EXAMPLES]


def _died(context: RunContext, populated: int, rows: int, before: FieldFact | None) -> bool:
    """Whether an optional field lost most of the cells that it had before."""
    # Shares and not counts: a list that became shorter has fewer filled cells in each field.
    rows_before = (context.before or {}).get("rows", 0)
    if before is None or not rows_before or not rows:
        return False
    return bool(populated / rows < DIED * before["populated"] / rows_before)


def _filled_before(context: RunContext, position: int) -> list[Problem]:
    before = context.previous_field(position)
    if before is None or context.before is None:
        return []
    rows = context.before.get("rows", 0)
    return [fact("evidence.filled_before", filled=before["populated"], rows=rows)]


def _read(declared: Mapping[str, Any]) -> dict[str, Param]:
    """What a field reads, as parameters."""
    read = declared["read"]
    return {"selector": read.get("selector"), "attribute": read.get("attribute")}
