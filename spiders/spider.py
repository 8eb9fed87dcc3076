"""The one spider: executes any recipe, one page after the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import scrapy
from scrapy.http import Response
from typing_extensions import override

from livedata.model.harvest import Ending, Harvest, PageFailure, PageRead, Step
from livedata.model.recipe import Recipe
from livedata.model.run import REFUSALS, FailureReason
from spiders.extract import Extractor
from spiders.handler import RunCancelled
from spiders.page import Page
from spiders.paging import Walk, canonical
from spiders.pipeline import Sink
from spiders.refusal import failed, refused, sent_to_login, told

RETRIES = 1
_TRANSIENT: frozenset[FailureReason] = frozenset(
    {"connection_reset", "timeout", "network", "rate_limited", "empty_body"}
)
_TRANSIENT_STATUSES = frozenset({408, 500, 502, 503, 504, 522, 524})

OnPage = Callable[[PageRead], None]


@dataclass(slots=True)
class _Answer:
    """One answer, parsed where it is a page; `reason` says why it is not one."""

    response: Response
    reason: FailureReason | None
    page: Page | None = None
    read: PageRead | None = None


class SourceSpider(scrapy.Spider):
    """Reads the pages of a recipe and yields them, then how it ended.

    `sink` gets the harvest when the crawl closes; `cancel` ends it at once; `max_pages` makes a
    preview of the first few.
    """

    name = "livedata"

    def __init__(
        self, recipe: Recipe, sink: Sink, cancel: asyncio.Event, on_page: OnPage, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.sink = sink
        self.cancel = cancel
        self._recipe = recipe
        self._on_page = on_page
        self._extractor = Extractor(recipe)
        self._walk = Walk(recipe.source)
        self._steps = [Step("pin", _now(), _now(), "succeeded")]
        self._failure: PageFailure | None = None
        self._attempts = self._refusals = 0

    @override
    async def start(self) -> AsyncIterator[Any]:
        """The pages in order, each as it is read, and at last a harvest without pages."""
        url: str | Ending = self._recipe.source.url
        number = 0
        while isinstance(url, str):
            number += 1
            answer = await self._read(number, url)
            if answer is None:
                url = self._failed_ending()
                break
            assert answer.read is not None
            assert answer.page is not None
            self._on_page(answer.read)
            yield answer.read
            overflow = self._extractor.overflow()
            url = Ending("check_failed", overflow) if overflow else self._next(answer)
        yield Harvest(
            [],
            url,
            self._failure,
            self._attempts,
            self._refusals,
            self._extractor.overflow(),
            self._steps,
        )

    def _next(self, answer: _Answer) -> str | Ending:
        assert answer.read is not None
        assert answer.page is not None
        return self._walk.take(answer.read, answer.page)

    def _failed_ending(self) -> Ending:
        failure = self._failure
        assert failure is not None
        if failure.reason == "cancelled":
            return Ending("cancelled", "The Run was cancelled.")
        return Ending("page_failed", failure.message)

    async def _read(self, number: int, url: str) -> _Answer | None:
        """A page, asked for again once where that may help; None leaves the failure behind."""
        step = Step("read", _now(), url=url)
        self._steps.append(step)
        for attempt in range(RETRIES + 1):
            failure, answer = await self._fetch(number, url)
            if failure is None or attempt == RETRIES or not _may_pass(failure):
                break
        step.ended = _now()
        if failure is not None:
            step.status = "cancelled" if failure.reason == "cancelled" else "failed"
            step.failure = self._failure = failure
            return None
        step.status = "succeeded"
        return answer

    async def _fetch(self, number: int, url: str) -> tuple[PageFailure | None, _Answer | None]:
        if self.cancel.is_set():
            return told(number, url, "cancelled", None, None, ""), None
        self._attempts += 1
        try:
            response = await self._download(self._request(url))
            answer = self._understand(number, url, response)
        except Exception as error:  # noqa: BLE001  (every failure to read becomes a reason)
            reason, detail = failed(error)
            return told(number, url, reason, None, getattr(error, "url", None), detail), None
        if answer.reason is None:
            return None, answer
        self._refusals += answer.reason in REFUSALS
        kind = _content_type(response) or "no content type"
        return told(number, url, answer.reason, response.status, response.url, kind), None

    def _request(self, url: str) -> scrapy.Request:
        rendered = self._recipe.source.render == "browser"
        return scrapy.Request(url, meta={"playwright": True} if rendered else None)

    async def _download(self, request: scrapy.Request) -> Response:
        """The response; RunCancelled also where the request still waits for its turn."""
        assert self.crawler.engine is not None
        download = asyncio.ensure_future(self.crawler.engine.download_async(request))
        cancelled = asyncio.ensure_future(self.cancel.wait())
        await asyncio.wait({download, cancelled}, return_when=asyncio.FIRST_COMPLETED)
        cancelled.cancel()
        if not download.done():
            download.cancel()
            await asyncio.gather(download, return_exceptions=True)
            raise RunCancelled(request.url)
        return download.result()

    def _understand(self, number: int, url: str, response: Response) -> _Answer:
        end_page = number > 1 and response.status in {404, 410}
        reason = refused(response)
        if reason is not None and not end_page:
            return _Answer(response, reason)
        page = _parsed(response)
        if end_page and not self._walk.is_last(page):
            return _Answer(response, reason)
        records, matches = self._extract(page)
        if not records and sent_to_login(response, url):
            return _Answer(response, "login_redirect")
        read = PageRead(
            number=number,
            url=url,
            final_url=response.url,
            canonical=canonical(response.url),
            status=response.status,
            title=page.title,
            digest=page.digest,
            at=_now(),
            records=records,
            matches=matches,
            charged=not end_page,
        )
        return _Answer(response, None, page, read)

    def _extract(self, page: Page) -> tuple[list[Any], list[int]]:
        step = Step("extract", _now(), url=page.url)
        self._steps.append(step)
        found = self._extractor.records(page)
        step.ended, step.status = _now(), "succeeded"
        return found


def _parsed(response: Response) -> Page:
    return Page(response.body, _content_type(response), response.url)


def _content_type(response: Response) -> str | None:
    declared = response.headers.get("Content-Type")
    return declared.decode("latin-1") if declared else None


def _may_pass(failure: PageFailure) -> bool:
    """Whether asking once more may help."""
    return failure.reason in _TRANSIENT or failure.status in _TRANSIENT_STATUSES


def _now() -> int:
    return time.time_ns() // 1000
