"""The type of an answer: as it declares, and if it declares none, by how it begins."""

from __future__ import annotations

import re
from typing import Final

from scrapy.http import Response

_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_TEXTS: Final = ("json", "xml", "javascript")
# As browsers tell a page from other text (WHATWG, "MIME Sniffing"), with the tags of today.
_BEGINNING: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml\b[^>]{0,200}>\s*)?"
    rb"<(?:!--|!doctype\s+html|(?:a|article|aside|b|base|body|br|div|footer|font|form|h[1-6]|head"
    rb"|header|html|iframe|img|li|link|main|meta|nav|ol|p|pre|script|section|span|style|table|title"
    rb"|ul)[\s/>])",
    re.IGNORECASE,
)


def content_type(response: Response) -> str | None:
    """What the answer says that it is."""
    declared = response.headers.get("Content-Type")
    return declared.decode("latin-1") if declared else None


def media_type(response: Response) -> str:
    """The declared type without its parameters, in lower case; empty if none is declared."""
    declared = (content_type(response) or "").partition(";")[0].strip().lower()
    return declared if "/" in declared else ""


def is_html(response: Response) -> bool:
    """Whether the answer is an HTML page; the ending of its address says nothing."""
    declared = media_type(response)
    if declared:
        return declared in _HTML
    return _BEGINNING.match(response.body) is not None


def is_text(response: Response) -> bool:
    """Whether a person could read the answer: a page, or what says that it is text."""
    declared = media_type(response)
    return declared.startswith("text/") or declared.endswith(_TEXTS) or is_html(response)
