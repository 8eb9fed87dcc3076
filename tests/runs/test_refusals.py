"""Sites that do not let themselves be read: how the Run ends, and that nothing else moves."""

from __future__ import annotations

import gzip
import itertools
import zlib
from pathlib import Path
from typing import Any

import pytest

from livedata.messages.fetch import WHY
from livedata.model import ids
from livedata.model.run import Run
from livedata.store.database.codec import load_compressed
from livedata.store.database.store import Store
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.databases import Dump, everything
from tests.patience import LONG
from tests.runs.test_pagination_none import failed_checks, listing
from tests.site import Answer, Handler, Request, Site
from tests.tls import SecureSite, certificate

pytestmark = pytest.mark.one_database

MOVED_BY_A_RUN = {"runs", "attempts", "held_outputs", "failed_pages"}
NEXT = '<a class="next" href="/2">Next</a>'
JSON = {"Content-Type": "application/json"}


def contents(store: Store) -> Dump:
    """Every table that a Run which is not accepted must leave as it is."""
    return everything(store, MOVED_BY_A_RUN)


def steps(store: Store, run: Run) -> list[dict[str, Any]]:
    """The trace of a Run's last attempt as it is stored."""
    with store.reading() as reader:
        stored = reader.value(
            "SELECT steps FROM attempts WHERE run_id = :run ORDER BY number DESC",
            run=ids.raw_id(run["id"]),
        )
    decoded: list[dict[str, Any]] = load_compressed(stored)
    return decoded


def read_failures(store: Store, run: Run) -> list[tuple[str, int | None, str | None]]:
    """Reason, status and finalUrl of each page that could not be read."""
    failures = [step["readFailure"] for step in steps(store, run) if step.get("readFailure")]
    return [(failure["reason"], failure["status"], failure["finalUrl"]) for failure in failures]


def trickling() -> Handler:
    return faults.drip(0.2)


