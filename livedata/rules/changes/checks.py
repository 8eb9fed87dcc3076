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
    """The Checks, what follows from them, and the sentence for a person (None if accepted).

    `page` is the number of the page that the sentence is about, None where it is about none.
    """

    outcome: Outcome
    checks: list[CheckResult]
    rule: StopRule
    error: str | None = None
    page: int | None = None


@dataclass(frozen=True, slots=True)
class _Judged:
    """One Check, and the number of the page that it points at."""

    result: CheckResult
    page: int | None = None

    @property
    def passed(self) -> bool:
        return self.result["passed"]


def judge(harvest: Harvest, recipe: Recipe) -> Verdict:
    """Perform the Checks of specification 2.8 on what an attempt gathered.

    The order of judgement is blocked, failed, held; what none of them stops is to be accepted.
    """
    ending = harvest.ending
    if ending.rule == "cancelled":
        return Verdict("failed", [], "cancelled", ending.message or "The Run was cancelled.")
    if harvest.blocked:
        return Verdict("blocked", [], "page_failed", ending.message, _last_page(harvest))
    if ending.rule == "page_failed" and not harvest.pages and not harvest.attempts:
        return Verdict("failed", [], "page_failed", ending.message)  # nothing was asked for
    judged = [_coverage(harvest), _identity(harvest, recipe), _extraction(harvest, recipe)]
    judged.append(_minimum_items(harvest, recipe))
    judged.extend(_present(harvest, recipe))
    checks = [one.result for one in judged]
    failed = [one for one in judged if not one.passed]
    if not failed:
        return Verdict("accept", checks, "natural_end")
    first = failed[0]
    if ending.rule in LIMITS and len(failed) == 1:
        return Verdict("held", checks, ending.rule, first.result["message"], first.page)
    rule: StopRule = "page_failed" if harvest.failure else "check_failed"
    if harvest.failure is None and ending.rule in LIMITS:
        first = next(one for one in failed if one.result["checkId"] != "coverage")
    return Verdict("failed", checks, rule, first.result["message"], first.page)


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


def item_location(page: PageRead, record: Record) -> str:
    """An item as a person finds it again."""
    return f"item {record.number} of page {page.number} ({page.final_url})"


def _passed(check_id: str) -> _Judged:
    return _Judged({"checkId": check_id, "passed": True})


def _failed(check_id: str, message: str, page: int | None) -> _Judged:
    return _Judged({"checkId": check_id, "passed": False, "message": message}, page)


def _last_page(harvest: Harvest) -> int | None:
    """The page at which a crawl came to its end."""
    if harvest.failure is not None:
        return harvest.failure.number
    return harvest.pages[-1].number if harvest.pages else None


def _coverage(harvest: Harvest) -> _Judged:
    if harvest.ending.rule == "natural_end":
        return _passed("coverage")
    return _failed("coverage", harvest.ending.message, _last_page(harvest))


def _identity(harvest: Harvest, recipe: Recipe) -> _Judged:
    seen: dict[str, tuple[PageRead, Record]] = {}
    for page in harvest.pages:
        for record in page.records:
            if record.key is None:
                return _failed("identity", _empty_key(recipe, page, record), page.number)
            first = seen.setdefault(record.key, (page, record))
            differing = [recipe.fields[at].name for at in differing_fields(first[1], record)]
            if differing:
                return _failed(
                    "identity",
                    f"The key {record.key!r} stands for two records that differ in "
                    f"{', '.join(differing)}: {item_location(*first)} and "
                    f"{item_location(page, record)}; add a column to the identity, or choose "
                    "one that tells them apart.",
                    page.number,
                )
    return _passed("identity")


def differing_fields(one: Record, other: Record) -> list[int]:
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
        f"{recipe.fields[at].name}, a part of the key, {found} in "
        f"{item_location(page, record)}: every record needs its whole key; choose key columns "
        "that every item has, or narrow itemSelector."
    )


def _extraction(harvest: Harvest, recipe: Recipe) -> _Judged:
    if harvest.overflow is not None:
        return _failed("extraction", harvest.overflow, _last_page(harvest))
    for page in harvest.pages:
        if not page.records and not _may_be_empty(page, harvest, recipe):
            return _failed(
                "extraction",
                f"Page {page.number} ({page.final_url}, status {page.status}{_titled(page)}) has "
                f"no items: itemSelector {recipe.source.item_selector!r} matched nothing; compare "
                "it with the page as it is now: livedata preview shows what each selector finds.",
                page.number,
            )
    return _passed("extraction")


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


def _minimum_items(harvest: Harvest, recipe: Recipe) -> _Judged:
    found, wanted = len(distinct(harvest)), recipe.source.minimum_items
    if found >= wanted:
        return _passed("minimum-items")
    if harvest.failure is not None:
        told = f"{found} of at least {wanted} items were found before the page that was not read."
        return _failed("minimum-items", told, harvest.failure.number)
    return _failed(
        "minimum-items",
        f"{found} of at least {wanted} items were found on {_pages(len(harvest.pages))}: if the "
        "list really became that short, lower minimumItems, else look at itemSelector with "
        "livedata preview.",
        1 if harvest.pages else None,
    )


def _present(harvest: Harvest, recipe: Recipe) -> Iterator[_Judged]:
    by_column = sorted(enumerate(recipe.fields), key=lambda pair: pair[1].position)
    for index, field in by_column:
        if field.required:
            yield _one_present(harvest, recipe, index, field)


def _one_present(harvest: Harvest, recipe: Recipe, index: int, field: RecipeField) -> _Judged:
    check_id = f"present:{field.id}"
    rows = list(distinct(harvest).values())
    empty = [(page, record) for page, record in rows if record.values[index] is None]
    if not empty:
        return _passed(check_id)
    page, record = empty[0]
    read = recipe.source.fields[index].read
    matched = sum(page.matches[index] for page in harvest.pages)
    items = sum(len(page.records) for page in harvest.pages)
    told = f"selector {read.selector!r}" if read.selector else "the item itself"
    found = record.texts[index]
    seen = f"found {found[:60]!r}" if found else "found nothing"
    message = (
        f"{field.name} is required and empty in {len(empty)} of {len(rows)} rows: {told} matched "
        f"in {matched} of {items} items; first in {item_location(page, record)}, which {seen}."
    )
    return _failed(check_id, message, page.number)


def _pages(count: int) -> str:
    return "1 page" if count == 1 else f"{count} pages"
