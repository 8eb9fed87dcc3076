"""The download handler: in turn, guarded against private addresses, and given up at once."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

from scrapy import Request
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler, TunnelError
from scrapy.crawler import Crawler
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
)
from scrapy.http import Response
from typing_extensions import override

from livedata.rules.network.proxies import Proxy
from livedata.rules.network.targets import TargetPolicy, site_of, split_place, url_problem
from spiders.fetch.errors import RunCancelled, TooMuch, UnsafeTarget
from spiders.fetch.header_limit import HeaderLimit
from spiders.fetch.resolver import DIAL_POLICY, DialPolicy, refused_addresses
from spiders.fetch.retry_after import LONGEST, asked_to_wait
from spiders.fetch.throttle import TURNS
from spiders.fetch.unreachable import no_tunnel, not_taken

_ANSWERED = re.compile(r"'status': ([0-9]{3})")


class GuardedHandler(HTTP11DownloadHandler):
    """HTTP and HTTPS, the way that the spider's `route` says, until its `term` is over."""

    lazy = True

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # Twisted would send a request again by itself where a kept connection turns out to be dead,
        # but outside the context that says what it may dial; asking again is the spider's business.
        self._pool.retryAutomatically = False
        self._pool._factory = HeaderLimit  # noqa: SLF001  (Scrapy sets its own in the same way)

    @override
    async def download_request(self, request: Request) -> Response:
        """The response, or UnsafeTarget, Unreachable, RunCancelled, and Scrapy's own exceptions."""
        asked = asyncio.ensure_future(self._in_turn(request))
        over = asyncio.ensure_future(self._spider.deadline.over.wait())
        try:
            await asyncio.wait({asked, over}, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                asked.cancel()
                await asyncio.gather(asked, return_exceptions=True)
                raise RunCancelled(request.url)
            return asked.result()
        except Exception as error:
            # Where redirects have led: a browser follows them within one request.
            error.url = getattr(error, "url", request.url)  # type: ignore[attr-defined]
            raise
        finally:
            over.cancel()

    async def _in_turn(self, request: Request) -> Response:
        # A redirect may lead anywhere; a host that is none would leave Twisted waiting for ever.
        if url_problem(request.url, self._targets) is not None:
            raise UnsafeTarget(request.url)
        site, (host, port) = site_of(request.url), split_place(request.url)
        settings = self._crawler.settings
        own = self._targets.is_allowlisted(host, port)
        pause = 0.0 if own else settings.getfloat("LIVEDATA_DELAY")
        at_once = self._spider.window if site == self._spider.site else 1
        async with TURNS.turn(site, pause, at_once):
            response = await self._fetch(request)
        wait = asked_to_wait(response)
        if wait is not None and wait <= LONGEST:
            TURNS.back_off(site, wait)
        return response

    async def _fetch(self, request: Request) -> Response:
        """The response within what is left of the page's time; waiting for a turn takes none."""
        spent = request.meta.get("spent", 0.0)  # redirects carry it on
        left = self._crawler.settings.getfloat("DOWNLOAD_TIMEOUT") - spent
        if left <= 0:
            raise DownloadTimeoutError(f"{request.url} took too long")
        request.meta["download_timeout"] = left
        started = time.monotonic()
        try:
            async with asyncio.timeout(left):
                guard = await self._guard(request)
            return await self._dial(request, guard)
        except TimeoutError as error:
            raise DownloadTimeoutError(f"{request.url} took too long") from error
        finally:
            request.meta["spent"] = spent + time.monotonic() - started

    async def _guard(self, request: Request) -> DialPolicy:
        """What may be dialled; where a proxy resolves the name, it is judged here beforehand."""
        proxy = self._spider.route.prepare(request)
        if proxy is None:
            return DialPolicy(self._targets)
        if await refused_addresses(*split_place(request.url), self._targets):
            raise UnsafeTarget(request.url)
        return DialPolicy(self._targets, proxy.host)

    async def _dial(self, request: Request, guard: DialPolicy) -> Response:
        token = DIAL_POLICY.set(guard)
        try:
            return await super().download_request(request)
        except (CannotResolveHostError, DownloadConnectionRefusedError, TunnelError) as error:
            if guard.refused:
                raise UnsafeTarget(request.url) from error
            if guard.proxy is not None:
                raise _of_the_proxy(error, self._spider.route.current_proxy) from error
            raise
        except DownloadCancelledError as error:
            if request.meta.get("playwright"):  # it says itself what was too much
                raise
            most = self._crawler.settings.getint("DOWNLOAD_MAXSIZE") >> 20
            raise TooMuch("too_big", mib=most) from error
        finally:
            DIAL_POLICY.reset(token)

    @property
    def _spider(self) -> Any:
        """The SourceSpider, which cannot be imported here: it needs this module."""
        return self._crawler.spider

    @property
    def _targets(self) -> TargetPolicy:
        targets: TargetPolicy = self._crawler.settings["LIVEDATA_TARGETS"]
        return targets


def _of_the_proxy(error: Exception, proxy: Proxy) -> Exception:
    """What went wrong on the way to the proxy, in words that do not blame the site."""
    if not isinstance(error, TunnelError):
        return not_taken(proxy)
    answered = _ANSWERED.search(str(error))
    return no_tunnel(proxy, answered[1] if answered else "")
