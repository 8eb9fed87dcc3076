"""A number in the host of a pattern makes a site of each page, which is judged and waited for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from livedata.model import ids
from tests.crawling import Crawling, shop_source
from tests.runs.test_cancel import read_elsewhere
from tests.runs.test_pagination_none import listing
from tests.runs.test_pagination_url_pattern import END
from tests.runs.test_refusals import read_failures
from tests.site import Answer, Request, Site

pytestmark = pytest.mark.one_database


@pytest.fixture
def second(site: Site) -> Iterator[Site]:
    """A site at the port of `site`, but at 127.0.0.2."""
    with Site(("127.0.0.2", int(site.host.partition(":")[2]))) as other:
        yield other


def create(
    crawling: Crawling, site: Site, allow: str, host: str = "127.0.0.{page}"
) -> ids.DatasetId:
    port = site.host.partition(":")[2]
    pattern = f"http://{host}:{port}/1"
    pages = {"kind": "url-pattern", "pattern": pattern, "startPage": 1, "endSelector": ".end"}
    source = shop_source(pattern.replace("{page}", "1"), pagination=pages)
    return crawling.create(source, allow=allow)


def test_each_page_is_read_at_its_site(crawling: Crawling, site: Site, second: Site) -> None:
    site.page("/1", listing("ab"))
    second.page("/1", listing("cd", END))
    allow = f"{site.host},{second.host}"
    run = crawling.run(create(crawling, site, allow), allow=allow)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 4)
    assert [site.paths, second.paths] == [["/robots.txt", "/1"]] * 2


def test_each_address_is_judged_when_it_is_dialled(
    crawling: Crawling, site: Site, second: Site
) -> None:
    site.page("/1", listing("ab"))
    run = crawling.run(create(crawling, site, site.host), allow=site.host)
    assert run["status"] == "failed"
    assert read_failures(crawling.store, run) == [("unsafe_target", None, second.url)]
    assert second.connections == 0


def test_a_host_that_is_none_ends_the_run_in_a_sentence(crawling: Crawling, site: Site) -> None:
    site.page("/1", listing("ab"))
    pages = {
        "kind": "url-pattern",
        "pattern": "http://127.0.0.1:{page}5000/1",
        "startPage": 6,
        "endSelector": ".end",
    }
    allow = "127.0.0.1"
    source = shop_source("http://127.0.0.1:65000/1", pagination=pages)
    dataset = crawling.create(source, allow=allow)
    # Above the ports that a system gives to clients, one of whom may have any other.
    with Site(("127.0.0.1", 65000)) as first:
        first.page("/1", listing("ab"))
        run = crawling.run(dataset, allow=allow)
    assert run["status"] == "failed"
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["unsafe_target"]
    assert "Page 2 (http://127.0.0.1:75000/1) could not be read" in str(run["error"])


def test_the_turn_of_each_site_is_waited_for(
    crawling: Crawling, site: Site, second: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spiders.worker.executor.WAIT", 0.05)
    answered: list[int] = []

    def last(_request: Request) -> Answer:
        answered.append(ids.now())
        return Answer(200, listing("cd", END).encode())

    site.page("/1", listing("ab"))
    second.route("/1", last)
    allow = f"{site.host},{second.host}"
    dataset = create(crawling, site, allow)
    _, ends = read_elsewhere(crawling, second)
    assert crawling.run(dataset, allow=allow)["status"] == "succeeded"
    assert answered[0] >= ends
