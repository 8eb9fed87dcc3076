"""There is no way to a site, whether or not a browser was to take it."""

from __future__ import annotations

from livedata.model.problem import Problem, Remedy
from livedata.rules.network.proxies import Proxy
from spiders.fetch.errors import Unreachable

_CHECK_PROXY = (Remedy("check_proxy"),)


def bad_certificate(*, of_another: bool) -> Unreachable:
    """The site cannot show that it is the site."""
    code = "fetch.certificate_of_another" if of_another else "fetch.bad_certificate"
    return Unreachable(Problem(code, remedies=(Remedy("see_certificate"),)))


def not_taken(proxy: Proxy) -> Unreachable:
    """There is no connection to the proxy."""
    params = {"proxy": proxy.url}
    return Unreachable(Problem("fetch.proxy_unreachable", params, remedies=_CHECK_PROXY))


def no_tunnel(proxy: Proxy, status: str) -> Unreachable:
    """The proxy makes no tunnel; `status` is empty if it did not answer."""
    params = {"proxy": proxy.url, "proxy_status": status}
    return Unreachable(Problem("fetch.no_tunnel", params, remedies=_CHECK_PROXY))
