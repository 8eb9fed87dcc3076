"""The windows of all pages, asked four at a time, in an order that no answer's time changes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from livedata.model.research.answers import PageText
from livedata.model.research.recipe import TablePlan
from livedata.model.run import ResearchStop
from livedata.research.asking.budget import LIMITS, Budget, Cost, Reached
from livedata.research.asking.prompts import rows_question
from livedata.research.asking.questions import AskedQuestion, keep_refusal, prepare
from livedata.research.asking.windows import Window
from livedata.research.journal import Journal, fact
from livedata.research.page import ExtractedPage, PagePart, WindowAnswer, WindowExtractor
from livedata.research.ports import Model, Question

AT_ONCE = 4
"""Windows that are asked at one time."""
_IN_A_ROW = 3
"""Calls that nobody answered, after which no more are made."""
_EMPTY_PAGE = PageText("", "", 200, "", "", [], "", 0)


def smallest_question(plan: TablePlan) -> Question:
    """No question about a page is shorter."""
    return rows_question(plan, _EMPTY_PAGE, Window(0, 0), ())


class _Slot(Struct):
    """A window that was begun: its part, the worst that it may cost, and its answer to come."""

    part: PagePart
    window: Window
    worst: Cost
    task: asyncio.Task[WindowAnswer]


class Extraction:
    """Asks for the rows of pages, within the budget, until the model fails for good.

    The nth window begins only after the windows up to n - 4 have ended, and whatever is decided
    then is decided by these alone: so an answer that comes early or late changes nothing.
    """

    def __init__(
        self, plan: TablePlan, model: Model, journal: Journal, budget: Budget, spent: Cost
    ) -> None:
        self._plan = plan
        self._extractor = WindowExtractor(plan, model, journal)
        self._smallest = budget.worst(smallest_question(plan), 1)
        self._model = model
        self._journal = journal
        self._budget = budget
        self._slots: list[_Slot] = []
        self._settled = 0
        self._to_halve: list[tuple[PagePart, Window]] = []
        self._further: list[PagePart] = []
        self._unanswered = 0
        self.cost = spent
        self.complaint = ""
        self.limit: Reached | None = None
        self._day_is_over: Reached | None = None
        self.stop: ResearchStop | None = None
        self.over: Literal["deadline", "cancelled"] | None = None

    async def has_room(self, *, maybe_known: bool) -> bool:
        """Whether a page might still be extracted; one whose answers may be known costs nothing."""
        if maybe_known:
            return True
        limit = await self._exceeded(self._smallest)
        self.limit = self.limit or limit
        return limit is None

    async def extract(self, page: ExtractedPage) -> None:
        """Begin the first part of a page, after the halves of earlier ones."""
        first, *further = page.parts
        # These wait for the first parts of all pages: a long page must not use up the budget alone.
        self._further += further
        await self._halve()
        await self._begin(first, first.windows)

    async def finish(self) -> None:
        """Wait for all that was begun, then go on with what the pages have further on."""
        await self._end()
        for part in self._further:
            await self._halve()
            if part.page.lost or self.over is not None:
                part.lost = True
            else:
                await self._begin(part, part.windows)
        await self._end()

    async def abandon(self) -> None:
        """Let go of all that was begun."""
        tasks = [slot.task for slot in self._slots]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _end(self) -> None:
        """Wait for all that was begun, and ask what is still to be halved."""
        await self._settle(len(self._slots))
        while self._to_halve:
            await self._halve()
            await self._settle(len(self._slots))

    async def _halve(self) -> None:
        to_halve, self._to_halve = self._to_halve, []
        for part, window in to_halve:
            await self._begin(part, part.page.halves(window))

    async def _begin(self, part: PagePart, cut: Sequence[Window]) -> None:
        """Begin windows of a part all together, or none of them."""
        if part.lost:
            return
        page = part.page
        questions = [self._question(page, window) for window in cut]
        asked = [await prepare(self._journal, self._model, each) for each in questions]
        admitted = None if self.stop is not None else await self._admit(asked)
        if admitted is None:
            await self._lose(part)
            return
        for window, each in zip(cut, admitted, strict=True):
            await self._settle(len(self._slots) - AT_ONCE + 1)
            if self.stop is not None:
                part.lost = True
                return
            answer = asyncio.create_task(self._extractor.answer(each, page, window))
            self._slots.append(_Slot(part, window, self._worst(each), answer))

    async def _admit(self, asked: Sequence[AskedQuestion]) -> Sequence[AskedQuestion] | None:
        """The questions with as many requests as fit; None if even one each does not fit."""
        limit: Reached | None = None
        for requests in (2, 1):
            admitted = [each.with_requests(requests) for each in asked]
            limit = await self._exceeded(sum(map(self._worst, admitted), Cost()))
            if limit is None:
                return admitted
        self.limit = self.limit or limit
        return None

    async def _exceeded(self, cost: Cost) -> Reached | None:
        """The limit that a cost would exceed, by what all earlier windows have really cost."""
        if self._day_is_over is not None and cost.tokens:
            return self._day_is_over
        waiting = sum((slot.worst for slot in self._slots[self._settled :]), Cost())
        # If their worst fits, then what they come to fits too: nobody has to wait for them.
        if self._budget.exceeded(self.cost + waiting + cost) is None:
            return None
        await self._settle(len(self._slots))
        return self._budget.exceeded(self.cost + cost)

    async def _settle(self, count: int) -> None:
        """Wait until so many windows have ended, and judge them in the order they began in."""
        while self._settled < count:
            slot = self._slots[self._settled]
            answer = await slot.task
            self._settled += 1
            self._judge(slot, answer)

    def _judge(self, slot: _Slot, answer: WindowAnswer) -> None:
        part = slot.part
        if answer.usage is not None:
            self.cost += self._budget.actual(answer.usage, slot.worst)
            self._unanswered = self._unanswered + 1 if answer.code == "model_unavailable" else 0
        if answer.code in {"model_auth", "model_unavailable"}:
            self.complaint = answer.detail
        spent = LIMITS.get(answer.code or "")
        if spent is not None:
            # Another Run of the owner has used up the day meanwhile.
            self._day_is_over = Reached(spent, of_day=True)
            self.limit = self.limit or self._day_is_over
        self.over = self.over or answer.over
        if answer.code == "model_auth":
            self.stop = self.stop or "model_auth"
        elif self._unanswered == _IN_A_ROW:
            self.stop = self.stop or "model_unavailable"
        if answer.halve:
            self._to_halve.append((part, slot.window))
        elif answer.rows is None:
            part.lost = True
        else:
            part.take(slot.window, answer)

    async def _lose(self, part: PagePart) -> None:
        """Tell that windows of a part were not asked for; of a further one its page tells it."""
        part.lost, page = True, part.page
        if page.lost and self.stop is None and self.limit is not None:
            step = self._journal.begin("extract", page.url)
            final_url = page.text.final_url
            kept = keep_refusal(self._journal, self._model, final_url, self.limit.rule, step)
            step.facts.append(fact(self.limit.rule, kept, url=page.url))
            await self._journal.end(step, "failed")

    def _question(self, page: ExtractedPage, window: Window) -> Question:
        return rows_question(self._plan, page.text, window, page.links_in(window))

    def _worst(self, asked: AskedQuestion) -> Cost:
        question = asked.question
        return Cost() if asked.recalled else self._budget.worst(question, question.requests)
