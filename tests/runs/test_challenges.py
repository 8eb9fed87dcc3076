"""What is a challenge and what only looks like one: a false alarm would block a good source."""

from __future__ import annotations

import time
from typing import Any

import pytest
from scrapy.http import HtmlResponse, TextResponse

from spiders.outcome.challenge import LOOKED_AT, said_by_body
from spiders.outcome.responses import refused
from tests.crawling import Crawling, shop_source
from tests.runs.test_pagination_none import SINGLE, failed_checks, listing
from tests.runs.test_refusals import read_failures
from tests.site import Site

pytestmark = pytest.mark.one_database

URL = "https://shop.example/list"
DELIVERY = "https://geo.captcha-delivery.com/captcha/?initialCid=x"

HEADERS: dict[str, tuple[int, dict[str, str]]] = {
    "Cloudflare": (403, {"cf-mitigated": "challenge"}),
    "Cloudflare with 200": (200, {"CF-Mitigated": "Challenge"}),
    "Vercel": (429, {"x-vercel-mitigated": "challenge"}),
    "AWS, which answers 202": (202, {"x-amzn-waf-action": "challenge"}),
    "AWS captcha": (405, {"x-amzn-waf-action": "captcha"}),
    "DataDome": (403, {"x-dd-b": "1"}),
    "DataDome's other": (403, {"x-dd-b": "2"}),
    "Kasada": (429, {"x-kpsdk-ct": "0abc"}),
}

BODIES = {
    "Cloudflare's options": "<script>(function(){window._cf_chl_opt={cvId:'3'};}());</script>",
    "Cloudflare's title and path": (
        "<title>Just a moment...</title><script src='/cdn-cgi/challenge-platform/h/b/x.js'>"
    ),
    "DataDome's frame": f'<iframe title="x" src="{DELIVERY}"></iframe>',
    "DataDome's script": "<script>var dd={'rt':'c','host':'geo.captcha-delivery.com'}</script>",
    "PerimeterX": "<div class=a id='px-captcha'></div>",
    "Imperva": "<iframe id=main src='/_Incapsula_Resource?CWUDNSAI=23'></iframe>",
    "Akamai": '<div id="sec-if-cpt-container" class="x"></div>',
    "Anubis": "<script type=module src='/.within.website/x/cmd/anubis/static/js/main.mjs'>",
}

CONTENT = {
    "reCAPTCHA": '<div class="g-recaptcha" data-sitekey="x"></div>',
    "hCaptcha": '<script src="https://js.hcaptcha.com/1/api.js"></script>',
    "Turnstile": '<script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script>',
    "Cloudflare's script on a good page": (
        "<title>Shop</title><script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>"
    ),
    "a title of that name": "<title>Just a moment in time: clocks</title>",
    "Imperva's script on a good page": '<script src="/_Incapsula_Resource?SWJIYLWA=7"></script>',
    "DataDome's script on a good page": '<script src="https://js.datadome.co/tags.js"></script>',
    "a policy that names it": (
        '<meta http-equiv="Content-Security-Policy" content="frame-src geo.captcha-delivery.com">'
    ),
    "an article that mentions all": (
        "<p>window._cf_chl_opt = {}, geo.captcha-delivery.com/captcha, px-captcha, "
        "_Incapsula_Resource, sec-if-cpt-container, /.within.website/x/cmd/anubis/</p>"
    ),
    "an article that quotes markup": "<pre>&lt;div id=px-captcha&gt;</pre>",
    "a link to it": '<a href="https://geo.captcha-delivery.com/">what is this?</a>',
    "an image of that name": '<img src="/img/px-captcha.png" alt="px-captcha">',
}

HARMLESS_HEADERS = (
    {"Server": "cloudflare", "cf-ray": "x"},
    {"cf-mitigated": "none"},
    {"Set-Cookie": "datadome=x"},
    {"Set-Cookie": "_abck=x"},
    {"akamai-grn": "x"},
    {"Content-Security-Policy": "frame-src https://geo.captcha-delivery.com"},
    {"x-kpsdk-ct": "0abc"},
    {"x-amzn-waf-action": "count"},
    {"x-dd-b": "0"},
)


def answer(
    body: str = "<p>x", status: int = 200, headers: dict[str, str] | None = None
) -> HtmlResponse:
    headers = {"Content-Type": "text/html", **(headers or {})}
    return HtmlResponse(URL, status=status, headers=headers, body=body.encode())


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.parametrize("has_items", [True, False])
def test_headers_that_only_a_challenge_carries_decide_first(name: str, has_items: bool) -> None:
    status, headers = HEADERS[name]
    assert refused(answer("<p>x", status, headers), URL, has_items=has_items) == "challenge"


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("status", [200, 202, 403, 429, 503])
def test_strong_marks_in_the_body_are_a_challenge_before_the_status_is_looked_at(
    name: str, status: int
) -> None:
    page = f"<!doctype html><html><head></head><body>{BODIES[name]}</body></html>"
    assert refused(answer(page, status), URL, has_items=False) == "challenge"


