"""What looks odd in a complete Run, but is no reason to hold it (rules 7.21)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from livedata.model.diagnosis.recorded_run import FieldFact, PageFact, RunFacts
from livedata.model.problem import Param, Params, Problem
from livedata.model.recipe import NextLinkPages, RecipeField
from livedata.rules.changes.guards import (
    LONGEST_EXAMPLE,
    Comparison,
    first_page_without,
    matched,
    unreadable_text,
)
from livedata.rules.diagnosis.run_facts import MOST_EXAMPLES

_FEWER: Final = 0.8
"""A field with less than this share of the filled cells that it had looks odd."""
_USUAL: Final = 0.9
"""A field that has a value in this share of the rows is one that a row usually has."""
_MANY: Final = 3
"""Of so many usual fields a row may lack most, and be odd."""
_MOST_ADDRESSES: Final = 3


def find_oddities(comparison: Comparison, drifts: Sequence[Problem]) -> list[Problem]:
    """The oddities of a Run beside its `drifts`, which are told already."""
    drifted = {finding.params.get("field") for finding in drifts}
    oddities = [
        *_redirected(comparison),
        *_next_links(comparison),
        *_fields(comparison, drifted),
        *_odd_rows(comparison),
    ]
    if not any(finding.code == "finding.list_cut_short" for finding in drifts):
        oddities += _fewer_pages(comparison)
    return oddities


def _redirected(comparison: Comparison) -> Iterator[Problem]:
    """The oddity of a list that was answered from another address than in the accepted Run."""
    pages, before = comparison.now["pages"], comparison.before.get("pages", [])
    if not pages:
        return
    address = pages[0]["finalUrl"]
    expected = {_place(page["finalUrl"]) for page in before[:1]} | {_place(pages[0]["url"])}
    if _place(address) not in expected:
        yield Problem("finding.list_redirected", {"address": address}, 1, pages[0]["url"])


def _place(url: str) -> tuple[str, ...]:
    """An address without what a redirect only tidies: the fragment and a slash at the end."""
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower(), parts.path.rstrip("/"), parts.query


def _fewer_pages(comparison: Comparison) -> Iterator[Problem]:
    pages, before = len(comparison.now["pages"]), len(comparison.before.get("pages", []))
    if pages < before:
        yield Problem("finding.fewer_pages", {"pages": pages, "pages_before": before})


def _next_links(comparison: Comparison) -> Iterator[Problem]:
    """The oddities of the links that led on, each at the first page on which it occurs."""
    told: set[str] = set()
    for number, page in enumerate(comparison.now["pages"], 1):
        for code, params in _links_of(page):
            if code not in told:
                told.add(code)
                selector = _selector(comparison)
                yield Problem(code, {"selector": selector, **params}, number, page["finalUrl"])


def _links_of(page: PageFact) -> Iterator[tuple[str, Params]]:
    odd = page.get("oddLinks")
    if odd is None:
        return
    first, count = odd["addresses"][0], len(odd["addresses"])
    if odd["inItem"]:
        yield "finding.next_link_in_item", {"address": first}
    if urlsplit(first).hostname != urlsplit(page["finalUrl"]).hostname:
        yield "finding.next_link_to_other_host", {"address": first}
    if count > 1:
        addresses = odd["addresses"][:_MOST_ADDRESSES]
        yield "finding.several_next_links", {"addresses": addresses, "count": count}


def _selector(comparison: Comparison) -> str | None:
    pagination = comparison.recipe.pagination
    return pagination.selector if isinstance(pagination, NextLinkPages) else None


def _odd_rows(comparison: Comparison) -> Iterator[Problem]:
    """The oddities of new rows that lack what all others have: all but a key, or most of it."""
    keys = comparison.recipe.key_indexes
    others = [position for position in range(len(comparison.recipe.fields)) if position not in keys]
    created = [
        (change.key, change.seen.record.values)
        for change in comparison.changes.revisions
        if change.kind == "created" and change.seen is not None
    ]
    bare = [key for key, values in created if all(values[position] is None for position in others)]
    like = _USUAL * (comparison.now["rows"] - len(bare))
    fields = comparison.now["fields"]
    usual = [position for position in others if fields[position]["populated"] >= like > 0]
    if bare and usual:
        params: Params = {"rows": len(bare), "key": bare[0][:LONGEST_EXAMPLE]}
        yield Problem("finding.bare_rows", params)
    if len(usual) < _MANY:
        return
    sparse = [
        (key, lacks)
        for key, values in created
        if (lacks := [position for position in usual if values[position] is None])
        if len(usual) < 2 * len(lacks) and key not in bare
    ]
    if sparse:
        key, lacks = sparse[0]
        names = [comparison.recipe.fields[position].name for position in lacks]
        params = {"rows": len(sparse), "key": key[:LONGEST_EXAMPLE], "lacks": names}
        yield Problem("finding.sparse_rows", params)


def _fields(comparison: Comparison, drifted: Iterable[Param]) -> Iterator[Problem]:
    earlier = {fact["id"]: fact for fact in comparison.before.get("fields", [])}
    facts = comparison.now["fields"]
    for position, (field, now) in enumerate(zip(comparison.recipe.fields, facts, strict=True)):
        if field.name not in drifted:
            yield from _field(comparison, position, field, now, earlier.get(field.id))


def _field(
    comparison: Comparison,
    position: int,
    field: RecipeField,
    now: FieldFact,
    then: FieldFact | None,
) -> Iterator[Problem]:
    rows, rows_before = comparison.now["rows"], comparison.before.get("rows", 0)
    params: dict[str, Param] = {
        "field": field.name,
        "type": field.type,
        "selector": field.read.selector,
        "attribute": field.read.attribute,
        "filled": now["populated"],
        "rows": rows,
        "filled_before": then["populated"] if then else 0,
        "rows_before": rows_before if then else 0,
        "unreadable": now["extractionFailed"],
        "unreadable_before": then["extractionFailed"] if then else 0,
        "text": unreadable_text(comparison.now, position),
        **matched(comparison.now["pages"], position),
    }
    # Shares and not counts: a list that became longer has more cells of each kind.
    if now["extractionFailed"] * max(rows_before, 1) > params["unreadable_before"] * rows:  # type: ignore[operator]
        yield Problem("finding.more_cells_unreadable", params)
    elif then and now["populated"] * rows_before < _FEWER * then["populated"] * rows:
        number = first_page_without(comparison.now["pages"], position)
        url = comparison.now["pages"][number - 1]["finalUrl"]
        yield Problem("finding.field_less_filled", params, number, url)
    elif (text := _new_text(comparison, position)) is not None:
        yield Problem("finding.other_texts_unreadable", {**params, "text": text})


def _new_text(comparison: Comparison, position: int) -> str | None:
    """An unreadable text of a field that was not among those of the last accepted Run."""
    field = comparison.recipe.fields[position].id
    # Columns may have come and gone since: each Run names them by their places in its own recipe.
    earlier = [fact["id"] for fact in comparison.before.get("fields", [])]
    known = _texts(comparison.before, earlier.index(field)) if field in earlier else []
    # Examples are cut, and behind the cut any text may have stood.
    if len(comparison.before.get("offending", [])) == MOST_EXAMPLES:
        return None
    return next((text for text in _texts(comparison.now, position) if text not in known), None)


def _texts(facts: RunFacts, position: int) -> list[str]:
    texts = (record["cells"].get(str(position)) for record in facts.get("offending", []))
    return [text for text in texts if text is not None]
