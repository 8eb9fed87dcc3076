"""What was gathered -> the Checks and one verdict (rules 7.1 to 7.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from livedata.model.harvest import Harvest, PageRead, Record, StopRule
from livedata.model.problem import Params, Problem, place
from livedata.model.recipe import Recipe, RecipeField, UrlPatternPages
from livedata.model.row import Scalar
from livedata.model.run import Check, present_check_id
from livedata.rules.changes.compare import SeenRecord
from livedata.rules.changes.keys import telling_apart

Outcome = Literal["accept", "failed", "held", "blocked"]
LIMITS: frozenset[StopRule] = frozenset({"max_pages", "max_items"})
LONGEST_TITLE = 80
LONGEST_EXAMPLE = 60
"""How much of a text that was read goes into a problem, in characters."""

Seen = tuple[PageRead, Record]
"""A record, and the page on which it stands."""


class Verdict(Struct, frozen=True):
    """The Checks, what follows from them, and the problem that decided it (None if accepted)."""

    outcome: Outcome
    checks: list[Check]
    rule: StopRule
    problem: Problem | None = None


def judge(harvest: Harvest, recipe: Recipe) -> Verdict:
    """Perform the Checks of interface 2.8 on what an attempt gathered.

    The order of judgement is blocked, failed, held; what none of them stops is to be accepted.
    """
    ending = harvest.ending
    if ending.rule == "cancelled":
        return Verdict("failed", [], "cancelled", ending.problem or Problem("run.cancelled"))
    if harvest.blocked:
        return Verdict("blocked", [], "page_failed", _at_the_end(harvest))
    if ending.rule == "page_failed" and not harvest.pages and not harvest.attempts:
        return Verdict("failed", [], "page_failed", ending.problem)  # nothing was asked for
    rows = list(distinct(harvest).values())
    cut_off = None if ending.rule == "natural_end" else _at_the_end(harvest)
    checks = [
        Check("coverage", cut_off, of_whole=True),
        Check("identity", _identity(harvest, recipe)),
        Check("extraction", _extraction(harvest, recipe)),
        Check("minimum-items", _minimum_items(harvest, recipe, len(rows)), of_whole=True),
        *_present(harvest, recipe, rows),
    ]
    failed = [check for check in checks if not check.passed]
    if not failed:
        return Verdict("accept", checks, "natural_end")
    first = failed[0]
    # A limit always fails coverage: if a single Check failed, it is that one.
    if ending.rule in LIMITS and len(failed) == 1:
        return Verdict("held", checks, ending.rule, first.problem)
    rule: StopRule = "page_failed" if harvest.failure else "check_failed"
    if harvest.failure is None and ending.rule in LIMITS:
        # The owner set the limit: what else is wrong says more than that it was reached.
        first = next(check for check in failed if check.id != "coverage")
    return Verdict("failed", checks, rule, first.problem)


def distinct(harvest: Harvest) -> dict[str, Seen]:
    """The rows of a harvest by key: of a record that was seen twice, the first."""
    records: dict[str, Seen] = {}
    for page in harvest.pages:
        for record in page.records:
            if record.key is not None:
                records.setdefault(record.key, (page, record))
    return records


def seen_records(harvest: Harvest) -> dict[str, SeenRecord]:
    """The same as rows are compared with them."""
    return {key: SeenRecord(page, record) for key, (page, record) in distinct(harvest).items()}


def checked_pages(harvest: Harvest) -> int:
    """The distinct pages that an accepted Run is charged for."""
    return len({page.canonical for page in harvest.pages if page.charged})


def _last_page(harvest: Harvest) -> int | None:
    """The page at which a crawl came to its end."""
    if harvest.failure is not None:
        return harvest.failure.number
    return harvest.pages[-1].number if harvest.pages else None


def _at_the_end(harvest: Harvest) -> Problem:
    """What broke the coverage, at the page at which the crawl came to its end."""
    return place(harvest.ending.problem or Problem("run.broke_off"), _last_page(harvest))


def _identity(harvest: Harvest, recipe: Recipe) -> Problem | None:
    seen: dict[str, Seen] = {}
    for page in harvest.pages:
        for record in page.records:
            if record.key is None:
                return _empty_key(recipe, page, record)
            first = seen.setdefault(record.key, (page, record))
            differing = [
                recipe.fields[position].name for position in differing_fields(first[1], record)
            ]
            if differing:
                params: Params = {
                    "key": record.key,
                    "fields": differing,
                    "item": record.number,
                    "first_item": first[1].number,
                    "first_page": first[0].number,
                    "first_url": first[0].final_url,
                    "better": list(telling_apart(recipe, _values(harvest))),
                }
                return _on(page, "checks.shared_key", params)
    return None


def _values(harvest: Harvest) -> list[Sequence[Scalar]]:
    return [record.values for page in harvest.pages for record in page.records]


def differing_fields(record: Record, other: Record) -> list[int]:
    """In which of a source's fields two records are not the same; none for a repeated item."""
    if record.values == other.values and record.reasons == other.reasons:
        return []
    pairs = zip(record.values, record.reasons, other.values, other.reasons, strict=True)
    return [
        position
        for position, (old, why, new, reason) in enumerate(pairs)
        if (old, why) != (new, reason)
    ]


