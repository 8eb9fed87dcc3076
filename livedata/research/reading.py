"""Pages read one after the other, while the windows of those before are extracted: rules 14.3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from livedata.extraction.page_lines import pieces
from livedata.extraction.pagination import canonical_url
from livedata.model.research.answers import PageText, Unread
from livedata.model.research.outcome import PageOutcome, ResearchedPage
from livedata.model.research.record import ResearchFact, ResearchStep
from livedata.model.run import REFUSALS
from livedata.research.asking.windows import Window
from livedata.research.extraction import Extraction
from livedata.research.journal import Journal, fact, request_digest
from livedata.research.page import ExtractedPage
from livedata.research.ports import RunOver, Sites
from livedata.research.sources import ResearchSource
from livedata.rules.research.earlier_rows import PageView

_DEAD = (404, 410)


class RecordedPage(Struct, frozen=True, rename="camel"):
    """The body of a page that was read: all of it but the moment, so that it is kept once.

    Of a long page it has a piece of the text and of the links; the next body goes on.
    """

    url: str
    final_url: str
    status: int
    title: str
    text: str
    links: list[tuple[str, str]]
    digest: str
    cut: bool


class Visit(Struct):
    """A source, and what became of it: a page, why there is none, or nothing yet.

    `fault` is the code of the reason why it was not read, or why its page counts for nothing.
    """

    number: int
    source: ResearchSource
    page: ExtractedPage | None = None
    unread: Unread | None = None
    fault: str | None = None
    asked: bool = False

    @property
    def outcome(self) -> PageOutcome:
        """What the page counts as (rules 14.4)."""
        if self.unread is not None:
            return "unreadable"
        if self.page is None:
            return "unattempted"
        return "unknown" if self.page.lost else "checked"

    def result(self) -> ResearchedPage:
        """The page as the Run tells of it."""
        url = self.source.url
        if self.page is None:
            unread = self.unread
            return ResearchedPage(
                self.number,
                url,
                url,
                self.outcome,
                status=None if unread is None else unread.status,
                title=self.source.title,
                refused=unread is not None and unread.reason in REFUSALS,
            )
        text = self.page.text
        return ResearchedPage(
            self.number,
            url,
            text.final_url,
            self.outcome,
            status=text.status,
            title=text.title,
            digest=text.digest,
            at=text.at,
            cut=self.page.cut,
        )

    def view(self) -> PageView:
        """What the page is good for as a witness of earlier rows."""
        page, unread = self.page, self.unread
        if page is None or page.lost:
            dead = unread is not None and unread.status in _DEAD
            return PageView(self.number, self.source.url, dead=dead)
        return PageView(
            self.number,
            page.text.final_url,
            words=page.shown.words,
            silent_proof=not page.cut,
            offered=page.names,
        )


class SourceReader:
    """Reads sources in their order, as many as a Run may; `asked` are the addresses asked for."""

    def __init__(
        self,
        sites: Sites,
        journal: Journal,
        extraction: Extraction,
        most: int,
        asked_before: Sequence[str],
    ) -> None:
        self._sites = sites
        self._journal = journal
        self._extraction = extraction
        self._most = most
        self._read: set[str] = set()
        # Over all attempts: one that is started again reads the pages of the last once more.
        self.asked = set(asked_before)
        self._asked_before = frozenset(asked_before)
        self.over: Literal["deadline", "cancelled"] | None = None

    async def read(self, visits: Sequence[Visit]) -> None:
        """Read what may be read, and begin to extract it."""
        for visit in visits:
            visit.fault = self._fault(visit.source)
            if visit.fault is not None:
                continue
            if self._extraction.stop is not None:
                return
            if not await self._extraction.has_room(maybe_known=self._was_read(visit.source)):
                continue
            try:
                await self._visit(visit)
            except RunOver as over:
                self.over = over.rule
                return

    def _was_read(self, source: ResearchSource) -> bool:
        return source.url in self._asked_before or source.origin == "known_source"

    def _fault(self, source: ResearchSource) -> str | None:
        if source.fault is not None:
            return source.fault
        if canonical_url(source.url) in self._read:
            return "duplicate_url"
        room = len(self.asked) < self._most or source.url in self.asked
        return None if room else "page_budget"

    async def _visit(self, visit: Visit) -> None:
        url = visit.source.url
        step = self._journal.begin("read", url)
        step.facts += [
            *_source_facts(visit.source, step.id),
            fact("page_selected", step.id, url=url),
        ]
        async with self._journal.cancelled_if_over(step):
            answer = await self._sites.read(url)
        self.asked.add(url)
        visit.asked = True
        if isinstance(answer, Unread):
            visit.unread = step.failure = answer
            kept = self._journal.keep(step, "page.failure", url, answer, request_digest(url))
            step.facts.append(fact(f"read_{answer.reason}", kept, url=url))
            await self._journal.end(step, "failed")
            return
        visit.page = page = self._keep(visit, answer, step)
        await self._journal.end(step)
        if page is not None:
            await self._extraction.extract(page)

    def _keep(self, visit: Visit, text: PageText, step: ResearchStep) -> ExtractedPage | None:
        """The page, recorded; None if it turned out to be one that was read already."""
        url = visit.source.url
        # A duplicate is recorded too, since a replay asks for this address as well.
        kept = self._record(url, text, step)
        step.facts.append(fact("page_read", kept, url=url))
        if text.cut:
            step.facts.append(fact("text_cut", kept, url=url))
        final = canonical_url(text.final_url)
        if final in self._read:
            visit.fault = "duplicate_url"
            return None
        self._read |= {final, canonical_url(url)}
        return ExtractedPage(visit.number, url, text, kept)

    def _record(self, url: str, text: PageText, step: ResearchStep) -> str:
        """The id of the artifact of a page; a long one has several, and it is the first."""
        kept: list[str] = []
        start = 0
        for piece in pieces(text):
            window = Window(start, start + len(piece.text))
            body = RecordedPage(
                *(url, text.final_url, text.status, text.title, piece.text, piece.links),
                *(text.digest, text.cut),
            )
            place = (text.final_url, body, request_digest(url), window.label(text.text))
            kept.append(self._journal.keep(step, "page.text", *place))
            start = window.end
        return kept[0]


def _source_facts(source: ResearchSource, evidence: str) -> list[ResearchFact]:
    """How a page came to be read, and which rows rest on it; a search has told of its results."""
    facts = [
        fact("known_source", evidence, url=source.url, entity=name, key=key)
        for key, name in source.rows
    ]
    if source.origin == "explicit_source" or (source.origin == "known_source" and not facts):
        facts.insert(0, fact(source.origin, evidence, url=source.url))
    return facts


def unread_facts(visit: Visit, evidence: str) -> list[ResearchFact]:
    """How a page is known that was not asked for, and why a page is not read, if that is known."""
    known = [] if visit.asked else _source_facts(visit.source, evidence)
    # A Run that ended early has not come to all of them.
    fault = visit.fault or visit.source.fault
    return known if fault is None else [*known, fact(fault, evidence, url=visit.source.url)]
