"""One page in the browser: its address, and when the declared items are there.

Our scripts look at it from a world of their own, which the page cannot redefine.
"""

from __future__ import annotations

import asyncio
import json
import time
from base64 import b64decode
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct
from playwright.async_api import CDPSession, Error, Page, Request, Response

from livedata.model.harvest import LONGEST_SCREENSHOT
from spiders.browser.egress import MAX_RECEIVED
from spiders.fetch.errors import RedirectsTooOften, TooMuch

STILL = 0.25
"""Seconds for which nothing may move once there are items, or the mark of the last page."""
NOTHING = 1.0
"""The same if there is neither: then the list is taken to be empty."""
PATIENCE = 5.0
"""Seconds after which items are taken although something else still moves."""
MAX_ELEMENTS = 130_000
"""As many as a page may have that is not rendered; one that is never complete soon has more."""
PAINTING = 0.5
"""Seconds that a picture of a page may take: a page that is busy would keep it for ever."""
_POLL = 0.05
_SCALES = (1, 0.5, 0.25)
_QUALITY = 50
_AWAITED = frozenset(("script", "stylesheet", "xhr", "fetch"))
# A selector that the browser refuses finds nothing there: it is the Run that judges selectors.
_STATE = """(([items, end, next]) => {
  const all = selector => {
    try { return selector ? [...document.querySelectorAll(selector)] : []; } catch { return []; }
  };
  const found = all(items);
  const size = found.reduce(
    (sum, item) => sum + item.textContent.length + item.getElementsByTagName("*").length, 0);
  return {
    loading: document.readyState === "loading",
    elements: document.getElementsByTagName("*").length,
    text: document.documentElement ? document.documentElement.textContent.length : 0,
    there: found.length > 0 || all(end).length > 0,
    seen: [location.href, found.length, size, all(end).length, all(next).length],
  };
})"""
_DOCUMENT = """(most => {
  const type = document.doctype;
  const root = document.documentElement;
  const html = (type ? new XMLSerializer().serializeToString(type) : "") +
    (root ? root.outerHTML : "");
  return {type: document.contentType, html: html.slice(0, most), url: location.href};
})"""


class WaitFor(Struct, frozen=True):
    """The selectors whose matches say that a page is there: items, end marker, next link."""

    items: str
    end: str = ""
    next: str = ""


