"""A process that is stopped, twice, or stands still and wakes up, loses and doubles nothing."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from threading import Event

import pytest

from livedata.model.ids import DatasetId
from livedata.services import interruptions, runs
from livedata.services.audit.check import check_store
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.patience import AT_ONCE, until
from tests.runs.test_worker import _holder, command, working
from tests.shop import shop, some_items
from tests.site import Site

pytestmark = [pytest.mark.slow, pytest.mark.one_database]


def enqueue(crawling: Crawling, site: Site) -> DatasetId:
    """Queue a Run of a dataset whose page never comes."""
    site.route("/page/1.html", faults.never())
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    runs.enqueue(crawling.store, "local", dataset)
    return dataset


def take_up(crawling: Crawling, site: Site, dataset: DatasetId) -> None:
    """Take up the Run that is open; its pages come."""
    site.pages(shop(some_items(7)))
    assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"


def waits(crawling: Crawling) -> bool:
    """Whether no live process has the Run any more."""
    interruptions.reap_expired_leases(crawling.store)
    with crawling.store.reading() as reader:
        return bool(reader.value("SELECT status = 'queued' FROM runs"))


def counts(crawling: Crawling) -> dict[str, int]:
    """How many Runs, rows and charges there are, in a store with which nothing is wrong."""
    assert check_store(crawling.store).problems == []
    asked = {"runs": "TRUE", "rows": "TRUE", "ledger": "kind = 'charge'"}
    with crawling.store.reading() as reader:
        return {
            table: reader.value(f"SELECT count(*) FROM {table} WHERE {which}")
            for table, which in asked.items()
        }


def test_a_worker_that_stood_still_for_longer_than_its_lease_writes_nothing(
    crawling: Crawling, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = enqueue(crawling, site)
    with working(tmp_path, site.host, monkeypatch):
        until(lambda: "/page/1.html" in site.paths)
        sleeper = _holder(crawling)
        os.kill(sleeper, signal.SIGSTOP)
        with crawling.store.writing() as writer:
            writer.execute("UPDATE runs SET lease_until = 1, lease_origin = NULL")
        take_up(crawling, site, dataset)
        before = counts(crawling)
        os.kill(sleeper, signal.SIGCONT)
        Event().wait(0.5)
    assert before == counts(crawling) == {"runs": 1, "rows": 7, "ledger": 1}


@pytest.mark.parametrize(
    ("words", "number", "code"),
    [
        (("run", "shop"), signal.SIGINT, 130),
        (("worker", "--crawlers", "1"), signal.SIGTERM, -signal.SIGTERM),
    ],
)
def test_a_second_signal_ends_a_command_at_once_and_its_run_is_taken_up(
    crawling: Crawling,
    site: Site,
    tmp_path: Path,
    words: tuple[str, ...],
    number: signal.Signals,
    code: int,
) -> None:
    dataset = enqueue(crawling, site)
    with command(tmp_path, site.host, *words) as process:
        until(lambda: "/page/1.html" in site.paths)
        # Whoever ends a Run waits for the store, so the first signal alone ends nothing.
        with crawling.store.writing():
            process.send_signal(number)
            Event().wait(2)  # two signals that arrive as one are one, and machines may be slow
            assert process.poll() is None
            process.send_signal(number)
            assert process.wait(AT_ONCE) == code
    until(lambda: waits(crawling))
    take_up(crawling, site, dataset)
    assert counts(crawling) == {"runs": 1, "rows": 7, "ledger": 1}
