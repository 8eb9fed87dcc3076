"""Which addresses may be read: rules 9, and interface 1 and 2.3."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

from livedata.model.errors import Invalid
from livedata.model.problem import Params, Problem, Remedy

# The tables are written out because the standard library's idea of "global" differs between the
# versions of Python, and lets multicast, 6to4 and several embeddings of 127.0.0.1 pass.
_PRIVATE_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # carrier-grade NAT
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # a cloud's own service, inside every machine of it
            "169.254.0.0/16",  # link-local, and the metadata of clouds
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)
_UNICAST_6 = IPv6Network("2000::/3")
_PRIVATE_6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4
            "3fff::/20",  # documentation
        ),
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
_LOW_32 = 0xFFFFFFFF
_MAX_HOST = 253  # the longest name that DNS can carry
_LAST_PORT = 65_535
_DEFAULT_PORTS = {"http": 80, "https": 443}
_PART = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_NAME = re.compile(r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*[A-Za-z0-9_-]{1,63}\.?")
_ENTRY = re.compile(r"(\[[^\]]+\]|[^:/@\s\[\]]+)(?::([0-9]{1,5}))?")


def is_public(address: str) -> bool:
    """Whether an IP address is on the public internet; a text that is no address is not."""
    try:
        ip = IPv6Address(address) if ":" in address else IPv4Address(address)
    except ValueError:
        return False
    if isinstance(ip, IPv4Address):
        return not any(ip in network for network in _PRIVATE_4)
    # A zone id ("%eth0") limits the address to one link.
    if ip.scope_id is not None:
        return False
    # An IPv6 address can carry an IPv4 one, which decides: ::ffff:127.0.0.1 is the loopback.
    if ip.ipv4_mapped is not None:
        return is_public(str(ip.ipv4_mapped))
    if ip in _NAT64:
        return is_public(str(IPv4Address(int(ip) & _LOW_32)))
    return ip in _UNICAST_6 and not any(ip in network for network in _PRIVATE_6)


@lru_cache(maxsize=1024)  # a Run asks for the same few hosts, several times a page
def literal_address(host: str) -> str | None:
    """The IP address that a host is written as, or None for a name.

    It reads every form that resolvers and browsers accept: 127.0.0.1 is also 127.1, 0x7f.1,
    0177.0.0.1, 2130706433 and ①②⑦。0。0。1.
    """
    plain = _folded(host)
    if plain.startswith("[") or ":" in plain:
        try:
            return str(IPv6Address(plain.strip("[]").replace("%25", "%")))
        except ValueError:
            return None
    parts = unquote(plain).removesuffix(".").split(".")
    if len(plain) > _MAX_HOST or not 1 <= len(parts) <= 4:
        return None
    numbers = [_number(part) for part in parts]
    # The last part fills all bytes that are left: 127.1 is 127.0.0.1.
    *high, low = [-1 if number is None else number for number in numbers]
    if low not in range(256 ** (4 - len(high))) or any(part not in range(256) for part in high):
        return None
    shifted = sum(part << 8 * (3 - place) for place, part in enumerate(high))
    return str(IPv4Address(shifted + low))


class TargetPolicy(Struct, frozen=True):
    """The rule which addresses may be dialled: public ones, and those in ``LIVEDATA_ALLOW_HOSTS``.

    With `only` none but those of these hosts are, public or not; None means all. Both hold "host"
    (any port) and "host:port", in lower case, IPv6 in brackets.
    """

    allow: frozenset[str] = frozenset()
    only: frozenset[str] | None = None

    @classmethod
    def parse(cls, allow: str, only: str = "") -> TargetPolicy:
        """The policy for lists of hosts with commas between; raises Invalid for a wrong entry."""
        hosts = entries(only, "LIVEDATA_ONLY_HOSTS holds")
        if only.strip() and not hosts:
            raise Invalid("LIVEDATA_ONLY_HOSTS names no host; write such as shop.example.")
        return cls(entries(allow, "LIVEDATA_ALLOW_HOSTS holds"), hosts or None)

    def is_allowlisted(self, host: str, port: int) -> bool:
        """Whether the operator allowed `host` at `port`."""
        return _is_among(host, port, self.allow)

    def covers(self, host: str, port: int) -> bool:
        """Whether `host` is among those that may be read, at whatever address it is."""
        return self.only is None or _is_among(host, port, self.only)

    def permits(self, host: str, port: int, address: str) -> bool:
        """Whether a connection to `address` is allowed, if `host` resolved to it."""
        allowed = is_public(address) or self.is_allowlisted(host, port)
        return allowed and self.covers(host, port)

    def narrowed(self, only: frozenset[str] | None) -> TargetPolicy:
        """The same policy where none but the hosts of `only` may be read, if it names them."""
        if only is None or self.only is None:
            return TargetPolicy(self.allow, self.only if only is None else only)
        both = {entry for entry in only if holds(self.only, entry)}
        return TargetPolicy(self.allow, frozenset(both | {e for e in self.only if holds(only, e)}))


def entries(text: str, holder: str) -> frozenset[str]:
    """The hosts of a list with commas between, in the form that policies compare.

    Raises Invalid for what is not a host or host:port; `holder` begins that sentence.
    """
    return frozenset(_entry(part.strip(), holder) for part in text.split(",") if part.strip())


def holds(hosts: frozenset[str], entry: str) -> bool:
    """Whether hosts hold all that an entry names: "host" holds "host:port"."""
    match = _ENTRY.fullmatch(entry)
    return entry in hosts or (match is not None and match[1] in hosts)


def _is_among(host: str, port: int, named: frozenset[str]) -> bool:
    plain = _canonical(host)
    return plain in named or f"{plain}:{port}" in named


def site_of(url: str) -> str:
    """The site of a URL: "host:port", or "host" for the default port of its scheme.

    Raises ValueError for a URL that cannot be parsed.
    """
    parts = urlsplit(url)
    host, port = _canonical(parts.hostname or ""), parts.port
    default = port is None or port == _DEFAULT_PORTS.get(parts.scheme)
    return host if default else f"{host}:{port}"


def share_site(url: str, other: str) -> bool:
    """Whether two URLs are of one site; one that cannot be parsed is of none."""
    try:
        return site_of(url) == site_of(other)
    except ValueError:
        return False


def split_place(url: str) -> tuple[str, int]:
    """The host and the port of a URL. Raises ValueError if it has no host."""
    parts = urlsplit(url)
    if not parts.hostname:
        raise ValueError(url)
    return parts.hostname, parts.port or (443 if parts.scheme in {"https", "wss"} else 80)


def url_problem(url: str, targets: TargetPolicy) -> Problem | None:
    """Why a source may not have this URL, or None if it may.

    Names are not resolved: they are judged when they are dialled (rules 9.2).
    """
    for offset, character in enumerate(url):
        # urlsplit drops tabs and newlines, and browsers read a backslash as a slash: the host
        # that we judge would not be the host that they dial.
        if character == "\\" or character.isspace() or unicodedata.category(character) == "Cc":
            place: Params = {"character": character, "position": offset + 1}
            return Problem("address.character", place)
    if not url.startswith(("http://", "https://")):
        return Problem("address.scheme")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        of_the_port = str(error).startswith("Port")
        return Problem("address.odd_port" if of_the_port else "address.odd_host")
    if "@" in parts.netloc:
        return Problem("address.credentials")
    if port == 0:
        return Problem("address.port_0")
    return _host_problem(parts, targets)


def _host_problem(parts: SplitResult, targets: TargetPolicy) -> Problem | None:
    host = parts.hostname
    if not host:
        return Problem("address.no_host")
    address = literal_address(host)
    if address is None and not _is_name(host):
        return Problem("address.host_name", {"host": host})
    port = parts.port or _DEFAULT_PORTS[parts.scheme]
    place: Params = {"host": f"{_canonical(host)}:{port}"}
    if not targets.covers(host, port):
        # With its port, which may be what tells it from those that may be read.
        named = _canonical(host) if port == _DEFAULT_PORTS[parts.scheme] else place["host"]
        return Problem(
            "address.other_host", {"host": named}, remedies=(Remedy("name_host", place),)
        )
    if address is None or targets.permits(host, port, address):
        return None
    return Problem("address.private", {"address": address}, remedies=(Remedy("allow_host", place),))


def _folded(host: str) -> str:
    """`host` as browsers map it: compatibility forms made plain, invisible characters removed."""
    # U+3002 is a dot to browsers, before normalization and after it.
    visible = (
        c for c in host.replace("\u3002", ".") if unicodedata.category(c) not in ("Cf", "Mn")
    )
    return unicodedata.normalize("NFKC", "".join(visible)).replace("\u3002", ".")


def _number(part: str) -> int | None:
    """The value of one part of a dotted address: decimal, octal after 0, hexadecimal after 0x."""
    if not _PART.fullmatch(part):
        return None
    if part[:2] in ("0x", "0X"):
        return int(part[2:] or "0", 16)  # browsers read a bare "0x" as 0
    if part[0] == "0":
        return int(part, 8) if not set(part) & set("89") else None
    return int(part)


def _canonical(host: str) -> str:
    address = literal_address(host)
    if address is not None:
        return f"[{address}]" if ":" in address else address
    plain = host.lower().removesuffix(".")
    if plain.isascii():
        return plain
    # The allowlist and the URL must meet in one form: "münchen.de" is also "xn--mnchen-3ya.de".
    try:
        return plain.encode("idna").decode()
    except UnicodeError:
        return plain


def _is_name(host: str) -> bool:
    plain = _canonical(host)
    # No top-level domain is a number; a resolver would take such a name for an address.
    numeric = _PART.fullmatch(plain.rpartition(".")[2])
    return len(plain) <= _MAX_HOST and _NAME.fullmatch(plain) is not None and not numeric


def _is_host(host: str) -> bool:
    """Whether it can be dialled: an address, or a name without wildcards."""
    if "[" in host or literal_address(host) is not None:
        return literal_address(host) is not None
    return _is_name(host)


def _entry(text: str, holder: str) -> str:
    # An IPv6 address may be written without brackets if it has no port.
    bare = text if ":" not in text or text.count(":") == 1 or "[" in text else f"[{text}]"
    match = _ENTRY.fullmatch(bare)
    if match is None or not _is_host(match[1]) or not 0 < int(match[2] or 1) <= _LAST_PORT:
        meant = text.partition("://")[2].partition("/")[0]
        form = f"write {meant}" if meant else "write such as intranet.example or 127.0.0.1:8000"
        raise Invalid(f'{holder} "{text}", which is not a host or host:port; {form}.')
    host, port = _canonical(match[1]), match[2]
    return host if port is None else f"{host}:{int(port)}"
