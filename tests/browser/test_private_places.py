"""A browser reaches no private address either, whatever a page makes it do."""

from __future__ import annotations

import asyncio

import pytest

from livedata.rules.network.targets import TargetPolicy
from spiders.browser import shared_browser
from spiders.browser.egress import Egress
from tests import faults
from tests.browser import attack
from tests.browser.scripted import scripted, single
from tests.crawling import Crawling
from tests.runs.test_pagination_none import listing
from tests.runs.test_private_places import ELSEWHERE, EVERYWHERE, port
from tests.runs.test_refusals import read_failures
from tests.site import Forbidden, Site


def let_all_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the policy: what the tests below would see if it were not asked."""
    monkeypatch.setattr(TargetPolicy, "permits", lambda *_: True)


def test_nothing_that_a_page_does_reaches_a_private_server(
    crawling: Crawling, site: Site, forbidden: Forbidden
) -> None:
    with attack.Stun() as udp:
        attack.put(site, forbidden.host, udp.host)
        run = crawling.run(crawling.create(single(site.at("/1")), allow=site.host), allow=site.host)
        assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2), run["error"]
        assert "/away" in site.paths
        assert "/worker.js" in site.paths
        assert (forbidden.hits, udp.packets) == (0, 0)


@pytest.mark.parametrize("way", [way for way in attack.WAYS if way != "service worker"])
def test_each_of_these_ways_leads_there_where_the_policy_is_not_asked(
    crawling: Crawling,
    site: Site,
    forbidden: Forbidden,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    let_all_through(monkeypatch)
    with attack.Stun() as udp:
        attack.put(site, forbidden.host, udp.host, ways=(way,))
        crawling.run(crawling.create(single(site.at("/1")), allow=site.host), allow=site.host)
    assert forbidden.hits > 0


def test_without_its_flags_the_browser_sends_udp(
    crawling: Crawling, site: Site, forbidden: Forbidden, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawling.engine.run(crawling.engine.browser.close())
    monkeypatch.setattr(shared_browser, "_ARGUMENTS", ())
    with attack.Stun() as udp:
        attack.put(site, forbidden.host, udp.host, ways=())
        crawling.run(crawling.create(single(site.at("/1")), allow=site.host), allow=site.host)
        assert udp.packets > 0
    crawling.engine.run(crawling.engine.browser.close())


@pytest.mark.parametrize("way", ["redirect", "script", "refresh"])
def test_no_form_of_a_private_address_is_navigated_to(
    crawling: Crawling, site: Site, forbidden: Forbidden, way: str
) -> None:
    dataset = crawling.create(single(site.at("/1")), allow=site.host)
    some = ["127.0.0.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "localhost"]
    for address in (*some, "169.254.169.254", "10.0.0.1"):
        url = f"http://{address}:{port(forbidden)}/"
        if way == "redirect":
            site.route("/1", faults.redirect(url))
        elif way == "refresh":
            site.route("/1", faults.meta_refresh(url))
        else:
            site.page("/1", f"<!doctype html><script>location = '{url}'</script>")
        run = crawling.run(dataset, allow=site.host)
        reasons = [failure[0] for failure in read_failures(crawling.store, run)]
        assert reasons == ["unsafe_target"], (address, run["error"])
    assert forbidden.hits == 0


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_browser_loads_nothing_of_a_host_that_is_none_of_those_named(
    crawling: Crawling, site: Site, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Site() as other:
        both = f"{site.host},{other.host}"
        asked: list[str] = []
        resolve = crawling.loop.getaddrinfo

        async def noting(host: str, *args: object, **kwargs: object) -> object:
            asked.append(host)
            return await resolve(host, *args, **kwargs)  # type: ignore[arg-type]

        monkeypatch.setattr(crawling.loop, "getaddrinfo", noting)
        dataset = crawling.create(single(site.at("/1")), allow=both)
        script = f"<script src='{scheme}://secret.attacker.example/x.js'></script>"
        script += f"<script src='{scheme}://{other.host}/x.js'></script>"
        site.page("/1", scripted(listing("ab"), tail=script))
        run = crawling.run(dataset, allow=both, only=site.host)
        assert run["status"] == "succeeded", run["error"]
        site.route("/1", faults.redirect(f"{scheme}://{other.host}/1"))
        run = crawling.run(dataset, allow=both, only=site.host)
        assert f"{other.host} is none of the hosts that may be read" in str(run["error"])
        assert not other.connections
        # Its name is not even looked up: that would tell it something too.
        assert "secret.attacker.example" not in asked


def test_a_private_address_behind_https_is_unsafe_too(
    crawling: Crawling, site: Site, forbidden: Forbidden
) -> None:
    site.route("/1", faults.redirect(f"https://{forbidden.host}/"))
    run = crawling.run(crawling.create(single(site.at("/1")), allow=site.host), allow=site.host)
    assert read_failures(crawling.store, run) == [
        ("unsafe_target", None, f"https://{forbidden.host}")
    ]
    assert forbidden.hits == 0


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", ["127.0.0.1:1", "nowhere.invalid"])
def test_a_site_that_cannot_be_reached_is_network(
    crawling: Crawling, site: Site, scheme: str, host: str
) -> None:
    target = host if scheme == "http" or ":" in host else f"{host}:443"
    allow = f"{site.host},127.0.0.1"
    unused = target.replace(":1", ":9999") if target.endswith(":1") else target
    site.route("/1", faults.redirect(f"{scheme}://{unused}/"))
    source = single(site.at("/1"), ignoreRobots=True)
    run = crawling.run(crawling.create(source, allow=allow), allow=allow)
    assert {failure[0] for failure in read_failures(crawling.store, run)} == {"network"}, run[
        "error"
    ]


def test_a_name_that_turns_private_is_judged_when_it_is_dialled(
    crawling: Crawling, site: Site, forbidden: Forbidden, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    resolve = crawling.loop.getaddrinfo

    async def rebinding(host: str, *args: object, **kwargs: object) -> object:
        asked.append(host)
        return await resolve("127.0.0.1" if host == "shop.example" else host, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(crawling.loop, "getaddrinfo", rebinding)
    url = f"http://shop.example:{port(forbidden)}/x"
    site.page("/1", scripted(listing("ab"), tail=f"<script>fetch('{url}')</script>"))
    run = crawling.run(crawling.create(single(site.at("/1")), allow=site.host), allow=site.host)
    assert run["status"] == "succeeded", run["error"]
    assert "shop.example" in asked
    assert forbidden.hits == 0


def test_every_form_of_a_private_address_is_refused_by_the_way_out(
    crawling: Crawling, forbidden: Forbidden
) -> None:
    async def ask() -> None:
        egress = Egress(TargetPolicy())
        place = (await egress.start()).rpartition(":")[2]
        for address in (*EVERYWHERE, *ELSEWHERE):
            for head in (
                f"GET http://{address}:{port(forbidden)}/ HTTP/1.1\r\n\r\n",
                f"CONNECT {address}:{port(forbidden)} HTTP/1.1\r\n\r\n",
            ):
                reader, writer = await asyncio.open_connection("127.0.0.1", int(place))
                writer.write(head.encode())
                answer = await asyncio.wait_for(reader.read(), 5)
                assert answer.startswith((b"HTTP/1.1 403", b"HTTP/1.1 502")), (address, answer)
                writer.close()
        await egress.close()

    crawling.loop.run_until_complete(ask())
    assert forbidden.hits == 0
