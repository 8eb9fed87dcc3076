"""Whether an answer is a challenge: a page that wants to see a browser, or a person, at work first.

Only signs that no page of content carries. Cookies, servers' names and captcha widgets are none:
sites that are read without trouble have them too.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct
from scrapy.http import Response

LOOKED_AT: Final = 200_000
"""So many bytes of a body are looked at."""


class _Header(Struct, frozen=True):
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
# "<", and a value is read once, so a hostile page cannot make the search slow.
_SCRIPT: Final = rb"<script\b[^<>]*>[^<]*"
BODIES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        _SCRIPT + rb"\bwindow\._cf_chl_opt\s*=",  # Cloudflare
        _SCRIPT + rb"[\"'](?:https?:)?(?://)?geo\.captcha-delivery\.com\b",  # DataDome
        rb"<div\b[^<>]*\bid\s*=\s*[\"']?px-captcha\b",  # PerimeterX
        rb"<div\b[^<>]*\bid\s*=\s*[\"']?sec-if-cpt-container\b",  # Akamai, with status 200
    )
)
SOURCES: Final = tuple(
    (tags.split(), re.compile(pattern, re.IGNORECASE))
    for tags, pattern in (
        (b"script iframe", rb"\bgeo\.captcha-delivery\.com/"),  # DataDome
        (b"iframe", rb"/_Incapsula_Resource\b"),  # Imperva; good pages have it as a script
        (b"script img", rb"/\.within\.website/x/cmd/anubis/"),
    )
)
_TAG: Final = re.compile(rb"<(script|iframe|img)\b([^<>]*+)", re.IGNORECASE)
_SOURCE: Final = re.compile(rb"\bsrc\s*+=\s*+(?:\"([^\"]*+)|'([^']*+)|([^\s\"']++))", re.IGNORECASE)

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
    return any(pattern.search(start) for pattern in BODIES) or _loads_challenge(start)


def _loads_challenge(start: bytes) -> bool:
    for tag, attributes in _TAG.findall(start):
        for values in _SOURCE.findall(attributes):
            source = b"".join(values)
            if any(tag.lower() in tags and mark.search(source) for tags, mark in SOURCES):
                return True
    return False
