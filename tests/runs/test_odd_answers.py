"""Answers that are nearly a page: taken for one only where that is certain."""

from __future__ import annotations

import pytest

from tests import faults
from tests.crawling import Crawling, shop_source
from tests.databases import everything
from tests.runs.test_pagination_none import SINGLE, listing
from tests.runs.test_refusals import contents, read_failures
from tests.site import Handler, Request, Site

pytestmark = pytest.mark.one_database


def raw(*heads: str, body: str = "") -> Handler:
    def handle(request: Request) -> None:
        request.raw.write(("\r\n".join([*heads, "", ""]) + body).encode())

    return handle


PAGE = listing("ab")
PART = ("HTTP/1.1 206 Partial Content", "Content-Type: text/html", "Content-Range: bytes 0-99/300")
NEARLY = {
    "a part": (raw(*PART, body=PAGE), "a part of it only, for which nobody asked"),
    "status 99": (
        raw("HTTP/1.1 099 Odd", "Content-Type: text/html", body=PAGE),
        "a status that means nothing",
    ),
}


@pytest.mark.parametrize("name", NEARLY)
def test_what_is_not_surely_the_whole_page_is_none_and_rows_stay(
    crawling: Crawling, site: Site, name: str
) -> None:
    handler, said = NEARLY[name]
    site.page("/1", listing("abc"))
    dataset = crawling.create(shop_source(site.at("/1"), pagination=SINGLE), allow=site.host)
    assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
    before = contents(crawling.store)
    site.route("/1", handler)
    run = crawling.run(dataset, allow=site.host)
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["http_error"]
    assert said in str(run["error"])
    assert contents(crawling.store) == before


@pytest.mark.parametrize("charset", ["hex", "zlib_codec", "rot13", "idna", "undefined", "klingon"])
def test_a_charset_that_no_browser_knows_says_nothing(
    crawling: Crawling, site: Site, charset: str
) -> None:
    declared = {"Content-Type": f"text/html; charset={charset}"}
    site.route("/1", faults.fixed(body=listing("ä"), headers=declared))
    dataset = crawling.create(shop_source(site.at("/1"), pagination=SINGLE), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert run["status"] == "succeeded", run["error"]
    assert "ä" in [record.key for page in crawling.pages for record in page.records]


@pytest.mark.parametrize("coding", ["identity", "gzip, chunked", "x"])
def test_a_transfer_coding_that_is_unknown_is_broken_http(
    crawling: Crawling, site: Site, coding: str
) -> None:
    site.route("/1", raw("HTTP/1.1 200 OK", f"Transfer-Encoding: {coding}", body="0\r\n\r\n"))
    dataset = crawling.create(shop_source(site.at("/1"), pagination=SINGLE), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["invalid_content"]
    assert "is broken HTTP: its Transfer-Encoding is" in str(run["error"])


def test_a_page_that_only_wants_to_be_looked_at_again_is_read(
    crawling: Crawling, site: Site
) -> None:
    again = '<meta http-equiv="refresh" content="3; url=/1">'
    site.page("/1", listing("ab", again))
    dataset = crawling.create(shop_source(site.at("/1"), pagination=SINGLE), allow=site.host)
    assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
    assert site.paths.count("/1") == 1


def test_credentials_in_a_next_link_are_neither_sent_nor_stored(
    crawling: Crawling, site: Site
) -> None:
    link = site.at("/2").replace("://", "://alice:s3cret@")
    site.page("/1", listing("a", f'<a class="next" href="{link}">n</a>'))
    site.route("/2", faults.status(500))
    run = crawling.run(
        crawling.create(shop_source(site.at("/1")), allow=site.host), allow=site.host
    )
    assert run["status"] == "failed"
    assert not any("authorization" in hit.headers for hit in site.hits)
    assert "s3cret" not in str(everything(crawling.store)) + str(run)


@pytest.mark.parametrize(
    ("agent", "read"), [("github", True), ("http", True), ("livedata-tests", False), ("*", False)]
)
def test_robots_txt_knows_us_by_our_name_alone(
    crawling: Crawling, site: Site, agent: str, read: bool
) -> None:
    site.page("/robots.txt", f"User-agent: {agent}\nDisallow: /", content_type="text/plain")
    site.page("/1", listing("a"))
    how = {"user_agent": "livedata-tests/1.0 (+https://github.com/livedata/livedata)"}
    dataset = crawling.create(shop_source(site.at("/1"), pagination=SINGLE), allow=site.host)
    run = crawling.run(dataset, allow=site.host, how=how)
    assert (run["status"] == "succeeded") == read, run["error"]
