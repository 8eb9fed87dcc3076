"""An answer -> what is kept of it in case the Run has to show it."""

from __future__ import annotations

from scrapy.http import Response

from livedata.extraction.decode import decode
from livedata.extraction.page import Page
from livedata.model.harvest import LONGEST_MARKUP, PageSnapshot
from spiders.outcome.content_type import content_type, is_text


def take_snapshot(
    number: int,
    url: str,
    response: Response,
    page: Page | None,
    links: int | None,
    screenshot: bytes | None = None,
) -> PageSnapshot:
    """The answer to the request for page `number`; `page` is None if it is not one."""
    text = _text(response) if page is None else page.markup
    markup = cut(text)
    return PageSnapshot(
        number=number,
        url=url,
        final_url=response.url,
        status=response.status,
        title=None if page is None else page.title,
        markup=markup,
        cut=_longer(text, markup),
        links=links,
        screenshot=screenshot,
    )


def cut(text: str) -> bytes:
    """The text in UTF-8, up to LONGEST_MARKUP and never within a character."""
    start = text[:LONGEST_MARKUP].encode()[:LONGEST_MARKUP]
    return start.decode("utf-8", "ignore").encode()


def _longer(text: str, markup: bytes) -> bool:
    return len(text) > LONGEST_MARKUP or len(text.encode()) > len(markup)


def _text(response: Response) -> str:
    """The text of an answer that is no page; nothing of a picture or a document."""
    return decode(response.body, content_type(response)) if is_text(response) else ""
