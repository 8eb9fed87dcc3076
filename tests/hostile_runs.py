"""How long a hostile page keeps a worker busy, and what another's Run beside it notices of that.

python -m tests.hostile_runs            # all pages of tests.hostile; exit code 1 if one is over
python -m tests.hostile_runs "a base"
"""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from livedata.model.run import Run
from livedata.rules.network.targets import TargetPolicy
from livedata.services import queries, runs
from livedata.services.commit import AcceptancePolicy
from spiders.crawl.engine import crawl_engine
from spiders.crawl.settings import FetchConfig
from spiders.worker.executor import Executor
from tests.crawling import Crawling, shop_source
from tests.hostile import Attack, attacks
from tests.made import make_store, meet_owner
from tests.runs.test_pagination_none import SINGLE, listing
from tests.site import Site

HELD = 0.1
"""The longest time in seconds for which the event loop may do nothing."""
SPENT = 1.0
"""The CPU seconds that a page may take, with the two Runs that it is read in."""
WAITED = 2.0
"""The seconds in which another owner's Run of two rows must end."""


_NUMBERS = count(1)  # a name may not come again in one store


class _Watch:
    """Notes the longest time for which the event loop did nothing, in CPU seconds."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        last = time.process_time()
        while True:
            await asyncio.sleep(0.001)
            now = time.process_time()
            self.longest = max(self.longest, now - last)
            last = now


@dataclass(frozen=True)
class Busy:
    """What a hostile page did: to the loop, in CPU seconds a page, and to another's Run."""

    hostile: Run
    other: Run
    held: float
    spent: float
    waited: float

    @property
    def over(self) -> bool:
        """Whether it did more than it may."""
        return self.held > HELD or self.spent > SPENT or self.waited > WAITED


def run_beside(crawling: Crawling, attack: Attack) -> Busy:
    """Run a hostile dataset and another owner's at once, in one executor."""
    gc.collect()
    gc.freeze()  # what others have left is not searched for garbage during this
    try:
        with Site() as site, Site() as other:
            site.page("/", attack.body, content_type=attack.content_type)
            other.page("/", listing("ab"))
            return _run(crawling, attack, site, other)
    finally:
        gc.unfreeze()


def _run(crawling: Crawling, attack: Attack, site: Site, other: Site) -> Busy:
    allow = f"{site.host},{other.host}"
    meet_owner(crawling.store, "another", 1000)
    good = {**shop_source(other.at("/"), pagination=SINGLE), "name": "good"}
    queued = []
    for owner, declared in (("local", attack.declared(site.at("/"))), ("another", good)):
        name = f"{declared['name']} {next(_NUMBERS)}"
        dataset = crawling.create({**declared, "name": name}, allow=allow, owner=owner)
        queued.append(runs.take_up(crawling.store, owner, dataset, name))
    fetching = FetchConfig(TargetPolicy.parse(allow), "livedata-tests", timeout=5.0)
    store = crawling.store
    executor = Executor(store, crawling.engine, fetching, AcceptancePolicy(), lambda *_: None, 4)
    watch = _Watch()
    watching = crawling.loop.create_task(watch.run())
    began = _spent()
    crawling.loop.run_until_complete(executor.execute(queued))
    spent = _spent() - began
    watching.cancel()
    hostile = queries.run(store, "local", queued[0].run)
    beside = queries.run(store, "another", queued[1].run)
    pages = max(1, sum(path != "/robots.txt" for path in site.paths))
    return Busy(hostile, beside, watch.longest, spent / pages, seconds(beside))


def _spent() -> float:
    """The CPU seconds of this process, and of those that it has started."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def seconds(run: Run) -> float:
    """The time that a Run took; without end if it has not ended."""
    start, end = run["startedAt"], run["completedAt"]
    if start is None or end is None:
        return float("inf")
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def main(names: list[str]) -> bool:
    """Print a line for each page; whether one is over."""
    over = 0
    with TemporaryDirectory() as folder, crawl_engine() as engine:
        store = make_store(Path(folder))
        meet_owner(store, "local", 1000)
        for name, attack in attacks():
            if names and name not in names:
                continue
            busy = run_beside(Crawling(engine, store), attack)
            over += busy.over
            times = f"{busy.spent:5.2f} s CPU  {busy.held * 1000:4.0f} ms held  {busy.waited:.2f} s"
            click.echo(f"{times}  {'OVER' if busy.over else 'ok  '}  {name}")
        store.close()
    bounds = f"{SPENT} s of CPU a page, {HELD * 1000:.0f} ms held, or {WAITED} s beside"
    click.echo(f"{over} over {bounds}")
    return over > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
