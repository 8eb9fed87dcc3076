"""Time, redirects, sizes and TLS: whatever a site does, a page and a Run come to their end."""

from __future__ import annotations

import itertools
import socket
import ssl
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from threading import Event

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec.structs import replace
from typing_extensions import override

from livedata import config
from livedata.model.errors import Invalid
from livedata.model.run import GUARDS
from livedata.rules.network.installation import Proxy
from spiders.crawl.settings import fetch_config
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.patience import AT_ONCE, LONG
from tests.proxy import ForwardProxy
from tests.runs.test_cancel import Work
from tests.runs.test_pagination_none import SINGLE, failed_checks, listing
from tests.runs.test_refusals import read_failures
from tests.site import Answer, Handler, Request, Site

pytestmark = [pytest.mark.timed, pytest.mark.one_database]

HOSTILE: dict[str, tuple[Handler, str]] = {
    "endless": (faults.endless(), "limit_exceeded"),
    "dripping": (faults.drip(0.3), "timeout"),
    "never": (faults.never(), "timeout"),
    "slow headers": (faults.slow_headers(LONG), "timeout"),
    "bombed": (faults.gzip_bomb(1024), "limit_exceeded"),
    "truncated": (faults.truncated(), "connection_reset"),
    "reset": (faults.reset(midway=True), "connection_reset"),
    "deep": (faults.fixed(body="<div>" * 400_000 + listing("a")), "limit_exceeded"),
}
DEADLINE = 1.0


def moving(hops: int, seconds: float = 0.0, to: str = "/list") -> Handler:
    """So many redirects, each after a while, and then `to`."""
    count = itertools.count(1)

    def handle(request: Request) -> Answer:
        request.wait(seconds)
        place = next(count)
        return Answer(302, b"", {"Location": to if place == hops else f"/1?{place}"})

    return handle


@pytest.mark.parametrize("name", HOSTILE)
def test_each_attempt_ends_within_its_deadline_and_a_second(
    crawling: Crawling, site: Site, name: str
) -> None:
    handler, reason = HOSTILE[name]
    site.route("/1", handler)
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    started = time.monotonic()
    run = crawling.run(dataset, allow=site.host, timeout=DEADLINE)
    attempts = 2 if reason in {"timeout", "connection_reset"} else 1
    assert time.monotonic() - started < attempts * DEADLINE + AT_ONCE
    assert [failure[0] for failure in read_failures(crawling.store, run)] == [reason]


@pytest.mark.parametrize("name", HOSTILE)
def test_other_runs_of_the_worker_finish_meanwhile(
    crawling: Crawling, site: Site, name: str
) -> None:
    with Site() as good:
        site.route("/1", HOSTILE[name][0])
        good.page("/1", listing("a", '<a class="next" href="/2">n</a>'))
        good.page("/2", listing("b"))
        work = Work(crawling, site, good)
        work.executor.fetching = replace(work.executor.fetching, timeout=DEADLINE)
        work.add(site.at("/1"), "hostile")
        work.add(good.at("/1"), "good")
        hostile, done = work.run()
    assert (hostile["status"], done["status"]) == ("failed", "succeeded")
    waits = 2 * DEADLINE if HOSTILE[name][1] == "timeout" else AT_ONCE
    assert seconds(done["startedAt"], done["completedAt"]) < waits


def seconds(start: str | None, end: str | None) -> float:
    assert start is not None
    assert end is not None
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def test_a_page_shares_its_time_with_the_redirects_that_lead_to_it(
    crawling: Crawling, site: Site
) -> None:
    site.route("/1", moving(99, 0.4))
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    started = time.monotonic()
    run = crawling.run(dataset, allow=site.host, timeout=DEADLINE)
    assert time.monotonic() - started < 2 * DEADLINE + AT_ONCE
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["timeout"]


def test_pauses_take_nothing_of_a_pages_time(crawling: Crawling, site: Site) -> None:
    site.page("/robots.txt", "User-agent: *\nCrawl-delay: 0.7", content_type="text/plain")
    site.route("/1", moving(5))
    site.page("/list", listing("a"))
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    run = crawling.run(dataset, allow=site.host, timeout=3)
    assert run["status"] == "succeeded", run["error"]


@pytest.mark.parametrize(("hops", "status"), [(5, "succeeded"), (6, "failed")])
def test_five_redirects_are_followed(
    crawling: Crawling, site: Site, hops: int, status: str
) -> None:
    site.route("/1", moving(hops))
    site.page("/list", listing("a"))
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert run["status"] == status
    wanted = [] if status == "succeeded" else ["limit_exceeded"]
    assert [failure[0] for failure in read_failures(crawling.store, run)] == wanted


def test_a_run_ends_when_its_own_time_is_over(crawling: Crawling, site: Site) -> None:
    for number in range(1, 50):
        body = listing([str(number)], f'<a class="next" href="/{number + 1}">n</a>')
        site.route(f"/{number}", slowly(0.3, body))
    source = shop_source(site.at("/1"), maxPages=50)
    dataset = crawling.create(source, allow=site.host)
    started = time.monotonic()
    run = crawling.run(dataset, allow=site.host, how={"run_timeout": 3})
    assert 2.9 < time.monotonic() - started < 3 + AT_ONCE
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage"])
    assert read_failures(crawling.store, run) == [("timeout", None, None)]
    assert "the Run has taken the 3 s that it may" in str(run["error"])
    assert crawling.remedies(run) == ["more_run_time"]
    assert crawling.story(run).charged == 0