def cut(packed: bytes, encoding: str) -> Handler:
    """A compressed page of which the end is missing, announced as if it were whole."""
    return faults.fixed(body=packed[: len(packed) * 2 // 3], headers={"Content-Encoding": encoding})


PACKED = listing([f"item-{number}" for number in range(200)]).encode()

BLOCKED: dict[str, tuple[Handler, str, int]] = {
    "forbidden": (faults.status(403), "forbidden", 403),
    "rate limited": (faults.status(429), "rate_limited", 429),
    "a challenge": (faults.challenge(), "challenge", 403),
    "nothing": (faults.empty(), "empty_body", 200),
    "white space": (faults.fixed(body=b" \n "), "empty_body", 200),
    "login": (faults.login_redirect(), "login_redirect", 200),
}

FAILED: dict[str, tuple[Handler, str, int | None]] = {
    "401": (faults.status(401), "http_error", 401),
    "404": (faults.status(404), "http_error", 404),
    "410": (faults.status(410), "http_error", 410),
    "451": (faults.status(451), "http_error", 451),
    "500": (faults.status(500), "http_error", 500),
    "503": (faults.status(503), "http_error", 503),
    "no location": (faults.redirect(None), "http_error", 302),
    "to a file": (faults.redirect("file:///etc/passwd"), "unsafe_target", 302),
    "to ftp": (faults.redirect("ftp://127.0.0.1/x"), "unsafe_target", 302),
    "to data": (faults.redirect("data:text/html,<p>x", 307), "unsafe_target", 307),
    "to an app": (faults.redirect("shop://item/1", 301), "unsafe_target", 301),
    "to a script": (faults.redirect("javascript:f()"), "http_error", 302),
    "refresh to a file": (faults.meta_refresh("file:///etc/passwd"), "unsafe_target", 200),
    "refresh to an app": (faults.meta_refresh("shop://item/1"), "unsafe_target", 200),
    "redirect loop": (faults.redirect_loop(), "limit_exceeded", None),
    "refresh loop": (faults.refresh_loop(), "limit_exceeded", None),
    "reset": (faults.reset(), "connection_reset", None),
    "reset midway": (faults.reset(midway=True), "connection_reset", None),
    "truncated": (faults.truncated(), "connection_reset", None),
    "never": (faults.never(), "timeout", None),
    "slow headers": (faults.slow_headers(5), "timeout", None),
    "drip": (trickling(), "timeout", None),
    "no HTTP": (faults.garbage(), "invalid_content", None),
    "bad gzip": (faults.bad_gzip(), "invalid_content", None),
    "bad deflate": (
        faults.fixed(headers={"Content-Encoding": "deflate"}),
        "invalid_content",
        None,
    ),
    "cut gzip": (cut(gzip.compress(PACKED), "gzip"), "invalid_content", None),
    "cut deflate": (cut(zlib.compress(PACKED), "deflate"), "invalid_content", None),
    "brotli": (faults.fixed(headers={"Content-Encoding": "br"}), "invalid_content", None),
    "gzip bomb": (faults.gzip_bomb(256), "limit_exceeded", None),
    "gzip bomb in gzip": (faults.gzip_bomb(256, layers=2), "limit_exceeded", None),
    "deflate bomb": (faults.deflate_bomb(256), "limit_exceeded", None),
    "6 MiB": (faults.big(6 << 20), "limit_exceeded", None),
    "endless": (faults.endless(), "limit_exceeded", None),
    "PDF": (faults.pdf(), "invalid_content", 200),
    "JSON": (faults.fixed(body='{"a": 1}', headers=JSON), "invalid_content", 200),
    "image": (
        faults.fixed(body=b"\x89PNG\r\n\x1a\n", headers={"Content-Type": "image/png"}),
        "invalid_content",
        200,
    ),
}


def accepted_then(
    crawling: Crawling, site: Site, first: Handler, second: Handler, timeout: float = LONG
) -> Run:
    """A Run after an accepted one, once the two pages have become these."""
    site.page("/1", listing("ab", NEXT))
    site.page("/2", listing("c"))
    site.route("/login", faults.login_page())
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
    site.forget()
    site.route("/1", first)
    site.route("/2", second)
    before = contents(crawling.store)
    run = crawling.run(dataset, allow=site.host, timeout=timeout)
    assert contents(crawling.store) == before
    assert run["rowDeltas"] == {"new": 0, "changed": 0, "gone": 0}
    assert crawling.story(run).charged == 0
    assert run["error"]
    return run


@pytest.mark.parametrize("name", BLOCKED)
def test_a_site_that_refuses_every_attempt_blocks_the_run(
    crawling: Crawling, site: Site, name: str
) -> None:
    handler, reason, status = BLOCKED[name]
    run = accepted_then(crawling, site, handler, handler)
    assert (run["status"], run["checks"]) == ("blocked", [])
    assert read_failures(crawling.store, run) == [(reason, status, site.url)]
    assert site.at("/1") in str(run["error"])


@pytest.mark.parametrize("name", FAILED)
def test_other_failures_of_the_first_page_fail_the_run(
    crawling: Crawling, site: Site, name: str
) -> None:
    handler, reason, status = FAILED[name]
    timeout = 1 if reason == "timeout" else LONG
    run = accepted_then(crawling, site, handler, faults.fixed(), timeout)
    [failure] = read_failures(crawling.store, run)
    assert (run["status"], failure[:2]) == ("failed", (reason, status))
    assert failed_checks(run)[0] == "coverage"
    assert site.at("/1") in str(run["error"])
    assert crawling.story(run).stop["rule"] == "page_failed"


@pytest.mark.parametrize("name", BLOCKED)
def test_refused_on_a_later_page_is_failed_and_not_blocked(
    crawling: Crawling, site: Site, name: str
) -> None:
    handler, reason, status = BLOCKED[name]
    first = faults.fixed(body=listing("ab", NEXT))
    run = accepted_then(crawling, site, first, handler)
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage"])
    assert read_failures(crawling.store, run) == [(reason, status, site.url)]
    assert site.at("/2") in str(run["error"])


def test_an_attempt_that_was_no_refusal_makes_failed_of_blocked(
    crawling: Crawling, site: Site
) -> None:
    answers = itertools.chain([500], itertools.repeat(403))
    run = accepted_then(crawling, site, lambda r: faults.status(next(answers))(r), faults.fixed())
    assert run["status"] == "failed"
    assert read_failures(crawling.store, run) == [("forbidden", 403, site.url)]


@pytest.mark.parametrize("code", [200, 403, 404, 500])
def test_a_login_page_with_items_is_content_only_where_it_is_answered_well(
    crawling: Crawling, site: Site, code: int
) -> None:
    site.route("/1", faults.redirect("/login/"))
    site.page("/login/", listing("a", '<input type="password">'), status=code)
    run = crawling.run(
        crawling.create(shop_source(site.at("/1")), allow=site.host), allow=site.host
    )
    assert (run["status"] == "succeeded") is (code == 200)


def test_a_source_that_is_a_login_page_itself_is_no_login_redirect(
    crawling: Crawling, site: Site
) -> None:
    site.route("/login", faults.redirect("/auth"))
    site.page("/auth", "<p>nothing here</p>")
    dataset = crawling.create(shop_source(site.at("/login")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert (run["status"], failed_checks(run)) == ("failed", ["extraction", "minimum-items"])


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504, 408])
def test_a_page_that_is_well_at_the_second_attempt_is_read(
    crawling: Crawling, site: Site, code: int
) -> None:
    answers = iter([Answer(code, "<p>Later</p>"), Answer(200, listing("a"))])
    site.route("/1", lambda _: next(answers))
    run = crawling.run(
        crawling.create(shop_source(site.at("/1")), allow=site.host), allow=site.host
    )
    assert run["status"] == "succeeded", run["error"]
    assert site.paths == ["/robots.txt", "/1", "/1"]
    assert crawling.story(run).charged == 1


@pytest.mark.parametrize("code", [401, 403, 404, 451])
def test_what_asking_again_will_not_change_is_asked_once(
    crawling: Crawling, site: Site, code: int
) -> None:
    site.route("/1", faults.status(code))
    crawling.run(crawling.create(shop_source(site.at("/1")), allow=site.host), allow=site.host)
    assert site.paths == ["/robots.txt", "/1"]


def test_one_reset_is_recovered_from(crawling: Crawling, site: Site) -> None:
    site.route("/1", faults.flaky(1, listing("a")))
    run = crawling.run(
        crawling.create(shop_source(site.at("/1")), allow=site.host), allow=site.host
    )
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 1)


def test_a_site_that_is_not_there_fails_as_network(crawling: Crawling) -> None:
    with Site() as gone:
        allow, url = gone.host, gone.at("/1")
    run = crawling.run(crawling.create(shop_source(url), allow=allow), allow=allow)
    assert run["status"] == "failed"
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["network"]


def test_a_certificate_that_nobody_signed_is_network_and_said(crawling: Crawling) -> None:
    with SecureSite() as site:
        site.page("/1", listing("a"))
        run = crawling.run(
            crawling.create(shop_source(site.at("/1")), allow=site.host), allow=site.host
        )
        assert [failure[0] for failure in read_failures(crawling.store, run)] == ["network"]
        assert f"could not be read: {WHY['fetch.bad_certificate']};" in str(run["error"])
        assert site.paths == []


def test_a_certificate_for_another_host_is_network_and_said(
    crawling: Crawling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(certificate())
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with SecureSite() as site:
        site.page("/1", listing("a"))
        own = {**shop_source(site.at("/1")), "name": "its own"}
        dataset = crawling.create(own, allow=site.host)
        assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
        allow = site.host.replace("127.0.0.1", "localhost")
        dataset = crawling.create(shop_source(f"https://{allow}/1"), allow=allow)
        run = crawling.run(dataset, allow=allow)
        assert [failure[0] for failure in read_failures(crawling.store, run)] == ["network"]
        assert f"could not be read: {WHY['fetch.certificate_of_another']};" in str(run["error"])


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "x-gzip", "identity"])
def test_compressed_pages_are_read_whole(crawling: Crawling, site: Site, encoding: str) -> None:
    packed = {"deflate": zlib.compress(PACKED), "identity": PACKED}
    body = packed.get(encoding, gzip.compress(PACKED))
    site.page("/1", body, headers={"Content-Encoding": encoding})
    run = crawling.run(
        crawling.create(shop_source(site.at("/1")), allow=site.host), allow=site.host
    )
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 200)
    assert site.hits[-1].headers["accept-encoding"] == "gzip, deflate"


