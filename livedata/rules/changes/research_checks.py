"""What research found -> the Checks and one verdict (rules 14.11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from livedata.model.problem import Params, Problem, Remedy
from livedata.model.research.outcome import ResearchedRow, ResearchOutcome
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.run import Check, ResearchStop, present_check_id
from livedata.rules.changes.checks import Verdict

BROKEN: frozenset[ResearchStop] = frozenset(
    {"planning_failed", "search_failed", "model_auth", "model_unavailable"}
)
"""The rules by which a Run fails, whatever it has read."""


def judge_research(outcome: ResearchOutcome, recipe: ResearchRecipe) -> Verdict:
    """Perform the Checks on what an attempt found: blocked first, then failed."""
    if outcome.stop == "cancelled":
        problem = outcome.problem or Problem("run.cancelled")
        return Verdict("failed", [], "cancelled", problem)
    if outcome.blocked:
        asked = sum(page.outcome != "unattempted" for page in outcome.pages)
        problem = Problem("run.all_refused", {"pages": asked})
        return Verdict("blocked", [], outcome.stop, problem)
    ends_the_run = outcome.stop in BROKEN or outcome.problem is not None
    if ends_the_run and not outcome.pages:
        return Verdict("failed", [], outcome.stop, _broken(outcome))  # nothing was asked for
    checks = [
        Check("coverage", _broken(outcome) if outcome.stop in BROKEN else None),
        Check("identity", _identity(outcome)),
        Check("extraction", _extraction(outcome)),
        Check("minimum-items", _minimum_items(outcome)),
        *_present(outcome, recipe),
    ]
    failed = [check for check in checks if not check.passed]
    if not failed:
        return Verdict("accept", checks, outcome.stop)
    rule = outcome.stop if ends_the_run else "check_failed"
    return Verdict("failed", checks, rule, failed[0].problem)


def _broken(outcome: ResearchOutcome) -> Problem:
    """Why a Run could not go on."""
    return outcome.problem or Problem(f"research.{outcome.stop}")


def _identity(outcome: ResearchOutcome) -> Problem | None:
    keys = Counter(row.key for row in outcome.rows)
    twice = next((row for row in outcome.rows if keys[row.key] > 1), None)
    if twice is None:
        return None
    return Problem("checks.entity_twice", {"key": twice.key, "name": twice.identity.aliases[0]})


def _extraction(outcome: ResearchOutcome) -> Problem | None:
    """Whether of the pages that were read half, and at least one, were extracted whole."""
    checked = sum(page.outcome == "checked" for page in outcome.pages)
    read = checked + sum(
        page.outcome == "unknown" and page.digest is not None for page in outcome.pages
    )
    if checked and 2 * checked >= read:
        return None
    if outcome.problem is not None and outcome.stop not in BROKEN:
        return outcome.problem
    asked = sum(page.outcome != "unattempted" for page in outcome.pages)
    if not asked:
        return Problem("checks.no_page_to_read")
    if not read:
        return Problem("checks.no_page_read", {"asked": asked})
    params: Params = {"checked": checked, "read": read}
    if not outcome.complaint:
        return Problem("checks.few_pages_extracted", params)
    params = {**params, "detail": outcome.complaint}
    return Problem("checks.few_pages_extracted", params, remedies=(Remedy("check_model"),))


def _minimum_items(outcome: ResearchOutcome) -> Problem | None:
    if outcome.rows:
        return None
    checked = sum(page.outcome == "checked" for page in outcome.pages)
    return Problem("checks.no_entities", {"pages": checked})


def _present(outcome: ResearchOutcome, recipe: ResearchRecipe) -> Iterator[Check]:
    required = (recipe.name, recipe.evidence, recipe.source)
    for index, field in enumerate(required):
        empty = [row for row in outcome.rows if _is_empty(row, index)]
        problem = None
        if empty:
            params: Params = {
                "field": field.name,
                "empty": len(empty),
                "rows": len(outcome.rows),
                "name": empty[0].identity.aliases[0],
            }
            problem = Problem("checks.entity_without", params)
        yield Check(present_check_id(field.id), problem)


def _is_empty(row: ResearchedRow, index: int) -> bool:
    cell = row.cells[index]
    return cell.value is None and not cell.stands
