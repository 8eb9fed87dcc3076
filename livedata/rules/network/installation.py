"""What an installation says of its network: the names by which its server is asked, and its proxy.

A page elsewhere can let a name of its own lead to this machine, and would then be of one origin
with us. Its name is in the Host header of what it asks, and is none of ours.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from livedata.model.errors import Invalid

_LOOPBACK = "localhost"

_FORM = "http://host:port or http://user:password@host:port"


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


class Proxy(Struct, frozen=True):
    """A forward proxy. `authorization` is a header for the proxy only: a secret, never shown."""

    host: str
    port: int
    authorization: str | None = None

    def _without_secrets(self) -> str:
        return f"Proxy({self.host!r}, {self.port})"

    __repr__ = _without_secrets

    @classmethod
    def parse(cls, text: str) -> Proxy | None:
        """The proxy that a URL describes, or None for an empty text. Raises Invalid."""
        if not text:
            return None
        try:
            parts = urlsplit(text)
            port = parts.port or 80
        except ValueError as error:
            # The text is not repeated in a message: it may hold a password.
            raise Invalid(
                f"LIVEDATA_PROXY is not a URL that can be read; write {_FORM}."
            ) from error
        beyond = parts.path.strip("/") or parts.query or parts.fragment
        if parts.scheme != "http" or not parts.hostname or beyond or not text.isascii():
            raise Invalid(f"LIVEDATA_PROXY must be {_FORM}; other kinds are not supported.")
        return cls(parts.hostname, port, _authorization(parts.username, parts.password))

    @property
    def url(self) -> str:
        """The address of the proxy, without credentials."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def _authorization(user: str | None, password: str | None) -> str | None:
    if user is None:
        return None
    return "Basic " + b64encode(f"{unquote(user)}:{unquote(password or '')}".encode()).decode()
