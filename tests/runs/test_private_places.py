"""No connection is ever made to a private address, whatever leads there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.address import IPv4Address

from livedata.model.errors import Invalid
from livedata.rules.network.targets import TargetPolicy
from spiders.fetch.resolver import DIAL_POLICY, DialPolicy, GuardedResolver
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.runs.test_pagination_none import listing
from tests.runs.test_refusals import contents, read_failures
from tests.site import Forbidden, Site

pytestmark = pytest.mark.one_database

LOOPBACK = (
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "127.255.255.254",
    "0.0.0.0",
    "0",
    "2130706433",
    "017700000001",
    "0x7f000001",
    "0x7f.1",
    "0x7F.0x0.0x0.0x1",
    "0177.0.0.1",
    "0177.0.0.01",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
)
ELSEWHERE = (
    "10.0.0.1",
    "100.64.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "192.0.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "168.63.129.16",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[ff02::1]",
    "[fec0::1]",
    "[64:ff9b::a9fe:a9fe]",
)
NAMES = ("localhost", "LOCALHOST")
EVERYWHERE = (*LOOPBACK, *ELSEWHERE, *NAMES, "localhost.")


@pytest.fixture
def forbidden() -> Iterator[Forbidden]:
    with Forbidden() as running:
        yield running


def port(server: Forbidden | Site) -> str:
    return server.host.rpartition(":")[2]


@pytest.mark.parametrize("address", [*LOOPBACK, *ELSEWHERE])
def test_a_literal_private_address_is_refused_at_creation(
    crawling: Crawling, site: Site, forbidden: Forbidden, address: str
) -> None:
    with pytest.raises(Invalid, match="private address"):
        crawling.create(shop_source(f"http://{address}:{port(forbidden)}/"), allow=site.host)
    assert forbidden.hits == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_private_is_refused_when_it_is_dialled(
    crawling: Crawling, site: Site, forbidden: Forbidden, name: str
) -> None:
    url = f"http://{name}:{port(forbidden)}/"
    run = crawling.run(crawling.create(shop_source(url), allow=site.host), allow=site.host)
    assert run["status"] == "failed"
    origin = f"http://{name.lower()}:{port(forbidden)}"
    assert read_failures(crawling.store, run) == [("unsafe_target", None, origin)]
    assert forbidden.hits == 0


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("then", ["http://127.0.0.1", "//127.0.0.1"])
def test_every_kind_of_redirect_is_guarded(
    crawling: Crawling, site: Site, forbidden: Forbidden, code: int, then: str
) -> None:
    site.route("/1", faults.redirect(f"{then}:{port(forbidden)}/secret?a=b", code))
    run = crawling.run(
        crawling.create(shop_source(site.at("/1")), allow=site.host), allow=site.host
    )
    assert read_failures(crawling.store, run) == [("unsafe_target", None, forbidden.url)]
    assert forbidden.hits == 0


@pytest.mark.parametrize("way", ["redirect", "refresh", "next link"])
def test_no_form_of_a_private_address_is_reached(
    crawling: Crawling, site: Site, forbidden: Forbidden, way: str
) -> None:
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    before = contents(crawling.store)
    reasons: dict[str, list[str]] = {}
    for address in EVERYWHERE:
        url = f"http://{address}:{port(forbidden)}/"
        if way == "redirect":
            site.route("/1", faults.redirect(url.encode().decode("latin-1")))
        elif way == "refresh":
            site.route("/1", faults.meta_refresh(url))
        else:
            site.page("/1", listing("a", f'<a class="next" href="{url}">n</a>'))
        run = crawling.run(dataset, allow=site.host)
        assert run["status"] == "failed", address
        reasons[address] = [failure[0] for failure in read_failures(crawling.store, run)]
    # Whether a name that ends in a dot is found at all depends on the machine's resolver.
    for address in EVERYWHERE:
        known = reasons[address] == ["unsafe_target"]
        assert known or (address.endswith(".") and reasons[address] == ["network"]), address
    assert forbidden.hits == 0
    assert contents(crawling.store) == before


def test_robots_txt_is_not_fetched_from_a_private_address(
    crawling: Crawling, site: Site, forbidden: Forbidden
) -> None:
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    site.page("/1", listing("a"))
    for address in EVERYWHERE:
        site.forget()
        url = f"http://{address}:{port(forbidden)}/robots.txt"
        site.route("/robots.txt", faults.redirect(url.encode().decode("latin-1")))
        crawling.run(dataset, allow=site.host)
        assert "/robots.txt" in site.paths
    assert forbidden.hits == 0


def test_a_next_link_with_user_info_does_not_hide_the_host(
    crawling: Crawling, site: Site, forbidden: Forbidden
) -> None:
    url = f"http://{forbidden.host}\\@example.com/"
    site.page("/1", listing("a", f'<a class="next" href="{url}">n</a>'))
    run = crawling.run(
        crawling.create(shop_source(site.at("/1")), allow=site.host), allow=site.host
    )
    assert run["status"] == "failed"
    assert forbidden.hits == 0


def test_an_allowed_port_does_not_open_another_nor_another_name(
    crawling: Crawling, site: Site, forbidden: Forbidden
) -> None:
    """The sites share one address: only the host and port that were named are let through."""
    site.page("/2", listing("b"))
    for url in (forbidden.url, f"http://localhost:{port(site)}/2"):
        site.page("/1", listing("a", f'<a class="next" href="{url}">n</a>'))
        dataset = crawling.create({**shop_source(site.at("/1")), "name": url}, allow=site.host)
        run = crawling.run(dataset, allow=site.host)
        assert [failure[0] for failure in read_failures(crawling.store, run)] == ["unsafe_target"]
    assert forbidden.hits == 0
    assert "/2" not in site.paths


@pytest.mark.parametrize("whole_host", [True, False])
def test_what_the_operator_names_is_let_through(
    crawling: Crawling, site: Site, forbidden: Forbidden, whole_host: bool
) -> None:
    allow = "127.0.0.1" if whole_host else f"{site.host},{forbidden.host}"
    site.route("/1", faults.redirect(forbidden.url))
    crawling.run(crawling.create(shop_source(site.at("/1")), allow=allow), allow=allow)
    assert forbidden.hits > 0


class Answers:
    """A name service of which each answer can differ; it is also who asks and hears them."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.heard: list[str] = []
        self.complete = 0

    def resolveHostName(self, receiver: Any, _: str, port: int, *__: Any) -> None:  # noqa: N802
        receiver.resolutionBegan(self)
        for address in self.answers.pop(0):
            receiver.addressResolved(IPv4Address("TCP", address, port))
        receiver.resolutionComplete()

    def resolutionBegan(self, _: Any) -> None:  # noqa: N802
        self.heard.clear()

    def addressResolved(self, address: Any) -> None:  # noqa: N802
        self.heard.append(address.host)

    def resolutionComplete(self) -> None:  # noqa: N802
        self.complete += 1


