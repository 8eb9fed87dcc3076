"""The download handler of browser Runs: a page as it is once its scripts have run.

robots.txt goes the way of static Runs; a page goes to the shared browser, into the one context of
its Run, whose only way out is the Run's own `Egress`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Self

from playwright.async_api import Error, Page, Response
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import (
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)
from scrapy.http import Headers, HtmlResponse
from scrapy.http import Response as Answer
from scrapy_playwright.handler import BrowserContextWrapper, ScrapyPlaywrightDownloadHandler
from typing_extensions import override

from livedata.rules.network.targets import split_place
from spiders.browser.egress import MARK, Egress
from spiders.browser.proxy_headers import place_of
from spiders.browser.shared_browser import Provider
from spiders.browser.tab import PAINTING, TabSession, WaitFor
from spiders.fetch.errors import (
    BrowserLost,
    HeaderTooLong,
    OtherHost,
    RedirectsTooOften,
    TooMuch,
    UnreadableBody,
    UnsafeTarget,
    bad_certificate,
)
from spiders.fetch.handler import GuardedHandler
from spiders.session import session_of

# Playwright has one class for all errors: only the text of one has Chromium's code.
_CODE = re.compile(r"net::ERR_([A-Z0-9_]+)")
_PLAIN: Mapping[type[Exception], frozenset[str]] = {
    ResponseDataLossError: frozenset(
        (
            "CONNECTION_ABORTED",
            "CONNECTION_CLOSED",
            "CONNECTION_RESET",
            "CONTENT_LENGTH_MISMATCH",
            "EMPTY_RESPONSE",
            "INCOMPLETE_CHUNKED_ENCODING",
        )
    ),
    DownloadTimeoutError: frozenset(("CONNECTION_TIMED_OUT", "TIMED_OUT")),
    HeaderTooLong: frozenset(("RESPONSE_HEADERS_TOO_BIG",)),
    RedirectsTooOften: frozenset(("TOO_MANY_REDIRECTS",)),
    UnsafeTarget: frozenset(
        ("DISALLOWED_URL_SCHEME", "UNKNOWN_URL_SCHEME", "UNSAFE_PORT", "UNSAFE_REDIRECT")
    ),
}
_DAMAGED = frozenset(
    (
        "CONTENT_DECODING_FAILED",
        "CONTENT_DECODING_INIT_FAILED",
        "INVALID_CHUNKED_ENCODING",
        "INVALID_HTTP_RESPONSE",
        "INVALID_RESPONSE",
    )
)


def code_of(text: str) -> str:
    """The code in a message of the browser's; empty without one."""
    match = _CODE.search(text)
    return match[1] if match else ""


def own_answer(egress: Egress, url: str) -> Exception:
    """What it means that the way out itself answered instead of the site."""
    place = place_of(url)
    if place in egress.private:
        covered = egress.targets.covers(*split_place(url))
        return UnsafeTarget(url) if covered else OtherHost(url)
    return egress.unreachable.get(place) or DownloadConnectionRefusedError("no connection")


def reason_of(error: Error, egress: Egress, url: str) -> Exception:
    """The exception that stands for a browser's, at the address to which it has come."""
    # Chromium downloads what it cannot show; Playwright then says so without a code.
    code = "ABORTED" if "Download is starting" in error.message else code_of(error.message)
    # The egress cut the connection itself: Chromium would blame the site for it.
    if egress.overflowed:
        return TooMuch("loads_too_much", mib=egress.most >> 20)
    if code == "TUNNEL_CONNECTION_FAILED":
        return own_answer(egress, url)
    if code.startswith("CERT_"):
        return bad_certificate(of_another=code == "CERT_COMMON_NAME_INVALID")
    if code:
        return _behind(code, url)
    if "crashed" in error.message:
        return TooMuch("tab_crashed")
    if "has been closed" in error.message:
        return BrowserLost(url)
    return error


def _behind(code: str, url: str) -> Exception:
    """The exception that stands for a code of the browser's."""
    if code == "ABORTED":
        return UnreadableBody("not_shown")
    if code in _DAMAGED:
        return UnreadableBody("unreadable_answer", said=f"net::ERR_{code}")
    for kind, codes in _PLAIN.items():
        if code in codes:
            return kind(url if kind is UnsafeTarget else f"net::ERR_{code}")
    return DownloadConnectionRefusedError(f"net::ERR_{code}")


