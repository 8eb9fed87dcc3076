"""The ways in which a page cannot be fetched, as exceptions.

An exception with a ``url`` is about that address: redirects may have led away from the one that
was asked for.
"""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest


class UnsafeTarget(Exception):
    """The address to be dialled is private, or is not an address of the web."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


class HeaderTooLong(Exception):
    """An answer has more headers than anybody needs, or interim answers without end."""


class TooMuch(Exception):
    """An answer is larger than a Run may take; the message says how."""


class Damaged(Exception):
    """The body of an answer cannot be decompressed; the message says why."""


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
        super().__init__("nothing may be read while the site's robots.txt answers with an error")
        self.url = url
        self.status = status


class RobotsRateLimited(Exception):
    """The site answers that robots.txt may be asked for only much later."""

    def __init__(self, url: str) -> None:
        super().__init__("the site said that its robots.txt was asked for too often")
        self.url = url
        self.status = 429


class RobotsUnread(Exception):
    """robots.txt could not be fetched because of `cause`, so the page at ``url`` is not read."""

    def __init__(self, url: str, cause: Exception) -> None:
        super().__init__(str(cause))
        self.url = url
        self.cause = cause
