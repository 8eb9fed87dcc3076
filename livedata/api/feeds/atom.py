"""A feed as Atom (RFC 4287)."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from livedata.api.feeds.content import table, title
from livedata.model import ids
from livedata.services.notices.feeds import Entry, News

_NO_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that no XML may have, however they are written."""


def write(news: News, address: str | None) -> bytes:
    """The feed that is at an address, which it names if that is known."""
    own = () if address is None else (f'<link rel="self" href={quoteattr(address)}/>',)
    parts = (
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<id>urn:uuid:{news.dataset}</id>",
        f"<title>{_text(news.name)}</title>",
        f"<updated>{ids.format_timestamp(news.changed_at)}</updated>",
        "<author><name>livedata</name></author>",
        *own,
        *map(_entry, news.entries),
        "</feed>",
    )
    return ("\n".join(parts) + "\n").encode()


def _entry(entry: Entry) -> str:
    return (
        f"<entry><id>urn:uuid:{entry.run}</id><title>{_text(title(entry))}</title>"
        f"<updated>{ids.format_timestamp(entry.written_at)}</updated>"
        # HTML within XML: escaped twice.
        f'<content type="html">{_text(table(entry))}</content></entry>'
    )


def _text(text: str) -> str:
    return escape(_NO_XML.sub("", text))
