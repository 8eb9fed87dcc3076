"""The ways in which sites change under a declaration, and what has to be said of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from tests import faults
from tests.listings import LISTINGS, Listing
from tests.page_edits import (
    Edit,
    above_items,
    as_another,
    at_top,
    both,
    ids_for_classes,
    in_head,
    in_items,
    in_shells,
    link,
    of_items,
    only,
    other_link,
    out_of_items,
    rename_field,
    rename_items,
    repeat_first_page,
    rewrite_price,
    scripted,
    translate_titles,
)
from tests.site import Handler

Relation = Literal["same", "fewer", "more", "rewritten", "odd"]
"""What the rows of an accepted Run have to do with those before: they are right, and `rewritten`
ones keep their keys; or the Run says what looks `odd`.
"""


@dataclass(frozen=True)
class SiteChange:
    """One way in which a site changes.

    `status` is how the next Run ends, `cause` its first cause; without one nothing may look odd.
    `says` is what its sentence names. {key}, {title}, {extra} and {price} are the names of the
    listing's fields, {items} and {following} its selectors. If the Run is accepted, `rows` says
    which rows are right. `needs` names what a listing must have for the change, and `answers` how
    the site answers by path. If nothing is left of the page, few listings are enough. A
    `numbered` list has an end marker in place of next links.
    """

    edit: Edit = lambda _listing, _pages: None
    status: str = "failed"
    cause: str = ""
    says: str = ""
    needs: tuple[str, ...] = ()
    rows: Relation = "same"
    answers: Mapping[str, Handler] = field(default_factory=dict)
    of_page: bool = True
    numbered: bool = False

    def fits(self, listing: Listing) -> bool:
        """Whether a listing has what the change is about."""
        few = self.of_page or listing in LISTINGS[:FEW]
        return few and all(getattr(listing, name) for name in self.needs)


FEW: Final = 3
"""The listings on which a change is tried that leaves nothing of the page."""
LOGIN: Final = (
    '<form action="/session"><input name="user"><input type="password" name="password">'
    "<button>Log in</button></form>"
)
LONG_STYLE: Final = f"<style>{'.a{color:red}' * 6_000}</style>"
FORBIDDEN: Final = "<title>403 Forbidden</title><h1>Access denied</h1><p>Ask the administrator.</p>"
COOKIES: Final = "<p>We use cookies.</p><button>Accept all</button>"


def accepted(edit: Edit, **more: Any) -> SiteChange:
    """A change after which the rows are right."""
    return SiteChange(edit, "succeeded", **more)


def renamed(around: Edit) -> SiteChange:
    """Renamed items, among what may be taken for another cause."""
    return SiteChange(both(rename_items, around), "failed", "items_gone", "{items}")


def refused(handler: Handler, cause: str, says: str, status: str = "failed") -> SiteChange:
    """Another answer in place of the first page."""
    return SiteChange(
        status=status, cause=cause, says=says, answers={"/list?page=1": handler}, of_page=False
    )


def wall(body: str, cause: str, title: str = "Welcome") -> SiteChange:
    """Another page in place of the list, with status 200."""
    return SiteChange(only(body, title), "failed", cause, "{items}", of_page=False)


CHANGES: Final[Mapping[str, SiteChange]] = {
    # Nothing that a declaration is about.
    "nothing": accepted(lambda _listing, _pages: None),
    "lines joined": accepted(in_shells(lambda shell: re.sub(r"\s+", " ", shell))),
    "a login in the head of the page": accepted(at_top(LOGIN)),
    "a cookie banner": accepted(at_top(COOKIES)),
    "a count of 1000 results": accepted(above_items("<p>1000 results</p>")),
    "a head of 70 KiB": accepted(in_head(LONG_STYLE)),
    "a class more for each item": accepted(
        in_items(lambda item: item.replace('class="', 'class="new ', 1))
    ),
    "each item twice": accepted(of_items(lambda items: [*items, *items])),
    "half of the items": accepted(
        of_items(lambda items: items[: -(-len(items) // 2)]), cause="fewer_items", rows="fewer"
    ),
    "twice as many items": accepted(
        of_items(lambda items: [*items, *map(as_another, items)]), rows="more"
    ),
    "titles in another language": accepted(
        translate_titles, needs=("renames_title",), rows="rewritten"
    ),
    "items below another element": accepted(
        in_items(lambda item: item if item.startswith("<tr") else f"<section>{item}</section>")
    ),
    "items in another order": accepted(of_items(lambda items: items[::-1])),
    "another currency": accepted(rewrite_price(lambda price: f"€{price:.2f}"), needs=("price",)),
    "prices as in another language": accepted(
        rewrite_price(lambda price: f"{price:.2f} €".replace(".", ",")), needs=("price",)
    ),
    # Renamed items, and what was taken for their cause.
    "renamed items": renamed(lambda _listing, _pages: None),
    "renamed items, a login in the head": renamed(at_top(LOGIN)),
    "renamed items, 1000 results": renamed(above_items("<p>1000 results</p>")),
    "renamed items, 1,000 results": renamed(above_items("<p>1,000 results</p>")),
    "renamed items, an empty cart": renamed(at_top("<p>You have no items in your cart.</p>")),
    "renamed items, a cookie banner": renamed(at_top(COOKIES)),
    "renamed items, a captcha": renamed(at_top("<p>Protected by reCAPTCHA</p>")),
    "renamed items, a head of 70 KiB": renamed(in_head(LONG_STYLE)),
    "renamed items, a script more": renamed(in_head('<script src="/app.js"></script>')),
    "ids for classes": SiteChange(ids_for_classes, "failed", "items_gone", "{items}"),
    # What would lose most rows.
    "a quarter of the items": SiteChange(
        of_items(lambda items: items[: len(items) // 4]),
        "held",
        "fewer_items",
        "gone",
        ("guarded",),
    ),
    "other keys": SiteChange(in_items(as_another), "held", "keys_changed", "gone", ("guarded",)),
    "other keys in a small table": accepted(
        in_items(as_another), needs=("small",), cause="keys_changed", rows="odd"
    ),
    "a redirect to another small list": accepted(
        of_items(lambda items: [as_another(item) for item in items]),
        needs=("small",),
        cause="redirected",
        rows="odd",
        answers={"/list?page=1": faults.redirect("/sale")},
    ),
    "a redirect to another list": SiteChange(
        of_items(lambda items: [as_another(item) for item in items]),
        "held",
        "redirected",
        "gone",
        ("guarded",),
        answers={"/list?page=1": faults.redirect("/sale")},
    ),
    # Fields.
    "a renamed required field": SiteChange(
        rename_field("title"), "failed", "field_gone:{title}", "{title}", ("renames_title",)
    ),
    "a required field renamed in some items": SiteChange(
        rename_field("title", each=3),
        "failed",
        "field_partly_gone:{title}",
        "{title}",
        ("renames_title",),
    ),
    "a renamed optional field": SiteChange(
        rename_field("extra"), "held", "field_gone:{extra}", "{extra}", ("extra",)
    ),
    "an optional field out of its item": SiteChange(
        out_of_items("extra"), "held", "field_gone:{extra}", "{extra}", ("extra",)
    ),
    "an optional field renamed in half of the items": accepted(
        rename_field("extra", each=2),
        needs=("extra",),
        cause="field_partly_gone:{extra}",
        rows="odd",
    ),
    "images that scripts load": SiteChange(
        in_items(lambda item: item.replace(" src=", " data-src=")),
        "held",
        "attribute_gone:{image}",
        "{image}",
        ("image",),
    ),
    "prices on request": SiteChange(
        rewrite_price(lambda _: "on request"),
        "held",
        "field_format:{price}",
        "{price}",
        ("price",),
    ),
    "a renamed attribute of the key": SiteChange(
        in_items(lambda item: re.sub(r"\b(?:href|id)=", "data-to=", item)),
        "failed",
        "key_empty:{key}",
        "{key}",
        ("key_attribute",),
    ),
    "an advertisement among the items": SiteChange(
        of_items(lambda items: [*items[:2], re.sub(r">[\s\S]*(?=</)", ">", items[2]), *items[3:]]),
        "failed",
        "strangers",
        "{key}",
        ("key_below",),
    ),
    # The way from page to page.
    "a next link in another dress": SiteChange(
        other_link, "held", "next_link_gone", "{following}", ("following",)
    ),
    "a next link without an address": SiteChange(
        link(lambda tag: tag.replace('href="/list?page=2"', 'href="#"')),
        "failed",
        "click_only",
        "{following}",
        ("following",),
    ),
    "a next link by scripts": SiteChange(
        link(lambda tag: tag.replace('href="/list?page=2"', 'href="javascript:next()"')),
        "failed",
        "click_only",
        "{following}",
        ("following",),
    ),
    "a next page that is gone": SiteChange(
        status="failed",
        cause="next_page_gone",
        says="Page 2",
        needs=("following",),
        answers={"/list?page=2": faults.status(404)},
    ),
    "a next page without items": SiteChange(
        of_items(lambda _: [], page=2), "failed", "empty_page", "Page 2", ("following",)
    ),
    "a next page that repeats the first": SiteChange(
        repeat_first_page, "failed", "repeated_page", "Page 2", ("following",)
    ),
    "a next link that leads back": SiteChange(
        link(lambda tag: tag.replace('href="/list?page=2"', 'href="/list?page=1"')),
        "failed",
        "circle",
        "{following}",
        ("following",),
    ),
    "an end marker in another dress": SiteChange(
        in_shells(lambda shell: shell.replace('class="end"', 'class="fin"')),
        "failed",
        "end_marker_gone",
        "Page 3",
        ("following",),
        numbered=True,
    ),
    "an end marker on every page": SiteChange(
        at_top('<p class="end">The end</p>'),
        "held",
        "list_cut_short",
        ".end",
        ("following",),
        numbered=True,
    ),
    # Other answers, and other pages in place of the list.
    "a plain refusal": refused(faults.fixed(403, FORBIDDEN), "forbidden", "403", "blocked"),
    "a challenge": refused(faults.challenge(), "challenge", "challenge", "blocked"),
    "too many requests": refused(faults.status(429), "rate_limited", "429", "blocked"),
    "nothing at all": refused(faults.empty(), "empty_body", "nothing", "blocked"),
    "an error of the site": refused(faults.status(500), "site_error", "500"),
    "a page that is gone": refused(faults.status(404), "page_gone", "404"),
    "JSON": refused(
        faults.fixed(200, "{}", {"Content-Type": "application/json"}), "invalid_content", "json"
    ),
    "a redirect to the login": SiteChange(
        of_page=False,
        status="blocked",
        cause="login_redirect",
        says="login",
        answers={"/list?page=1": faults.login_redirect(), "/login": faults.login_page()},
    ),
    "a login": wall(LOGIN, "login"),
    "a challenge in words": wall("<p>Checking your browser before you go on.</p>", "challenge"),
    "a refusal as a page": wall(FORBIDDEN, "forbidden"),
    "a page that asks for consent": wall(f"<h1>Before you continue</h1>{COOKIES}", "consent"),
    "an empty list": SiteChange(
        both(of_items(lambda _: []), above_items("<p>No products were found.</p>")),
        "failed",
        "no_results",
        "{items}",
    ),
    "a list that scripts make": SiteChange(scripted, "failed", "scripted", "{items}"),
    "a page that says that it is gone": wall(
        "<h1>Page not found</h1><p>This page does not exist any more.</p>", "page_gone", "404"
    ),
    "a redirect to the front page": SiteChange(
        of_page=False,
        status="failed",
        cause="redirected",
        says="{items}",
        answers={
            "/list?page=1": faults.redirect("/"),
            "/": faults.fixed(200, "<!doctype html><title>Shop</title><p>Welcome to all.</p>"),
        },
    ),
}
"""Name -> the change."""
