"""The way from page to page, in words: what broke it, or cut the list."""

from __future__ import annotations

from collections.abc import Mapping

from livedata.messages.templates import Words

SENTENCES: Mapping[str, Words] = {
    "pagination.repeat": "Page {page} ({url}) has the same {records:record(s)} as the page before: "
    "the server repeats a page, or an old copy of it was served, so what comes after is not known; "
    "run again later, and if it stays, look at the pagination.",
    "pagination.circle": "Page {page} ({url}) led to {final_url}, which was read as page {known} "
    "already: the list goes round in a circle.",
    "pagination.loop": "The next link {selector!r} on page {page} ({url}) leads back to page "
    "{known}: the list goes round in a circle, so its end is not known; select a link that is only "
    "there while there is a next page.",
    "pagination.click_only": "The next link {selector!r} on page {page} ({url}) has no address to "
    "follow: it works by clicks only, which is not supported; if another link has one, select it "
    "by its address, such as {with_address!r}.",
    "pagination.max_items": "More items than maxItems = {max_items} allows were found by "
    "page {page} ({url}), so the table would be cut; raise maxItems (at most 1000) or narrow the "
    "source.",
    "pagination.max_pages": "The list goes on after page {page} ({url}), which is the last one "
    "that maxPages = {max_pages} allows, so the table would be cut; raise maxPages (at most 50) or "
    "narrow the source.",
}
