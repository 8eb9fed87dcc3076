"""Direct, or through the proxy: who is asked what, and how the Run ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from livedata.model.errors import Invalid
from livedata.model.run import Run
from livedata.rules.network.installation import Proxy
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.proxy import ForwardProxy
from tests.runs.test_pagination_none import listing
from tests.runs.test_private_places import EVERYWHERE, port
from tests.runs.test_refusals import NEXT, read_failures
from tests.site import Answer, Forbidden, Handler, Request, Site

pytestmark = pytest.mark.one_database

FORBIDDEN = faults.status(403)
REFUSING: dict[str, Handler] = {"403 direct": FORBIDDEN, "reset direct": faults.reset()}


@pytest.fixture
def proxy() -> Iterator[ForwardProxy]:
    with ForwardProxy() as running:
        yield running


def only_proxied(refusal: Handler, body: str) -> Handler:
    """Refuses whoever comes direct."""
    good = faults.fixed(body=body)
    return lambda request: (good if "via" in request.headers else refusal)(request)


def run_by(
    crawling: Crawling, site: Site, mode: str, proxy: str, *, path: str = "/1", **how: object
) -> Run:
    dataset = crawling.create(shop_source(site.at(path), proxy=mode), allow=site.host)
    return crawling.run(dataset, allow=site.host, how={"proxy": Proxy.parse(proxy), **how})


def direct(site: Site) -> list[str]:
    """The paths that were asked for without the proxy."""
    return [hit.path for hit in site.hits if "via" not in hit.headers]


CELLS = {
    ("never", "403 direct"): ("blocked", ["/robots.txt", "/1"], []),
    ("never", "reset direct"): ("failed", ["/robots.txt", "/1", "/1"], []),
    ("never", "refused by both"): ("blocked", ["/robots.txt", "/1"], []),
    ("always", "403 direct"): ("succeeded", [], ["/robots.txt", "/1", "/2"]),
    ("always", "reset direct"): ("succeeded", [], ["/robots.txt", "/1", "/2"]),
    ("always", "refused by both"): ("blocked", [], ["/robots.txt", "/1"]),
    ("auto", "403 direct"): ("succeeded", ["/robots.txt", "/1"], ["/1", "/2"]),
    ("auto", "reset direct"): ("succeeded", ["/robots.txt", "/1"], ["/1", "/2"]),
    ("auto", "refused by both"): ("blocked", ["/robots.txt", "/1"], ["/1"]),
}


@pytest.mark.parametrize(("mode", "behaviour"), CELLS)
def test_mode_and_site_decide_which_way_each_request_goes(
    crawling: Crawling, site: Site, proxy: ForwardProxy, mode: str, behaviour: str
) -> None:
    status, asked_direct, asked_proxied = CELLS[mode, behaviour]
    if behaviour == "refused by both":
        site.route("/1", FORBIDDEN)
    else:
        site.route("/1", only_proxied(REFUSING[behaviour], listing("a", NEXT)))
    site.page("/2", listing("b"))
    run = run_by(crawling, site, mode, proxy.url)
    assert run["status"] == status, run["error"]
    # A client resends by itself what a reset cuts on a connection that was in use before.
    assert list(dict.fromkeys(direct(site))) == list(dict.fromkeys(asked_direct))
    assert [target.removeprefix(site.url) for target in proxy.targets] == asked_proxied


@pytest.mark.parametrize("mode", ["never", "auto"])
def test_the_environments_proxy_is_never_used(
    crawling: Crawling, site: Site, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    site.page("/1", listing("a"))
    assert run_by(crawling, site, mode, "")["status"] == "succeeded"
    assert direct(site) == ["/robots.txt", "/1"]


def test_always_without_a_proxy_fails_before_any_request(crawling: Crawling, site: Site) -> None:
    site.page("/1", listing("a"))
    run = run_by(crawling, site, "always", "")
    assert run["status"] == "failed"
    assert "no proxy is set, so nothing was asked for" in str(run["error"])
    assert crawling.remedies(run) == ["name_proxy"]
    assert site.paths == []


def test_auto_without_a_proxy_is_never(crawling: Crawling, site: Site) -> None:
    site.route("/1", FORBIDDEN)
    assert run_by(crawling, site, "auto", "")["status"] == "blocked"
    assert site.paths == ["/robots.txt", "/1"]


@pytest.mark.parametrize(
    "refusal", [faults.challenge(), faults.empty(), faults.status(429), faults.never()]
)
def test_auto_goes_through_the_proxy_after_other_refusals_too(
    crawling: Crawling, site: Site, proxy: ForwardProxy, refusal: Handler
) -> None:
    site.route("/1", only_proxied(refusal, listing("a")))
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    how = {"proxy": Proxy.parse(proxy.url)}
    run = crawling.run(dataset, allow=site.host, timeout=3, how=how)
    assert run["status"] == "succeeded", run["error"]


@pytest.mark.parametrize("code", [401, 404, 451])
def test_auto_stays_direct_after_what_is_no_refusal(
    crawling: Crawling, site: Site, proxy: ForwardProxy, code: int
) -> None:
    site.route("/1", faults.status(code))
    assert run_by(crawling, site, "auto", proxy.url)["status"] == "failed"
    assert proxy.targets == []


def test_a_refusal_direct_and_an_error_by_the_proxy_are_not_blocked(
    crawling: Crawling, site: Site, proxy: ForwardProxy
) -> None:
    error = faults.status(500)
    site.route("/1", lambda asked: (error if "via" in asked.headers else FORBIDDEN)(asked))
    assert run_by(crawling, site, "auto", proxy.url)["status"] == "failed"


def test_robots_txt_that_is_reset_is_asked_for_through_the_proxy(
    crawling: Crawling, site: Site, proxy: ForwardProxy
) -> None:
    site.route("/robots.txt", only_proxied(faults.reset(), "User-agent: *\nDisallow: /1"))
    site.page("/1", listing("a"))
    run = run_by(crawling, site, "auto", proxy.url)
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["robots_disallowed"]
    assert proxy.targets == [site.at("/robots.txt")]


def test_credentials_are_for_the_proxy_only(
    crawling: Crawling, site: Site, proxy: ForwardProxy
) -> None:
    site.page("/1", listing("a"))
    url = f"http://user:p%40ss@{proxy.host}"
    assert run_by(crawling, site, "always", url)["status"] == "succeeded"
    assert {asked.headers["proxy-authorization"] for asked in proxy.asked} == {"Basic dXNlcjpwQHNz"}
    assert not any("proxy-authorization" in hit.headers for hit in site.hits)
    assert "p@ss" not in repr(Proxy.parse(url))


def test_credentials_do_not_follow_a_redirect_on_the_direct_way(
    crawling: Crawling, site: Site, proxy: ForwardProxy
) -> None:
    site.route("/1", faults.redirect("/new"))
    site.page("/new", listing("a"))
    run_by(crawling, site, "never", f"http://user:pass@{proxy.host}")
    assert not any("proxy-authorization" in hit.headers for hit in site.hits)
    assert proxy.targets == []


def test_a_proxy_that_opens_no_tunnel_fails_an_https_source_as_network(
    crawling: Crawling, site: Site, proxy: ForwardProxy
) -> None:
    url = f"https://{site.host}/1"
    source = shop_source(url, proxy="always", ignoreRobots=True)
    dataset = crawling.create(source, allow=site.host)
    run = crawling.run(dataset, allow=site.host, how={"proxy": Proxy.parse(proxy.url)})
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["network"]
    assert f"the proxy {proxy.url} opened no way to it, but answered with the status 403" in str(
        run["error"]
    )
    assert set(proxy.targets) == {site.host}
    assert site.paths == []


def test_a_proxy_that_is_not_there_fails_as_network(crawling: Crawling, site: Site) -> None:
    with ForwardProxy() as gone:
        url = gone.url
    run = run_by(crawling, site, "always", url)
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["network"]
    assert f"the proxy {url} does not take a connection" in str(run["error"])
    assert site.paths == []


def test_a_proxy_that_wants_credentials_is_an_error_that_names_the_status(
    crawling: Crawling, site: Site
) -> None:
    with Site() as wanting:
        wanting.route("/1", faults.status(407))
        run = run_by(crawling, site, "always", wanting.url)
    assert run["status"] == "failed"
    assert "407" in str(run["error"])


@pytest.mark.parametrize("mode", ["always", "auto"])
def test_a_private_target_is_not_sent_to_the_proxy(
    crawling: Crawling, site: Site, forbidden: Forbidden, proxy: ForwardProxy, mode: str
) -> None:
    site.route("/1", moved_to(forbidden.at("/"), refusing=mode == "auto"))
    run = run_by(crawling, site, mode, proxy.url)
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["unsafe_target"]
    assert not any(forbidden.host in target for target in proxy.targets)
    assert forbidden.hits == 0


def moved_to(url: str, *, refusing: bool) -> Handler:
    """A redirect for whoever comes by the proxy; 403 for others where it is refusing."""

    def handle(request: Request) -> Answer:
        if refusing and "via" not in request.headers:
            return Answer(403, "no")
        return Answer(302, b"", {"Location": url})

    return handle


@pytest.fixture
def forbidden() -> Iterator[Forbidden]:
    with Forbidden() as running:
        yield running


def test_the_proxys_own_host_is_no_way_into_its_other_ports(
    crawling: Crawling, site: Site, forbidden: Forbidden, proxy: ForwardProxy
) -> None:
    """All of these share one address; only the dialling of the proxy itself is let through."""
    site.page("/1", listing("a", f'<a class="next" href="{forbidden.url}">n</a>'))
    run = run_by(crawling, site, "always", proxy.url)
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["unsafe_target"]
    assert forbidden.hits == 0


def test_no_form_of_a_private_address_is_sent_to_the_proxy(
    crawling: Crawling, site: Site, forbidden: Forbidden, proxy: ForwardProxy
) -> None:
    source = shop_source(site.at("/1"), proxy="always", ignoreRobots=True)
    dataset = crawling.create(source, allow=site.host)
    how = {"proxy": Proxy.parse(proxy.url)}
    # A name with a dot behind it may not be known here, and is then the proxy's to judge.
    for address in (address for address in EVERYWHERE if address != "localhost."):
        url = f"http://{address}:{port(forbidden)}/"
        site.page("/1", listing("a", f'<a class="next" href="{url}">n</a>'))
        run = crawling.run(dataset, allow=site.host, how=how)
        assert [failure[0] for failure in read_failures(crawling.store, run)] == [
            "unsafe_target"
        ], address
    assert set(proxy.targets) == {site.at("/1")}
    assert forbidden.hits == 0


@pytest.mark.parametrize(
    "text",
    [
        "socks5://user:secret@h:1",
        "https://user:secret@h:1",
        "http://user:secret@h:port",
        "http://user:secret@h:1/path",
        "user:secret@h:1",
        "http://:1",
    ],
)
def test_a_proxy_that_cannot_be_used_is_refused_without_repeating_its_password(text: str) -> None:
    with pytest.raises(Invalid, match="LIVEDATA_PROXY") as refused:
        Proxy.parse(text)
    assert "secret" not in refused.value.message


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://proxy.example:3128", "http://proxy.example:3128"),
        ("http://proxy.example/", "http://proxy.example:80"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_a_proxy_is_dialled_where_its_url_says(text: str, url: str) -> None:
    proxy = Proxy.parse(text)
    assert proxy is not None
    assert proxy.url == url


def test_no_text_is_no_proxy() -> None:
    assert Proxy.parse("") is None
