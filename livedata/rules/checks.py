"""What was gathered -> the Checks and one verdict (decisions, How a Run ends)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from livedata.model.harvest import Harvest, PageRead, Record, StopRule
from livedata.model.recipe import Recipe, RecipeField
from livedata.model.run import CheckResult

Outcome = Literal["accept", "failed", "held", "blocked"]
LIMITS: frozenset[StopRule] = frozenset({"max_pages", "max_items"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """The Checks, what follows from them, and the sentence for a person (None if accepted)."""

    outcome: Outcome
    checks: list[CheckResult]
    rule: StopRule
    error: str | None = None


def judge(harvest: Harvest, recipe: Recipe) -> Verdict:
    """Perform the Checks of specification 2.8 on what an attempt gathered.

    The order of judgement is blocked, failed, held; what none of them stops is to be accepted.
    """
    ending = harvest.ending
    if ending.rule == "cancelled":
        return Verdict("failed", [], "cancelled", ending.message or "The Run was cancelled.")
    if harvest.blocked:
        return Verdict("blocked", [], "page_failed", ending.message)
    if ending.rule == "page_failed" and not harvest.pages and not harvest.attempts:
        return Verdict("failed", [], "page_failed", ending.message)  # nothing was asked for
    checks = [_coverage(harvest), _identity(harvest, recipe), _extraction(harvest, recipe)]
    checks.append(_minimum_items(harvest, recipe))
    checks.extend(_present(harvest, recipe))
    failed = [check for check in checks if not check["passed"]]
    if not failed:
        return Verdict("accept", checks, "natural_end")
    error = failed[0]["message"]
    if ending.rule in LIMITS and len(failed) == 1:
        return Verdict("held", checks, ending.rule, error)
    rule: StopRule = "page_failed" if harvest.failure else "check_failed"
    if harvest.failure is None and ending.rule in LIMITS:
        error = next(c["message"] for c in failed if c["checkId"] != "coverage")
    return Verdict("failed", checks, rule, error)


def distinct(harvest: Harvest) -> dict[str, tuple[PageRead, Record]]:
    """The rows of a harvest by key: of a record that was seen twice, the first."""
    found: dict[str, tuple[PageRead, Record]] = {}
    for page in harvest.pages:
        for record in page.records:
            if record.key is not None:
                found.setdefault(record.key, (page, record))
    return found


def checked_pages(harvest: Harvest) -> int:
    """The distinct pages that an accepted Run is charged for."""
    return len({page.canonical for page in harvest.pages if page.charged})


def where(page: PageRead, record: Record) -> str:
    """An item as a person finds it again."""
    return f"item {record.number} of page {page.number} ({page.final_url})"


def _result(check_id: str, message: str | None) -> CheckResult:
    if message is None:
        return {"checkId": check_id, "passed": True}
    return {"checkId": check_id, "passed": False, "message": message}


def _coverage(harvest: Harvest) -> CheckResult:
    complete = harvest.ending.rule == "natural_end"
    return _result("coverage", None if complete else harvest.ending.message)


def _identity(harvest: Harvest, recipe: Recipe) -> CheckResult:
    seen: dict[str, tuple[PageRead, Record]] = {}
    for page in harvest.pages:
        for record in page.records:
            if record.key is None:
                return _result("identity", _empty_key(recipe, page, record))
            first = seen.setdefault(record.key, (page, record))
            differing = [recipe.fields[at].name for at in differ(first[1], record)]
            if differing:
                return _result(
                    "identity",
                    f"The key {record.key!r} stands for two records that differ in "
                    f"{', '.join(differing)}: {where(*first)} and {where(page, record)}; add a "
                    "column to the identity, or choose one that tells them apart.",
                )
    return _result("identity", None)


def differ(one: Record, other: Record) -> list[int]:
    """In which of a source's fields two records are not the same; none for a repeated item."""
    if one.values == other.values and one.reasons == other.reasons:
        return []
    pairs = zip(one.values, one.reasons, other.values, other.reasons, strict=True)
    return [at for at, (old, why, new, reason) in enumerate(pairs) if (old, why) != (new, reason)]


def _empty_key(recipe: Recipe, page: PageRead, record: Record) -> str:
    at = next(at for at in recipe.key_indexes if record.values[at] is None)
    text = record.texts[at]
    found = f"reads {text[:60]!r}, which is no {recipe.fields[at].type}" if text else "is empty"
    return (
        f"{recipe.fields[at].name}, a part of the key, {found} in {where(page, record)}: every "
        "record needs its whole key; choose key columns that every item has, or narrow "
        "itemSelector."
    )


def _extraction(harvest: Harvest, recipe: Recipe) -> CheckResult:
    if harvest.overflow is not None:
        return _result("extraction", harvest.overflow)
    for page in harvest.pages:
        if not page.records and not _may_be_empty(page, harvest, recipe):
            return _result(
                "extraction",
                f"Page {page.number} ({page.final_url}, status {page.status}{_titled(page)}) has "
                f"no items: itemSelector {recipe.source.item_selector!r} matched nothing; compare "
                "it with the page as it is now: livedata preview shows what each selector finds.",
            )
    return _result("extraction", None)


def _titled(page: PageRead) -> str:
    return f", titled {page.title[:80]!r}" if page.title else ""


def _may_be_empty(page: PageRead, harvest: Harvest, recipe: Recipe) -> bool:
    if page.number == 1 and recipe.source.minimum_items == 0:
        return True
    return (
        recipe.source.pagination.kind == "url-pattern"
        and page is harvest.pages[-1]
        and harvest.ending.rule == "natural_end"
    )


def _minimum_items(harvest: Harvest, recipe: Recipe) -> CheckResult:
    found, wanted = len(distinct(harvest)), recipe.source.minimum_items
    if found >= wanted:
        return _result("minimum-items", None)
    return _result(
        "minimum-items",
        f"{found} of at least {wanted} items were found on {_pages(len(harvest.pages))}: if the "
        "list really became that short, lower minimumItems, else look at itemSelector with "
        "livedata preview.",
    )


def _present(harvest: Harvest, recipe: Recipe) -> Iterator[CheckResult]:
    by_column = sorted(enumerate(recipe.fields), key=lambda pair: pair[1].position)
    for index, field in by_column:
        if field.required:
            yield _result(f"present:{field.id}", _absent(harvest, recipe, index, field))


def _absent(harvest: Harvest, recipe: Recipe, index: int, field: RecipeField) -> str | None:
    rows = list(distinct(harvest).values())
    empty = [(page, record) for page, record in rows if record.values[index] is None]
    if not empty:
        return None
    page, record = empty[0]
    read = recipe.source.fields[index].read
    matched = sum(page.matches[index] for page in harvest.pages)
    items = sum(len(page.records) for page in harvest.pages)
    told = f"selector {read.selector!r}" if read.selector else "the item itself"
    found = record.texts[index]
    seen = f"found {found[:60]!r}" if found else "found nothing"
    return (
        f"{field.name} is required and empty in {len(empty)} of {len(rows)} rows: {told} matched "
        f"in {matched} of {items} items; first in {where(page, record)}, which {seen}."
    )


def _pages(count: int) -> str:
    return "1 page" if count == 1 else f"{count} pages"
