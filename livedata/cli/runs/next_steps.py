"""What a person does next after a Run that was not accepted."""

from __future__ import annotations

from livedata.hints import is_of_the_machine
from livedata.model.problem import Remedy
from livedata.model.run import HELD_BY_GUARDS
from livedata.services.run_report import RunReport

NEXT: dict[str, tuple[Remedy, ...]] = {
    "max_pages": (Remedy("raise_limit", {"name": "maxPages"}),),
    "max_items": (Remedy("raise_limit", {"name": "maxItems"}),),
    "page_failed": (Remedy("run_once_changed"),),
    "check_failed": (Remedy("compare_source"),),
    "credits": (Remedy("grant_credits"), Remedy("accept_paid")),
    "mass_loss": (Remedy("accept_loss"), Remedy("confirm_loss")),
    "worker_lost": (Remedy("run_again"),),
    "cancelled": (Remedy("run_again"),),
}
"""Stop rule -> what a person does next."""
WITH_OWN_STEPS = HELD_BY_GUARDS | {"run.damaged"}
"""The problems of Runs that a drift guard held, or that the store itself stopped."""

OF_RESEARCH = frozenset(
    f"checks.{name}"
    for name in (
        *("few_pages_extracted", "no_page_read", "no_page_to_read", "no_entities"),
        "entity_twice",
    )
)
"""The problems of Runs without selectors that could be compared with the site."""


def next_steps(report: RunReport) -> list[Remedy]:
    """List what such an end asks for, and what may be set up otherwise on this machine."""
    steps = NEXT.get(report.stop.get("rule", ""), ())
    own = report.problem.remedies if report.problem else ()
    # What one guard asks for is no help with what another one holds, nor with a damaged store.
    if report.problem is not None and report.problem.code in WITH_OWN_STEPS:
        return list(own)
    # The problem's own remedy has the parameters: which limit, how many credits.
    if report.problem is not None and report.problem.code in OF_RESEARCH:
        steps = ()
    exact = {remedy.code: remedy for remedy in own}
    codes = {step.code for step in steps}
    others = [remedy for remedy in own if remedy.code not in codes and is_of_the_machine(remedy)]
    return [*(exact.get(step.code, step) for step in steps), *others]
