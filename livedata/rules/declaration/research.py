"""What a research dataset's declaration must hold beyond its shape, and what it needs: rules 14.

All problems are reported at once, in the order of the document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from livedata.extraction.pagination import canonical_url
from livedata.messages.request import invalid, predicate
from livedata.messages.research import NO_MODEL, NO_PRICE, NO_SEARCH
from livedata.model.errors import Detail, ResearchUnavailable
from livedata.model.problem import Remedy
from livedata.model.research.answers import OfferedPlan
from livedata.rules.network.targets import url_problem
from livedata.rules.research.offers import plan_faults

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from livedata.model.research.declaration import CreateResearch, PlanFile, ResearchPlan
    from livedata.model.research.settings import ResearchSettings
    from livedata.rules.network.targets import TargetPolicy


def check(declared: CreateResearch, settings: ResearchSettings, targets: TargetPolicy) -> None:
    """Raise Invalid with all that is wrong with `declared`, ResearchUnavailable for what lacks."""
    plan = [] if declared.plan is None else plan_details(declared.plan, "plan.")
    _raise([*plan, *_urls(declared.urls, targets), *_money(declared.max_usd, settings)])
    require_model(settings)
    if not declared.urls and settings.search == "none":
        raise ResearchUnavailable(NO_SEARCH, remedies=(Remedy("name_pages"), Remedy("name_search")))


def check_plan_file(declared: PlanFile, settings: ResearchSettings, targets: TargetPolicy) -> None:
    """Raise Invalid with all that is wrong with a file, whose places have the file's own names."""
    plan = plan_details(declared.plan)
    _raise([*plan, *_urls(declared.urls, targets), *_money(declared.max_usd, settings)])


def check_urls(urls: Sequence[str], targets: TargetPolicy) -> None:
    """Raise Invalid for addresses that may not be read, or of which two are the same."""
    _raise(list(_urls(urls, targets)))


def require_model(settings: ResearchSettings) -> None:
    """Raise ResearchUnavailable if no model is set."""
    if not settings.model:
        raise ResearchUnavailable(NO_MODEL, remedies=(Remedy("name_model"),))


def plan_details(plan: ResearchPlan, above: str = "") -> list[Detail]:
    """What is wrong with a plan; `above` is the path to it."""
    offered = msgspec.convert(plan.model_dump(by_alias=True), OfferedPlan, strict=False)
    return [
        Detail(f"{above}{fault.path}", fault.message, is_predicate=fault.is_predicate)
        for fault in plan_faults(offered)
    ]


def _raise(problems: list[Detail]) -> None:
    if problems:
        raise invalid(problems)


def _urls(urls: Sequence[str], targets: TargetPolicy) -> Iterator[Detail]:
    seen: dict[str, int] = {}
    for number, url in enumerate(urls):
        problem = url_problem(url, targets)
        if problem is not None:
            yield Detail(f"urls[{number}]", predicate(problem), remedies=problem.remedies)
            continue
        first = seen.setdefault(canonical_url(url), number)
        if first != number:
            yield Detail(f"urls[{number}]", f"is the same page as urls[{first}]")


def _money(limit: float | None, settings: ResearchSettings) -> Iterator[Detail]:
    if limit is not None and not settings.has_prices:
        yield Detail("maxUsd", NO_PRICE, remedies=(Remedy("name_price"),))
