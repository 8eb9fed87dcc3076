"""Answers in odd forms: a rendered page is the one that is read without a browser, or none."""

from __future__ import annotations

import asyncio
import socket

import pytest

from spiders.browser.egress import dial
from tests import faults
from tests.browser.scripted import rendered, single
from tests.crawling import Crawling, shop_source
from tests.runs.test_pagination_none import listing
from tests.runs.test_refusals import read_failures
from tests.site import Handler, Request, Site

BEHIND = "\r\n\r\nte: a line of the text\r\nconnection: another\r\n"


def bare(body: str, length: bool) -> Handler:
    """Lines of the head end with LF alone; the body has what looks like the end of a head."""

    def handle(request: Request) -> None:
        text = body.encode()
        size = f"Content-Length: {len(text)}\n" if length else ""
        head = f"HTTP/1.1 200 OK\nContent-Type: text/html\n{size}Connection: close\n\n"
        request.raw.write(head.encode() + text)

    return handle


@pytest.mark.parametrize("length", [True, False])
def test_a_head_whose_lines_end_with_lf_alone_costs_no_row(
    crawling: Crawling, site: Site, length: bool
) -> None:
    after = f'<pre>{BEHIND}</pre><a class="next" href="/2">n</a>'
    site.route("/1", bare(listing("ab", after), length))
    site.page("/2", listing("c"))
    for declared in (shop_source(site.at("/1")), {**rendered(site.at("/1")), "name": "rendered"}):
        dataset = crawling.create(declared, allow=site.host)
        run = crawling.run(dataset, allow=site.host, timeout=10)
        assert run["status"] == "succeeded", run["error"]
        assert run["rowDeltas"]["new"] == 3


def hints(request: Request) -> None:
    """Interim answers for as long as they are taken."""
    hint = b"HTTP/1.1 103 Early Hints\r\nX: " + b"x" * 60_000 + b"\r\n\r\n"
    while True:
        request.raw.write(hint)


def headers(request: Request) -> None:
    request.raw.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        request.raw.write(b"X-A: " + b"x" * 60_000 + b"\r\n")


def many_headers(request: Request) -> None:
    """As short as they can be: to count all of them again at each would take for ever."""
    request.raw.write(b"HTTP/1.1 200 OK\r\n" + b"x:\n" * 100_000)


# Hidden, for to lay out such a text takes Chromium many seconds.
TEXT = "document.body.hidden = true; document.body.textContent = 'x'.repeat(20 * 1024 * 1024)"


@pytest.mark.parametrize("handler", [hints, headers, many_headers])
def test_heads_without_end_are_more_than_is_read(
    crawling: Crawling, site: Site, handler: Handler
) -> None:
    site.route("/1", handler)
    run = crawling.run(crawling.create(single(site.at("/1")), allow=site.host), allow=site.host)
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["limit_exceeded"]
    assert "its headers have more than 256 KiB" in str(run["error"])


def test_a_text_that_a_script_makes_without_measure_is_more_than_is_read(
    crawling: Crawling, site: Site
) -> None:
    site.page("/1", f"<!doctype html><title>x</title><body><script>{TEXT}</script>")
    dataset = crawling.create(single(site.at("/1")), allow=site.host)
    run = crawling.run(dataset, allow=site.host, timeout=15)
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["limit_exceeded"], run


def test_a_gzip_bomb_is_cut_off_before_it_is_unpacked(crawling: Crawling, site: Site) -> None:
    site.route("/1", faults.gzip_bomb(600))
    dataset = crawling.create(single(site.at("/1")), allow=site.host)
    run = crawling.run(dataset, allow=site.host, timeout=15)
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["limit_exceeded"], run


def test_an_address_that_leads_nowhere_is_left_for_the_next_one(
    reactor_loop: asyncio.AbstractEventLoop, site: Site
) -> None:
    """As with a name that has an IPv6 address, on a machine without IPv6."""
    port = int(site.host.rpartition(":")[2])
    with socket.socket() as full:
        full.bind(("127.0.0.2", port))
        full.listen(0)
        taken = [socket.socket() for _ in range(3)]
        for client in taken:
            client.settimeout(0)
            client.connect_ex(("127.0.0.2", port))
        _, writer = reactor_loop.run_until_complete(
            asyncio.wait_for(dial(["127.0.0.2", "127.0.0.1"], port), 3)
        )
        assert writer.get_extra_info("peername")[0] == "127.0.0.1"
        writer.close()
        for client in taken:
            client.close()
