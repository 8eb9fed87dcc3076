"""A Run in progress is cancelled from another process, and from a command line."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from livedata.services import interruptions, queries
from spiders.worker import executor
from tests import faults
from tests.crawling import shop_source
from tests.patience import LONG, until
from tests.runs.test_cancel import NEXT, Work
from tests.runs.test_pagination_none import listing
from tests.runs.test_refusals import contents
from tests.runs.test_worker import command

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crawling import Crawling
    from tests.site import Site

pytestmark = pytest.mark.timed

CANCEL = """
import sys
from livedata.model.ids import RunId
from livedata.services import interruptions
from livedata.store.database.store import Store
assert not interruptions.cancel(Store(sys.argv[1]), "local", RunId(bytes.fromhex(sys.argv[2])))
"""
SECONDS = executor.HEARD + 6
"""In so many it has ended, with a process that starts first."""


def test_another_process_ends_a_run_whose_page_never_comes(crawling: Crawling, site: Site) -> None:
    work = Work(crawling, site)
    work.add(site.at("/1"))
    site.page("/1", listing("a", NEXT))
    run, others = work.queue[0].run, []

    def elsewhere() -> None:
        words = [sys.executable, "-c", CANCEL, crawling.store.url, run.hex()]
        others.append(subprocess.Popen(words))

    site.route("/2", work.meets(elsewhere))
    before = contents(crawling.store)
    [ended] = work.run()
    assert time.monotonic() - work.stopped < SECONDS < LONG
    assert [other.wait() for other in others] == [0]
    assert (ended["status"], ended["error"]) == ("failed", "The Run was cancelled.")
    assert crawling.story(ended).stop["rule"] == "cancelled"
    assert contents(crawling.store) == before
    assert site.paths == ["/robots.txt", "/1", "/2"]


def test_other_runs_of_the_process_go_on(crawling: Crawling, site: Site) -> None:
    work = Work(crawling, site)
    work.add(site.at("/1"), "first")
    work.add(site.at("/3"), "second")
    first = work.queue[0].run

    def cancel() -> None:
        assert not interruptions.cancel(crawling.store, "local", first)

    site.route("/1", work.meets(cancel))
    site.page("/3", listing("a"))
    assert [run["error"] for run in work.run()] == ["The Run was cancelled.", None]


@pytest.mark.one_database
@pytest.mark.slow
def test_a_command_cancels_the_run_of_another_command(
    crawling: Crawling, site: Site, tmp_path: Path
) -> None:
    site.route("/page/1.html", faults.never())
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    with command(tmp_path, site.host, "run", "shop") as process:
        until(lambda: "/page/1.html" in site.paths)
        environ = {**os.environ, "LIVEDATA_HOME": str(tmp_path)}
        words = [sys.executable, "-m", "livedata", "runs", "cancel", "shop"]
        asked = subprocess.run(words, env=environ, capture_output=True, text=True, check=True)
        assert asked.stdout.startswith("shop: to be cancelled.")
        assert process.wait(SECONDS) == 3
    (run,) = queries.runs(crawling.store, "local", dataset, 1)
    assert (run["status"], run["error"]) == ("failed", "The Run was cancelled.")
