"""What a person reads where a page cannot be read: what, where, and what to do next."""

from __future__ import annotations

import gzip
import time
import zlib

import pytest

from livedata.messages.fetch import WHY, advice, why
from livedata.model.run import Run
from spiders.outcome.fetch_errors import classify
from spiders.outcome.reasons import reason_of
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.patience import AT_ONCE, LONG
from tests.runs.test_limits import SecureSite, secure
from tests.runs.test_pagination_none import SINGLE, listing
from tests.runs.test_refusals import PACKED, cut, read_failures
from tests.site import Handler, Request, Site

pytestmark = pytest.mark.one_database

__all__ = ["secure"]

HTTP = b"HTTP/1.1 200 OK\r\n"
LIST = listing("a").encode()


def raw(head: bytes, body: bytes = LIST) -> Handler:
    """These very bytes, and then the end of the connection."""

    def handle(request: Request) -> None:
        request.raw.write(head + b"\r\n" + body)

    return handle


def typed(kind: str, body: bytes = LIST) -> Handler:
    return faults.fixed(body=body, headers={"Content-Type": kind})


LATER = "run it again later"
SEE = "open it in a browser to see what it shows there"
ADDRESS = "check the address, or run it again later"
LIST_PAGE = "choose the address of the page that shows the list"
PUBLIC = "choose a page that is public, since livedata does not log in"
FEWER = "choose a page that shows fewer items at a time"
ALLOWED = "read the site's /robots.txt and choose a page that it allows"
IGNORE = "if you may read it all the same, set ignoreRobots to true in the source"
LESS_OFTEN = "run it less often, once a day for example"
TOO_BIG = "it has more than 5 MiB, which is the most that is read"
UNTYPED = "it is not an HTML page and says nothing of what it is (status 200)"

OF_A_PAGE: dict[str, tuple[Handler, str, str]] = {
    "a challenge": (
        faults.challenge(),
        "challenge",
        f"the site answered with a challenge for browsers (status 403); {SEE}",
    ),
    "403": (faults.status(403), "forbidden", f"the site refused it (status 403); {SEE}"),
    "429": (
        faults.fixed(429, headers={"Retry-After": "3600"}),
        "rate_limited",
        (
            "the site said that it was asked too often, and wants to be left alone for 3600 s "
            f"(status 429); {LATER}, or {LESS_OFTEN}"
        ),
    ),
    "login": (
        faults.redirect("/login"),
        "login_redirect",
        f"the site sent it to a login page (status 200); {PUBLIC}",
    ),
    "nothing": (
        faults.empty(),
        "empty_body",
        f"the site answered with nothing (status 200); {SEE}",
    ),
    "reset": (
        faults.reset(),
        "connection_reset",
        f"the connection was cut before the answer was complete; {LATER}",
    ),
    "never": (
        faults.never(),
        "timeout",
        f"the answer was not complete after 1 s; {LATER}, or give a page more time",
    ),
    "401": (
        faults.status(401),
        "http_error",
        f"the site does not let everybody read it (status 401); {PUBLIC}",
    ),
    "404": (
        faults.status(404),
        "http_error",
        "the site says that there is no such page (status 404); look for where it is now",
    ),
    "500": (
        faults.status(500),
        "http_error",
        f"the site answered with an error (status 500); {LATER}",
    ),
    "a redirect to nowhere": (
        faults.redirect("http://[broken/"),
        "http_error",
        (
            "the site answered with a redirect that cannot be followed (status 302); "
            "look for where the page is now"
        ),
    ),
    "PDF": (
        faults.pdf(),
        "invalid_content",
        f"it is not an HTML page but application/pdf (status 200); {LIST_PAGE}",
    ),
    "no HTTP": (
        faults.garbage(),
        "invalid_content",
        f"the answer is not HTTP: it begins with 'SSH-2.0-server'; {ADDRESS}",
    ),
    "no status": (
        raw(b"HTTP/1.1 abc\r\n"),
        "invalid_content",
        f"the answer is not HTTP: it begins with 'HTTP/1.1 abc'; {ADDRESS}",
    ),
    "two lengths": (
        raw(HTTP + b"Content-Length: 5\r\nContent-Length: 9\r\n"),
        "invalid_content",
        f"the answer is broken HTTP: its Content-Length is not one number; {ADDRESS}",
    ),
    "a length in words": (
        raw(HTTP + b"Content-Length: abc\r\n"),
        "invalid_content",
        f"the answer is broken HTTP: its Content-Length is not one number; {ADDRESS}",
    ),
    "chunks without length": (
        raw(HTTP + b"Transfer-Encoding: chunked\r\n", b"zz\r\nx\r\n0\r\n\r\n"),
        "invalid_content",
        f"the answer is broken HTTP: its chunks do not say how long they are; {ADDRESS}",
    ),
    "bad gzip": (
        faults.bad_gzip(),
        "invalid_content",
        f"its compression is damaged (incorrect header check); {ADDRESS}",
    ),
    "cut gzip": (
        cut(gzip.compress(PACKED), "gzip"),
        "invalid_content",
        f"its compressed body was cut; {ADDRESS}",
    ),
    "announced as too big": (faults.big(6 << 20), "limit_exceeded", f"{TOO_BIG}; {FEWER}"),
    "too big": (faults.endless(), "limit_exceeded", f"{TOO_BIG}; {FEWER}"),
    "too big when unpacked": (faults.gzip_bomb(64), "limit_exceeded", f"{TOO_BIG}; {FEWER}"),
    "too many headers": (
        faults.endless_headers(),
        "limit_exceeded",
        (
            "its headers have more than 256 KiB, which is the most that is read; run it again "
            "later, or open it in a browser to see what it shows there"
        ),
    ),
    "too deep": (
        faults.fixed(body="<div>" * 400_000),
        "limit_exceeded",
        (
            "it has more than 130,000 elements or 250,000 attributes, or nests them so deeply that "
            "it cannot be read; "
            f"{FEWER}"
        ),
    ),
    "a redirect loop": (
        faults.redirect_loop(),
        "limit_exceeded",
        "it redirects more often than a Run follows; open it in a browser to see where it leads",
    ),
}


