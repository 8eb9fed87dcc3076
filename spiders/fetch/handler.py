"""The download handler: requests in turn, to public addresses, cancelled at the deadline."""

from __future__ import annotations

import asyncio
import re
import time

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

from livedata.rules.network.installation import Proxy
from livedata.rules.network.targets import site_of, split_place
from spiders.fetch.errors import (
    RunCancelled,
    TooMuch,
    UnsafeTarget,
    check_target,
    no_tunnel,
    not_taken,
)
from spiders.fetch.heads import LONGEST_WAIT, HeaderLimit, asked_to_wait
from spiders.fetch.resolver import DIAL_POLICY, DialPolicy, refused_addresses
from spiders.session import session_of

# Scrapy has the status of a proxy only in the text of its error.
_ANSWERED = re.compile(r"'status': ([0-9]{3})")


class GuardedHandler(HTTP11DownloadHandler):
    """HTTP and HTTPS by the route of the crawl, until its deadline is over."""

    lazy = True

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._session = session_of(crawler)
        # Twisted would send a request again by itself if a kept connection turns out to be dead,
        # but outside the context that says what it may dial; asking again is the spider's business.
        self._pool.retryAutomatically = False
        self._pool._factory = HeaderLimit  # noqa: SLF001  (Scrapy sets its own in the same way)

    @override
    async def download_request(self, request: Request) -> Response:
        """The response, or UnsafeTarget, Unreachable, RunCancelled, and Scrapy's own exceptions."""
        download = asyncio.ensure_future(self._in_turn(request))
        over = asyncio.ensure_future(self._session.deadline.over.wait())
        try:
            await asyncio.wait({download, over}, return_when=asyncio.FIRST_COMPLETED)
            if not download.done():
                download.cancel()
                # Until the connection is closed: the turn at the site is free only then.
                await asyncio.gather(download, return_exceptions=True)
                raise RunCancelled(request.url)
            return download.result()
        except Exception as error:
            # The address to which redirects have led: a browser follows them within one request.
            error.url = getattr(error, "url", request.url)  # type: ignore[attr-defined]
            raise
        finally:
            over.cancel()

    async def _in_turn(self, request: Request) -> Response:
        session = self._session
        # A redirect may lead anywhere; a host that is none would leave Twisted waiting for ever.
        check_target(request.url, session.targets)
        site, (host, port) = site_of(request.url), split_place(request.url)
        # Hosts that the operator allows by name are the operator's: nobody there is to be spared.
        pause = 0.0 if session.targets.is_allowlisted(host, port) else session.delay
        # A redirect to another site is one of many visitors there: the window is the source's.
        at_once = session.window if site == session.site else 1
        async with session.throttle.turn(site, pause, at_once):
            # A process that stood still finds out here, and not before its loop has had its turn.
            if session.deadline.cancelled:
                raise RunCancelled(request.url)
            response = await self._fetch(request)
        wait = asked_to_wait(response)
        if wait is not None and wait <= LONGEST_WAIT:
            session.throttle.back_off(site, wait)
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
            proxy = self._session.route.prepare(request)
            async with asyncio.timeout(left):
                policy = await self._dial_policy(request, proxy)
            return await self._dial(request, policy, proxy)
        except TimeoutError as error:
            raise DownloadTimeoutError(f"{request.url} took too long") from error
        finally:
            request.meta["spent"] = spent + time.monotonic() - started

    async def _dial_policy(self, request: Request, proxy: Proxy | None) -> DialPolicy:
        """What may be dialled for a request."""
        targets = self._session.targets
        if proxy is None:
            return DialPolicy(targets)
        # The proxy resolves the name, and nothing here sees to what: it is judged beforehand.
        if await refused_addresses(*split_place(request.url), targets):
            raise UnsafeTarget(request.url)
        return DialPolicy(targets, proxy.host)

    async def _dial(self, request: Request, policy: DialPolicy, proxy: Proxy | None) -> Response:
        token = DIAL_POLICY.set(policy)
        try:
            return await super().download_request(request)
        except (CannotResolveHostError, DownloadConnectionRefusedError, TunnelError) as error:
            # Twisted only knows that no address was left; the policy knows that it took them away.
            if policy.refused:
                raise UnsafeTarget(request.url) from error
            if proxy is not None:
                raise _of_the_proxy(error, proxy) from error
            raise
        except DownloadCancelledError as error:
            if request.meta.get("playwright"):  # it says itself what was too much
                raise
            most = self._crawler.settings.getint("DOWNLOAD_MAXSIZE") >> 20
            raise TooMuch("too_big", mib=most) from error
        finally:
            DIAL_POLICY.reset(token)


def _of_the_proxy(error: Exception, proxy: Proxy) -> Exception:
    """What went wrong on the way to the proxy, in words that do not blame the site."""
    if not isinstance(error, TunnelError):
        return not_taken(proxy)
    answered = _ANSWERED.search(str(error))
    return no_tunnel(proxy, answered[1] if answered else "")
