"""A page that was read: its windows are answered, and it has what they gave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal

import msgspec
from msgspec import Struct

from livedata.model.research.answers import CallUsage, OfferedRow, OfferedRows, PageText
from livedata.model.research.recipe import TablePlan
from livedata.model.research.record import ResearchFact, RowCounts
from livedata.research.asking.prompts import MOST_ROWS
from livedata.research.asking.questions import Answered, AskedQuestion, ask
from livedata.research.asking.windows import SPARSE, Window, halves, parts
from livedata.research.journal import Journal, fact
from livedata.research.ports import Model, RunOver
from livedata.rules.research.fold import fold
from livedata.rules.research.identity import fold_name
from livedata.rules.research.offers import SearchablePage, SupportedRow, judge_row
from livedata.rules.research.quotes import PageWords
from livedata.rules.research.reconciliation import Offer


class JudgedRow(Struct, frozen=True):
    """A supported row, and the ids by which facts speak of it."""

    row: SupportedRow
    candidate: str
    evidence: str


class WindowAnswer(Struct, frozen=True):
    """What became of a window: its supported rows, or None with the code of the reason.

    `halve` says that its halves are to be asked; `capped` that there are more rows in it, which
    nobody can ask for; `over` that it was not asked any more. `names` are those of all rows that
    were offered, supported or not. `usage` is None if no call was made. `detail` are the words that
    came with a failure.
    """

    rows: list[JudgedRow] | None
    code: str | None = None
    halve: bool = False
    capped: bool = False
    names: frozenset[str] = frozenset()
    usage: CallUsage | None = None
    over: Literal["deadline", "cancelled"] | None = None
    detail: str = ""


class PagePart:
    """A part of a page: it counts as a whole or not at all."""

    def __init__(self, page: ExtractedPage, windows: Sequence[Window]) -> None:
        self.page = page
        self.windows = windows
        self.lost = False
        self.answers: dict[Window, WindowAnswer] = {}

    def take(self, window: Window, answer: WindowAnswer) -> None:
        """Keep what a window gave."""
        self.answers[window] = answer
        self.page.names |= answer.names
        self.page.capped |= answer.capped


class ExtractedPage:
    """A page while it is extracted; `url` is as it was asked for.

    Without its first part it counts for nothing; without another one it counts as cut.
    """

    def __init__(self, number: int, url: str, text: PageText, artifact: str) -> None:
        self.number = number
        self.url = url
        self.text = text
        self.artifact = artifact
        self.capped = False
        self.names: frozenset[str] = frozenset()
        self.parts = [PagePart(self, windows) for windows in parts(text.text)]

    @property
    def lost(self) -> bool:
        """Whether the page counts for nothing."""
        return self.parts[0].lost

    @property
    def is_short(self) -> bool:
        """Whether a part of the page counts for nothing."""
        return any(part.lost for part in self.parts)

    @property
    def cut(self) -> bool:
        """Whether there may be more on the page than what was read of it."""
        return self.text.cut or self.capped or self.is_short

    @cached_property
    def shown(self) -> SearchablePage:
        """The page with its words, in which quotes are looked for."""
        return SearchablePage(self.text, PageWords(self.text.text))

    @cached_property
    def _links(self) -> list[tuple[int, str, str, str]]:
        links = enumerate(self.text.links)
        return [(number, text, address, fold(text)) for number, (text, address) in links]

    def links_in(self, window: Window) -> list[tuple[int, str, str]]:
        """The links whose words stand in a window, with their numbers on the page."""
        if not self._links:
            return []
        words = fold(self.text.text[window.start : window.end])
        return [
            (n, text, address)
            for n, text, address, folded in self._links
            if folded and folded in words
        ]

    def halves(self, window: Window) -> list[Window]:
        """The halves of a window of this page."""
        return halves(self.text.text, window)

    def offers(self) -> list[Offer]:
        """The rows of a page that was extracted whole, each once, in the order of the page."""
        return [
            Offer(self.number, number, each.row, each.candidate, each.evidence)
            for number, each in enumerate(self._rows(), 1)
        ]

    def _rows(self) -> Iterator[JudgedRow]:
        for part in self.parts:
            # Answers come in any order, but a replay has to meet the rows in the same one.
            for window in () if part.lost else sorted(part.answers):
                yield from part.answers[window].rows or ()


class WindowExtractor(Struct, frozen=True):
    """What answers windows: the plan, the model, and where it is recorded."""

    plan: TablePlan
    model: Model
    journal: Journal

    async def answer(
        self, asked: AskedQuestion, page: ExtractedPage, window: Window
    ) -> WindowAnswer:
        """What a window gives; each step is recorded at once."""
        step = self.journal.begin("extract", page.url)
        try:
            answered = await ask(self.journal, self.model, asked, step)
        except RunOver as over:
            step.facts.append(fact(over.rule, step.id, url=page.url))
            await self.journal.end(step, "cancelled")
            return WindowAnswer(None, over=over.rule)
        reading = _read(answered, page, window)
        step.facts += _extraction_facts(reading, answered, page)
        if reading.rows is None:
            await self.journal.end(step, "succeeded" if reading.halve else "failed")
            return WindowAnswer(
                None,
                reading.code,
                halve=reading.halve,
                usage=answered.usage,
                detail=answered.detail,
            )
        await self.journal.end(step)
        return await self._validate(reading, answered, page)

    async def _validate(
        self, reading: _Reading, answered: Answered, page: ExtractedPage
    ) -> WindowAnswer:
        step = self.journal.begin("validate", page.url)
        supported = []
        for number, row in enumerate(reading.rows or ()):
            judged = judge_row(row, page.shown, self.plan)
            candidate = _candidate(answered, number)
            step.facts += self._validation_facts(row, judged, candidate, page)
            if isinstance(judged, SupportedRow):
                supported.append(JudgedRow(judged, candidate, answered.artifact))
        offered = len(reading.rows or ())
        step.counts = RowCounts(offered, offered - len(supported), len(supported))
        await self.journal.end(step)
        names = (fold_name(row.name, self.plan.kind) for row in reading.rows or ())
        return WindowAnswer(
            supported,
            capped=reading.capped,
            names=frozenset(filter(None, names)),
            usage=answered.usage,
        )

    def _validation_facts(
        self, row: OfferedRow, judged: SupportedRow | str, candidate: str, page: ExtractedPage
    ) -> Iterator[ResearchFact]:
        about = {"url": page.url, "entity": _called(row), "candidate": candidate}
        artifact = candidate.rpartition("/")[0]
        if not isinstance(judged, SupportedRow):
            yield fact(judged, artifact, **about)
            return
        yield fact("row_supported", artifact, **about)
        for attribute, cell in zip(self.plan.attributes, judged.cells, strict=True):
            if cell.fault is not None:
                yield fact(cell.fault, artifact, field=attribute.field.id, **about)


class _Reading(Struct, frozen=True):
    """An answer as JSON: its rows, or why there are none."""

    rows: Sequence[OfferedRow] | None
    code: str | None = None
    halve: bool = False
    capped: bool = False


def _read(answered: Answered, page: ExtractedPage, window: Window) -> _Reading:
    can_be_halved = bool(page.halves(window))
    if answered.answer is None:
        cut = answered.failure == "model_output_cut"
        return _Reading(None, answered.failure, halve=cut and can_be_halved)
    try:
        offered = msgspec.json.decode(answered.answer, type=OfferedRows)
    except msgspec.ValidationError:
        return _Reading(None, "model_invalid_output")
    if len(offered.rows) < MOST_ROWS and not offered.has_more:
        return _Reading(offered.rows)
    # A model that always says that there is more must not be asked about ever smaller pieces.
    is_full = len(offered.rows) >= MOST_ROWS
    if can_be_halved and (is_full or window.end - window.start >= SPARSE):
        return _Reading(None, halve=True)
    return _Reading(offered.rows[:MOST_ROWS], capped=True)


def _extraction_facts(
    reading: _Reading, answered: Answered, page: ExtractedPage
) -> Iterator[ResearchFact]:
    artifact = answered.artifact
    if answered.usage is None:
        yield fact("answer_reused", artifact, url=page.url)
    if reading.code is not None:
        yield fact(reading.code, artifact, url=page.url)
    if reading.halve:
        yield fact("window_split", artifact, url=page.url)
    if reading.capped:
        yield fact("row_cap_reached", artifact, url=page.url)
    if reading.rows is not None and not reading.rows:
        yield fact("no_rows_offered", artifact, url=page.url)
    for number, row in enumerate(reading.rows or ()):
        candidate = _candidate(answered, number)
        yield fact("row_offered", artifact, url=page.url, entity=_called(row), candidate=candidate)


def _candidate(answered: Answered, number: int) -> str:
    """The id of an offered row: its answer, and its place there from 1."""
    return f"{answered.artifact}/{number + 1}"


def _called(row: OfferedRow) -> str:
    """The name of an offered row, no longer than one can be asked for."""
    return " ".join(row.name.split())[:200]
