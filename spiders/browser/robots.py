"""robots.txt for pages to which a browser was redirected."""

from __future__ import annotations

from scrapy import Request
from scrapy.http import Response

from spiders.fetch.robots import Robots


class RenderedRobots(Robots):
    """Obeys robots.txt for the final address of a page too."""

    async def process_response(self, request: Request, response: Response) -> Response:
        """The response, if robots.txt allows the address from which it comes."""
        # A browser follows redirects by itself, so Scrapy asked only for the first address. By now
        # the page is loaded, but nothing has read it.
        if "playwright" in response.flags and response.url != request.url:
            await self.process_request(request.replace(url=response.url))
        return response
