"""Calls to a model and a search: none begins once the Run is over, or the owner's day is used."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from livedata.model.ids import OwnerName
from livedata.model.research.answers import CallUsage, Failed, ModelAnswer, SearchAnswer
from livedata.model.research.settings import ResearchSettings
from livedata.research.asking.budget import with_worst_case, worst_case
from livedata.research.ports import Model, Prices, Question, RunOver, Search, SearchQuery
from livedata.services.research import days
from livedata.store.database.store import Store
from spiders.research.recorder import Ask
from spiders.session import Deadline

GRACE = 20.0
"""The seconds that a call under way has to end in, once the time of the Run is over.

Less than those after which a crawl counts as stuck.
"""
Answer = TypeVar("Answer")


def check(deadline: Deadline) -> None:
    """Raise RunOver if nothing may begin any more."""
    if deadline.over.is_set() or deadline.cancelled:
        raise over(deadline)


def over(deadline: Deadline) -> RunOver:
    """Why a Run that is over is so."""
    return RunOver("cancelled" if deadline.cancelled else "deadline")


class ModelBehind:
    """A model that is asked by way of this one."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    @property
    def prices(self) -> Prices | None:
        """What it costs; None if nobody knows."""
        return self._model.prices


class BoundedModel(ModelBehind):
    """A model that is asked nothing after the end of a Run."""

    def __init__(self, model: Model, deadline: Deadline) -> None:
        super().__init__(model)
        self._deadline = deadline

    async def ask(self, question: Question) -> ModelAnswer:
        """The answer, or why there is none. Raises RunOver."""
        check(self._deadline)
        return await _within(self._deadline, self._model.ask(question))


class BoundedSearch:
    """A search that is asked nothing after the end of a Run."""

    def __init__(self, search: Search, deadline: Deadline) -> None:
        self._search = search
        self._deadline = deadline

    @property
    def address(self) -> str:
        """The address of the provider."""
        return self._search.address

    async def search(self, query: SearchQuery) -> SearchAnswer:
        """The results, or why there are none. Raises RunOver."""
        check(self._deadline)
        return await _within(self._deadline, self._search.search(query))


async def _within(deadline: Deadline, call: Coroutine[Any, Any, Answer]) -> Answer:
    """What a call answers. Raises RunOver if it is cancelled, or not soon done after the end."""
    answering = asyncio.ensure_future(call)
    ending = asyncio.ensure_future(_end(deadline))
    try:
        await asyncio.wait({answering, ending}, return_when=asyncio.FIRST_COMPLETED)
        if answering.done():
            return answering.result()
        raise RunOver(over(deadline).rule, cut_off=True)
    finally:
        ending.cancel()
        answering.cancel()
        # Awaited, because no call may still be under way once its Run has ended.
        await asyncio.gather(answering, ending, return_exceptions=True)


async def _end(deadline: Deadline) -> None:
    await deadline.over.wait()
    # Its answer is paid for, so a call ends if only the time is over; a person who cancels waits.
    if not deadline.cancelled:
        await deadline.cancelled_within(GRACE)


class DayModel(ModelBehind):
    """A model for the Runs of an owner; what each call may take is set aside before it begins."""

    def __init__(
        self, model: Model, store: Store, owner: OwnerName, settings: ResearchSettings, ask: Ask
    ) -> None:
        super().__init__(model)
        self._store = store
        self._owner = owner
        self._settings = settings
        self._ask = ask

    async def ask(self, question: Question) -> ModelAnswer:
        """The answer; nobody is asked if the owner's day leaves no room for what it may take."""
        worst = worst_case(question, question.requests, self.prices)
        most = (worst.tokens, worst.usd)
        kept = await self._ask(days.set_aside, self._store, self._owner, self._settings, *most)
        if not isinstance(kept, days.SetAside):
            nothing = CallUsage("", self.name, requests=0, input_tokens=0, output_tokens=0, usd=0.0)
            return ModelAnswer(Failed(kept), nothing)
        answer = await self._model.ask(question)
        took = with_worst_case(answer.usage, question, self.prices)
        tokens = took.most_tokens or (took.input_tokens or 0) + (took.output_tokens or 0)
        await self._ask(days.settle, self._store, kept, tokens, took.most_usd or took.usd or 0.0)
        return answer
