"""The input of an explanation: a Run, the accepted Run before it, and the kept page.

Beside it what needs no cause: the matches on the page beside those before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from msgspec import Struct

from livedata.model.diagnosis.explanation import FailedPage, SelectorCount
from livedata.model.diagnosis.recorded_run import FieldFact, PageFact, RecordedRun, RunFacts
from livedata.model.harvest import PageJudgement
from livedata.model.problem import Param, Problem, Remedy
from livedata.model.run import split_check_id
from livedata.rules.diagnosis.page_kind import judge_page, rows_of_page

PREVIEW: Final = Remedy("preview")
REVISE: Final = Remedy("revise")
SHOW_PAGE: Final = Remedy("show_page")
RUN_AGAIN: Final = Remedy("run_again")
RUN_LATER: Final = Remedy("run_later")
LONGEST_TITLE: Final = 80


class RunContext(Struct, frozen=True, dict=True):
    """A Run, the facts of the accepted Run before it, if any, and the kept page, if any.

    `output_kept` is whether the output of a held Run may still be accepted.
    """

    recorded: RecordedRun
    before: RunFacts | None
    page: FailedPage | None
    output_kept: bool

    @property
    def facts(self) -> RunFacts:
        """The facts that this Run recorded."""
        return self.recorded.facts

    @property
    def rule(self) -> str:
        """The rule that ended the Run."""
        return self.recorded.stop["rule"] if self.recorded.stop else ""

    @property
    def source(self) -> Mapping[str, Any]:
        """The declaration; empty if the Run has none of version 1."""
        declared = self.recorded.source
        return declared if isinstance(declared, dict) else {}

    @property
    def pagination(self) -> Mapping[str, Any]:
        """The pagination of the declaration."""
        pagination: Mapping[str, Any] = self.source.get("pagination", {})
        return pagination

    @property
    def pages(self) -> Sequence[PageFact]:
        """The pages that were read."""
        return self.facts.get("pages", [])

    @property
    def previous_pages(self) -> Sequence[PageFact]:
        """The pages of the accepted Run before."""
        return (self.before or {}).get("pages", [])

    @property
    def failed_checks(self) -> frozenset[str]:
        """The kinds of the Checks that failed."""
        checks = self.recorded.run["checks"]
        return frozenset(
            split_check_id(check["checkId"])[0] for check in checks if not check["passed"]
        )

    @cached_property
    def judged(self) -> PageJudgement | None:
        """What is on the page that stopped the Run, if that has no items."""
        recorded = self.facts.get("judged")
        page = self.page
        if recorded is not None or page is None or (page.counts and page.counts["items"]):
            return recorded
        # Runs of older versions kept no judgement, so it is made of the part that they kept.
        rows = {
            row.key: [cell.value for cell in row.cells]
            for row in self.recorded.rows.values()
            if row.presence == "present"
        }
        known = rows_of_page(rows, self.facts.get("seen", []), page.number)
        return judge_page(page.markup, page.number, page.title, known)

    def field(self, position: int) -> FieldFact | None:
        """The counts of a field's cells in this Run."""
        fields = self.facts.get("fields", [])
        return fields[position] if position < len(fields) else None

    def previous_field(self, position: int) -> FieldFact | None:
        """The counts of the same field in the accepted Run before."""
        # By id and not by position: a revised source may have its fields in another order.
        now = self.field(position)
        fields = (self.before or {}).get("fields", [])
        return next((field for field in fields if now and field["id"] == now["id"]), None)

    @property
    def problem(self) -> Problem | None:
        """The problem that ended the Run."""
        # Older versions recorded only the sentence, so the sentence becomes the problem.
        error = self.recorded.run["error"]
        if self.recorded.problem is not None or error is None:
            return self.recorded.problem
        return fact("evidence.recorded", sentence=error)

    def own_words(self) -> list[Problem]:
        """The problem that ended the Run, as evidence."""
        return [] if self.problem is None else [self.problem]

    def page_evidence(self) -> list[Problem]:
        """The page that stopped the Run as evidence; after 30 days, what was recorded of it."""
        page, judged = self.page, self.judged
        if page is not None:
            return [_page(page.number, page.final_url, page.status, page.title)]
        if judged is None or judged["number"] > len(self.pages):
            return []
        read = self.pages[judged["number"] - 1]
        return [_page(judged["number"], read["finalUrl"], read["status"], read["title"])]

    def previous_items(self) -> list[Problem]:
        """The number of items in the accepted Run before, as evidence."""
        if not self.previous_pages:
            return [Problem("evidence.never_accepted")]
        pages = self.previous_pages
        return [fact("evidence.items_before", items=items(pages), pages=len(pages))]


def _page(number: int, url: str, status: int, title: str | None) -> Problem:
    params: dict[str, Param] = {
        "status": status,
        "title": title[:LONGEST_TITLE] if title else None,
    }
    return Problem("evidence.page", params, number, url)


def cause(
    code: str,
    evidence: Iterable[Problem] = (),
    remedies: Iterable[Remedy] = (),
    **params: Param,
) -> Problem:
    """A cause with its evidence; the parameter `field`, if given, names the field it is about."""
    return Problem(code, params, evidence=tuple(evidence), remedies=tuple(remedies))


def fact(code: str, **params: Param) -> Problem:
    """A recorded fact, as evidence."""
    return Problem(code, params)


def items(pages: Sequence[PageFact]) -> int:
    """The number of items on all pages."""
    return sum(page["items"] for page in pages)


def links(pages: Sequence[PageFact]) -> int:
    """The number of matches of the next-link or end selector on all pages."""
    return sum(page.get("links", 0) for page in pages)


def matched(pages: Sequence[PageFact], position: int) -> int:
    """The number of items, on all pages, on which the read of a field matched."""
    return sum(page["matches"][position] for page in pages)


def compare_counts(context: RunContext) -> list[SelectorCount]:
    """The matches of each selector, now and before; empty if the kept page was not read."""
    if context.page is None or context.page.counts is None:
        return []
    counts, number = context.page.counts, context.page.number
    previous = context.previous_pages
    before = previous[number - 1] if number <= len(previous) else None
    compared = [_count("itemSelector", counts["items"], before and before["items"])]
    # By id and not by position: the accepted Run may have had another recipe.
    places = {
        field["id"]: position
        for position, field in enumerate((context.before or {}).get("fields", []))
    }
    for position, declared in enumerate(context.source["fields"]):
        field = context.field(position)
        place = places.get(field["id"]) if field is not None else None
        earlier = before["matches"][place] if before is not None and place is not None else None
        compared.append(_count(declared["name"], counts["matched"][position], earlier))
    if "links" in counts:
        compared.append(_count("pagination", counts["links"], before and before.get("links")))
    return compared


def _count(target: str, now: int, before: int | None) -> SelectorCount:
    return {"target": target, "now": now, "before": before}
