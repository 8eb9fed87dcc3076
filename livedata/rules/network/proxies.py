"""The proxy of an installation: ``LIVEDATA_PROXY``."""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from livedata.model.errors import Invalid

_FORM = "http://host:port or http://user:password@host:port"


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