def slowly(seconds: float, body: str) -> Handler:
    def handle(request: Request) -> Answer:
        request.wait(seconds)
        return Answer(200, body)

    return handle


@pytest.mark.parametrize(
    "handler", [faults.never(), faults.fixed(429, headers={"Retry-After": "25"})]
)
def test_a_runs_time_ends_requests_and_waits_too(
    crawling: Crawling, site: Site, handler: Handler
) -> None:
    site.route("/1", handler)
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    started = time.monotonic()
    run = crawling.run(dataset, allow=site.host, how={"run_timeout": 0.5})
    assert time.monotonic() - started < AT_ONCE
    assert (run["status"], read_failures(crawling.store, run)[0][0]) == ("failed", "timeout")


class SecureSite(Site):
    """A site with a certificate that nobody vouches for."""

    def __init__(self, folder: Path) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(self_signed(folder))
        super().__init__()

    @override
    def _serve(self, connection: socket.socket, stopping: Event) -> None:
        try:
            secured = self._context.wrap_socket(connection, server_side=True)
        except OSError:
            return
        with secured:
            super()._serve(secured, stopping)


def self_signed(folder: Path) -> Path:
    """A certificate for 127.0.0.1, and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    form = serialization.Encoding.PEM
    secret = key.private_bytes(
        form, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / "site.pem"
    file.write_bytes(made.public_bytes(form) + secret)
    return file


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[SecureSite]:
    with SecureSite(tmp_path) as running:
        running.page("/1", listing("a"))
        yield running


@pytest.mark.parametrize("tunnelled", [False, True])
def test_a_certificate_that_nobody_vouches_for_is_refused(
    crawling: Crawling, secure: SecureSite, tunnelled: bool
) -> None:
    source = shop_source(
        f"https://{secure.host}/1",
        pagination=SINGLE,
        ignoreRobots=True,
        proxy="always" if tunnelled else "never",
    )
    dataset = crawling.create(source, allow=secure.host)
    with ForwardProxy(tunnels=True) as proxy:
        how = {"proxy": Proxy.parse(proxy.url)}
        run = crawling.run(dataset, allow=secure.host, how=how)
        assert bool(proxy.targets) is tunnelled
    assert run["status"] == "failed"
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["network"]
    assert secure.paths == []


def test_the_settings_say_how_pages_are_fetched(tmp_path: Path) -> None:
    given = {
        "LIVEDATA_HOME": str(tmp_path),
        "LIVEDATA_PROXY": "http://proxy.example:3128",
        "LIVEDATA_LOOK_AHEAD": "4",
        "LIVEDATA_PAGE_SECONDS": "7",
        "LIVEDATA_RUN_SECONDS": "60",
    }
    fetching = fetch_config(config.load(given))
    assert (fetching.look_ahead, fetching.timeout, fetching.run_timeout) == (4, 7, 60)
    assert fetching.proxy == Proxy("proxy.example", 3128)
    plain = fetch_config(config.load({"LIVEDATA_HOME": str(tmp_path)}))
    assert (plain.look_ahead, plain.timeout, plain.run_timeout) == (2, 20, 600)
    assert plain.proxy is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LOOK_AHEAD", "0"),
        ("LOOK_AHEAD", "5"),
        ("PAGE_SECONDS", "0"),
        ("PAGE_SECONDS", "nan"),
        ("RUN_SECONDS", "-1"),
        ("RUN_SECONDS", "inf"),
        ("MASS_LOSS", "1.5"),
        ("GUARDS", "mass-loss"),
        ("GUARDS", "mass_loss,off"),
        ("GUARDS", "mass_loss,,emptied_field"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_its_name(
    tmp_path: Path, name: str, value: str
) -> None:
    with pytest.raises(Invalid, match=f"LIVEDATA_{name}"):
        config.load({"LIVEDATA_HOME": str(tmp_path), f"LIVEDATA_{name}": value})


@pytest.mark.parametrize(
    ("value", "guards"),
    [
        ("", set(GUARDS)),
        ("off", set()),
        ("emptied_field", {"emptied_field"}),
        ("Mass_Loss, lost_pagination", {"mass_loss", "lost_pagination"}),
    ],
)
def test_a_setting_says_which_guards_are_on(tmp_path: Path, value: str, guards: set[str]) -> None:
    given = {"LIVEDATA_HOME": str(tmp_path), "LIVEDATA_GUARDS": value}
    assert config.load(given).guards == guards


@pytest.mark.parametrize(
    "written", ['["mass_loss", "emptied_field"]', '"mass_loss, emptied_field"']
)
def test_the_file_lists_guards_as_toml_does(tmp_path: Path, written: str) -> None:
    (tmp_path / "config.toml").write_text(f"guards = {written}\n")
    settings = config.load({"LIVEDATA_HOME": str(tmp_path)})
    assert settings.guards == {"mass_loss", "emptied_field"}


def test_the_file_may_turn_every_guard_off(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("guards = []\n")
    assert config.load({"LIVEDATA_HOME": str(tmp_path)}).guards == set()