def test_bare_deflate_and_gzip_in_pieces_are_read_too(crawling: Crawling, site: Site) -> None:
    bare = zlib.compressobj(wbits=-15)
    packed = bare.compress(PACKED) + bare.flush()
    pieces = gzip.compress(PACKED[:500]) + gzip.compress(PACKED[500:]) + b"\0" * 8
    for name, body, encoding in (("/1", packed, "deflate"), ("/2", pieces, "gzip")):
        site.page(name, body, headers={"Content-Encoding": encoding})
        dataset = crawling.create({**shop_source(site.at(name)), "name": name}, allow=site.host)
        assert crawling.run(dataset, allow=site.host)["rowDeltas"]["new"] == 200


@pytest.mark.parametrize("way", [faults.redirect("/new"), faults.meta_refresh("/new")])
def test_a_redirect_is_followed(crawling: Crawling, site: Site, way: Handler) -> None:
    site.route("/1", way)
    site.page("/new", listing("a"))
    run = crawling.run(
        crawling.create(shop_source(site.at("/1")), allow=site.host), allow=site.host
    )
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 1)
    assert crawling.story(run).charged == 1


def robots(crawling: Crawling, site: Site, text: str, status: int = 200, **changes: Any) -> Run:
    site.page("/robots.txt", text, status=status, content_type="text/plain")
    site.page("/private/1", listing("a"))
    source = shop_source(site.at("/private/1"), **changes)
    return crawling.run(crawling.create(source, allow=site.host), allow=site.host)


