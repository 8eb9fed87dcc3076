"""Rendered pages that cannot be read: the same reasons as for those that are not rendered."""

from __future__ import annotations

import pytest

from livedata.messages.fetch import WHY
from spiders.browser import rendering
from spiders.browser.egress import Egress
from tests import faults
from tests.browser.scripted import single
from tests.crawling import Crawling
from tests.runs.test_pagination_none import listing
from tests.runs.test_refusals import JSON, contents, read_failures
from tests.site import Answer, Handler, Site
from tests.tls import SecureSite

PNG = {"Content-Type": "image/png"}


def no_content() -> Handler:
    return lambda _: Answer(204)


def attached() -> Handler:
    return faults.fixed(headers={"Content-Disposition": "attachment; filename=list.html"})


def script(text: str) -> Handler:
    return faults.fixed(body=f"<!doctype html><title>x</title><p>x</p><script>{text}</script>")


BLOCKED: dict[str, tuple[Handler, str, int]] = {
    "forbidden": (faults.status(403), "forbidden", 403),
    "forbidden without a body": (faults.fixed(403, b""), "forbidden", 403),
    "rate limited": (faults.status(429), "rate_limited", 429),
    "a challenge": (faults.challenge(), "challenge", 403),
    "nothing": (faults.empty(), "empty_body", 200),
    "no content": (no_content(), "empty_body", 204),
    "login": (faults.login_redirect(), "login_redirect", 200),
}
FAILED: dict[str, tuple[Handler, str, int | None]] = {
    "401": (faults.status(401), "http_error", 401),
    "404": (faults.status(404), "http_error", 404),
    "451": (faults.status(451), "http_error", 451),
    "500": (faults.status(500), "http_error", 500),
    "500 without a body": (faults.fixed(500, b""), "http_error", 500),
    "no location": (faults.redirect(None), "http_error", 302),
    "to a file": (faults.redirect("file:///etc/passwd"), "http_error", 302),
    "to ftp": (faults.redirect("ftp://127.0.0.1/x"), "http_error", 302),
    "to data": (faults.redirect("data:text/html,<p>x", 307), "http_error", 307),
    "redirect loop": (faults.redirect_loop(), "limit_exceeded", None),
    "refresh loop": (faults.refresh_loop(), "limit_exceeded", None),
    "script loop": (script("location.reload()"), "limit_exceeded", None),
    "reset": (faults.reset(), "connection_reset", None),
    "reset midway": (faults.reset(midway=True), "connection_reset", None),
    "truncated": (faults.truncated(), "connection_reset", None),
    "never": (faults.never(), "timeout", None),
    "slow headers": (faults.slow_headers(9), "timeout", None),
    "drip": (faults.drip(0.2), "timeout", None),
    "endless script": (script("for (;;);"), "timeout", None),
    "endless alerts": (script("for (;;) alert('x')"), "timeout", None),
    "endless requests": (script("setInterval(() => fetch('/x'), 20)"), "timeout", None),
    "no HTTP": (faults.garbage(), "invalid_content", None),
    "bad gzip": (faults.bad_gzip(), "invalid_content", None),
    "JSON": (faults.fixed(body='{"a": 1}', headers=JSON), "invalid_content", 200),
    "image": (faults.fixed(body=b"\x89PNG\r\n\x1a\n", headers=PNG), "invalid_content", 200),
    "download": (attached(), "invalid_content", None),
    "huge DOM": (script("document.body.append('x'.repeat(6 << 20))"), "limit_exceeded", None),
}


@pytest.mark.parametrize("case", BLOCKED)
def test_a_site_that_refuses_blocks_the_run(crawling: Crawling, site: Site, case: str) -> None:
    handler, reason, status = BLOCKED[case]
    site.route("/1", handler)
    site.route("/login", faults.login_page())
    run = crawling.run(crawling.create(single(site.at("/1")), allow=site.host), allow=site.host)
    assert run["status"] == "blocked", run["error"]
    assert read_failures(crawling.store, run) == [(reason, status, site.url)]


@pytest.mark.parametrize("case", FAILED)
def test_a_page_that_cannot_be_read_fails_the_run(
    crawling: Crawling, site: Site, case: str
) -> None:
    handler, reason, status = FAILED[case]
    site.route("/1", handler)
    dataset = crawling.create(single(site.at("/1")), allow=site.host)
    before = contents(crawling.store)
    run = crawling.run(dataset, allow=site.host, timeout=1 if reason == "timeout" else 20)
    assert run["status"] == "failed"
    failures = read_failures(crawling.store, run)
    assert [failure[:2] for failure in failures] == [(reason, status)], run["error"]
    assert contents(crawling.store) == before


def test_a_certificate_that_nobody_signed_is_told_in_the_words_of_static_runs(
    crawling: Crawling,
) -> None:
    with SecureSite() as site:
        site.page("/1", listing("a"))
        for robots in (True, False):
            source = single(site.at("/1"), ignoreRobots=robots)
            dataset = crawling.create({**source, "name": f"robots {robots}"}, allow=site.host)
            run = crawling.run(dataset, allow=site.host)
            assert read_failures(crawling.store, run) == [("network", None, site.url)]
            assert f"could not be read: {WHY['fetch.bad_certificate']};" in str(run["error"])
        assert site.paths == []


def test_a_pdf_is_no_page_whether_it_is_shown_or_downloaded(crawling: Crawling, site: Site) -> None:
    """The headless shell downloads it, so there is no status; the whole of Chromium shows it."""
    site.route("/1", faults.pdf())
    run = crawling.run(crawling.create(single(site.at("/1")), allow=site.host), allow=site.host)
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["invalid_content"]


def test_a_page_without_end_fails_by_its_size_or_by_the_time_that_it_takes(
    crawling: Crawling, site: Site
) -> None:
    """Which comes first depends on how fast the machine's browser builds it."""
    site.route("/1", faults.endless())
    dataset = crawling.create(single(site.at("/1")), allow=site.host)
    run = crawling.run(dataset, allow=site.host, timeout=2)
    assert {failure[0] for failure in read_failures(crawling.store, run)} <= {
        "limit_exceeded",
        "timeout",
    }
    assert run["status"] == "failed"


def test_a_page_that_loads_too_much_is_cut_off(
    crawling: Crawling, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendering, "Egress", lambda targets: Egress(targets, most=2 << 20))
    site.route("/big", faults.big(3 << 20))
    site.page("/1", listing("ab", "<script>fetch('/big').then(got => got.text())</script>"))
    dataset = crawling.create(single(site.at("/1")), allow=site.host)
    run = crawling.run(dataset, allow=site.host, timeout=20)
    assert {failure[0] for failure in read_failures(crawling.store, run)} == {"limit_exceeded"}
    assert "it loads more than 2 MiB" in str(run["error"])