def test_a_name_that_is_public_first_and_private_later_is_judged_each_time() -> None:
    names = Answers(["93.184.216.34"], ["127.0.0.1"], ["10.0.0.1", "93.184.216.34"])
    guard = DialPolicy(TargetPolicy())
    token = DIAL_POLICY.set(guard)
    try:
        answers = []
        for _ in range(3):
            GuardedResolver(names).resolveHostName(names, "shop.example", 80)
            answers.append(list(names.heard))
    finally:
        DIAL_POLICY.reset(token)
    assert answers == [["93.184.216.34"], [], ["93.184.216.34"]]
    assert guard.refused == ["127.0.0.1", "10.0.0.1"]
    assert names.complete == 3


def test_without_a_guard_only_public_addresses_are_given_away() -> None:
    names = Answers(["127.0.0.1", "93.184.216.34", "169.254.169.254"])
    GuardedResolver(names).resolveHostName(names, "shop.example", 80)
    assert names.heard == ["93.184.216.34"]


def test_a_name_that_turns_private_between_two_pages_is_not_dialled(
    crawling: Crawling, site: Site, forbidden: Forbidden, monkeypatch: pytest.MonkeyPatch
) -> None:
    from twisted.internet import reactor  # only once it is installed

    names = Answers(*[["127.0.0.1"]] * 20)
    resolver: Any = reactor
    monkeypatch.setattr(resolver.nameResolver, "_inner", names)
    allow = f"shop.example:{port(site)}"
    site.page(
        "/1", listing("a", f'<a class="next" href="http://evil.example:{port(forbidden)}/">n</a>')
    )
    url = f"http://shop.example:{port(site)}/1"
    run = crawling.run(crawling.create(shop_source(url), allow=allow), allow=allow)
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["unsafe_target"]
    assert site.paths == ["/robots.txt", "/1"]
    assert forbidden.hits == 0
