"""Keeps what a research Run finds in the store, as it goes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import ParamSpec, Protocol, TypeVar

from livedata.model import ids
from livedata.model.errors import LostLease, StoreUnavailable
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import ResearchStep
from livedata.model.run import Phase
from livedata.research.ports import Place
from livedata.services.attempts import Attempt
from livedata.services.research import recording
from livedata.store.database.store import Store

WAIT = 0.5
P = ParamSpec("P")
R = TypeVar("R")


class Ask(Protocol):
    """Calls an act of the store without holding the loop up."""

    def __call__(self, act: Callable[P, R], *values: P.args, **named: P.kwargs) -> Awaitable[R]:
        """What the act answers."""


class StoreRecorder:
    """Records an attempt; one that has lost its Run sets `cancel`, and raises LostLease.

    `fresh` says that no answer is taken from before the Run. `tell` hears of each step that begins
    or ends. `recipe` is that of the attempt, and once it is pinned the one with its plan.
    """

    def __init__(
        self,
        store: Store,
        attempt: Attempt,
        ask: Ask,
        cancel: asyncio.Event,
        tell: Callable[[ResearchStep], None],
        *,
        fresh: bool = False,
    ) -> None:
        self._store = store
        self._attempt = attempt
        self._ask = ask
        self._cancel = cancel
        self._tell = tell
        self._fresh = fresh
        self.recipe = attempt.recipe

    def begin(self, phase: Phase, url: str | None = None) -> ResearchStep:
        """A step that begins now."""
        step = ResearchStep(id=self.new_id(), phase=phase, started=ids.now(), url=url)
        self._tell(step)
        return step

    def new_id(self) -> str:
        """A new id."""
        return ids.format_uuid(ids.new_id())

    async def end(self, step: ResearchStep) -> None:
        """Keep a step that has ended, with all that it recorded. Raises LostLease."""
        step.ended = max(ids.now(), step.started)
        await self.kept(recording.record, self._store, self._attempt, step)
        self._tell(step)

    async def recall(
        self,
        kind: str,
        request_digest: str,
        place: Place,  # noqa: ARG002  (the port's shape)
    ) -> str | None:
        """The body of a valid answer to just this, if the dataset had one within 30 days."""
        return await self.kept(
            recording.recall, self._store, self._attempt, kind, request_digest, fresh=self._fresh
        )

    async def pin(self, plan: str) -> ResearchRecipe:
        """Pin the plan of the first Run: the recipe with its fields. Raises LostLease."""
        self.recipe = await self.kept(recording.pin, self._store, self._attempt, plan)
        return self.recipe

    async def kept(self, act: Callable[P, R], *values: P.args, **named: P.kwargs) -> R:
        """What an act of the store answers, once it does. Raises LostLease."""
        while True:
            try:
                return await self._ask(act, *values, **named)
            except LostLease:
                self._cancel.set()
                raise
            except StoreUnavailable:
                # A store that is away for a moment costs no Run: nothing of an answer is lost, and
                # if it is away for long, the lease is.
                if self._cancel.is_set():
                    raise
            await asyncio.sleep(WAIT)
