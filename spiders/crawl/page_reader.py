"""One page: requested, requested again if that may help, and parsed.

Those whose addresses are known are read ahead, and handed out in page order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import scrapy
from msgspec import Struct, field
from scrapy.crawler import Crawler
from scrapy.http import Response

from livedata.extraction.page import Page
from livedata.extraction.pagination import Paginator
from livedata.extraction.selectors import Selector
from livedata.model import ids
from livedata.model.harvest import PageFailure, Step
from livedata.model.recipe import UrlPatternPages
from livedata.model.run import REFUSALS, FailureReason
from livedata.rules.network.targets import share_site
from spiders.crawl.job import Ask, directly
from spiders.fetch.errors import RunCancelled, UnsafeTarget, check_target
from spiders.fetch.heads import asks_too_long, content_type, is_html
from spiders.outcome.fetch_errors import CANCELLED, classify
from spiders.outcome.responses import answered, failure_at, out_of_time, refused
from spiders.session import Deadline, session_of

_SENDING = 0.002
"""Seconds in which what was begun gets out, before extracting a page keeps the process busy."""
RETRIES = 1
_TRANSIENT: frozenset[FailureReason] = frozenset(
    {"connection_reset", "timeout", "network", "rate_limited", "empty_body"}
)
# 522 and 524 are Cloudflare's: the site behind it did not answer in time.
_TRANSIENT_STATUSES = frozenset({408, 500, 502, 503, 504, 522, 524})


class PageFetch(Struct):
    """One page being fetched: once its step has ended it has a `failure`, or all the rest."""

    number: int
    url: str
    step: Step
    failure: PageFailure | None = None
    response: Response | None = None
    page: Page | None = None
    links: int | None = None
    """How often the next-link or end selector matches on the page."""
    at: int = 0
    attempts: int = 0
    refusals: int = 0
    again: bool = field(default=False)
    """Whether asking once more may help."""


class PageReader:
    """Reads the pages of a Run; `meta` goes with each request, and `between` is a CrawlJob's.

    Without `items` and a `paginator`, each page stands for itself: none is the end of a list.
    """

    def __init__(
        self,
        crawler: Crawler,
        meta: dict[str, Any],
        items: Selector | None = None,
        paginator: Paginator | None = None,
        between: Callable[[Ask], Ask] = directly,
    ) -> None:
        self._crawler = crawler
        self._session = session_of(crawler)
        self._items = items
        self._paginator = paginator
        self._meta = meta
        self._between = between
        self._seconds = crawler.settings.getfloat("DOWNLOAD_TIMEOUT")

    async def read(self, fetch: PageFetch) -> PageFetch:
        """Fill in a fetch: the one retry follows after a change to the proxy, if there is one."""
        retries = 0
        while True:
            direct = not self._session.route.proxied
            await self._attempt(fetch)
            failure = fetch.failure
            if failure is None or self._session.deadline.over.is_set():
                break
            # The change of route takes no retry: the proxy gets as many attempts as the direct way.
            if direct and self._session.route.switch(failure.reason):
                continue
            if retries == RETRIES or not fetch.again:
                break
            retries += 1
        fetch.step.ended = ids.now()
        fetch.step.failure = failure
        ended = "failed" if failure else "succeeded"
        cancelled = failure is not None and failure.reason == "cancelled"
        fetch.step.status = "cancelled" if cancelled else ended  # type: ignore[assignment]
        return fetch

    async def _attempt(self, fetch: PageFetch) -> None:
        number, url = fetch.number, fetch.url
        if self._session.deadline.over.is_set() or self._session.deadline.cancelled:
            fetch.failure = ended(fetch, self._session.deadline)
            return
        fetch.attempts += 1
        try:
            response = await self._download(self._request(url))
            # In a thread, because other Runs of the process go on while a large page is read.
            reason = await asyncio.to_thread(self._understand, fetch, response)
        except RunCancelled:
            fetch.failure = ended(fetch, self._session.deadline)
            return
        except Exception as error:  # noqa: BLE001  (every failure to read becomes a reason)
            problem = classify(error, self._seconds)
            status, final = getattr(error, "status", None), getattr(error, "url", None)
            fetch.failure = failure_at(number, url, problem, status, final)
            reason = fetch.failure.reason
            fetch.again = reason in _TRANSIENT
            if (shown := getattr(error, "answer", None)) is not None:
                fetch.response, fetch.page = shown, None  # what a page showed that never ended
        else:
            status = response.status
            fetch.failure = reason and failure_at(
                number, url, answered(reason, response), status, response.url
            )
            # A site that asks for a long pause is not asked once more in the middle of it.
            passing = reason in _TRANSIENT or status in _TRANSIENT_STATUSES
            fetch.again = passing and not asks_too_long(response)
        fetch.refusals += reason in REFUSALS
        self._session.rate_limited |= reason == "rate_limited"

    def _request(self, url: str) -> scrapy.Request:
        """The request for a page. Raises UnsafeTarget for an address that nobody can ask for."""
        try:
            request = scrapy.Request(url, meta=dict(self._meta))
        except ValueError:  # such as mailto:
            raise UnsafeTarget(url) from None
        # Here and not only where it is dialled: else its robots.txt would be asked for first.
        check_target(request.url, self._session.targets)
        return request

    async def _download(self, request: scrapy.Request) -> Response:
        """The response; RunCancelled as soon as the Run is over."""
        assert self._crawler.engine is not None
        ask = self._between(self._crawler.engine.download_async)
        download = asyncio.ensure_future(ask(request))
        over = asyncio.ensure_future(self._session.deadline.over.wait())
        await asyncio.wait({download, over}, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        if not download.done():
            download.cancel()
            # Awaited, because no request may still reach the site when its turn goes to another.
            await asyncio.gather(download, return_exceptions=True)
            raise RunCancelled(request.url)
        return download.result()

    def _understand(self, fetch: PageFetch, response: Response) -> FailureReason | None:
        """Keep the answer, parsed if it may be a page; the reason why it is none."""
        # Many lists end in 404 behind their last page; with the end marker on it that is an end.
        paginator = self._paginator
        end_page = paginator is not None and fetch.number > 1 and response.status in {404, 410}
        page = None
        if end_page or (is_html(response) and response.status < 300):
            page = Page(response.body, content_type(response), response.url)
        fetch.response, fetch.page, fetch.at = response, page, ids.now()
        if page is None or self._items is None or paginator is None:
            return refused(response, fetch.url, has_items=False)
        has_items = page.first(self._items) is not None
        fetch.links = paginator.links(page)
        reason = refused(response, fetch.url, has_items=has_items)
        if reason == "http_error" and end_page and paginator.is_last(fetch.links):
            reason = None
        return reason


def ended(fetch: PageFetch, deadline: Deadline) -> PageFailure:
    """The failure of a page that was not read, or not to its end, because the Run is over."""
    if deadline.cancelled:
        return failure_at(fetch.number, fetch.url, CANCELLED)
    return out_of_time(fetch.number, fetch.url, deadline.seconds)


class LookAhead:
    """Keeps `window` pages of a url-pattern under way, after the first, which is read alone.

    Every page that is begun leaves its step in `steps`, even if nobody wants it any more.
    """

    def __init__(
        self,
        paginator: Paginator,
        read: Callable[[PageFetch], Awaitable[PageFetch]],
        window: Callable[[], int],
        steps: list[Step],
    ) -> None:
        self._paginator = paginator
        self._read = read
        self._window = window
        self._steps = steps
        self._begun: dict[int, tuple[PageFetch, asyncio.Future[PageFetch]]] = {}

    async def page(self, number: int, url: str) -> PageFetch:
        """Page `number`; if more follow, they are begun before it is handed out."""
        self._begin(number, url)
        fetch = await self._begun[number][1]
        del self._begun[number]
        if fetch.page is not None and fetch.failure is None:
            await self._begin_after(fetch)
        return fetch

    async def drop(self) -> None:
        """Wait for what nobody wants once the Run is over; its results do not count."""
        begun = list(self._begun.values())
        await asyncio.gather(*(task for _, task in begun), return_exceptions=True)
        for fetch, _ in begun:
            # A failure behind the end of the list is none: nobody asked for that page. It costs
            # nothing either, because only pages that were handed out are charged.
            fetch.step.status, fetch.step.failure = "cancelled", None
            fetch.step.ended = fetch.step.ended or ids.now()

    async def _begin_after(self, fetch: PageFetch) -> None:
        pagination = self._paginator.recipe.pagination
        window = self._window()
        if not isinstance(pagination, UrlPatternPages) or window == 1:
            return
        if self._paginator.is_last(fetch.links):
            return
        # No site is asked for a page behind the limit, which the Run could not take.
        last = min(fetch.number + window, self._paginator.recipe.max_pages)
        for later in range(fetch.number + 1, last + 1):
            url = pagination.page_url(later)
            # A number in the host makes another site of it, at which this Run has no turn yet.
            if share_site(url, fetch.url):
                self._begin(later, url)
        # Extracting the page in hand keeps the process busy: the requests leave before it.
        await asyncio.sleep(_SENDING)

    def _begin(self, number: int, url: str) -> None:
        if number in self._begun:
            return
        step = Step("read", ids.now(), url=url)
        self._steps.append(step)
        fetch = PageFetch(number, url, step)
        self._begun[number] = fetch, asyncio.ensure_future(self._read(fetch))
