"""Explains a Run that a drift guard held (rules 7.9), if no other rule names the cause."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from livedata.model.problem import Problem, Remedy, problem_of
from livedata.rules.changes.guards import KEYS_CHANGED, KEYS_MOVED, MASS_LOSS
from livedata.rules.changes.keys import another_key
from livedata.rules.explanation.run_context import (
    PREVIEW,
    REVISE,
    SHOW_PAGE,
    RunContext,
    cause,
    fact,
    links,
)

_TAKE: Final = Remedy("accept_loss")
_WAYS: Final = {"next-link": Remedy("mend_next_link"), "url-pattern": Remedy("mend_end")}
"""Kind of pagination -> what mends it."""
_LOSSES: Final = frozenset((MASS_LOSS, KEYS_CHANGED, "evidence.recorded"))


def explain_lost_pagination(context: RunContext) -> Problem | None:
    """The cause of a list that ends too early, if the next link is not gone from every page."""
    problem, kind = context.problem, context.pagination.get("kind", "none")
    if problem is None or problem.code != "run.lost_pagination":
        return None
    if kind == "next-link" and not links(context.pages):
        return None
    way = _WAYS.get(kind, PREVIEW)
    return replace(
        problem,
        code="cause.list_cut_short",
        evidence=tuple(context.previous_items()),
        remedies=(way, REVISE, SHOW_PAGE, _TAKE),
    )


def explain_mass_loss(context: RunContext) -> Problem | None:
    """The cause of a loss of rows that nothing else explains."""
    if context.rule != "mass_loss" or not _loses_most(context):
        return None
    if context.problem is not None and context.problem.code == KEYS_CHANGED:
        return _keys_changed(context.problem, _TAKE)
    seen, own = context.facts.get("seen", []), context.own_words()
    fresh = len(context.facts.get("others", [])) + context.facts.get("othersLeftOut", 0)
    # Another guard held it, or an older version: as many new keys as lost ones.
    if fresh >= len(seen) / 2:
        keys = fact("evidence.fresh_keys", fresh=fresh, seen=sum(map(bool, seen)))
        return cause("cause.keys_changed.counted", [*own, keys], [PREVIEW, _TAKE])
    return cause("cause.mass_loss", [*own, *context.previous_items()], [_TAKE, PREVIEW])


def explain_changed_keys(context: RunContext) -> Problem | None:
    """The cause of an accepted Run that found most rows under other keys."""
    run, before = context.recorded.run, context.before or {}
    if run["status"] != "succeeded":
        return None
    for found in context.facts.get("odd", []):
        if found["code"] == KEYS_MOVED:
            return _keys_changed(problem_of(found))
    new, gone = run["rowDeltas"]["new"], run["rowDeltas"]["gone"]
    if 2 * gone <= before.get("rowsInTable", 0) or 2 * new < gone:
        return None
    keys = fact("evidence.fresh_keys", fresh=new, seen=context.facts.get("rows", 0) - new)
    return cause("cause.keys_changed.accepted", [keys], [PREVIEW])


def _keys_changed(moved: Problem, *remedies: Remedy) -> Problem:
    """The cause of keys that have moved: which, and which columns would be better ones."""
    before, now, better = (moved.params[name] for name in ("keys_before", "keys_now", "better"))
    assert isinstance(before, list)
    assert isinstance(now, list)
    assert isinstance(better, list)
    examples = [
        fact("evidence.key_moved", before=old, now=new)
        for old, new in zip(before, now, strict=True)
    ]
    ways = another_key([str(name) for name in better], Remedy("stable_key"))
    return cause("cause.keys_changed", examples, [*ways, *remedies], **moved.params)


def _loses_most(context: RunContext) -> bool:
    """Whether most rows would be gone, which the other guards do not need."""
    if context.problem is None or context.problem.code in _LOSSES:
        return True
    seen = context.facts.get("seen", [])
    return 2 * sum(map(bool, seen)) < len(seen)
