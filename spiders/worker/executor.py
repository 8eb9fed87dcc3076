"""Executes queued Runs in this process: leases kept, one Run of a site at a time."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, ParamSpec, TypeAlias, TypeVar

from msgspec import Struct, field

from livedata.model.errors import Damaged, LivedataError, LostLease, NotYet, StoreUnavailable
from livedata.model.harvest import Harvest, PageRead
from livedata.model.ids import RunId
from livedata.model.recipe import Kind, Recipe
from livedata.model.research.settings import ResearchSettings
from livedata.services import attempts, interruptions, runs
from livedata.services.attempts import Attempt, Claim
from livedata.services.commit import AcceptancePolicy
from livedata.services.runs import Queued
from livedata.store.database.backend import NewerStore
from livedata.store.database.store import Store
from spiders.crawl.engine import CrawlEngine
from spiders.crawl.job import CrawlJob
from spiders.crawl.settings import FetchConfig
from spiders.worker.loop import around, watched
from spiders.worker.running import Ending, OnProgress, Running, Stage, clock

if TYPE_CHECKING:
    from livedata.model.research.outcome import ResearchOutcome

NOTED = 5.0
"""After so many seconds others may know how many pages a Run has read meanwhile."""
HEARD = 2.0
"""So many seconds after a person has cancelled a Run elsewhere it ends here, at the latest."""
WAIT = 0.5
AWAY = 1.0
"""After about so many seconds a store that was away is asked again to end a Run."""

P = ParamSpec("P")
R = TypeVar("R")
Outcome = TypeVar("Outcome", Harvest, "ResearchOutcome")
Finish: TypeAlias = Callable[[Store, Attempt, Outcome, AcceptancePolicy], str]


class Executor(Struct):
    """Executes Runs until they end; `cancel` ends them, `give_back` returns them to the queue.

    `progress` is told of each page or step, while a Run waits for its turn, and when it has ended.
    """

    store: Store
    engine: CrawlEngine
    fetching: FetchConfig
    policy: AcceptancePolicy
    progress: OnProgress
    at_once: int
    """How many Runs are executed at the same time."""
    research: ResearchSettings = ResearchSettings()
    errors: dict[bytes, LivedataError] = field(default_factory=dict)
    executed: set[RunId] = field(default_factory=set)
    """The Runs that began here: others were faster with any other that was to be executed."""
    waiting_elsewhere: int = 0
    """How many Runs wait for a site to which their pages have led."""
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "store"))
    _asked: int = 0
    """So many acts of the store are not answered yet."""
    _running: dict[bytes, Running] = field(default_factory=dict)
    _stopping: bool = False
    _giving_back: bool = False

    async def ask(self, act: Callable[P, R], *values: P.args, **named: P.kwargs) -> R:
        """What an act of the store answers.

        It may wait for seconds until another process has written, and judging the page on which a
        Run stopped may take a second. The loop goes on meanwhile: pages are read, and a worker is
        not taken for stuck.
        """
        # One thread for all: acts of one process that write side by side would only wait for each
        # other, and at the lock of the file, where nobody keeps a queue.
        call = functools.partial(act, *values, **named)
        self._asked += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, call)
        finally:
            self._asked -= 1

    async def catch_up(self) -> None:
        """Wait until the store has answered what it is asked already, if anything."""
        if self._asked:
            await self.ask(lambda: None)

    async def execute(self, queue: Sequence[Queued]) -> None:
        """Execute every Run; what went wrong with one stands in ``errors``, by its id."""
        places = asyncio.Semaphore(self.at_once)
        together = [queued for queued in queue if not queued.isolated]
        async with self.heartbeats():
            await asyncio.gather(*(self._execute_in_turn(queued, places) for queued in together))
            # One of them may have taken its process down: alone it can take no other with it.
            for queued in queue:
                if queued.isolated:
                    await self._execute_in_turn(queued, places)

    @property
    def stopping(self) -> bool:
        """Whether it was told to end what it executes, and begins no more."""
        return self._stopping

    @asynccontextmanager
    async def heartbeats(self) -> AsyncIterator[None]:
        """Keep the leases of all that is executed meanwhile, and hear who cancels any of it."""
        watching = [asyncio.ensure_future(each) for each in (self._beat(), self._hear())]
        try:
            async with watched():
                yield
        finally:
            for task in watching:
                task.cancel()

    def cancel(self) -> None:
        """End every Run as cancelled."""
        self._stopping = True
        for running in self._running.values():
            running.cancel.set()

    def give_back(self) -> None:
        """Stop gracefully: every Run goes back into the queue, and its attempt does not count."""
        self._giving_back = True
        self.cancel()

    async def execute_one(self, queued: Queued, places: asyncio.Semaphore) -> bool:
        """Execute one Run if its site is free anywhere; False if it has to wait.

        What went wrong stands in ``errors``.
        """
        try:
            async with places:
                return not self._stopping and await self._tried(queued, places)
        except LivedataError as error:
            self.errors[queued.run] = error
            return True

    async def claim(self, room: int) -> tuple[Claim, float]:
        """Begin the Runs that may start now, so many at most; with a moment before their leases."""
        return await self.ask(self._claim, room)

    def _claim(self, room: int) -> tuple[Claim, float]:
        since = clock()
        return attempts.claim(self.store, room), since

    async def execute_begun(
        self, queued: Queued, attempt: Attempt, since: float, places: asyncio.Semaphore
    ) -> bool:
        """Execute an attempt that has begun, in a place that was taken for it.

        It has begun no earlier than at a moment of the clock. What went wrong stands in ``errors``.
        """
        try:
            await self._execute_attempt(queued, attempt, since, places)
        except LivedataError as error:
            self.errors[queued.run] = error
        finally:
            places.release()
        return True

    async def _execute_in_turn(self, queued: Queued, places: asyncio.Semaphore) -> None:
        """Execute one Run as soon as its site is free; a Run that waits takes no place."""
        while not await self.execute_one(queued, places):
            if self._stopping:
                await self._drop(queued)
                return
            self.progress(queued, Stage.WAITING)
            await asyncio.sleep(WAIT)
        self.progress(queued, Stage.ENDED)

    async def _drop(self, queued: Queued) -> None:
        """End a Run that was not started; one that is given back is queued already."""
        if self._giving_back:
            return
        try:
            await self.ask(runs.cancel, self.store, queued.run)
        except LivedataError as error:
            self.errors[queued.run] = error

    async def _tried(self, queued: Queued, places: asyncio.Semaphore) -> bool:
        """Whether the Run was executed, or there was nothing left to execute of it."""
        # Another Run of the site may be in progress, here or in another process.
        try:
            attempt, since = await self.ask(self._begin, queued.run)
        except NotYet:
            return False
        except Damaged as error:
            await self.ask(attempts.give_up, self.store, queued.run, error)
            raise
        if attempt is not None:
            await self._execute_attempt(queued, attempt, since, places)
        return True

    async def _execute_attempt(
        self, queued: Queued, attempt: Attempt, since: float, places: asyncio.Semaphore
    ) -> None:
        """Execute an attempt until it has ended, or was given back. Raises LivedataError."""
        self.executed.add(attempt.run)
        self._running[attempt.run] = running = Running(attempt, Ending(since))
        if self._stopping:
            # It was told to stop while the Run began.
            running.cancel.set()
        try:
            await self._by_kind[attempt.recipe.kind](queued, running, places)
        except LostLease:
            if running.cancel.lapsed:
                await self._return(attempt)
            raise
        finally:
            running.cancel.stop_watching()
            del self._running[attempt.run]

    async def _return(self, attempt: Attempt) -> None:
        """Put a Run back whose lease is over, if nobody has taken it back yet."""
        # Nothing was wrong with it; and several Runs go together when a store is away: whoever took
        # them for lost would start each of them alone.
        with suppress(StoreUnavailable, LostLease):
            await self.ask(attempts.give_back, self.store, attempt)

    def _begin(self, run: RunId) -> tuple[Attempt | None, float]:
        """An attempt, and a moment before its lease."""
        since = clock()
        return attempts.begin(self.store, run), since

    @property
    def _by_kind(
        self,
    ) -> Mapping[Kind, Callable[[Queued, Running, asyncio.Semaphore], Awaitable[None]]]:
        """What executes each kind of Run, until it has ended or was given back."""
        return {"selectors": self._crawl, "research": self._research}

    async def _crawl(self, queued: Queued, running: Running, places: asyncio.Semaphore) -> None:
        job = CrawlJob(
            Recipe.of(running.attempt.recipe),
            self.fetching.narrowed(running.attempt.only_hosts),
            running.attempt.followers,
            running.cancel,
            on_page=lambda page: self._read(queued, running, page),
            take_turn=lambda site: self._take_turn(queued, running, site, places),
        )
        harvest = await self.engine.crawl(job)
        # Only now, outside of Scrapy, which swallows what its parts raise: the end of a Run is
        # what this transaction writes into its row, and it must not fail unseen.
        cancelled = harvest.ending.rule == "cancelled"
        await self._end(running, running.attempt, attempts.finish, harvest, cancelled=cancelled)

    def _read(self, queued: Queued, running: Running, page: PageRead) -> None:
        running.include(page)
        self.progress(queued, page)

    async def _research(self, queued: Queued, running: Running, places: asyncio.Semaphore) -> None:
        self.progress(queued, Stage.STARTING_RESEARCH)
        # Here, because other Runs need neither the harness nor the client of a model.
        from livedata.services.research.finishing import finish_research
        from spiders.worker.researcher import Researcher

        fetching = self.fetching.narrowed(running.attempt.only_hosts)

        async def ask(act: Callable[P, R], *values: P.args, **named: P.kwargs) -> R:
            return await running.cancel.within(self.ask(act, *values, **named))

        researcher = Researcher(self.store, self.engine, fetching, self.research, ask)
        attempt, outcome = await researcher.execute(
            running.attempt,
            running.cancel,
            tell=lambda step: self.progress(queued, step),
            take_turn=lambda site: self._take_turn(queued, running, site, places),
        )
        cancelled = outcome.cancelled
        await self._end(running, attempt, finish_research, outcome, cancelled=cancelled)

    async def _take_turn(
        self, queued: Queued, running: Running, site: str, places: asyncio.Semaphore
    ) -> None:
        """Wait until a Run may ask another site, or is over: one Run at a time asks a site."""
        while not (running.cancel.is_set() or await self._has_turn(running, site)):
            self.progress(queued, Stage.WAITING)
            # The place is given up meanwhile. Otherwise Runs that wait for each other's sites could
            # hold all places, and no Run would ever get on.
            places.release()
            self.waiting_elsewhere += 1
            with suppress(TimeoutError):
                await asyncio.wait_for(running.cancel.wait(), WAIT)
            self.waiting_elsewhere -= 1
            await places.acquire()

    async def _has_turn(self, running: Running, site: str) -> bool:
        try:
            asking = self.ask(attempts.take_turn, self.store, running.attempt, site)
            return await running.cancel.within(asking)
        except LostLease:
            running.cancel.set()
        except StoreUnavailable:
            pass  # it is asked again after a moment, as for a turn that another Run has
        return False

    async def _end(
        self,
        running: Running,
        attempt: Attempt,
        finish: Finish[Outcome],
        outcome: Outcome,
        *,
        cancelled: bool,
    ) -> None:
        """End a Run with what it found, or give it back. Raises LostLease."""
        if cancelled:
            running.cancel.raise_if_lapsed()
        # A Run that came to its end in the same moment is finished: why read its pages again?
        if self._giving_back and cancelled:
            await self.ask(attempts.give_back, self.store, attempt)
            return
        try:
            await self._finish(running, attempt, finish, outcome)
        except Damaged as error:
            await self.ask(attempts.give_up, self.store, attempt.run, error, attempt.fence)
            raise

    async def _finish(
        self, running: Running, attempt: Attempt, finish: Finish[Outcome], outcome: Outcome
    ) -> None:
        """End a Run with what it found, as soon as the store answers. Raises LostLease."""
        # A server that fails over is back in seconds, and would else cost all that was read. A file
        # that cannot be written now cannot be in a moment either: that is said at once.
        was_away = False
        while True:
            try:
                await self.ask(finish, self.store, attempt, outcome, self.policy)
            except LostLease:
                # The last word of a server that went away may be lost, and all be written.
                if not was_away or not await self.ask(attempts.is_over, self.store, attempt):
                    raise
            except StoreUnavailable as error:
                if isinstance(error, NewerStore) or self._stopping or not self.store.remote:
                    raise
                was_away = True
                await asyncio.sleep(around(AWAY))
                running.cancel.raise_if_lapsed()
                continue
            return

    async def _hear(self) -> None:
        """End the Runs that somebody has cancelled, in whatever process or on whatever machine."""
        # A question to a file waits for no writer, and a heartbeat would be a write each time.
        while True:
            await asyncio.sleep(HEARD)
            if not self._running:
                continue
            with suppress(StoreUnavailable):
                cancelled = await self.ask(interruptions.asked, self.store)
                for running in list(self._running.values()):
                    if running.attempt.run in cancelled:
                        running.cancel.set()

    async def _beat(self) -> None:
        """Keep the leases, even while the store cannot be reached for a time.

        A Run whose lease went to another process, or whose store to a newer livedata, ends here at
        once; that decides. One whose lease is over ends too, whatever the store says.
        """
        # The beat is the event loop's, as the crawls are, which works because extraction yields by
        # time. A thread that beats by itself would keep the leases of a process that is stuck.
        while True:
            await asyncio.sleep(NOTED)
            for running in [each for each in self._running.values() if each.has_news]:
                try:
                    so_far, since = running.beat(), clock()
                    await self.ask(attempts.heartbeat, self.store, running.attempt, so_far)
                    running.cancel.renew(since)
                except (LostLease, NewerStore):
                    running.cancel.set()
                except StoreUnavailable:
                    continue