def run_of(
    crawling: Crawling, url: str, allow: str, timeout: float = LONG, **changes: object
) -> Run:
    source = shop_source(url, pagination=SINGLE, **changes)
    return crawling.run(crawling.create(source, allow=allow), allow=allow, timeout=timeout)


@pytest.mark.parametrize("name", OF_A_PAGE)
def test_a_page_that_is_not_read_is_told_with_its_number_address_and_what_may_help(
    crawling: Crawling, site: Site, name: str
) -> None:
    handler, reason, words = OF_A_PAGE[name]
    site.route("/1", handler)
    site.route("/login", faults.login_page())
    run = run_of(crawling, site.at("/1"), site.host, 1 if reason == "timeout" else LONG)
    assert run["error"] == f"Page 1 ({site.at('/1')}) could not be read: {words}."
    assert [failure[0] for failure in read_failures(crawling.store, run)] == [reason]


DISALLOW = "User-agent: *\nDisallow: /"
FIRST = "the site's robots.txt, which comes first, could not be"
OF_ROBOTS: dict[str, tuple[Handler, str, str]] = {
    "not allowed": (
        typed("text/plain", DISALLOW.encode()),
        "robots_disallowed",
        f"the site's robots.txt does not allow it; {ALLOWED}, or {IGNORE}",
    ),
    "503": (
        faults.status(503),
        "robots_disallowed",
        (
            "nothing may be read while the site's robots.txt answers with an error (status 503); "
            f"{LATER}, or {IGNORE}"
        ),
    ),
    "429": (
        faults.fixed(429, headers={"Retry-After": "3600"}),
        "rate_limited",
        (
            "the site said that its robots.txt was asked for too often (status 429); "
            f"{LATER}, or {LESS_OFTEN}"
        ),
    ),
    "reset": (
        faults.reset(),
        "connection_reset",
        f"{FIRST}: the connection was cut before the answer was complete; {LATER}, or {IGNORE}",
    ),
    "too big": (faults.endless(), "limit_exceeded", f"{FIRST}: {TOO_BIG}; {LATER}, or {IGNORE}"),
}


@pytest.mark.parametrize("name", OF_ROBOTS)
def test_robots_txt_that_is_in_the_way_is_named_and_its_errors_are_no_prohibition(
    crawling: Crawling, site: Site, name: str
) -> None:
    handler, reason, words = OF_ROBOTS[name]
    site.route("/robots.txt", handler)
    site.page("/1", LIST)
    run = run_of(crawling, site.at("/1"), site.host)
    assert run["error"] == f"Page 1 ({site.at('/1')}) could not be read: {words}."
    assert [failure[0] for failure in read_failures(crawling.store, run)] == [reason]
    assert "/1" not in site.paths