class TabSession:
    """A page from the moment at which it is asked for.

    It is `over_limit` once it has loaded more than it may. `at` is its address after redirects,
    `answer` what it was answered there. `status` is that of the last head that came: a
    redirect to what a browser does not follow never becomes an `answer`.
    """

    def __init__(self, page: Page, awaited: WaitFor, moves: int, most: int) -> None:
        self.at = ""
        self.answer: Response | None = None
        self.status = 0
        self.over_limit = False
        self._unpacked = 0
        self._page = page
        self._awaited = awaited
        self._moves = moves
        self._most = most
        self._pending: set[Request] = set()
        self._closing: set[asyncio.Future[None]] = set()
        self._cdp: CDPSession | None = None
        page.on("request", self._asked)
        page.on("requestfinished", self._done)
        page.on("requestfailed", self._done)
        page.on("response", self._answered)
        # A popup would load without end, and nobody would look at it.
        page.on("popup", self._close)

    async def go(self, url: str) -> None:
        """Ask for the page, until its head is there."""
        # Playwright tells neither the unpacked bytes as they come nor every head; DevTools does.
        self._cdp = await self._page.context.new_cdp_session(self._page)
        self._cdp.on("Network.responseReceivedExtraInfo", self._headed)
        self._cdp.on("Network.dataReceived", self._received)
        await self._cdp.send("Network.enable")
        # No timeout here: the handler has one for the page as a whole.
        await self._page.goto(url, wait_until="commit", timeout=0)

    async def settle(self) -> None:
        """Until the items or the end marker are there and nothing moves, or nothing comes.

        It is for the caller to end what never settles.
        """
        began = since = time.monotonic()
        before: Sequence[Any] = ()
        while True:
            self._check()
            state = await self._look(_STATE, list(_words(self._awaited)))
            # Each answer of the page may be the last before scripts add more items, so what counts
            # is how long nothing has changed.
            now = time.monotonic()
            if state is None or state["seen"] != before or state["loading"] or self._pending:
                since = now
            if state is not None:
                if state["elements"] > MAX_ELEMENTS:
                    raise TooMuch("too_many_elements", elements=MAX_ELEMENTS)
                if state["text"] > self._most:
                    raise TooMuch("too_much_text", mib=self._most >> 20)
                before = state["seen"]
                there = state["there"] and not state["loading"]
                if now - since >= (STILL if there else NOTHING):
                    return
                if there and now - began >= PATIENCE:
                    return
            await asyncio.sleep(_POLL)

    async def load(self) -> None:
        """Until its markup is there, though not for long: of a refusal nothing more is awaited."""
        until = time.monotonic() + NOTHING
        while time.monotonic() < until:
            state = await self._look(_STATE, list(_words(self._awaited)))
            if state is not None and not state["loading"]:
                return
            await asyncio.sleep(_POLL)

    def _check(self) -> None:
        if self._moves < 0:
            raise RedirectsTooOften
        if self.answer is not None and (failure := self.answer.request.failure):
            raise Error(failure)  # its body was cut, or is damaged

    async def document(self, most: int) -> dict[str, str]:
        """Type, address and serialised DOM of the page, cut behind `most` characters."""
        document: dict[str, str] | None = await self._look(_DOCUMENT, most)
        self._check()
        # The page has moved on at this very moment. How often it may is counted by the check.
        if document is None:
            await asyncio.sleep(_POLL)
            return await self.document(most)
        return document

    async def picture(self) -> bytes | None:
        """A JPEG of what the tab shows, to be kept; None if it is not painted in time."""
        size = self._page.viewport_size
        if self._cdp is None or size is None:
            return None
        with suppress(TimeoutError, Error):
            async with asyncio.timeout(PAINTING):
                # One that is too large is taken again, smaller: a picture cannot be cut.
                for scale in _SCALES:
                    options: dict[str, Any] = {"format": "jpeg", "quality": _QUALITY}
                    if scale != 1:
                        options["clip"] = {"x": 0, "y": 0, **size, "scale": scale}
                    taken = await self._cdp.send("Page.captureScreenshot", options)
                    picture = b64decode(taken["data"])
                    if len(picture) <= LONGEST_SCREENSHOT:
                        return picture
        return None

    async def _look(self, function: str, argument: object) -> Any:
        """What a function finds on the page; None while the page moves on to another."""
        assert self._cdp is not None
        try:
            # Made anew at each look, because a navigation takes frame and world away.
            tree = await self._cdp.send("Page.getFrameTree")
            frame = tree["frameTree"]["frame"]["id"]
            world = await self._cdp.send(
                "Page.createIsolatedWorld", {"frameId": frame, "worldName": "livedata"}
            )
            evaluated = await self._cdp.send(
                "Runtime.evaluate",
                {
                    "expression": f"{function}({json.dumps(argument)})",
                    "contextId": world["executionContextId"],
                    "returnByValue": True,
                },
            )
        except Error as error:
            if "has been closed" in error.message or "crashed" in error.message:
                raise
            return None
        return evaluated["result"].get("value")

    def _asked(self, request: Request) -> None:
        leads_on = self._leads_on(request)
        if leads_on or request.resource_type in _AWAITED:
            self._pending.add(request)
        if leads_on:
            self.at = request.url
            self._moves -= 1

    def _done(self, request: Request) -> None:
        self._pending.discard(request)

    def _answered(self, response: Response) -> None:
        if self._leads_on(response.request):
            self.answer = response

    def _received(self, event: dict[str, Any]) -> None:
        """Count what was loaded once it is unpacked; a bomb's tab is closed before it is full."""
        self._unpacked += event["dataLength"]
        if self._unpacked > MAX_RECEIVED and not self.over_limit:
            self.over_limit = True
            self._close(self._page)

    def _headed(self, event: dict[str, Any]) -> None:
        self.status = event["statusCode"]

    def _leads_on(self, request: Request) -> bool:
        """Whether the tab itself, not a frame in it, is going where the request goes."""
        # A request whose frame is gone, or that a worker makes, has no frame to ask for.
        with suppress(Error):
            return request.is_navigation_request() and request.frame == self._page.main_frame
        return False

    def _close(self, page: Page) -> None:
        closing = asyncio.ensure_future(page.close())
        # asyncio holds its tasks weakly: one that nobody keeps may vanish before it is done.
        self._closing.add(closing)
        closing.add_done_callback(self._closed)

    def _closed(self, closing: asyncio.Future[None]) -> None:
        self._closing.discard(closing)
        if not closing.cancelled():
            closing.exception()  # the popup may have closed itself meanwhile


def _words(awaited: WaitFor) -> tuple[str, str, str]:
    return awaited.items, awaited.end, awaited.next
