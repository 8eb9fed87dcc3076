"""Which addresses may be read, in every notation."""

from __future__ import annotations

from ipaddress import IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livedata.messages.request import predicate
from livedata.model.errors import Invalid
from livedata.model.problem import Remedy
from livedata.rules.network.targets import (
    TargetPolicy,
    is_public,
    literal_address,
    site_of,
    url_problem,
)

# The neighbours of each private range, so that a range too wide is found.
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.1",
    "192.0.1.1",
    "192.167.255.255",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2606:4700:4700::1111",
    "2a00:1450:4001:80b::200e",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
]
# Both ends of ranges, IPv4 inside IPv6, link-local zones, and what is no address at all.
PRIVATE = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.9",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:2::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:808:808::",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700:4700::1111%eth0",
    "fec0::1",
    "ff02::1",
    "",
    "localhost",
    "127.1",
    "8.8.8.8.",
    "1.2.3.4.5",
    "[::1]",
]
# Notations that inet_aton, WHATWG URL parsing or a browser's address bar accept.
LITERALS = [
    ("127.0.0.1", "127.0.0.1"),
    ("127.0.0.1.", "127.0.0.1"),
    ("127.1", "127.0.0.1"),
    ("127.0.1", "127.0.0.1"),
    ("0", "0.0.0.0"),
    ("2130706433", "127.0.0.1"),
    ("017700000001", "127.0.0.1"),
    ("0x7f000001", "127.0.0.1"),
    ("0X7F.1", "127.0.0.1"),
    ("0x7f.0x0.0.0x1", "127.0.0.1"),
    ("0177.0.0.01", "127.0.0.1"),
    ("127.0.0.0x", "127.0.0.0"),
    ("10.65535", "10.0.255.255"),
    ("4294967295", "255.255.255.255"),
    ("①②⑦.⓪.⓪.①", "127.0.0.1"),
    ("１２７．０．０．１", "127.0.0.1"),
    ("127。0。0。1", "127.0.0.1"),
    ("127｡0｡0｡1", "127.0.0.1"),
    ("127.0.0.\u200b1", "127.0.0.1"),
    ("%31%32%37.0.0.1", "127.0.0.1"),
    ("[::1]", "::1"),
    ("::1", "::1"),
    ("[0:0:0:0:0:0:0:1]", "::1"),
    # Python 3.13 writes ::ffff:127.0.0.1, an older one ::ffff:7f00:1.
    ("[::FFFF:127.0.0.1]", str(IPv6Address("::ffff:7f00:1"))),
    ("[fe80::1%25eth0]", "fe80::1%eth0"),
    ("8.8.8.8", "8.8.8.8"),
    ("example.com", None),
    ("localhost", None),
    ("1.2.3.4.5", None),
    ("256.0.0.1", None),
    ("127.0.0.256", None),
    ("4294967296", None),
    ("09.0.0.1", None),
    ("0x7g.1", None),
    ("1_0.0.0.1", None),
    ("-1.0.0.1", None),
    ("127..1", None),
    ("..", None),
    ("", None),
    ("[::1", "::1"),
    ("[::g]", None),
    ("1" * 300, None),
]
WRONG_URLS = [
    ("ftp://example.com/", "must begin with http:// or https://"),
    ("HTTP://example.com/", "must begin with http:// or https://"),
    ("example.com", "must begin with http:// or https://"),
    ("javascript:alert(1)", "must begin with http:// or https://"),
    ("http://", "must have a host"),
    ("http:///path", "must have a host"),
    ("http://:80/", "must have a host"),
    ("http://user@example.com/", "user name or password"),
    ("http://user:word@example.com/", "user name or password"),
    ("http://@example.com/", "user name or password"),
    ("http://example.com/a b", "a space (character 21)"),
    ("http://example.com/\ta", "U+0009"),
    ("http://example.com/\x7f", "U+007F"),
    ("http://example.com/\u00a0", "U+00A0"),
    ("http://127.0.0.1\\@example.com/", "a backslash (character 17)"),
    ("http://example.com:port/", "port must be a number"),
    ("http://example.com:65536/", "port must be a number"),
    ("http://example.com:0/", "port 0"),
    ("http://exa%6dple.com/", "not a valid name"),
    ("http://a..b/", "not a valid name"),
    ("http://exa{mple.com/", "not a valid name"),
    ("http://1.2.3.4.5/", "not a valid name"),
    ("http://" + "a" * 64 + ".com/", "not a valid name"),
    ("http://[::g]/", "host is not a valid"),
    ("http://[::1/", "host is not a valid"),
    ("http://127.0.0.1/", "127.0.0.1, which is not read"),
    ("http://127.0.0.1:8971/", "private address 127.0.0.1,"),
    ("https://[::1]/", "private address ::1,"),
    ("http://0x7f.1/", "private address 127.0.0.1"),
    ("http://169.254.169.254/latest", "private address 169.254.169.254"),
    ("http://①②⑦.⓪.⓪.①/", "private address 127.0.0.1"),
    ("http://[::ffff:10.0.0.1]/", f"private address {IPv6Address('::ffff:a00:1')}"),
]


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_dialled(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", PRIVATE)
def test_anything_else_may_not(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(("host", "address"), LITERALS)
def test_a_literal_address_is_seen_in_every_form(host: str, address: str | None) -> None:
    assert literal_address(host) == address


@pytest.mark.parametrize(("url", "words"), WRONG_URLS)
def test_a_url_that_cannot_be_read_is_refused_with_the_reason(url: str, words: str) -> None:
    problem = url_problem(url, TargetPolicy())
    assert problem is not None
    assert words in predicate(problem)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://127.0.0.1:8971/", "127.0.0.1:8971"),
        ("https://[::1]/", "[::1]:443"),
        ("http://0x7f.1/", "127.0.0.1:80"),
    ],
)
def test_a_private_address_may_be_allowed_by_its_host_and_port(url: str, host: str) -> None:
    problem = url_problem(url, TargetPolicy())
    assert problem is not None
    assert problem.remedies == (Remedy("allow_host", {"host": host}),)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "https://example.com/a?b=c#d",
        "http://localhost:8000/",
        "http://shop_1.example.com./",
        "http://bücher.example/",
        "http://8.8.8.8/",
        "https://[2606:4700:4700::1111]:8443/",
    ],
)
def test_a_url_with_a_name_or_a_public_address_is_accepted(url: str) -> None:
    assert url_problem(url, TargetPolicy()) is None


