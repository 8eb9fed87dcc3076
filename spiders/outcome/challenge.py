"""Whether an answer is a challenge: a page that wants to see a browser, or a person, at work first.

Only signs that no page of content carries. Cookies, servers' names and captcha widgets are none:
sites that are read without trouble have them too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from scrapy.http import Response

LOOKED_AT: Final = 200_000
"""So many bytes of a body are looked at."""


@dataclass(frozen=True, slots=True)
class _Header:
    """A header that only a challenge carries: with one of these values, or any at this status."""

    name: str
    values: frozenset[str] = frozenset()
    status: int | None = None

    def stands_on(self, response: Response) -> bool:
        value = response.headers.get(self.name)
        if value is None or self.status not in {None, response.status}:
            return False
        return not self.values or value.decode("latin-1").strip().lower() in self.values


HEADERS: Final = (
    _Header("cf-mitigated", frozenset({"challenge"})),  # Cloudflare, on every kind of challenge
    _Header("x-vercel-mitigated", frozenset({"challenge"})),
    _Header("x-amzn-waf-action", frozenset({"challenge", "captcha"})),  # AWS; also with status 202
    _Header("x-dd-b", frozenset({"1", "2"})),  # DataDome
    _Header("x-kpsdk-ct", status=429),  # Kasada, which sends it with good pages too
)

# Tags and scripts, never text: an article may well quote them. No part runs on beyond the next
# "<" or some hundred bytes, so a hostile page cannot make the search slow.
_SCRIPT: Final = rb"<script\b[^<>]*>[^<]*"
_SOURCE: Final = rb"\b[^<>]{0,500}\bsrc\s*=\s*[\"']?[^\"'<>\s]{0,300}"
BODIES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        _SCRIPT + rb"\bwindow\._cf_chl_opt\s*=",  # Cloudflare
        rb"<(?:script|iframe)" + _SOURCE + rb"\bgeo\.captcha-delivery\.com/",  # DataDome
        _SCRIPT + rb"[\"'](?:https?:)?(?://)?geo\.captcha-delivery\.com\b",
        rb"<div\b[^<>]*\bid\s*=\s*[\"']?px-captcha\b",  # PerimeterX
        rb"<iframe" + _SOURCE + rb"/_Incapsula_Resource\b",  # Imperva; good pages have the script
        rb"<div\b[^<>]*\bid\s*=\s*[\"']?sec-if-cpt-container\b",  # Akamai, with status 200
        rb"<(?:script|img)" + _SOURCE + rb"/\.within\.website/x/cmd/anubis/",
    )
)

# Cloudflare puts this into good pages too, but into none with that title.
_CLOUDFLARE_PATH: Final = b"/cdn-cgi/challenge-platform/"
_CLOUDFLARE_TITLE: Final = re.compile(
    rb"<title\b[^<>]*>\s*Just a moment(?:\.\.\.|\xe2\x80\xa6)?\s*</title", re.IGNORECASE
)


def said_by_headers(response: Response) -> bool:
    """Whether its headers alone say that it is a challenge."""
    return any(header.stands_on(response) for header in HEADERS)


def said_by_body(response: Response) -> bool:
    """Whether its body is a challenge's; ask only if the items are not on it."""
    start = response.body[:LOOKED_AT]
    if _CLOUDFLARE_PATH in start and _CLOUDFLARE_TITLE.search(start):
        return True
    return any(pattern.search(start) for pattern in BODIES)
