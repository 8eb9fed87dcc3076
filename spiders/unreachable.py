"""There is no way to a site: what is said then, whether or not a browser was to take it."""

from __future__ import annotations

from livedata.rules.proxies import Proxy

UNTRUSTED = (
    "its certificate is not valid: nobody whom this machine trusts has signed it, or its time is "
    "over"
)
ANOTHERS = "its certificate is not valid: it is for another host"


class Unreachable(Exception):
    """There is no way to the site; the message says why, and whether it is the proxy's doing."""


def not_taken(proxy: Proxy) -> str:
    """What is said where there is no connection to the proxy."""
    return f"the proxy {proxy.url} does not take a connection"


def no_tunnel(proxy: Proxy, status: str) -> str:
    """What is said where the proxy makes no tunnel; `status` is empty where it did not answer."""
    answer = f"answered with the status {status}" if status else "cut the connection"
    return f"the proxy {proxy.url} opened no way to it, but {answer}"