@pytest.mark.parametrize(
    "text", ["User-agent: *\nDisallow: /private", "User-agent: livedata-tests\nDisallow: /"]
)
def test_robots_txt_is_obeyed(crawling: Crawling, site: Site, text: str) -> None:
    run = robots(crawling, site, text)
    assert run["status"] == "failed"
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["robots_disallowed"]
    assert "robots.txt" in str(run["error"])
    assert site.paths == ["/robots.txt"]


@pytest.mark.parametrize(
    "text",
    ["", "User-agent: *\nDisallow: /private\nAllow: /private/1", "User-agent: x\nDisallow: /"],
)
def test_what_robots_txt_allows_is_read(crawling: Crawling, site: Site, text: str) -> None:
    assert robots(crawling, site, text)["status"] == "succeeded"


@pytest.mark.parametrize(
    ("status", "wanted"), [(404, "succeeded"), (403, "succeeded"), (500, "failed")]
)
def test_robots_txt_that_is_an_error_page_allows_by_4xx_and_forbids_by_5xx(
    crawling: Crawling, site: Site, status: int, wanted: str
) -> None:
    rules = {404: "User-agent: *\nDisallow: /", 403: "User-agent: *\nDisallow: /", 500: ""}
    run = robots(crawling, site, rules[status], status)
    assert run["status"] == wanted
    failures = [failure[0] for failure in read_failures(crawling.store, run)]
    assert failures == ([] if wanted == "succeeded" else ["robots_disallowed"])


def test_ignore_robots_does_not_even_ask(crawling: Crawling, site: Site) -> None:
    run = robots(crawling, site, "User-agent: *\nDisallow: /", ignoreRobots=True)
    assert run["status"] == "succeeded"
    assert "/robots.txt" not in site.paths


def gaps(site: Site) -> list[float]:
    times = [hit.at for hit in site.hits]
    return [late - early for early, late in itertools.pairwise(times)]


def test_a_crawl_delay_is_kept_between_pages(crawling: Crawling, site: Site) -> None:
    site.page("/2", listing("b"))
    site.page("/robots.txt", "User-agent: *\nCrawl-delay: 2", content_type="text/plain")
    site.page("/1", listing("a", NEXT))
    run = crawling.run(
        crawling.create(shop_source(site.at("/1")), allow=site.host), allow=site.host
    )
    assert run["status"] == "succeeded"
    # They are measured where requests arrive, and one may be late on a busy machine.
    assert all(gap > 1 for gap in gaps(site)), gaps(site)


def test_a_crawl_delay_is_capped(
    crawling: Crawling, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spiders.fetch.middlewares.MAX_CRAWL_DELAY", 1)
    run = robots(crawling, site, "User-agent: *\nCrawl-delay: 3600")
    assert run["status"] == "succeeded"
    assert 0.5 < gaps(site)[0] < LONG


def test_the_user_agent_is_the_one_that_was_set(crawling: Crawling, site: Site) -> None:
    robots(crawling, site, "")
    assert {hit.headers["user-agent"] for hit in site.hits} == {"livedata-tests"}


def test_a_cookie_that_the_site_sets_is_sent_back_within_the_run_only(
    crawling: Crawling, site: Site
) -> None:
    def page(request: Request) -> Answer:
        seen = request.headers.get("cookie", "none")
        return Answer(200, listing([seen], NEXT), {"Set-Cookie": "a=b"})

    site.route("/1", page)
    site.route("/2", lambda request: Answer(200, listing([request.headers.get("cookie", "none")])))
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    for _ in range(2):
        site.forget()
        assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
        assert [hit.headers.get("cookie") for hit in site.hits] == [None, None, "a=b"]