_HTML = frozenset(("text/html", "application/xhtml+xml"))
_END_PAGES = frozenset((404, 410))
_EMPTY = "<html><head></head><body></body></html>"
_OF_THE_BODY = ("Content-Encoding", "Content-Length", "Content-Type", "Set-Cookie")
_CLOSING = 2.0
"""Seconds that a context may take to close; a page that hangs would keep it for ever."""
_MOMENTS, _MOMENT = 10, 0.03
"""How often, and after how many seconds each, a browser is looked for that may be gone."""


class RenderingHandler(GuardedHandler, ScrapyPlaywrightDownloadHandler):  # type: ignore[misc]
    """HTTP and HTTPS by browser, until the deadline of the crawl is over."""

    lazy = False

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._egress = Egress(self._session.targets)
        self._egress.cancelled = partial(getattr, self._session.deadline, "cancelled")
        self._awaited = WaitFor(**crawler.settings["LIVEDATA_AWAITED"])
        self._most = crawler.settings.getint("DOWNLOAD_MAXSIZE")
        self._moves = 1 + crawler.settings.getint("REDIRECT_MAX_TIMES")
        # By default scrapy-playwright starts a browser for each crawl, and ends it with the crawl.
        self.browser_provider_cls = lambda _config: Provider(self._session.browser)
        self._tidying: set[asyncio.Future[Any]] = set()

    @classmethod
    @override
    def from_crawler(cls, crawler: Crawler) -> Self:
        """One for both schemes, so that a Run has one context, and its cookies one jar."""
        session = session_of(crawler)
        if session.renderer is None:
            session.renderer = cls(crawler)
        assert isinstance(session.renderer, cls)
        return session.renderer

    @override
    async def close(self) -> None:
        """Close the context and the egress, even if the browser is dead or hangs."""
        contexts = [wrapper.context for wrapper in self.context_wrappers.values()]
        # A hostile page can keep its tab from closing: what is late is cancelled and left to the
        # browser, which outlives the Run.
        closing = [
            *self._tidying,
            *(asyncio.ensure_future(context.close()) for context in contexts),
        ]
        self.context_wrappers.clear()
        if closing:
            await asyncio.wait(closing, timeout=_CLOSING)
        for task in closing:
            task.cancel()
        await asyncio.gather(*closing, return_exceptions=True)
        await self._egress.close()
        with suppress(Error):
            await super().close()

    @override
    async def _create_browser_context(
        self, name: str, context_kwargs: dict[str, Any] | None, spider: Spider | None = None
    ) -> BrowserContextWrapper:
        options = {
            "proxy": {"server": await self._egress.start()},
            # A service worker loads behind the page, where nothing counts it as the page's.
            "service_workers": "block",
            "accept_downloads": False,
            "user_agent": self._crawler.settings["USER_AGENT"],
            "locale": "en",  # as static Runs say in Accept-Language: both read the same texts
        }
        return await super()._create_browser_context(name, options, spider)

    @override
    async def _download_request(self, request: Request, spider: Spider | None = None) -> Answer:
        """A page, once: scrapy-playwright would ask three times for one that kills its tab."""
        request.meta["playwright_include_page"] = True  # it is closed here, and nobody waits for it
        spider = spider or self._crawler.spider
        answer: Answer = await self._download_request_with_retry(request, spider)
        return answer

    @override
    async def _download_request_with_page(
        self, request: Request, page: Page, spider: Spider
    ) -> Answer:
        tab = TabSession(page, self._awaited, self._moves, self._most)
        await self._egress.next_page(self._session.route.current_proxy)
        try:
            async with asyncio.timeout(request.meta["download_timeout"]):
                answer = await self._rendered(request, tab)
        except TimeoutError as error:
            late = DownloadTimeoutError(tab.at)
            late.answer = await self._as_it_is(request, tab)  # type: ignore[attr-defined]
            raise self._told(late, tab) from error
        except Error as error:
            self._egress.overflowed |= tab.over_limit
            cause = reason_of(error, self._egress, tab.at)
            # A browser that is killed aborts what it loads, a moment before it is missed.
            if "ERR_ABORTED" in error.message and await _is_lost(page):
                cause = BrowserLost(tab.at)
            raise self._told(cause, tab) from error
        except (TooMuch, RedirectsTooOften) as error:
            raise self._told(error, tab) from error
        else:
            request.meta["screenshot"] = await tab.picture()
            return answer
        finally:
            # Nobody waits for it: a page can make its closing take long, and the answer is there.
            closing = asyncio.ensure_future(page.close())
            self._tidying.add(closing)
            closing.add_done_callback(self._tidied)

    async def _rendered(self, request: Request, tab: TabSession) -> Answer:
        try:
            await tab.go(request.url)
        except Error as error:
            if tab.answer is None and _astray(error, tab.status):
                return Answer(tab.at, tab.status, flags=["playwright"], request=request)
            if tab.answer is None or not _bodiless(error, tab.answer):
                raise
            return await self._answer(request, tab.answer, tab.at, Answer, b"", None)
        # Some refusals reload themselves for ever; only what may have items gets time to settle.
        first = tab.answer
        if first is not None and (first.status < 400 or first.status in _END_PAGES):
            await tab.settle()
        else:
            await tab.load()
        return await self._shown(request, tab)

    async def _as_it_is(self, request: Request, tab: TabSession) -> Answer | None:
        """What a page shows that does not settle in time; None if it shows nothing.

        None too if it has moved on: robots.txt was not asked for what is seen now.
        """
        if tab.answer is None or tab.at != request.url:
            return None
        try:
            async with asyncio.timeout(PAINTING):
                answer = await self._shown(request, tab)
        except Exception:  # noqa: BLE001  (it has failed already, and is told as what it is)
            return None
        request.meta["screenshot"] = await tab.picture()
        return answer

    async def _shown(self, request: Request, tab: TabSession) -> Answer:
        """The page as it is now. Raises TooMuch if it is more than a Run takes."""
        # One character more than is allowed tells a page that is too large.
        document = await tab.document(self._most + 1)
        last = tab.answer
        assert last is not None
        # "replace": a script may leave half of a surrogate pair, which UTF-8 cannot hold.
        body = document["html"].encode("utf-8", "replace")
        if self._egress.overflowed:
            raise TooMuch("loads_too_much", mib=self._egress.most >> 20)
        if len(body) > self._most:
            raise TooMuch("rendered_too_big", mib=self._most >> 20)
        # Chromium shows an empty body as an empty document; the Run has to see that it was empty.
        if document["html"].rpartition("<!DOCTYPE html>")[2] == _EMPTY:
            body = b""
        kind = HtmlResponse if document["type"] in _HTML else Answer
        shown = "text/html; charset=utf-8" if kind is HtmlResponse else document["type"]
        return await self._answer(request, last, document["url"], kind, body, shown)

    async def _answer(
        self,
        request: Request,
        answer: Response,
        url: str,
        kind: type[Answer],
        body: bytes,
        shown: str | None,
    ) -> Answer:
        """The site's answer with the serialised page for its body."""
        headers = Headers(await answer.all_headers())
        if headers.get(MARK) == self._egress.token.encode():
            raise own_answer(self._egress, answer.url)
        # They describe the body that the site sent; the context keeps its cookies itself.
        for name in _OF_THE_BODY:
            headers.pop(name, None)
        if shown is not None:
            headers["Content-Type"] = shown
        return kind(url, answer.status, headers, body, flags=["playwright"], request=request)

    @staticmethod
    def _told(error: Exception, tab: TabSession) -> Exception:
        """The error with the address to which redirects have led."""
        if tab.at:
            error.url = tab.at  # type: ignore[attr-defined]
        return error

    def _tidied(self, closing: asyncio.Future[Any]) -> None:
        self._tidying.discard(closing)
        if not closing.cancelled():
            closing.exception()  # a page that is gone already needs no closing


async def _is_lost(page: Page) -> bool:
    """Whether the browser of a page is gone, or is found to be so within a moment."""
    browser = page.context.browser
    for _ in range(_MOMENTS):
        if browser is not None and not browser.is_connected():
            return True
        await asyncio.sleep(_MOMENT)
    return False


def _bodiless(error: Error, answer: Response) -> bool:
    """Whether the browser only misses a body: of an error without one, or of 204."""
    code = code_of(error.message)
    return code == "HTTP_RESPONSE_CODE_FAILURE" or (code == "ABORTED" and answer.status == 204)


def _astray(error: Error, status: int) -> bool:
    """Whether it is a redirect to something that is not on the web, a file for example."""
    return 300 <= status < 400 and code_of(error.message) in {"ABORTED", "UNSAFE_REDIRECT"}
