"""Rules 9.4: where only some hosts may be read, nothing leads a Run to another one."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from livedata.model.ids import DatasetId
from livedata.model.run import Run
from livedata.services import queries
from livedata.store.queue import RunOptions
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.patience import AT_ONCE, until
from tests.runs.test_refusals import read_failures
from tests.runs.test_worker import command
from tests.shop import shop, some_items
from tests.site import Site

pytestmark = pytest.mark.one_database

Lead = Callable[[Site, Site], None]
Asked = Callable[[Crawling, Site, Site], Run]


@pytest.fixture
def other() -> Iterator[Site]:
    with Site() as other:
        other.pages(shop(some_items(12)))
        yield other


def by_setting(crawling: Crawling, site: Site, other: Site) -> Run:
    """A Run of the shop by a process that may read the host of the shop alone."""
    both, dataset = shop_of(crawling, site, other)
    return crawling.run(dataset, allow=both, only=site.host)


def by_request(crawling: Crawling, site: Site, other: Site) -> Run:
    """A Run of the shop that was asked for with its host alone; its process may read both."""
    both, dataset = shop_of(crawling, site, other)
    options = RunOptions(only_hosts=frozenset({site.host}))
    return crawling.run(dataset, allow=both, options=options)


def shop_of(crawling: Crawling, site: Site, other: Site) -> tuple[str, DatasetId]:
    both = f"{site.host},{other.host}"
    return both, crawling.create(shop_source(site.at("/page/1.html")), allow=both)


def redirects(site: Site, other: Site) -> None:
    site.route("/page/2.html", faults.redirect(other.at("/page/2.html")))


def refreshes(site: Site, other: Site) -> None:
    site.route("/page/2.html", faults.meta_refresh(other.at("/page/2.html")))


def links_on(site: Site, other: Site) -> None:
    pages = shop(some_items(12))
    site.page(
        "/page/1.html", pages["/page/1.html"].replace("/page/2.html", other.at("/page/2.html"))
    )


@pytest.mark.parametrize("run_of", [by_setting, by_request])
@pytest.mark.parametrize("lead", [redirects, refreshes, links_on])
def test_what_leads_to_another_host_fails_and_asks_nothing_there(
    crawling: Crawling, site: Site, other: Site, lead: Lead, run_of: Asked
) -> None:
    site.pages(shop(some_items(12)))
    lead(site, other)
    run = run_of(crawling, site, other)
    assert run["status"] == "failed"
    assert f"{other.host} is none of the hosts that may be read" in str(run["error"])
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["unsafe_target"]
    assert crawling.remedies(run) == ["name_host"]
    assert not other.hits


@pytest.mark.slow
def test_a_run_keeps_the_hosts_with_which_it_was_asked_for_whoever_executes_it(
    crawling: Crawling,
    site: Site,
    other: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both, dataset = shop_of(crawling, site, other)
    site.pages(shop(some_items(12)))
    redirects(site, other)
    site.route("/page/1.html", faults.never())
    monkeypatch.setenv("LIVEDATA_ONLY_HOSTS", site.host)
    with command(tmp_path, both, "run", "shop") as process:
        until(lambda: "/page/1.html" in site.paths)
        process.send_signal(signal.SIGTERM)  # gives its Run back
        process.wait(AT_ONCE)
    site.pages(shop(some_items(12)))
    redirects(site, other)
    monkeypatch.delenv("LIVEDATA_ONLY_HOSTS")
    with command(tmp_path, both, "worker", "--crawlers", "1", "--no-schedules"):
        until(lambda: queries.runs(crawling.store, "local", dataset, 1)[0]["status"] == "failed")
    assert not other.hits
    # One that the owner asks for reads what his settings say.
    with command(tmp_path, both, "run", "shop") as process:
        process.wait()
    assert other.hits
