"""The test site does what the other tests believe of it."""

from __future__ import annotations

import gc
import gzip
import http.client
import re
import socket
import threading
import time
import zlib
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests import faults
from tests.patience import AT_ONCE, LONG
from tests.shop import Item, shop, some_items
from tests.site import Answer, Forbidden, Request, Site

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


def connect(url: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(url).netloc, timeout=5)


def get(
    site: Site, path: str, method: str = "GET", headers: Mapping[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    with closing(connect(site.url)) as client:
        client.request(method, path, headers=dict(headers or {}))
        answer = client.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()


def settled(threads: int) -> bool:
    end = time.monotonic() + LONG
    while threading.active_count() > threads and time.monotonic() < end:
        time.sleep(0.005)
    return threading.active_count() <= threads


def test_a_page_is_served_and_its_hit_recorded(site: Site) -> None:
    site.page("/a", "one", headers={"ETag": "x"})
    site.page("/a", "two")
    site.page("/a?n=2", "second", status=203, content_type="text/plain")
    assert get(site, "/a")[::2] == (200, b"two")
    assert get(site, "/a?other") == get(site, "/a")
    status, headers, body = get(site, "/a?n=2", headers={"User-Agent": "test"})
    assert (status, headers["content-type"], body) == (203, "text/plain", b"second")
    assert site.paths == ["/a", "/a?other", "/a", "/a?n=2"]
    assert site.hits[-1].method == "GET"
    assert site.hits[-1].headers["user-agent"] == "test"
    assert site.hits[0].at <= site.hits[-1].at <= time.monotonic()
    site.forget()
    assert site.hits == []
    assert site.at("/a") == f"http://{site.host}/a"


def test_unknown_and_removed_pages_are_404(site: Site) -> None:
    site.page("/a", "a")
    site.remove("/a")
    for path in ("/a", "/robots.txt", "/"):
        status, headers, body = get(site, path)
        assert (status, headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert b"Not found" in body


def test_a_connection_is_used_again(site: Site) -> None:
    site.pages({"/a": "a", "/b": "b"})
    with closing(connect(site.url)) as client:
        for path in ("/a", "/b", "/missing", "/a"):
            client.request("GET", path)
            client.getresponse().read()
        client.request("HEAD", "/b")
        answer = client.getresponse()
        assert (answer.getheader("Content-Length"), answer.read()) == ("1", b"")
        client.request("POST", "/a", body=b"x" * 100_000)
        assert client.getresponse().read() == b"a"
    assert site.connections == 1
    assert get(site, "/a", headers={"Connection": "close"})[2] == b"a"
    assert site.connections == 2


def test_answers_can_be_delayed(site: Site) -> None:
    site.page("/", "late")
    site.delay = 0.1
    start = time.monotonic()
    assert get(site, "/")[2] == b"late"
    assert time.monotonic() - start >= 0.1


def test_a_folder_is_served_but_nothing_outside(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "www"
    (folder / "sub").mkdir(parents=True)
    (folder / "index.html").write_text("<p>home</p>")
    (folder / "sub" / "a b.txt").write_text("text")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    site.folder(folder)
    site.folder(folder / "sub", path="/files")
    assert get(site, "/")[2] == b"<p>home</p>"
    assert get(site, "/?q=1")[2] == b"<p>home</p>"
    for path in ("/sub/a%20b.txt", "/files/a%20b.txt"):
        status, headers, body = get(site, path)
        assert (status, body) == (200, b"text")
        assert headers["content-type"] == "text/plain; charset=utf-8"
    outside = ["/../secret.txt", "/%2e%2e/secret.txt", "/files/../../secret.txt", "/link.txt"]
    listings = ["/sub", "/sub/", "/files/", "/%00", f"/{tmp_path}/secret.txt"]
    assert {get(site, path)[0] for path in outside + listings} == {404}


def test_a_handler_answers_or_writes_for_itself(site: Site) -> None:
    def raw(request: Request) -> None:
        request.raw.write(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")

    site.route("/echo", lambda request: Answer(201, request.query["q"], {"X-Path": request.path}))
    site.route("/raw", raw)
    status, headers, body = get(site, "/echo?q=caf%C3%A9")
    assert (status, headers["x-path"], body.decode()) == (201, "/echo", "café")
    assert get(site, "/raw")[2] == b"until the end"


def test_what_is_not_http_is_hung_up_on(site: Site) -> None:
    host, _, port = site.host.partition(":")
    with socket.create_connection((host, int(port)), 5) as client:
        client.sendall(b"\x16\x03\x01\x02\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        assert client.recv(100) == b""
    assert site.hits == []


def test_stops_at_once_with_handlers_hanging() -> None:
    before = threading.active_count()
    with Site() as site, closing(connect(site.url)) as idle:
        site.page("/", "x")
        site.route("/never", faults.never())
        site.route("/slow", faults.slow_headers(60))
        site.route("/endless", faults.endless())
        idle.request("GET", "/")
        idle.getresponse().read()
        clients = [connect(site.url) for _ in range(3)]
        for client, path in zip(clients, ("/never", "/slow", "/endless"), strict=True):
            client.request("GET", path)
        while len(site.hits) < 4:
            time.sleep(0.005)
        start = time.monotonic()
        site.close()
        assert time.monotonic() - start < AT_ONCE
        for client in clients:
            client.close()
    assert settled(before)
    gc.collect()


def test_forbidden_counts_every_connection() -> None:
    with Forbidden() as forbidden:
        assert forbidden.hits == 0
        host, _, port = forbidden.host.partition(":")
        with socket.create_connection((host, int(port)), 5):
            assert forbidden.hits == 1
        with closing(connect(forbidden.url)) as client:
            client.request("GET", "/")
            assert b"secret" in client.getresponse().read()
        assert forbidden.at("/x") == f"{forbidden.url}/x"
    assert forbidden.hits == 2


def test_refusals(site: Site) -> None:
    site.route("/503", faults.status(503))
    site.route("/challenge", faults.challenge())
    site.route("/empty", faults.empty())
    site.route("/members", faults.login_redirect())
    site.route("/login", faults.login_page())
    site.route("/moved", faults.redirect("/there", 301))
    site.route("/nowhere", faults.redirect(None))
    site.route("/loop", faults.redirect_loop())
    site.route("/refresh", faults.meta_refresh("/there"))
    assert get(site, "/503")[0] == 503
    status, headers, _ = get(site, "/challenge")
    assert (status, headers["cf-mitigated"]) == (403, "challenge")
    assert get(site, "/empty")[::2] == (200, b"")
    assert get(site, "/members")[1]["location"] == "/login"
    assert b'type="password"' in get(site, "/login")[2]
    status, headers, _ = get(site, "/moved")
    assert (status, headers["location"]) == (301, "/there")
    assert "location" not in get(site, "/nowhere")[1]
    assert get(site, "/loop?a=1")[1]["location"] == "/loop?a=1"
    assert b'content="0; url=/there"' in get(site, "/refresh")[2]


def test_contents_that_cannot_be_read(site: Site) -> None:
    site.route("/pdf", faults.pdf())
    site.route("/charset", faults.wrong_charset())
    site.route("/gzip", faults.bad_gzip())
    site.route("/garbage", faults.garbage())
    site.route("/headers", faults.huge_headers(70_000))
    assert get(site, "/pdf")[1]["content-type"] == "application/pdf"
    _, headers, body = get(site, "/charset")
    assert headers["content-type"].endswith("utf-8")
    with pytest.raises(UnicodeDecodeError):
        body.decode("utf-8")
    with pytest.raises(gzip.BadGzipFile):
        gzip.decompress(get(site, "/gzip")[2])
    with pytest.raises(http.client.BadStatusLine):
        get(site, "/garbage")
    with pytest.raises(http.client.LineTooLong):
        get(site, "/headers")


def test_resets_and_short_bodies(site: Site) -> None:
    site.route("/reset", faults.reset())
    site.route("/midway", faults.reset(midway=True))
    site.route("/short", faults.truncated())
    with pytest.raises(ConnectionResetError) as caught:
        get(site, "/reset")
    assert not isinstance(caught.value, http.client.RemoteDisconnected)
    with closing(connect(site.url)) as client:
        client.request("GET", "/midway")
        answer = client.getresponse()
        with pytest.raises(ConnectionResetError):
            answer.read()
    with pytest.raises(http.client.IncompleteRead):
        get(site, "/short")


def test_a_request_of_which_only_a_part_arrived_is_not_answered(site: Site) -> None:
    asked: list[bytes] = []

    def answer(request: Request) -> Answer:
        asked.append(request.body)
        return Answer(200, "")

    site.route("/", answer)
    host, _, port = site.host.partition(":")
    address = (host, int(port))
    for body in (b"whole", b"who"):
        with closing(socket.create_connection(address, LONG)) as client:
            client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n" + body)
            client.shutdown(socket.SHUT_WR)
            assert bool(client.recv(1)) == (body == b"whole")
    assert asked == [b"whole"]


def test_flaky_and_retry_after_recover(site: Site) -> None:
    site.route("/flaky", faults.flaky(2, then="good"))
    site.route("/later", faults.retry_after(3, then="good"))
    for _ in range(2):
        with pytest.raises(ConnectionResetError):
            get(site, "/flaky")
    assert get(site, "/flaky")[2] == b"good"
    status, headers, _ = get(site, "/later")
    assert (status, headers["retry-after"]) == (429, "3")
    assert get(site, "/later")[::2] == (200, b"good")


def test_slow_answers_are_slow(site: Site) -> None:
    site.route("/headers", faults.slow_headers(0.1, then="whole"))
    site.route("/drip", faults.drip(0.02, then="whole"))
    for path in ("/headers", "/drip"):
        start = time.monotonic()
        assert get(site, path)[2] == b"whole"
        assert time.monotonic() - start >= 0.08


def test_never_never_answers(site: Site) -> None:
    site.route("/", faults.never())
    with closing(http.client.HTTPConnection(site.host, timeout=0.1)) as client:
        client.request("GET", "/")
        with pytest.raises(TimeoutError):
            client.getresponse()


def test_endless_is_endless_until_the_client_goes(site: Site) -> None:
    before = threading.active_count()
    site.route("/", faults.endless())
    with closing(connect(site.url)) as client:
        client.request("GET", "/")
        with client.getresponse() as answer:
            assert len(answer.read(20_000_000)) == 20_000_000
    assert settled(before)


def test_big_has_its_size(site: Site) -> None:
    site.route("/", faults.big(1_000_001))
    _, headers, body = get(site, "/")
    assert (headers["content-length"], len(body)) == ("1000001", 1_000_001)


def test_bombs_unpack_to_a_thousand_times_their_size(site: Site) -> None:
    size = 8 * faults.MEBIBYTE
    site.route("/gzip", faults.gzip_bomb(8))
    site.route("/nested", faults.gzip_bomb(8, layers=2))
    site.route("/deflate", faults.deflate_bomb(8))
    _, headers, body = get(site, "/gzip")
    assert headers["content-encoding"] == "gzip"
    assert len(gzip.decompress(body)) == size
    assert 900 < size / len(body) < 1100
    _, headers, nested = get(site, "/nested")
    assert headers["content-encoding"] == "gzip, gzip"
    assert gzip.decompress(nested) == body
    assert size / len(nested) > 10_000
    _, headers, body = get(site, "/deflate")
    assert headers["content-encoding"] == "deflate"
    assert len(zlib.decompress(body)) == size


def test_a_shop_has_its_items_page_by_page() -> None:
    items = [Item("A&1", "Salt <fine>", "£1.00", url="/x?a=1&b=2"), *some_items(10)]
    pages = shop(items)
    assert list(pages) == ["/", "/page/1.html", "/page/2.html", "/page/3.html"]
    assert pages["/"] == pages["/page/1.html"]
    assert "<title>Shop, page 2</title>" in pages["/page/2.html"]
    counts = [len(re.findall('<li class="product"', body)) for body in pages.values()]
    assert counts == [5, 5, 5, 1]
    assert 'data-sku="A&amp;1"><h2><a href="/x?a=1&amp;b=2">Salt &lt;fine&gt;</a>' in pages["/"]
    assert '<a class="next" rel="next" href="/page/2.html">' in pages["/"]
    assert [path for path, body in pages.items() if 'class="next"' not in body] == ["/page/3.html"]
    assert [path for path, body in pages.items() if 'class="end"' in body] == ["/page/3.html"]


def test_a_shop_can_be_bare_and_empty() -> None:
    text = "".join(shop(some_items(12), next_link=False, end_marker=False).values())
    assert 'class="next"' not in text
    assert 'class="end"' not in text
    assert list(shop([])) == ["/", "/page/1.html"]
    assert 'class="end"' in shop([])["/"]


def test_some_items_are_repeatable() -> None:
    assert some_items(20) == some_items(20)
    assert some_items(20)[:5] == some_items(5)
    assert some_items(20, seed=1) != some_items(20)
    assert len({item.name for item in some_items(300)}) == 300
