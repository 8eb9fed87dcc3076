"""Sites as research reads them: by the same reader as all Runs, and as text."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import Struct

from livedata.extraction.page import Page
from livedata.extraction.page_lines import has_scripts, page_lines
from livedata.extraction.work import TooMuchWork
from livedata.model import ids
from livedata.model.harvest import Step
from livedata.model.research.answers import PageText, Unread
from spiders.crawl.page_reader import PageFetch, PageReader
from spiders.research.calls import check, over
from spiders.session import CrawlSession, SiteTurn

SHORT = 200
"""Characters of text below which a page with scripts may show more in a browser."""
MOST_TITLE = 500


class PageSites(Struct):
    """Reads pages one after the other, each at the turn of its site.

    `render` reads a page in a browser; None if there is none.
    """

    session: CrawlSession
    reader: PageReader
    turn: SiteTurn
    render: Callable[[str], Awaitable[PageFetch | None]]
    number: int = 0

    async def read(self, url: str) -> PageText | Unread:
        """The page, or why it cannot be read. Raises RunOver."""
        check(self.session.deadline)
        self.session.url = url
        self.number += 1
        await self.turn.move(url)
        fetch = await self.reader.read(new_fetch(self.number, url))
        answer = await self._understood(fetch)
        if isinstance(answer, PageText) and len(answer.text) < SHORT and _is_scripted(fetch):
            answer = await self._rendered(url, answer)
        if isinstance(answer, PageText) and not answer.text:
            return Unread(url, "empty_body", answer.status)
        return answer

    async def leave(self) -> None:
        """Give up the turn of the last site, while a model is still asked about its pages."""
        await self.turn.leave()

    async def _rendered(self, url: str, static: PageText) -> PageText | Unread:
        """The page as its scripts show it; as it was without them if there is no browser."""
        fetch = await self.render(url)
        shown = static if fetch is None else await self._understood(fetch)
        return shown if isinstance(shown, PageText) else static

    async def _understood(self, fetch: PageFetch) -> PageText | Unread:
        failure, deadline = fetch.failure, self.session.deadline
        if failure is None:
            # In a thread, because other Runs of the process go on while a large page is read.
            return await asyncio.to_thread(_page_text, fetch)
        if deadline.over.is_set() or deadline.cancelled:
            raise over(deadline)
        return Unread(fetch.url, failure.reason, failure.status, failure.origin)


def new_fetch(number: int, url: str) -> PageFetch:
    """A page to be fetched; its step is none of the trace, in which the harness writes."""
    return PageFetch(number, url, Step("read", ids.now(), url=url))


def _page_text(fetch: PageFetch) -> PageText | Unread:
    page, response = fetch.page, fetch.response
    assert page is not None
    assert response is not None
    try:
        lines = page_lines(page)
    except TooMuchWork:
        return Unread(fetch.url, "limit_exceeded", response.status)
    return PageText(
        url=fetch.url,
        final_url=response.url,
        status=response.status,
        title=_title(page),
        text=lines.text,
        links=lines.links,
        digest=page.digest,
        at=fetch.at,
        cut=lines.cut,
    )


def _title(page: Page) -> str:
    return " ".join((page.title or "").split())[:MOST_TITLE]


def _is_scripted(fetch: PageFetch) -> bool:
    return fetch.page is not None and has_scripts(fetch.page)