def test_a_host_that_the_operator_named_is_accepted_at_its_port_alone() -> None:
    targets = TargetPolicy.parse("127.0.0.1:8971")
    assert url_problem("http://127.0.0.1:8971/", targets) is None
    assert url_problem("http://0x7f.1:8971/", targets) is None
    assert url_problem("http://127.0.0.1:8972/", targets) is not None


def test_a_named_host_is_permitted_whatever_it_resolves_to() -> None:
    targets = TargetPolicy.parse(" Shop.Internal , [::1]:80,fe80::1, wiki.internal.:8080 ")
    assert targets.allow == {"shop.internal", "[::1]:80", "[fe80::1]", "wiki.internal:8080"}
    assert targets.permits("SHOP.internal.", 1234, "10.0.0.1")
    assert targets.permits("::1", 80, "::1")
    assert not targets.permits("::1", 81, "::1")
    assert not targets.permits("other.internal", 80, "10.0.0.1")


def test_a_public_address_is_permitted_without_being_named() -> None:
    targets = TargetPolicy()
    assert targets.permits("example.com", 80, "93.184.216.34")
    assert not targets.is_allowlisted("example.com", 80)


def test_with_only_hosts_no_other_is_permitted_public_or_allowed() -> None:
    targets = TargetPolicy.parse(
        "10.0.0.1, wiki.internal", "Shop.example., wiki.internal:8080,10.0.0.1"
    )
    assert targets.permits("shop.EXAMPLE", 443, "93.184.216.34")
    assert targets.permits("wiki.internal", 8080, "10.0.0.2")
    assert targets.permits("0x0a000001", 80, "10.0.0.1")
    assert not targets.permits("wiki.internal", 80, "10.0.0.2")
    assert not targets.permits("www.shop.example", 443, "93.184.216.34")
    # To be among them lets no private address through.
    assert not targets.permits("shop.example", 443, "10.0.0.9")


