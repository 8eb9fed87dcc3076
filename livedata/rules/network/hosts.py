"""Which names of this server count: those by which a browser may use it, and that it repeats.

A page elsewhere can let a name of its own lead to this machine, and would then be of one origin
with us. Its name is in the Host header of what it asks, and is none of ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct

_LOOPBACK = "localhost"


class Hosts(Struct, frozen=True):
    """The names by which a server may be asked for, in lower case and without a port."""

    names: frozenset[str] = frozenset()

    def know(self, host: str) -> bool:
        """Whether a Host header names this server."""
        name = _name(host)
        # Nobody can let an address of numbers lead elsewhere.
        return name in self.names or name == _LOOPBACK or _is_address(name)


def hosts(bound: str, public_url: str, more: str) -> Hosts:
    """The names of a server: the one that it is bound to, that of its public address, and more."""
    given: Iterable[str] = (bound, urlsplit(public_url).hostname or "", *more.split(","))
    return Hosts(frozenset(name for name in map(_name, given) if name))


def _name(host: str) -> str:
    """The name in a Host header, without its port."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1 : host.find("]")]
    return (host if host.count(":") > 1 else host.partition(":")[0]).rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
