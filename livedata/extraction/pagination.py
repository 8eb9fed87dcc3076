"""Which page comes next, or why there is none (rules 6.10 to 6.17)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct, field
from msgspec.structs import replace
from selectolax.lexbor import LexborNode
from w3lib.url import canonicalize_url

from livedata.extraction.cells import MAX_CELL
from livedata.extraction.page import Page, has_long_host
from livedata.extraction.selectors import parse
from livedata.model.harvest import PageRead, PaginationFault, StopReason
from livedata.model.problem import Params, Problem
from livedata.model.recipe import NextLinkPages, Recipe, UrlPatternPages

END = StopReason("natural_end")
MOST_LINKS = 5
"""How many different addresses of next links are noted: one is right, and two are too many."""
MOST_LIKE = 200
"""How many links of a page are resolved, since that takes longer than finding them."""

_CANONICAL = 4  # what a character of an address takes to make it canonical, in nodes


def canonical_url(url: str) -> str:
    """The form of an address by which pages are told apart: no fragment, query in order."""
    return str(canonicalize_url(url))


_LINK = parse("[href]")


class Paginator(Struct):
    """The pages of a Run so far; decides after each page which one is next.

    `followers` are the addresses of the pages of the last accepted Run, in their order.
    """

    recipe: Recipe
    followers: Sequence[str] = ()
    seen: dict[str, int] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    last: PageRead | None = None

    def is_last(self, links: int | None) -> bool:
        """Whether the recipe's end marker is on a page with so many `links`."""
        return isinstance(self.recipe.pagination, UrlPatternPages) and bool(links)

    def links(self, page: Page) -> int | None:
        """How often the next-link or end selector matches; None if the recipe has neither."""
        pagination = self.recipe.pagination
        if isinstance(pagination, NextLinkPages):
            return len(page.select(parse(pagination.selector)))
        if isinstance(pagination, UrlPatternPages):
            return len(page.select(parse(pagination.end_selector)))
        return None

    def with_links(self, read: PageRead, page: Page, following: str | StopReason) -> PageRead:
        """The page with what is to be known of its links, once it is known what follows."""
        pagination = self.recipe.pagination
        if isinstance(pagination, NextLinkPages):
            in_item = self._is_in_item(page.first(parse(pagination.selector)), page)
            addresses = list(_addresses(page, pagination.selector))
            read = replace(read, next_links=addresses, link_in_item=in_item and bool(addresses))
        if following is END and read.number < len(self.followers):
            follower = self.followers[read.number]
            return replace(read, leads_to=follower if _links_to(page, follower) else None)
        return read

    def _is_in_item(self, link: LexborNode | None, page: Page) -> bool:
        items = {item.mem_id for item in page.select(parse(self.recipe.item_selector))}
        while link is not None and link.mem_id not in items:
            link = link.parent
        return link is not None

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
        if isinstance(pagination, NextLinkPages):
            return self._next_link(read, page, pagination.selector)
        if isinstance(pagination, UrlPatternPages) and not self.is_last(read.links):
            return pagination.page_url(read.number + 1)
        return END

    def _next_link(self, read: PageRead, page: Page, selector: str) -> str | StopReason:
        link = page.first(parse(selector))
        if link is None:
            return END
        written = (link.attributes.get("href") or "").strip()
        target = page.attribute(link, "href") or ""
        if _leaves_the_web(written, target):
            return target  # asking for it fails as unsafe_target: disabled or not, it is no end
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


def _addresses(page: Page, selector: str) -> Iterator[str]:
    """The different addresses of the next links of a page, up to a few."""
    known: set[str] = set()
    for target, address in _targets(page, page.select(parse(selector))):
        if address not in known:
            known.add(address)
            yield _without_login(target)
        if len(known) == MOST_LINKS:
            return


def _links_to(page: Page, address: str) -> bool:
    """Whether anything on a page links to an address."""
    wanted = canonical_url(address)
    # Resolving a link costs more than finding it. Its last word, such as the number of a page,
    # stands in every way to write the address.
    words = re.findall(r"\w+", address, re.ASCII)
    last = words[-1] if words and "%" not in address else ""
    like = [node for node in page.select(_LINK) if last in (node.attributes.get("href") or "")]
    return any(target == wanted for _, target in _targets(page, like))


def _targets(page: Page, links: Sequence[LexborNode]) -> Iterator[tuple[str, str]]:
    """What the first of some links lead to, as on the page and canonical."""
    written: set[str] = set()
    for link in links[:MOST_LIKE]:
        target = page.attribute(link, "href") or ""
        # Most lists have their links twice, above and below: equal ones are looked at once.
        place = target.partition("#")[0]
        if place in written or not _followable(link.attributes.get("href") or "", target):
            continue
        written.add(place)
        page.work.spend(_CANONICAL * len(place), _LINK.text)
        yield target, canonical_url(place)


def _leaves_the_web(written: str, target: str) -> bool:
    parts = _parts(target)
    if not written or parts is None:
        return False
    return parts.scheme not in {"http", "https", "javascript", ""}


def _followable(written: str, target: str) -> bool:
    if not written or written.startswith("#") or len(target) > MAX_CELL:
        return False
    return is_of_the_web(target)


def is_of_the_web(url: str) -> bool:
    """Whether an address is one that a page can be asked of: a page may write any text for one."""
    parts = _parts(url)
    if parts is None or parts.scheme not in {"http", "https"}:
        return False
    try:
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _parts(url: str) -> SplitResult | None:
    """The parts of an address; None if it cannot be one."""
    try:
        return None if has_long_host(url) else urlsplit(url)
    except ValueError:
        return None


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
