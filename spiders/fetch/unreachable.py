"""Requests that fail for a cause that is known, and those among them for which there is no way."""

from __future__ import annotations

from livedata.model.problem import Problem, Remedy
from livedata.rules.network.proxies import Proxy

_CHECK_PROXY = (Remedy("check_proxy"),)


class FetchError(Exception):
    """A request failed, and its `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem


class Unreachable(FetchError):
    """There is no way to the site, whether or not a browser was to take it."""


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