def _empty_key(recipe: Recipe, page: PageRead, record: Record) -> Problem:
    position = next(position for position in recipe.key_indexes if record.values[position] is None)
    field = recipe.fields[position]
    params: Params = {
        "field": field.name,
        "type": field.type,
        "text": _beginning(record.texts[position]),
        "item": record.number,
    }
    return _on(page, "checks.empty_key", params)


def _extraction(harvest: Harvest, recipe: Recipe) -> Problem | None:
    if harvest.overflow is not None:
        return place(harvest.overflow, _last_page(harvest))
    for page in harvest.pages:
        if not page.records and not _may_be_empty(page, harvest, recipe):
            params: Params = {
                "selector": recipe.item_selector,
                "status": page.status,
                "title": page.title[:LONGEST_TITLE] if page.title else None,
            }
            return _on(page, "checks.no_items", params)
    return None


def _may_be_empty(page: PageRead, harvest: Harvest, recipe: Recipe) -> bool:
    if page.number == 1 and recipe.minimum_items == 0:
        return True
    # An empty page that links lead to is an error of the site, and not the end of its list.
    return (
        isinstance(recipe.pagination, UrlPatternPages)
        and page is harvest.pages[-1]
        and harvest.ending.rule == "natural_end"
    )


def _minimum_items(harvest: Harvest, recipe: Recipe, items: int) -> Problem | None:
    wanted = recipe.minimum_items
    if items >= wanted:
        return None
    params: Params = {"found": items, "wanted": wanted, "pages": len(harvest.pages)}
    if harvest.failure is not None:
        return Problem("checks.too_few_before_failure", params, harvest.failure.number)
    return Problem("checks.too_few_items", params, 1 if harvest.pages else None)


def _present(harvest: Harvest, recipe: Recipe, rows: Sequence[Seen]) -> Iterator[Check]:
    by_column = sorted(enumerate(recipe.fields), key=lambda pair: pair[1].position)
    for index, field in by_column:
        if field.required:
            yield Check(present_check_id(field.id), _empty_cells(harvest, rows, index, field))


def _empty_cells(
    harvest: Harvest, rows: Sequence[Seen], index: int, field: RecipeField
) -> Problem | None:
    empty = [(page, record) for page, record in rows if record.values[index] is None]
    if not empty:
        return None
    page, record = empty[0]
    params: Params = {
        "field": field.name,
        "selector": field.read.selector,
        "empty": len(empty),
        "rows": len(rows),
        "matched": sum(page.matches[index] for page in harvest.pages),
        "items": sum(len(page.records) for page in harvest.pages),
        "item": record.number,
        "text": _beginning(record.texts[index]),
    }
    return _on(page, "checks.required_empty", params)


def _on(page: PageRead, code: str, params: Params) -> Problem:
    return Problem(code, params, page.number, page.final_url)


def _beginning(text: str | None) -> str | None:
    return text[:LONGEST_EXAMPLE] if text else None
