"""A feed as JSON Feed 1.1."""

from __future__ import annotations

import orjson

from livedata.api.feeds.content import table, title
from livedata.model import ids
from livedata.services.notices.feeds import News


def write(news: News, address: str | None) -> bytes:
    """The feed that is at an address, which it names if that is known."""
    return orjson.dumps(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "title": news.name,
            **({} if address is None else {"feed_url": address}),
            "items": [
                {
                    "id": f"urn:uuid:{entry.run}",
                    "title": title(entry),
                    "content_html": table(entry),
                    "date_published": ids.format_timestamp(entry.written_at),
                }
                for entry in news.entries
            ],
        }
    )
