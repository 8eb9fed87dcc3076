"""`livedata execute` executes one queued Run for an engine of somebody else's, whoever calls it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import pytest

from livedata.model import ids
from livedata.services import queries, runs
from livedata.services.audit.check import check_store
from tests import faults, made
from tests.crawling import Crawling, shop_source
from tests.patience import AT_ONCE, until
from tests.shop import shop, some_items

if TYPE_CHECKING:
    from pathlib import Path

    from tests.site import Site

pytestmark = pytest.mark.slow


class Ended(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


class Engine:
    """Somebody else's engine: it starts commands on the store of a home."""

    def __init__(self, home: Path, site: Site) -> None:
        self.environ = {**os.environ, "LIVEDATA_HOME": str(home)}
        self.environ["LIVEDATA_ALLOW_HOSTS"] = site.host

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Begin to execute."""
        return subprocess.Popen(
            [sys.executable, "-m", "livedata", "execute", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environ,
            text=True,
        )

    def execute(self, *words: str) -> Ended:
        """Execute to the end."""
        process = self.start(*words)
        out, err = process.communicate(timeout=AT_ONCE * 4)
        return Ended(process.returncode, out, err)


@pytest.fixture
def theirs(crawling: Crawling, site: Site, tmp_path: Path) -> Engine:
    started = Engine(tmp_path, site)
    started.environ["LIVEDATA_DATABASE_URL"] = crawling.store.url
    return started


def queue(crawling: Crawling, site: Site, owner: str = "local", **changes: Any) -> str:
    """Queue a Run of a dataset with seven items, and return its id."""
    source = shop_source(site.at("/page/1.html"), **changes)
    made.meet_owner(crawling.store, owner, 100)
    dataset = crawling.create(source, allow=site.host, owner=owner)
    return runs.enqueue(crawling.store, owner, dataset)[0]


def status(crawling: Crawling, run: str, owner: str = "local") -> str:
    raw = ids.RunId(ids.raw_id(run))
    return queries.run(crawling.store, owner, raw)["status"]


def test_a_run_is_executed_by_its_id_and_told_again_to_who_asks_again(
    crawling: Crawling, site: Site, theirs: Engine
) -> None:
    site.pages(shop(some_items(7)))
    run = queue(crawling, site)
    first, asked = theirs.execute(run, "--json"), len(site.paths)
    assert (first.code, orjson.loads(first.out)["id"]) == (0, run)
    second = theirs.execute(run)
    assert (second.code, len(site.paths)) == (0, asked)
    assert "shop: succeeded, 7 new" in second.out
    assert check_store(crawling.store).problems == []


@pytest.mark.one_database
def test_the_code_says_how_a_run_ended(crawling: Crawling, site: Site, theirs: Engine) -> None:
    site.pages({"/page/1.html": "<p>Nothing here.</p>"})
    run = queue(crawling, site)
    assert theirs.execute(run).code == 3
    assert theirs.execute(run).code == 3


def test_next_takes_what_waits_longest_of_any_owner_until_nothing_is_left(
    crawling: Crawling, site: Site, theirs: Engine
) -> None:
    site.pages(shop(some_items(7)))
    queued = [queue(crawling, site, owner) for owner in ("bob", "local")]
    ended = [theirs.execute("--next", "--json") for _ in range(3)]
    assert [each.code for each in ended] == [0, 0, 0]
    told = [orjson.loads(each.out) for each in ended]
    assert [run and run["id"] for run in told] == [*queued, None]
    assert theirs.execute("--next") == (0, "", "No Run is queued that may start now.\n")


def test_a_run_that_another_process_has_is_left_to_it(
    crawling: Crawling, site: Site, theirs: Engine
) -> None:
    site.route("/page/1.html", faults.never())
    run = queue(crawling, site)
    with theirs.start(run) as busy:
        until(lambda: "/page/1.html" in site.paths)
        second = theirs.execute(run)
        assert second.code == 7
        assert "in progress in another process" in second.err
        site.pages(shop(some_items(7)))
        other = queue(crawling, site, "bob")
        # It would wait for the site as long as the first one takes.
        refused = theirs.execute(other, "--site-free")
        assert (refused.code, "reads the site of shop now" in refused.err) == (7, True)
        assert theirs.execute("--next", "--site-free").code == 0
        assert (status(crawling, run), status(crawling, other, "bob")) == ("running", "queued")
        busy.send_signal(signal.SIGTERM)
        assert "given back" in busy.communicate(timeout=AT_ONCE)[0]
    assert [theirs.execute("--next").code for _ in range(2)] == [0, 0]
    assert status(crawling, run) == status(crawling, other, "bob") == "succeeded"


def test_a_run_of_a_killed_process_is_executed_by_the_next_call(
    crawling: Crawling, site: Site, theirs: Engine
) -> None:
    site.route("/page/1.html", faults.never())
    run = queue(crawling, site)
    with theirs.start(run) as busy:
        until(lambda: "/page/1.html" in site.paths)
        busy.kill()
    site.pages(shop(some_items(7)))
    assert theirs.execute(run).code == 0
    with crawling.store.reading() as reader:
        assert reader.value("SELECT count(*) FROM ledger WHERE kind = 'charge'") == 1


def test_two_that_take_the_next_at_once_execute_each_run_once(
    crawling: Crawling, site: Site, theirs: Engine
) -> None:
    site.pages(shop(some_items(7)))
    queued = {owner: queue(crawling, site, owner) for owner in ("bob", "local")}
    with theirs.start("--next") as first, theirs.start("--next") as second:
        assert [each.wait(AT_ONCE * 4) for each in (first, second)] == [0, 0]
    assert [status(crawling, run, owner) for owner, run in queued.items()] == ["succeeded"] * 2
    assert site.paths.count("/page/1.html") == 2
    with crawling.store.reading() as reader:
        assert reader.value("SELECT count(*) FROM ledger WHERE kind = 'charge'") == 2


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Name one Run, or give --next."),
        (("shop", "--next"), "Name one Run, or give --next."),
        (("0198c0de-0000-7000-8000-000000000000",), "There is no such Run."),
        (("nothing",), "nothing"),
    ],
)
def test_what_cannot_be_executed_is_said(theirs: Engine, words: tuple[str, ...], said: str) -> None:
    ended = theirs.execute(*words)
    assert (ended.code in {1, 2}, said in ended.err, "Traceback" in ended.err) == (
        *(True, True, False),
    )