@pytest.mark.parametrize("kind", ["application/octet-stream", "application/pdf", "text/plain"])
def test_the_declared_type_decides_whatever_the_address_ends_in(
    crawling: Crawling, site: Site, kind: str
) -> None:
    site.route("/list.html", typed(kind))
    run = run_of(crawling, site.at("/list.html"), site.host)
    assert read_failures(crawling.store, run) == [("invalid_content", 200, site.url)]
    assert f"it is not an HTML page but {kind} (status 200)" in str(run["error"])
    with crawling.store.reading() as reader:
        [(kept,)] = reader.rows("SELECT markup FROM failed_pages")
    assert bool(zlib.decompress(kept)) is kind.startswith("text/")


@pytest.mark.parametrize("path", ["/list.html", "/list.pdf"])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (LIST, "succeeded"),
        (b'\xef\xbb\xbf <?xml version="1.0"?>\n' + LIST, "succeeded"),
        (b"<ul><li class=product data-sku=a><h2><a>A</a></h2></ul>", "succeeded"),
        (faults.PDF, "failed"),
        (b"<rss><li class=product data-sku=a></rss>", "failed"),
        (b"Not a page: " + LIST, "failed"),
    ],
)
def test_where_no_type_is_declared_the_beginning_decides(
    crawling: Crawling, site: Site, path: str, body: bytes, status: str
) -> None:
    site.route(path, raw(HTTP, body))
    run = run_of(crawling, site.at(path), site.host)
    assert run["status"] == status, run["error"]
    if status == "failed":
        assert f"could not be read: {UNTYPED}; {LIST_PAGE}." in str(run["error"])


def test_a_certificate_that_does_not_verify_is_named(
    crawling: Crawling, secure: SecureSite
) -> None:
    run = run_of(crawling, f"https://{secure.host}/1", secure.host)
    assert run["error"] == (
        f"Page 1 (https://{secure.host}/1) could not be read: "
        f"{WHY['fetch.bad_certificate']}; open the address in a browser to see what is wrong with "
        "it."
    )


def test_headers_of_60_kib_are_no_trouble(crawling: Crawling, site: Site) -> None:
    site.page("/1", LIST, headers={"X-Padding": "x" * 60_000})
    assert run_of(crawling, site.at("/1"), site.host)["status"] == "succeeded"


def test_a_name_that_does_not_exist_is_named(crawling: Crawling) -> None:
    source = shop_source("http://no-such-name.invalid/1", pagination=SINGLE)
    run = crawling.run(crawling.create(source, allow=""), allow="", timeout=20)
    assert run["error"] == (
        "Page 1 (http://no-such-name.invalid/1) could not be read: no host of the name "
        f"no-such-name.invalid can be found; {ADDRESS}."
    )
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["network"]


def test_a_port_at_which_nobody_listens_is_named(crawling: Crawling) -> None:
    with Site() as gone:
        url, host = gone.at("/1"), gone.host
    run = run_of(crawling, url, host)
    assert run["error"] == (
        f"Page 1 ({url}) could not be read: nothing answers at {host} (connection refused); "
        f"{ADDRESS}."
    )


def test_a_private_address_is_named_without_what_the_redirect_carries(
    crawling: Crawling, site: Site
) -> None:
    site.route("/1", faults.redirect("http://10.1.2.3:81/x?token=secret"))
    run = run_of(crawling, site.at("/1"), site.host)
    assert run["error"] == (
        f"Page 1 ({site.at('/1')}), sent on to http://10.1.2.3:81, could not be read: the address "
        "of 10.1.2.3:81 is private; if that host is your own, the setting "
        "allow_hosts lets it through."
    )


@pytest.mark.parametrize("host", ["a" * 70 + ".example", "..", "%zz", "a:b@shop.example"])
@pytest.mark.parametrize("way", [faults.redirect, faults.meta_refresh])
def test_a_redirect_to_a_host_that_is_none_ends_at_once(
    crawling: Crawling, site: Site, host: str, way: object
) -> None:
    assert callable(way)
    site.route("/1", way(f"http://{host}/"))
    source = shop_source(site.at("/1"), pagination=SINGLE)
    started = time.monotonic()
    run = crawling.run(crawling.create(source, allow=site.host), allow=site.host, timeout=LONG)
    assert time.monotonic() - started < AT_ONCE
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["unsafe_target"]
    assert "could not be read: its address " in str(run["error"])
    assert "a:b@" not in str(run["error"])


@pytest.mark.parametrize("error", [ValueError("x"), OSError(24, "Too many open files"), KeyError()])
def test_a_fault_of_our_own_is_unknown_and_no_fault_of_the_site(error: Exception) -> None:
    problem = classify(error, 20)
    assert reason_of(problem) == "unknown"
    assert type(error).__name__ in why(problem)
    assert "report it" in advice(problem)
