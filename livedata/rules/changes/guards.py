"""The drift guards: what differs from the last accepted Run as if a site broke (rules 7.9).

They compare the facts of two Runs, so a drift is judged of counts and not of cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Final

from msgspec import Struct

from livedata.model.diagnosis.recorded_run import FieldFact, PageFact, RunFacts
from livedata.model.problem import Param, Problem, Remedy
from livedata.model.recipe import NextLinkPages, Recipe, RecipeField, UrlPatternPages
from livedata.model.run import Guard
from livedata.rules.changes.compare import Changes
from livedata.rules.changes.keys import Moved, another_key, moved_keys

# In smaller tables a few rows are a large share, and would hold a Run too often.
_LEAST_FOR_LOSS: Final = 20
_LEAST_FOR_PAGINATION: Final = 10
_LEAST_FILLED: Final = 10
_MOST_ENTITIES_LOST: Final = 5
_PERCENT_LOST: Final = 30
"""More rows than these, and a larger share of the present ones, hold a research Run."""
_EMPTIED: Final = 10
"""A field is emptied if the share of its filled cells is less than one of so many parts."""

MASS_LOSS: Final = "run.mass_loss"
KEYS_CHANGED: Final = "run.keys_changed"
KEYS_MOVED: Final = "finding.keys_moved"
LONGEST_EXAMPLE: Final = 80
"""How much of a key goes into a problem, in characters."""

_CONFIRM: Final[Sequence[Remedy]] = (Remedy("accept_loss"), Remedy("confirm_loss"))
_MEND: Final[Sequence[Remedy]] = (Remedy("preview"), Remedy("revise"), Remedy("accept_loss"))
_INPUTS: Final[Mapping[str, str]] = {
    "field_id": "fieldId",
    "filled": "filled",
    "rows": "rows",
    "filled_before": "filledBefore",
    "rows_before": "rowsBefore",
    "pages_before": "pagesBefore",
    "items": "items",
    "items_before": "itemsBefore",
    "present": "present",
    "gone": "gone",
    "fresh": "new",
    "share": "share",
}
"""Parameter of a drift -> its name among the inputs of the stop rule."""

# A second Run confirms a loss only while the output of the first is kept.
_OF_THE_OUTPUT: Final = frozenset(("accept", "accept_loss", "accept_paid", "confirm_loss"))
_RUN_AGAIN: Final = Remedy("run_again")


class Comparison(Struct, frozen=True):
    """What a Run read beside what the last accepted Run had read, which is empty if none did.

    `present` is the number of rows that are present, `changes` what the Run would do to them.
    """

    recipe: Recipe
    now: RunFacts
    before: RunFacts
    present: int
    changes: Changes

    @property
    def gone(self) -> int:
        """How many of the rows that are present were not read."""
        return self.changes.count("missing")

    @property
    def fresh(self) -> int:
        """How many rows were read that are not present."""
        return self.changes.count("created", "returned")


class Drift(Struct, frozen=True):
    """What a guard looks for, as `finding` tells it; `holds` if the table is large enough.

    `end` is the code of the problem of a Run that is held because of it.
    """

    guard: Guard
    finding: Problem
    holds: bool
    end: str
    remedies: Sequence[Remedy] = _MEND

    @property
    def problem(self) -> Problem:
        """The problem of a Run that is held because of it."""
        finding = self.finding
        remedies = tuple(self.remedies)
        return Problem(self.end, finding.params, finding.page, finding.url, remedies=remedies)

    @property
    def may_repeat(self) -> bool:
        """Whether a second complete Run that finds the same is accepted."""
        # What is broken repeats itself, and so do keys that move. Only rows that are gone, with
        # nothing in their place, are believed the second time.
        return self.end == MASS_LOSS

    @property
    def inputs(self) -> dict[str, object]:
        """The figures by which the guard holds a Run, under the names of the wire."""
        params = self.finding.params
        figures: dict[str, object] = {
            name: params[param] for param, name in _INPUTS.items() if param in params
        }
        # The stop rule is that of the first guard, so only the others have to name themselves.
        return figures if self.guard == "mass_loss" else {"guard": self.guard, **figures}


def find_drifts(comparison: Comparison, share: float | None) -> list[Drift]:
    """The drifts of a Run, those that name a cause first; `share` is what a mass loss exceeds."""
    pagination = _lost_pagination(comparison)
    loss = _mass_loss(comparison, share)
    return [
        *([] if pagination is None else [pagination]),
        *_emptied_fields(comparison),
        *([] if loss is None else [loss]),
    ]


def find_lost_entities(present: int, gone: int, *, enabled: bool) -> list[Drift]:
    """The drift of a research Run: pages that give up too many of the rows that are present."""
    # Whole numbers, which are exact at the limit.
    if not enabled or gone <= _MOST_ENTITIES_LOST or 100 * gone <= _PERCENT_LOST * present:
        return []
    params: dict[str, Param] = {"present": present, "gone": gone, "share": _PERCENT_LOST / 100}
    finding = Problem("finding.rows_lost", params)
    return [Drift("mass_loss", finding, holds=True, end=MASS_LOSS, remedies=_CONFIRM)]


def holding(drifts: Sequence[Drift], enabled: Set[Guard]) -> list[Drift]:
    """The drifts that hold a Run, in their order."""
    return [drift for drift in drifts if drift.holds and drift.guard in enabled]


def _mass_loss(comparison: Comparison, share: float | None) -> Drift | None:
    present, gone = comparison.present, comparison.gone
    if share is None or gone <= share * present:
        return None
    params: dict[str, Param] = {"present": present, "gone": gone, "share": share}
    holds = present >= _LEAST_FOR_LOSS
    # As many rows in their place: the things are still there, under other keys.
    if 2 * comparison.fresh >= gone:
        moved = moved_keys(comparison.recipe, comparison.changes)
        finding = Problem(KEYS_MOVED, {**params, **_moved(comparison.recipe, moved)})
        return Drift("mass_loss", finding, holds, KEYS_CHANGED, _another_key(moved))
    return Drift("mass_loss", Problem("finding.rows_lost", params), holds, MASS_LOSS, _CONFIRM)


def _moved(recipe: Recipe, moved: Moved) -> dict[str, Param]:
    """The keys that have moved, as parameters."""
    return {
        "keys": list(recipe.identity),
        "fresh": moved.fresh,
        "same": moved.same,
        "better": list(moved.better),
        "known": moved.known,
        "keys_before": [before[:LONGEST_EXAMPLE] for before, _ in moved.examples],
        "keys_now": [now[:LONGEST_EXAMPLE] for _, now in moved.examples],
    }


def _another_key(moved: Moved) -> Sequence[Remedy]:
    return (*another_key(moved.better, Remedy("stable_key")), Remedy("accept_loss"))


def _lost_pagination(comparison: Comparison) -> Drift | None:
    """The drift of a list that ends too early on a page that is as full as it was."""
    pages, before = comparison.now.get("pages", []), comparison.before.get("pages", [])
    if not pages or len(pages) >= len(before) or not comparison.gone:
        return None
    last, then = pages[-1], before[len(pages) - 1]
    leads_to = last.get("leadsTo")
    # A list that really became shorter ends on a page that is less full.
    if last["items"] < then["items"] and leads_to is None:
        return None
    params: dict[str, Param] = {
        **_pagination(comparison.recipe),
        "links": last.get("links"),
        "links_before": then.get("links"),
        "pages_before": len(before),
        "items": last["items"],
        "items_before": then["items"],
        "leads_to": leads_to,
        "present": comparison.present,
        "gone": comparison.gone,
    }
    finding = Problem("finding.list_cut_short", params, len(pages), last["finalUrl"])
    holds = comparison.present >= _LEAST_FOR_PAGINATION
    return Drift("lost_pagination", finding, holds, "run.lost_pagination")


def _pagination(recipe: Recipe) -> dict[str, Param]:
    """How the recipe goes from page to page, as parameters."""
    match recipe.pagination:
        case NextLinkPages(selector):
            return {"by": "next link", "selector": selector}
        case UrlPatternPages(end_selector=selector):
            return {"by": "endSelector", "selector": selector}
        case None:
            return {"by": None, "selector": None}


def _emptied_fields(comparison: Comparison) -> Iterator[Drift]:
    earlier = {fact["id"]: fact for fact in comparison.before.get("fields", [])}
    facts = comparison.now.get("fields", [])
    for position, (field, now) in enumerate(zip(comparison.recipe.fields, facts, strict=True)):
        then = earlier.get(field.id)
        if then is not None and _is_emptied(comparison, now, then):
            yield _emptied_field(comparison, position, field, now, then)


def _is_emptied(comparison: Comparison, now: FieldFact, then: FieldFact) -> bool:
    """Whether a field that had a value in half of the rows has one in hardly any now."""
    rows, rows_before = comparison.now["rows"], comparison.before.get("rows", 0)
    if not rows or 2 * then["populated"] < rows_before:
        return False
    # Shares and not counts: a list that became shorter has fewer filled cells in each field. As a
    # product of whole numbers, which is exact at the limit.
    return _EMPTIED * now["populated"] * rows_before < then["populated"] * rows


def _emptied_field(
    comparison: Comparison, position: int, field: RecipeField, now: FieldFact, then: FieldFact
) -> Drift:
    pages = comparison.now["pages"]
    number = first_page_without(pages, position)
    params: dict[str, Param] = {
        "field": field.name,
        "field_id": field.id,
        "type": field.type,
        "selector": field.read.selector,
        "attribute": field.read.attribute,
        "filled": now["populated"],
        "rows": comparison.now["rows"],
        "filled_before": then["populated"],
        "rows_before": comparison.before.get("rows", 0),
        **matched(pages, position),
        "unreadable": now["extractionFailed"],
        "text": unreadable_text(comparison.now, position),
    }
    finding = Problem("finding.field_emptied", params, number, pages[number - 1]["finalUrl"])
    holds = then["populated"] >= _LEAST_FILLED
    return Drift("emptied_field", finding, holds, "run.emptied_field")


def first_page_without(pages: Sequence[PageFact], position: int) -> int:
    """The number of the first page with an item on which a field's read did not match, else 1."""
    numbers = (
        number for number, page in enumerate(pages, 1) if page["matches"][position] < page["items"]
    )
    return next(numbers, 1)


def matched(pages: Sequence[PageFact], position: int) -> dict[str, Param]:
    """In how many items of all pages the read of a field matched, as parameters."""
    return {
        "matched": sum(page["matches"][position] for page in pages),
        "items": sum(page["items"] for page in pages),
    }


def unreadable_text(facts: RunFacts, position: int) -> str | None:
    """The first text of a field that could not be read; None if none was kept."""
    texts = (record["cells"].get(str(position)) for record in facts.get("offending", []))
    return next((text for text in texts if text is not None), None)


def without_output(remedies: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """The same remedies, with another Run in place of those that need the output of this one."""
    given = list(remedies)
    left = [remedy for remedy in given if remedy.code not in _OF_THE_OUTPUT]
    if len(left) < len(given) and _RUN_AGAIN not in left:
        left.append(_RUN_AGAIN)
    return tuple(left)
