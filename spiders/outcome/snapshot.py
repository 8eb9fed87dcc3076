"""An answer -> what is kept of it in case the Run has to show it."""

from __future__ import annotations

from collections.abc import Sequence

from scrapy.http import Response

from livedata.extraction.page import Page, decode
from livedata.model.harvest import PageSnapshot, Record
from livedata.rules.diagnosis.page_snapshot import shorten
from spiders.outcome.content_type import content_type, is_text

MOST_RECORDS = 50
"""The records whose texts show where on the page the items are."""


def take_snapshot(
    number: int, url: str, response: Response, page: Page | None, links: int | None
) -> PageSnapshot:
    """The whole answer to the request for page `number`; `page` is None if it is not one."""
    text = _text(response) if page is None else page.markup
    return PageSnapshot(
        number=number,
        url=url,
        final_url=response.url,
        status=response.status,
        title=None if page is None else page.title,
        markup=text.encode(),
        cut=False,
        links=links,
        screenshot=response.meta.get("screenshot"),
        parsed=page is not None,
    )


def shorten_to_items(page: PageSnapshot, records: Sequence[Record]) -> PageSnapshot:
    """A page cut down to the part in which its items are."""
    texts = (text for record in records[:MOST_RECORDS] for text in record.texts if text)
    return shorten(page, texts)


def _text(response: Response) -> str:
    """The text of an answer that is no page; nothing of a picture or a document."""
    return decode(response.body, content_type(response)) if is_text(response) else ""