@pytest.mark.parametrize("name", BODIES)
def test_a_page_with_items_is_content_whatever_else_stands_on_it(name: str) -> None:
    assert refused(answer(BODIES[name]), URL, has_items=True) is None


@pytest.mark.parametrize("name", BODIES)
def test_items_on_an_error_page_are_no_content(name: str) -> None:
    assert refused(answer(BODIES[name], 403), URL, has_items=True) == "challenge"


@pytest.mark.parametrize("name", CONTENT)
@pytest.mark.parametrize(("status", "reason"), [(200, None), (403, "forbidden")])
def test_what_good_pages_have_too_is_no_challenge_even_without_items(
    name: str, status: int, reason: str | None
) -> None:
    assert refused(answer(CONTENT[name], status), URL, has_items=False) == reason


@pytest.mark.parametrize("headers", HARMLESS_HEADERS)
def test_headers_that_good_pages_carry_too_are_no_challenge(headers: dict[str, str]) -> None:
    assert refused(answer(headers=headers), URL, has_items=False) is None


def test_akamais_access_denied_stays_forbidden() -> None:
    denied = "<title>Access Denied</title>Reference #18.abc<p>errors.edgesuite.net</p>"
    assert refused(answer(denied, 403, {"Server": "AkamaiGHost"}), URL, has_items=False) == (
        "forbidden"
    )


def test_marks_beyond_the_first_200_kb_are_not_looked_for() -> None:
    page = "x" * LOOKED_AT + BODIES["Akamai"]
    assert refused(answer(page), URL, has_items=False) is None


def test_login_comes_after_the_status_and_before_an_empty_body() -> None:
    for status, body, reason in ((403, "x", "forbidden"), (200, "", "login_redirect")):
        page = HtmlResponse("https://shop.example/login", status=status, body=body.encode())
        assert refused(page, URL, has_items=False) == reason


def test_an_empty_answer_comes_before_what_is_no_html() -> None:
    for body, reason in ((b" ", "empty_body"), (b"{}", "invalid_content")):
        assert refused(TextResponse(URL, body=body), URL, has_items=False) == reason


@pytest.mark.parametrize(
    "piece",
    ["<script", "<script ", "<script>", "<iframe src=", "<iframe src=a ", "src=", "<div id ",
     "<title>", "<title>Just a moment", "<script>'", "<iframe " + "a" * 100],
)  # fmt: skip
def test_a_page_made_to_keep_the_search_busy_is_looked_through_at_once(piece: str) -> None:
    page = answer(("<script " + piece * LOOKED_AT)[:LOOKED_AT] + "/cdn-cgi/challenge-platform/")
    started = time.process_time()
    said_by_body(page)
    assert time.process_time() - started < 1


def run_page(crawling: Crawling, site: Site, body: str, **answer: Any) -> tuple[str, list[str]]:
    site.page("/1", body, **answer)
    dataset = crawling.create(shop_source(site.at("/1"), pagination=SINGLE), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    reasons = [failure[0] for failure in read_failures(crawling.store, run)]
    return run["status"], reasons or failed_checks(run)


def test_a_shop_with_a_captcha_in_its_newsletter_form_is_read(
    crawling: Crawling, site: Site
) -> None:
    page = listing("ab", "".join(CONTENT.values()) + "".join(BODIES.values()))
    assert run_page(crawling, site, page) == ("succeeded", [])


def test_a_challenge_that_is_answered_with_200_blocks_the_run(
    crawling: Crawling, site: Site
) -> None:
    assert run_page(crawling, site, BODIES["Akamai"]) == ("blocked", ["challenge"])
    assert site.paths == ["/robots.txt", "/1"]


def test_a_challenge_that_is_answered_with_202_blocks_the_run(
    crawling: Crawling, site: Site
) -> None:
    headers = {"x-amzn-waf-action": "challenge"}
    end = run_page(crawling, site, "", status=202, headers=headers)
    assert end == ("blocked", ["challenge"])


def test_a_page_without_items_that_mentions_challenges_fails_its_check(
    crawling: Crawling, site: Site
) -> None:
    end = run_page(crawling, site, "".join(CONTENT.values()))
    assert end == ("failed", ["extraction", "minimum-items"])


def test_a_challenge_is_no_end_page(crawling: Crawling, site: Site) -> None:
    pattern = site.at("/{page}")
    pagination = {"kind": "url-pattern", "pattern": pattern, "startPage": 1, "endSelector": "div"}
    site.page("/1", listing("a"))
    site.page("/2", BODIES["Akamai"], status=404)
    source = shop_source(site.at("/1"), pagination=pagination)
    run = crawling.run(crawling.create(source, allow=site.host), allow=site.host)
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["challenge"]
