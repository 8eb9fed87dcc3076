"""The route of a Run's requests: direct, or through the proxy."""

from __future__ import annotations

from msgspec import Struct
from scrapy import Request

from livedata.model.recipe import ProxyMode
from livedata.model.run import REFUSALS, FailureReason
from livedata.rules.network.proxies import Proxy

# Many firewalls reset or drop the connections of those whom they mean to refuse.
_SWITCHING: frozenset[FailureReason] = REFUSALS | {"connection_reset", "timeout"}


class ProxyRoute(Struct):
    """The route of one Run, robots.txt and redirects included; it never leaves the proxy again."""

    mode: ProxyMode
    proxy: Proxy | None
    proxied: bool = False

    def __post_init__(self) -> None:
        self.proxied = self.mode == "always" and self.proxy is not None

    @property
    def missing(self) -> bool:
        """Whether a proxy is demanded that is not there."""
        return self.mode == "always" and self.proxy is None

    @property
    def current_proxy(self) -> Proxy | None:
        """The proxy through which requests now go; None for direct."""
        return self.proxy if self.proxied else None

    def switch(self, reason: FailureReason) -> bool:
        """After such a failure on the direct way: whether the Run now goes through the proxy."""
        if self.mode == "auto" and self.proxy is not None and reason in _SWITCHING:
            self.proxied = True
        return self.proxied

    def prepare(self, request: Request) -> Proxy | None:
        """Send `request` by this route: its proxy, or None for direct."""
        proxy = self.current_proxy
        # A redirect copies the headers and the meta of a request that went another way.
        request.headers.pop("Proxy-Authorization", None)
        request.meta["proxy"] = proxy and proxy.url
        if proxy is not None and proxy.authorization is not None:
            request.headers["Proxy-Authorization"] = proxy.authorization
        return proxy
