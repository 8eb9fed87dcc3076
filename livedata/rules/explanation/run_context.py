"""Everything that the causes of a Run's end are looked for in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from livedata.model.diagnosis.explanation import Cause, FailedPage
from livedata.model.diagnosis.recorded_run import FieldFact, PageFact, RecordedRun, RunFacts
from livedata.rules.explanation.outline import Outline
from livedata.rules.explanation.suggest_selectors import KnownValues

PREVIEW: Final = (
    "See what each selector finds now: livedata dataset source {name} > source.toml and livedata "
    "preview source.toml"
)
REVISE: Final = (
    "Mend the source and keep rows and history: livedata dataset revise {name} source.toml"
)
PAGE: Final = "Look at the page as it was: livedata runs explain {run} --page"
AGAIN: Final = "Run again: livedata run {name}"


def cause(
    code: str, message: str, evidence: Sequence[str] = (), next_: Sequence[str] = ()
) -> Cause:
    """A cause; in `next_` {name} and {run} stand for the dataset and the Run."""
    return {"code": code, "message": message, "evidence": list(evidence), "next": list(next_)}


@dataclass(frozen=True)
class RunContext:
    """A Run, the accepted Run before it (None where there was none), and the page that is kept."""

    recorded: RecordedRun
    before: RunFacts | None
    page: FailedPage | None

    @property
    def facts(self) -> RunFacts:
        """What this Run recorded."""
        return self.recorded.facts

    @property
    def rule(self) -> str:
        """The rule that ended the Run."""
        return self.recorded.stop["rule"] if self.recorded.stop else ""

    @property
    def source(self) -> Mapping[str, Any]:
        """The declaration; empty where it is not one."""
        found = self.recorded.source
        return found if isinstance(found, dict) else {}

    @property
    def pagination(self) -> Mapping[str, Any]:
        """How the pages follow each other."""
        found: Mapping[str, Any] = self.source.get("pagination", {})
        return found

    @property
    def pages(self) -> Sequence[PageFact]:
        """The pages that were read."""
        return self.facts.get("pages", [])

    @property
    def old_pages(self) -> Sequence[PageFact]:
        """The pages of the accepted Run before."""
        return (self.before or {}).get("pages", [])

    @property
    def has_failed(self) -> frozenset[str]:
        """The Checks that failed, ``present`` without its field."""
        checks = self.recorded.run["checks"]
        return frozenset(one["checkId"].partition(":")[0] for one in checks if not one["passed"])

    @cached_property
    def outline(self) -> Outline | None:
        """The elements of the kept page."""
        return Outline(self.page.markup) if self.page is not None else None

    @cached_property
    def known(self) -> Sequence[KnownValues]:
        """Per field of the source, what the rows of the table had in it."""
        columns = {column["name"]: column for column in self.recorded.columns}
        rows = [row for row in self.recorded.rows.values() if row.presence == "present"]
        found = []
        for declared in self.source.get("fields", []):
            column = columns[declared["name"]]
            values = [
                cell.value for row in rows for cell in row.cells if cell.field == column["id"]
            ]
            attribute = declared["read"].get("attribute")
            found.append(KnownValues(column["name"], column["type"], attribute, values))
        return found

    def field(self, at: int) -> FieldFact | None:
        """What became of a field's cells in this Run."""
        fields = self.facts.get("fields", [])
        return fields[at] if at < len(fields) else None

    def old_field(self, at: int) -> FieldFact | None:
        """What became of them in the accepted Run before."""
        now = self.field(at)
        fields = (self.before or {}).get("fields", [])
        return next((one for one in fields if now and one["id"] == now["id"]), None)

    def told_page(self) -> list[str]:
        """The kept page as evidence."""
        if self.page is None:
            return []
        title = f", titled {self.page.title[:80]!r}" if self.page.title else ""
        return [f"page {self.page.number}: {self.page.final_url}, status {self.page.status}{title}"]

    def items_then(self) -> list[str]:
        """How many items there were before, as evidence."""
        if not self.old_pages:
            return ["no Run was accepted before, so there is nothing to compare with"]
        items = [page["items"] for page in self.old_pages]
        return [f"the last accepted Run found {sum(items)} items on {len(items)} pages"]


def items(pages: Sequence[PageFact]) -> int:
    """The items of all pages."""
    return sum(page["items"] for page in pages)


def links(pages: Sequence[PageFact]) -> int:
    """The matches of the next-link or end selector on all pages."""
    return sum(page.get("links", 0) for page in pages)


def matched(pages: Sequence[PageFact], at: int) -> int:
    """The items on which the read of a field matched, on all pages."""
    return sum(page["matches"][at] for page in pages)
