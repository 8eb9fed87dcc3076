"""The model of the settings, whose client is imported with the first question."""

from __future__ import annotations

import asyncio
from importlib import import_module

import httpx2

from livedata.model.research.answers import ModelAnswer
from livedata.model.research.settings import ResearchSettings
from livedata.research.ports import Model, Prices, Question
from livedata.research.providers.prices import prices_of

CLIENT = "livedata.research.providers.openai"


class ModelOnDemand:
    """The model that the operator set. A Run of unchanged pages asks nothing, and imports nothing.

    The client takes two seconds and 60 MiB to import.
    """

    def __init__(self, settings: ResearchSettings, client: httpx2.AsyncClient) -> None:
        self._settings = settings
        self._client = client
        self._importing = asyncio.Lock()
        self._model: Model | None = None

    @property
    def name(self) -> str:
        """The name of the model, as the operator set it."""
        return self._settings.model

    @property
    def prices(self) -> Prices | None:
        """What the operator says that it costs."""
        return prices_of(self._settings)

    async def ask(self, question: Question) -> ModelAnswer:
        """The valid answer as JSON, or why there is none."""
        async with self._importing:
            if self._model is None:
                self._model = await self._imported()
        return await self._model.ask(question)

    async def _imported(self) -> Model:
        # In a thread, because other Runs of the process go on meanwhile.
        await asyncio.to_thread(import_module, CLIENT)
        from livedata.research.providers.openai import OpenAIModel

        return OpenAIModel(self._settings, self._client)
