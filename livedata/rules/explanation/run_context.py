"""The input of an explanation: a Run, the accepted Run before it, and the kept page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from livedata.model.diagnosis.explanation import FailedPage
from livedata.model.diagnosis.recorded_run import FieldFact, PageFact, RecordedRun, RunFacts
from livedata.model.problem import Param, Problem, Remedy
from livedata.rules.explanation.suggest_selectors import KnownValues

if TYPE_CHECKING:
    from livedata.extraction.outline import Outline

PREVIEW: Final = Remedy("preview")
REVISE: Final = Remedy("revise")
SHOW_PAGE: Final = Remedy("show_page")
RUN_AGAIN: Final = Remedy("run_again")
RUN_LATER: Final = Remedy("run_later")
LONGEST_TITLE: Final = 80


@dataclass(frozen=True)
class RunContext:
    """A Run, the facts of the accepted Run before it, if any, and the kept page, if any."""

    recorded: RecordedRun
    before: RunFacts | None
    page: FailedPage | None

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
        """The ids of the Checks that failed, ``present`` without its field."""
        checks = self.recorded.run["checks"]
        return frozenset(
            check["checkId"].partition(":")[0] for check in checks if not check["passed"]
        )

    @cached_property
    def outline(self) -> Outline | None:
        """The elements of the kept page."""
        if self.page is None:
            return None
        # Imported here because the parser is heavy, and most Runs are explained without it.
        from livedata.extraction.outline import outline

        return outline(self.page.markup)

    @cached_property
    def known_values(self) -> Sequence[KnownValues]:
        """The values of each field of the source in the rows that are present."""
        columns = {column["name"]: column for column in self.recorded.columns}
        rows = [row for row in self.recorded.rows.values() if row.presence == "present"]
        per_field = []
        for declared in self.source.get("fields", []):
            column = columns[declared["name"]]
            values = [
                cell.value for row in rows for cell in row.cells if cell.field == column["id"]
            ]
            attribute = declared["read"].get("attribute")
            per_field.append(KnownValues(column["name"], column["type"], attribute, values))
        return per_field

    def field(self, at: int) -> FieldFact | None:
        """The counts of a field's cells in this Run."""
        fields = self.facts.get("fields", [])
        return fields[at] if at < len(fields) else None

    def previous_field(self, at: int) -> FieldFact | None:
        """The counts of the same field in the accepted Run before."""
        # By id and not by position: a revised source may have its fields in another order.
        now = self.field(at)
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
        """The kept page as evidence."""
        page = self.page
        if page is None:
            return []
        title = page.title[:LONGEST_TITLE] if page.title else None
        params: dict[str, Param] = {"status": page.status, "title": title}
        return [Problem("evidence.page", params, page.number, page.final_url)]

    def previous_items(self) -> list[Problem]:
        """The number of items in the accepted Run before, as evidence."""
        if not self.previous_pages:
            return [Problem("evidence.never_accepted")]
        pages = self.previous_pages
        return [fact("evidence.items_before", items=items(pages), pages=len(pages))]


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


def matched(pages: Sequence[PageFact], at: int) -> int:
    """The number of items, on all pages, on which the read of a field matched."""
    return sum(page["matches"][at] for page in pages)
