"""The download handler: guarded against private addresses, and cancelled at once."""

from __future__ import annotations

import asyncio

from scrapy import Request
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.exceptions import CannotResolveHostError
from scrapy.http import Response
from typing_extensions import override

from spiders.resolver import GUARD, Guard


class UnsafeTarget(Exception):
    """The address to be dialled is private."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


class RunCancelled(Exception):
    """The Run was cancelled while this request was under way."""


class GuardedHandler(HTTP11DownloadHandler):
    """HTTP and HTTPS; the spider's ``cancel`` event ends a request that is under way."""

    lazy = True

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # Twisted would send a request again by itself where a kept connection turns out to be dead,
        # but outside the context that says what it may dial; asking again is the spider's business.
        self._pool.retryAutomatically = False

    @override
    async def download_request(self, request: Request) -> Response:
        """The response, or UnsafeTarget, RunCancelled, and Scrapy's own exceptions."""
        spider = self._crawler.spider
        assert spider is not None
        cancel: asyncio.Event = spider.cancel  # type: ignore[attr-defined]  # SourceSpider
        guard = Guard(self._crawler.settings["LIVEDATA_TARGETS"])
        token = GUARD.set(guard)
        download = asyncio.ensure_future(super().download_request(request))
        cancelled = asyncio.ensure_future(cancel.wait())
        try:
            await asyncio.wait({download, cancelled}, return_when=asyncio.FIRST_COMPLETED)
            if not download.done():
                download.cancel()
                await asyncio.gather(download, return_exceptions=True)
                raise RunCancelled(request.url)
            return download.result()
        except Exception as error:
            if isinstance(error, CannotResolveHostError) and guard.refused:
                raise UnsafeTarget(request.url) from error
            # Where redirects have led: a browser follows them within one request.
            error.url = getattr(error, "url", request.url)  # type: ignore[attr-defined]
            raise
        finally:
            cancelled.cancel()
            GUARD.reset(token)
