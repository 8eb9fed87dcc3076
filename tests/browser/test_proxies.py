"""Rendered pages go direct, or through the operator's proxy, as those that are not rendered."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from livedata.model.run import Run
from livedata.rules.network.installation import Proxy
from livedata.rules.network.targets import TargetPolicy
from spiders.browser import shared_browser
from spiders.browser.egress import Egress
from tests import faults
from tests.browser import attack
from tests.browser.scripted import rendered, scripted, single
from tests.crawling import Crawling
from tests.proxy import ForwardProxy
from tests.runs.test_pagination_none import listing
from tests.runs.test_private_places import EVERYWHERE, port
from tests.runs.test_proxies import CELLS, FORBIDDEN, REFUSING, direct, moved_to, only_proxied
from tests.runs.test_refusals import NEXT, read_failures
from tests.site import Answer, Forbidden, Request, Site
from tests.tls import SecureSite

AUTHORIZATION = "Basic dXNlcjpwQHNz"


@pytest.fixture
def proxy() -> Iterator[ForwardProxy]:
    with ForwardProxy(tunnels=True) as running:
        yield running


def run_by(crawling: Crawling, site: Site, mode: str, proxy: str, **changes: object) -> Run:
    dataset = crawling.create(rendered(site.at("/1"), proxy=mode, **changes), allow=site.host)
    return crawling.run(dataset, allow=site.host, how={"proxy": Proxy.parse(proxy)})


def without_icon(paths: list[str]) -> list[str]:
    """The whole of Chromium asks for an icon, the headless shell does not."""
    return [path for path in paths if path != "/favicon.ico"]


@pytest.mark.parametrize(("mode", "behaviour"), CELLS)
def test_mode_and_site_decide_which_way_a_browser_goes(
    crawling: Crawling, site: Site, proxy: ForwardProxy, mode: str, behaviour: str
) -> None:
    status, asked_direct, asked_proxied = CELLS[mode, behaviour]
    if behaviour == "refused by both":
        site.route("/1", FORBIDDEN)
    else:
        site.route("/1", only_proxied(REFUSING[behaviour], listing("a", NEXT)))
    site.page("/2", scripted(listing("b")))
    run = run_by(crawling, site, mode, proxy.url)
    assert run["status"] == status, run["error"]
    came = without_icon(direct(site))
    assert list(dict.fromkeys(came)) == list(dict.fromkeys(asked_direct))
    through = [target.removeprefix(site.url) for target in proxy.targets]
    assert without_icon(through) == asked_proxied


def test_auto_goes_through_the_proxy_after_a_timeout(
    crawling: Crawling, site: Site, proxy: ForwardProxy
) -> None:
    site.route("/1", only_proxied(faults.never(), listing("a")))
    dataset = crawling.create(single(site.at("/1")), allow=site.host)
    how = {"proxy": Proxy.parse(proxy.url)}
    run = crawling.run(dataset, allow=site.host, timeout=2, how=how)
    assert run["status"] == "succeeded", run["error"]


def test_always_without_a_proxy_fails_before_any_request(crawling: Crawling, site: Site) -> None:
    site.page("/1", listing("a"))
    run = run_by(crawling, site, "always", "")
    assert run["status"] == "failed"
    assert "no proxy is set, so nothing was asked for" in str(run["error"])
    assert crawling.remedies(run) == ["name_proxy"]
    assert site.paths == []


def test_what_a_page_loads_goes_through_the_proxy_too(
    crawling: Crawling, site: Site, proxy: ForwardProxy
) -> None:
    loads = (
        "<img src=/img><script src=/script></script>"
        f"<script>fetch('/fetch'); new WebSocket('ws://{site.host}/ws')</script>"
    )
    site.page("/1", scripted(listing("ab"), after=500, tail=loads))
    run = run_by(crawling, site, "always", f"http://user:p%40ss@{proxy.host}")
    assert run["status"] == "succeeded", run["error"]
    loaded = {site.at(path) for path in ("/robots.txt", "/1", "/img", "/script", "/fetch")}
    assert loaded | {site.host} <= set(proxy.targets)
    assert "/ws" in site.paths
    # What comes out of a tunnel has no mark of the proxy's.
    assert set(direct(site)) == {"/ws"}
    assert {asked.headers["proxy-authorization"] for asked in proxy.asked} == {AUTHORIZATION}
    assert not any("proxy-authorization" in hit.headers for hit in site.hits)


def test_https_goes_through_a_tunnel_of_the_proxy(
    crawling: Crawling, proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusting = (*shared_browser._ARGUMENTS, "--ignore-certificate-errors")
    monkeypatch.setattr(shared_browser, "_ARGUMENTS", trusting)
    crawling.engine.run(crawling.engine.browser.close())
    with SecureSite() as site:
        refused: list[str] = []

        def once(request: Request) -> Answer:
            refused.append(request.path)
            return Answer(403 if len(refused) == 1 else 200, listing("a", NEXT))

        site.route("/1", once)
        site.page("/2", scripted(listing("b")))
        url = f"http://user:p%40ss@{proxy.host}"
        run = run_by(crawling, site, "auto", url, ignoreRobots=True)
        assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2), run["error"]
        assert without_icon(site.paths) == ["/1", "/1", "/2"]
        assert set(proxy.targets) == {site.host}
        assert {asked.headers["proxy-authorization"] for asked in proxy.asked} == {AUTHORIZATION}
        assert not any("proxy-authorization" in hit.headers for hit in site.hits)
    crawling.engine.run(crawling.engine.browser.close())


def test_a_connection_kept_from_before_does_not_lead_on_direct(
    crawling: Crawling, site: Site, proxy: ForwardProxy
) -> None:
    """It was a tunnel, by which the page would go on talking to the site."""

    async def talk() -> tuple[bytes, bytes]:
        egress = Egress(TargetPolicy.parse(site.host))
        way_out = (await egress.start()).rpartition(":")[2]
        reader, writer = await asyncio.open_connection("127.0.0.1", int(way_out))
        writer.write(f"CONNECT {site.host} HTTP/1.1\r\n\r\n".encode())
        opened = await reader.readuntil(b"\r\n\r\n")
        await egress.next_page(None)
        writer.write(b"GET /before HTTP/1.1\r\nContent-Length: 0\r\n\r\n")
        answer = await reader.readuntil(b"\r\n\r\n")
        await egress.next_page(Proxy.parse(proxy.url))
        writer.write(b"GET /after HTTP/1.1\r\n\r\n")
        with suppress(OSError):  # it is reset, or ends
            while await reader.read(1 << 16):
                pass
        writer.close()
        await egress.close()
        return opened, answer

    opened, answer = crawling.loop.run_until_complete(talk())
    assert (opened[:12], answer[:12]) == (b"HTTP/1.1 200", b"HTTP/1.1 404")
    assert site.paths == ["/before"]


def test_the_proxy_gets_its_own_credentials_and_none_that_a_browser_sends(
    crawling: Crawling, site: Site, proxy: ForwardProxy
) -> None:
    async def ask(through: str) -> None:
        egress = Egress(TargetPolicy.parse(site.host), proxy=Proxy.parse(through))
        way_out = (await egress.start()).rpartition(":")[2]
        for line in (f"GET {site.url}/x", f"CONNECT {site.host}"):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(way_out))
            writer.write(f"{line} HTTP/1.1\r\nProxy-Authorization: Basic stolen\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
            writer.close()
        await egress.close()

    crawling.loop.run_until_complete(ask(f"http://user:p%40ss@{proxy.host}"))
    crawling.loop.run_until_complete(ask(proxy.url))
    sent = [asked.headers.get("proxy-authorization") for asked in proxy.asked]
    assert sent == [AUTHORIZATION, AUTHORIZATION, None, None]
    assert not any("proxy-authorization" in hit.headers for hit in site.hits)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_not_there_fails_as_network(
    crawling: Crawling, site: Site, scheme: str
) -> None:
    with ForwardProxy() as gone:
        url = gone.url
    source = single(f"{scheme}://{site.host}/1", proxy="always", ignoreRobots=True)
    dataset = crawling.create(source, allow=site.host)
    run = crawling.run(dataset, allow=site.host, how={"proxy": Proxy.parse(url)})
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["network"]
    assert f"the proxy {url} does not take a connection" in str(run["error"])
    assert site.paths == []


def test_a_proxy_whose_answer_has_headers_without_end_opens_no_tunnel(
    crawling: Crawling, site: Site
) -> None:
    def answer(request: Request) -> None:
        request.raw.write(b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 100_000)

    source = single(f"https://{site.host}/1", proxy="always", ignoreRobots=True)
    dataset = crawling.create(source, allow=site.host)
    with Site() as refusing:
        refusing.route(site.host, answer)
        run = crawling.run(dataset, allow=site.host, how={"proxy": Proxy.parse(refusing.url)})
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["network"]
    assert f"the proxy {refusing.url} opened no way to it" in str(run["error"])


@pytest.mark.parametrize("code", [403, 407, 502])
def test_a_proxy_that_opens_no_tunnel_fails_an_https_source_as_network(
    crawling: Crawling, site: Site, code: int
) -> None:
    source = single(f"https://{site.host}/1", proxy="always", ignoreRobots=True)
    dataset = crawling.create(source, allow=site.host)
    with Site() as refusing:
        refusing.route(site.host, faults.status(code))
        run = crawling.run(dataset, allow=site.host, how={"proxy": Proxy.parse(refusing.url)})
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["network"]
    assert f"the proxy {refusing.url} opened no way to it" in str(run["error"])
    assert site.paths == []


@pytest.mark.parametrize("code", [407, 502])
def test_an_error_of_the_proxys_own_is_an_error_that_names_the_status(
    crawling: Crawling, site: Site, code: int
) -> None:
    headers = {"Proxy-Authenticate": 'Basic realm="x"'} if code == 407 else {}
    with Site() as wanting:
        wanting.route("/1", faults.fixed(code, headers=headers))
        run = run_by(crawling, site, "always", wanting.url)
    assert run["status"] == "failed"
    assert read_failures(crawling.store, run) == [("http_error", code, site.url)]
    assert site.paths == []


@pytest.mark.parametrize("mode", ["always", "auto"])
def test_a_private_target_is_not_sent_to_the_proxy(
    crawling: Crawling, site: Site, forbidden: Forbidden, proxy: ForwardProxy, mode: str
) -> None:
    site.route("/1", moved_to(forbidden.at("/"), refusing=mode == "auto"))
    run = run_by(crawling, site, mode, proxy.url)
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["unsafe_target"]
    assert not any(forbidden.host in target for target in proxy.targets)
    assert forbidden.hits == 0


def test_nothing_that_a_page_does_reaches_a_private_server_by_the_proxy(
    crawling: Crawling, site: Site, forbidden: Forbidden, proxy: ForwardProxy
) -> None:
    with attack.Stun() as udp:
        attack.put(site, forbidden.host, udp.host)
        run = run_by(crawling, site, "always", proxy.url)
        assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2), run["error"]
        assert (forbidden.hits, udp.packets) == (0, 0)
    assert site.at("/away") in proxy.targets
    assert not any(forbidden.host in target for target in proxy.targets)


def test_every_form_of_a_private_address_is_kept_from_the_proxy(
    crawling: Crawling, forbidden: Forbidden, proxy: ForwardProxy
) -> None:
    async def ask() -> None:
        egress = Egress(TargetPolicy(), proxy=Proxy.parse(proxy.url))
        way_out = (await egress.start()).rpartition(":")[2]
        # A browser writes all others in ASCII; a name with a dot behind it may not be known here.
        for address in (
            address for address in EVERYWHERE if address.isascii() and address != "localhost."
        ):
            for form in ("GET http://{}/", "CONNECT {}"):
                answer = await asked(way_out, form.format(f"{address}:{port(forbidden)}"))
                assert answer.startswith(b"HTTP/1.1 403"), (address, answer)
        await egress.close()

    crawling.loop.run_until_complete(ask())
    assert forbidden.hits == 0
    assert proxy.targets == []


def test_a_name_with_one_private_address_is_kept_from_the_proxy_and_an_unknown_one_is_not(
    crawling: Crawling, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows which of its addresses the proxy takes; an unknown name is its affair."""

    async def resolve(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        if host == "unknown.example":
            raise socket.gaierror
        both = ("93.184.216.34", "10.0.0.1")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in both]

    async def ask(url: str) -> tuple[bytes, bytes]:
        egress = Egress(TargetPolicy(), proxy=Proxy.parse(url))
        way_out = (await egress.start()).rpartition(":")[2]
        mixed = await asked(way_out, "CONNECT mixed.example:443")
        unknown = await asked(way_out, "CONNECT unknown.example:443")
        await egress.close()
        return mixed, unknown

    with ForwardProxy() as running:
        monkeypatch.setattr(crawling.loop, "getaddrinfo", resolve)
        answers = crawling.loop.run_until_complete(ask(running.url))
    assert [answer[:12] for answer in answers] == [b"HTTP/1.1 403", b"HTTP/1.1 502"]
    assert running.targets == ["unknown.example:443"]


async def asked(way_out: str, line: str) -> bytes:
    """The whole answer of a way out to a request line."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(way_out))
    writer.write(f"{line} HTTP/1.1\r\n\r\n".encode())
    answer = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    return answer
