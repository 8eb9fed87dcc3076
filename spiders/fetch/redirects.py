"""Redirects by a Location and by the head of a page."""

from __future__ import annotations

from scrapy import Request
from scrapy.downloadermiddlewares.redirect import MetaRefreshMiddleware, RedirectMiddleware
from scrapy.http import Response
from typing_extensions import override

from livedata.rules.network.targets import site_of


class _Followed:
    """A redirect to something that is no address leaves the answer as it is."""

    def process_response(self, request: Request, response: Response) -> Request | Response:
        try:
            outcome: Request | Response = super().process_response(request, response)  # type: ignore[misc]
            # Scrapy takes much for an address, and would fail on it only after leaving this answer.
            site_of(outcome.url)
        except (ValueError, LookupError):  # LookupError: a charset that Python does not know
            return response
        return outcome


class Redirects(_Followed, RedirectMiddleware):  # type: ignore[misc]  # Scrapy gives it a spider
    """Follows a Location."""


class Refreshes(_Followed, MetaRefreshMiddleware):
    """Follows a refresh in the head of a page, but not one to the page itself."""

    @override
    def process_response(  # type: ignore[override]
        self, request: Request, response: Response
    ) -> Request | Response:
        outcome: Request | Response = super().process_response(request, response)
        # A page that reloads itself has nothing else to show: it would end as a circle.
        return response if outcome.url == request.url else outcome
