"""There is no way to a site: what is said then, whether or not a browser was to take it."""

from __future__ import annotations

from livedata.rules.network.proxies import Proxy

UNTRUSTED = (
    "its certificate is not valid: nobody whom this machine trusts has signed it, or its time is "
    "over"
)
ANOTHERS = "its certificate is not valid: it is for another host"
_LOOK = "open the address in a browser to see what is wrong with it"
_PROXY = "see whether it runs, and whether LIVEDATA_PROXY is right"


class Unreachable(Exception):
    """There is no way to the site: why, as the rest of a sentence, and what may help."""

    def __init__(self, why: str, next_: str) -> None:
        super().__init__(why)
        self.next = next_


def bad_certificate(why: str) -> Unreachable:
    """The site cannot show that it is the site."""
    return Unreachable(why, _LOOK)


def not_taken(proxy: Proxy) -> Unreachable:
    """There is no connection to the proxy."""
    return Unreachable(f"the proxy {proxy.url} does not take a connection", _PROXY)


def no_tunnel(proxy: Proxy, status: str) -> Unreachable:
    """The proxy makes no tunnel; `status` is empty where it did not answer."""
    answer = f"answered with the status {status}" if status else "cut the connection"
    return Unreachable(f"the proxy {proxy.url} opened no way to it, but {answer}", _PROXY)
