"""No page and no selector stalls a worker: whatever is read, others go on meanwhile."""

from __future__ import annotations

import asyncio
import gc
import time
from datetime import datetime
from pathlib import Path

import pytest

from livedata.model import ids
from livedata.services import accounts, queries, runs
from tests.crawling import Crawling, shop_source
from tests.hostile import Attack, attacks
from tests.runs.test_cancel import Work
from tests.runs.test_pagination_none import SINGLE, listing
from tests.runs.test_refusals import read_failures
from tests.runs.test_worker import until, working
from tests.site import Site

pytestmark = pytest.mark.timed

ATTACKS = dict(attacks())
# Four of five pages keep to 0.1 s and 1 s; elements by the hundred thousand, and lists without any
# item, take more. None may come near to the 30 s and more that such pages once took.
MOST_HELD = 2.0
"""The seconds of CPU for which the event loop may do nothing."""
MOST_SPENT = 6.0
"""The seconds of CPU that both Runs may take."""
IN_A_WORKER = ("stars as fields", "stars as next link", "text: breaks", "texts: words", "items")


class Watch:
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


def pace() -> float:
    """How much slower than alone this machine is now, because of what else runs on it."""
    began = time.process_time()
    sum(range(3_000_000))
    return max(1.0, (time.process_time() - began) / 0.07)


@pytest.mark.parametrize("name", ATTACKS)
def test_another_run_goes_on_beside(crawling: Crawling, site: Site, name: str) -> None:
    attack, watch = ATTACKS[name], Watch()
    gc.collect()
    gc.freeze()  # what the other tests have left is not searched for garbage in this one
    site.page("/", attack.markup)
    with Site() as other:
        other.page("/", listing("ab"))
        work = Work(crawling, site, other)
        hostile = crawling.create(attack.declared(site.at("/")), allow=work.allow)
        work.queue.append(runs.take_up(crawling.store, "local", hostile, "hostile"))
        good = {**shop_source(other.at("/"), pagination=SINGLE), "name": "good"}
        accounts.ensure_owner(crawling.store, "another", 1000)
        dataset = crawling.create(good, allow=work.allow, owner="another")
        queued = runs.take_up(crawling.store, "another", dataset, "good")
        watching = crawling.loop.create_task(watch.run())
        before, began = pace(), time.process_time()
        crawling.loop.run_until_complete(work.executor.execute([*work.queue, queued]))
        spent = time.process_time() - began
        slower = max(before, pace())
        watching.cancel()
    gc.unfreeze()
    run = queries.run(crawling.store, "another", queued.run)
    assert run["status"] == "succeeded", run["error"]
    assert seconds(run["startedAt"], run["completedAt"]) < 2 * MOST_HELD * slower
    ended = queries.run(crawling.store, "local", work.queue[0].run)
    reasons = {failure[0] for failure in read_failures(crawling.store, ended)}
    assert reasons <= {"limit_exceeded"}
    assert watch.longest < MOST_HELD * slower
    assert spent < MOST_SPENT * slower


def seconds(start: str | None, end: str | None) -> float:
    assert start is not None
    assert end is not None
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def test_the_selector_is_named(crawling: Crawling, site: Site) -> None:
    attack = ATTACKS["every element an item"]
    site.page("/", attack.markup)
    dataset = crawling.create(attack.declared(site.at("/")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert run["status"] == "failed"
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["limit_exceeded"]
    assert "the selector '*' takes over" in str(run["error"])
    assert "1,500,000 steps" in str(run["error"])
    assert crawling.remedies(run) == ["narrow_selector", "choose_smaller_page"]


@pytest.mark.parametrize("name", IN_A_WORKER)
def test_a_worker_finishes_anothers_run_within_two_seconds(
    crawling: Crawling,
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    attack = ATTACKS[name]
    site.page("/", attack.markup)
    with Site() as other:
        other.page("/", listing("ab"))
        allow = f"{site.host},{other.host}"
        hostile = crawling.create(attack.declared(site.at("/")), allow=allow)
        good = {**shop_source(other.at("/"), pagination=SINGLE), "name": "good"}
        accounts.ensure_owner(crawling.store, "another", 1000)
        dataset = crawling.create(good, allow=allow, owner="another")
        with working(tmp_path, allow, monkeypatch):
            runs.enqueue(crawling.store, "local", hostile)
            until(lambda: "/" in site.paths)
            run = ids.RunId(ids.raw_id(runs.enqueue(crawling.store, "another", dataset)[0]))
            before = pace()
            until(lambda: queries.run(crawling.store, "another", run)["status"] == "succeeded")
        done = queries.run(crawling.store, "another", run)
    assert seconds(done["startedAt"], done["completedAt"]) < 2 * max(before, pace())


def test_the_largest_honest_page_is_read(crawling: Crawling, site: Site) -> None:
    """1,000 items of 50 fields on 5 MB."""
    spans = "".join(
        f'<span class="value f{at} text-sm font-medium text-gray-900" title="{at}">x {at}</span>'
        for at in range(49)
    )
    items = "".join(f"<li class=item id=i{at}>{spans}</li>" for at in range(1000))
    fields = tuple(f"li span.value.f{at}" for at in range(49))
    attack = Attack(f"<!doctype html><ul>{items}</ul>", fields=fields)
    assert 3_900_000 < len(attack.markup) < 5 << 20
    site.page("/", attack.markup)
    dataset = crawling.create(attack.declared(site.at("/")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert run["status"] == "succeeded", run["error"]
    assert run["rowDeltas"]["new"] == 1000