_HOSTS = st.frozensets(st.sampled_from(["a.test", "a.test:81", "b.test", "b.test:80", "[::1]:80"]))


@given(st.none() | _HOSTS, st.none() | _HOSTS)
def test_a_narrowed_policy_covers_what_both_cover(
    only: frozenset[str] | None, more: frozenset[str] | None
) -> None:
    ours, theirs = TargetPolicy(only=only), TargetPolicy(only=more)
    narrowed = ours.narrowed(more)
    for host in ("a.test", "b.test", "[::1]", "c.test"):
        for port in (80, 81):
            both = ours.covers(host, port) and theirs.covers(host, port)
            assert narrowed.covers(host, port) == both


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://shop.example/x", None),
        ("http://shop.example:81/x", None),
        ("https://shop.example.evil.test/", "address.other_host"),
        ("https://evil.test/?shop.example", "address.other_host"),
        ("http://8.8.8.8/", "address.other_host"),
        ("http://127.0.0.1/", "address.other_host"),
        ("http://shop.example@evil.test/", "address.credentials"),
        ("ftp://shop.example/", "address.scheme"),
    ],
)
def test_with_only_hosts_a_source_names_one_of_them(url: str, code: str | None) -> None:
    problem = url_problem(url, TargetPolicy.parse("", "shop.example"))
    assert (problem.code if problem else None) == code


def test_a_wrong_host_is_told_with_the_setting_that_holds_it() -> None:
    with pytest.raises(Invalid, match='LIVEDATA_ONLY_HOSTS holds "a/b"'):
        TargetPolicy.parse("a", "a/b")


@pytest.mark.parametrize("text", [",", " , ", " "])
def test_a_list_of_only_hosts_that_names_none_does_not_let_all_be_read(text: str) -> None:
    if text.strip():
        with pytest.raises(Invalid, match="LIVEDATA_ONLY_HOSTS names no host"):
            TargetPolicy.parse("", text)
    else:
        assert TargetPolicy.parse("", text) == TargetPolicy()


@pytest.mark.parametrize("text", ["*", "*.shop.example", "a.b;c.d", "a..b", "a.b:0", "a.b:99999"])
def test_an_entry_that_no_host_ever_is_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="not a host or host:port"):
        TargetPolicy.parse(text)


@pytest.mark.parametrize("text", ["http://a", "a:b", "a b", "a@b", "[::1", "a:123456", "a/b"])
def test_a_setting_that_is_not_a_host_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="not a host or host:port"):
        TargetPolicy.parse(text)


def test_no_setting_names_nothing() -> None:
    assert TargetPolicy.parse("") == TargetPolicy.parse(" , ") == TargetPolicy()


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("http://Example.COM/a", "example.com"),
        ("http://example.com:80/", "example.com"),
        ("https://example.com:443/", "example.com"),
        ("https://example.com:80/", "example.com:80"),
        ("http://example.com.:8080/", "example.com:8080"),
        ("http://user:word@example.com/", "example.com"),
        ("http://[::1]:80/", "[::1]"),
        ("http://[0:0::1]:8080/", "[::1]:8080"),
        ("http://0x7f.1:8971/", "127.0.0.1:8971"),
        ("http://bücher.example/", "xn--bcher-kva.example"),
    ],
)
def test_a_site_is_its_host_and_port(url: str, site: str) -> None:
    assert site_of(url) == site
