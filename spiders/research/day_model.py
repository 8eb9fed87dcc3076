"""A model that is asked only what the budget of its owner's day leaves room for."""

from __future__ import annotations

from livedata.model.ids import OwnerName
from livedata.model.research.answers import CallUsage, Failed, ModelAnswer
from livedata.model.research.settings import ResearchSettings
from livedata.research.asking.budget import with_worst_case, worst_case
from livedata.research.ports import Model, Question
from livedata.services.research import days
from livedata.store.database.store import Store
from spiders.research.calls import ModelBehind
from spiders.research.recorder import Ask


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
