"""The ways in which a page cannot be fetched, as exceptions.

An exception with a ``url`` is about that address: redirects may have led away from the one that
was asked for.
"""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest

from livedata.model.problem import Problem, Remedy
from livedata.rules.network.installation import Proxy
from livedata.rules.network.targets import TargetPolicy, url_problem

_CHECK_PROXY = (Remedy("check_proxy"),)


class FetchError(Exception):
    """A request failed, and its `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.code)
        self.problem = problem


class Unreachable(FetchError):
    """There is no way to the site, whether or not a browser was to take it."""


class UnsafeTarget(Exception):
    """The address to be dialled is private, or is not an address of the web.

    `status` is that of the answer which led there, if one did.
    """

    def __init__(self, url: str, status: int | None = None) -> None:
        super().__init__(url)
        self.url = url
        self.status = status


class OtherHost(UnsafeTarget):
    """The host is none of those that alone may be read."""


class HeaderTooLong(Exception):
    """An answer has more headers than anybody needs, or interim answers without end."""


class TooMuch(FetchError):
    """An answer is larger than a Run may take."""

    def __init__(self, what: str, **limits: int) -> None:
        smaller = (Remedy("choose_smaller_page"),)
        super().__init__(Problem(f"fetch.{what}", limits, remedies=smaller))


class UnreadableBody(FetchError):
    """The body of an answer cannot be decompressed, or is nothing that can be shown."""

    def __init__(self, what: str, **params: str) -> None:
        remedies = (Remedy("check_address"), Remedy("run_later"))
        super().__init__(Problem(f"fetch.{what}", params, remedies=remedies))


class RedirectsTooOften(Exception):
    """The redirects go on, perhaps in a circle."""


class BrowserLost(Exception):
    """The browser ended while it showed the page."""


class RunCancelled(Exception):
    """The Run ended while this request was under way."""


class RobotsDisallowed(IgnoreRequest):
    """The site's robots.txt does not allow the page at ``url``."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


class RobotsDown(IgnoreRequest):
    """robots.txt is answered with 5xx, so nothing is allowed at ``url``."""

    def __init__(self, url: str, status: int) -> None:
        super().__init__(url)
        self.url = url
        self.status = status


class RobotsRateLimited(Exception):
    """The site answers that robots.txt may be asked for only much later."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url
        self.status = 429


class RobotsUnread(Exception):
    """robots.txt could not be fetched because of `cause`, so the page at ``url`` is not read."""

    def __init__(self, url: str, cause: Exception) -> None:
        super().__init__(str(cause))
        self.url = url
        self.cause = cause


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


def check_target(url: str, targets: TargetPolicy) -> None:
    """Raise UnsafeTarget for an address that nobody can ask for, OtherHost for one not covered."""
    problem = url_problem(url, targets)
    if problem is not None:
        raise OtherHost(url) if problem.code == "address.other_host" else UnsafeTarget(url)
