"""robots.txt for pages to which a browser was led: it follows redirects by itself."""

from __future__ import annotations

from scrapy import Request
from scrapy.http import Response

from spiders.fetch.robots import Robots


class RenderedRobots(Robots):
    """Asks for the address at which a page was found too, before anybody gets to see the page."""

    async def process_response(self, request: Request, response: Response) -> Response:
        """The response, if robots.txt allows the address from which it comes."""
        if "playwright" in response.flags and response.url != request.url:
            await self.process_request(request.replace(url=response.url))
        return response
