"""Which page comes next, or why there is none (rules 6.10 to 6.17)."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from selectolax.lexbor import LexborNode
from w3lib.url import canonicalize_url

from livedata.extraction.cells import MAX_CELL
from livedata.extraction.page import Page
from livedata.extraction.selectors import parse
from livedata.model.harvest import PageRead, PaginationFault, StopReason
from livedata.model.problem import Params, Problem
from livedata.model.recipe import NextLink, Recipe, UrlPattern

END = StopReason("natural_end")


def canonical_url(url: str) -> str:
    """The form of an address by which pages are told apart: no fragment, query in order."""
    return str(canonicalize_url(url))


@dataclass(slots=True)
class Paginator:
    """The pages of a Run so far; decides after each page which one is next."""

    recipe: Recipe
    seen: dict[str, int] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    last: PageRead | None = None

    def is_last(self, links: int | None) -> bool:
        """Whether the recipe's end marker is on a page with so many `links`."""
        return isinstance(self.recipe.pagination, UrlPattern) and bool(links)

    def links(self, page: Page) -> int | None:
        """How often the next-link or end selector matches; None if the recipe has neither."""
        pagination = self.recipe.pagination
        if isinstance(pagination, NextLink):
            return len(page.select(parse(pagination.selector)))
        if isinstance(pagination, UrlPattern):
            return len(page.select(parse(pagination.end_selector)))
        return None

    def advance(self, read: PageRead, page: Page) -> str | StopReason:
        """The address of the next page after `read`, or how the Run ends here."""
        before, self.last = self.last, read
        broken = self._repeats(before, read)
        known = self.seen.get(read.canonical)
        if known is not None and broken is None:
            params: Params = {"final_url": read.final_url, "known": known}
            circle = Problem("pagination.circle", params, read.number, read.url)
            broken = StopReason("check_failed", circle, "circle")
        # Both addresses count as read: a redirect may lead back to either of them.
        for address in (canonical_url(read.url), read.canonical):
            self.seen.setdefault(address, read.number)
        if broken is not None:
            return broken
        self.keys.update(record.key for record in read.records if record.key is not None)
        following = self._following(read, page)
        if isinstance(following, StopReason) and following.rule == "check_failed":
            return following
        if len(self.keys) > self.recipe.max_items:
            limit: Params = {"max_items": self.recipe.max_items}
            return StopReason("max_items", _problem("max_items", limit, read))
        if isinstance(following, str) and read.number >= self.recipe.max_pages:
            limit = {"max_pages": self.recipe.max_pages}
            return StopReason("max_pages", _problem("max_pages", limit, read))
        return following

    def _following(self, read: PageRead, page: Page) -> str | StopReason:
        pagination = self.recipe.pagination
        if isinstance(pagination, NextLink):
            return self._next_link(read, page, pagination.selector)
        if isinstance(pagination, UrlPattern) and not self.is_last(read.links):
            return pagination.page_url(read.number + 1)
        return END

    def _next_link(self, read: PageRead, page: Page, selector: str) -> str | StopReason:
        link = page.first(parse(selector))
        if link is None:
            return END
        written = (link.attributes.get("href") or "").strip()
        target = page.attribute(link, "href") or ""
        if not _followable(written, target):
            return END if _disabled(link) else _broken("click_only", _click_only(selector), read)
        target = _without_login(target)
        address = canonical_url(target)
        if address in {read.canonical, canonical_url(read.url)}:
            if read.number > 1:
                return END
            return _broken("loop", {"selector": selector, "known": 1}, read)
        known = self.seen.get(address)
        if known is None:
            return target
        return _broken("loop", {"selector": selector, "known": known}, read)

    def _repeats(self, before: PageRead | None, read: PageRead) -> StopReason | None:
        if before is None or not read.records or len(before.records) != len(read.records):
            return None
        pairs = zip(before.records, read.records, strict=True)
        if any(old.values != new.values or old.reasons != new.reasons for old, new in pairs):
            return None
        return _broken("repeat", {"records": len(read.records)}, read)


def _followable(written: str, target: str) -> bool:
    if not written or written.startswith("#") or len(target) > MAX_CELL:
        return False
    try:
        parts = urlsplit(target)
        dialled = parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(dialled)


def _without_login(url: str) -> str:
    """livedata does not log in; and what a link carries for it would be shown and stored."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return url if place == parts.netloc else parts._replace(netloc=place).geturl()


def _disabled(link: LexborNode) -> bool:
    return any(_marked(node) for node in (link, link.parent) if node is not None)


def _marked(node: LexborNode) -> bool:
    attributes = node.attributes
    if "disabled" in attributes or attributes.get("aria-disabled") == "true":
        return True
    classes = (attributes.get("class") or "").lower()
    return "disabled" in classes or "inactive" in classes


def _click_only(selector: str) -> Params:
    return {"selector": selector, "with_address": f"{selector}[href*='page=']"}


def _broken(fault: PaginationFault, params: Params, read: PageRead) -> StopReason:
    return StopReason("check_failed", _problem(fault, params, read), fault)


def _problem(what: str, params: Params, read: PageRead) -> Problem:
    return Problem(f"pagination.{what}", params, read.number, read.final_url)
