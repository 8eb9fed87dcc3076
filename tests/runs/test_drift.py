"""A site that is rebuilt between two Runs: what is held, and what is taken but told as odd."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from livedata.messages.findings import oddity_sentence
from livedata.model import ids
from livedata.model.problem import problem_of
from livedata.model.run import Run
from livedata.services import diagnostics
from tests import faults
from tests.crawling import FIELDS, Crawling, shop_source
from tests.shop import Item, shop, some_items
from tests.site import Site

pytestmark = pytest.mark.one_database

ITEMS = some_items(20)
NO_PRICE = [replace(item, price="on request") for item in ITEMS]
PATTERN = {"kind": "url-pattern", "startPage": 1, "endSelector": ".end"}


class Rebuilt:
    """A shop that was read once; then its pages are changed, and it is read again."""

    def __init__(
        self, crawling: Crawling, site: Site, items: list[Item] = ITEMS, **changes: Any
    ) -> None:
        self.crawling, self.site, self.items = crawling, site, items
        site.pages(shop(items))
        self.allow = f"{site.host},{site.host.replace('127.0.0.1', 'localhost')}"
        source = shop_source(site.at("/page/1.html"), **changes)
        self.dataset = crawling.create(source, allow=self.allow)
        self.first = self.again()
        assert self.first["status"] == "succeeded", self.first["error"]

    def rewrite(self, change: Callable[[str], str], **changes: Any) -> None:
        pages = shop(changes.pop("items", self.items), **changes)
        self.site.pages({path: change(body) for path, body in pages.items()})

    def again(self) -> Run:
        return self.crawling.run(self.dataset, allow=self.allow)

    def odd(self, run: Run) -> dict[str, str]:
        """What looked odd in a Run: codes and sentences."""
        facts = self.crawling.story(run).facts.get("odd", [])
        return {
            fact["code"].removeprefix("finding."): oddity_sentence(problem_of(fact))
            for fact in facts
        }


def test_a_renamed_class_of_an_optional_price_is_held_and_named(
    crawling: Crawling, site: Site
) -> None:
    shop_ = Rebuilt(crawling, site)
    shop_.rewrite(lambda body: body.replace('class="price"', 'class="amount"'))
    for _ in range(3):
        run = shop_.again()
        assert (run["status"], run["rowDeltas"]["changed"]) == ("held", 0)
        assert str(run["error"]).startswith(
            "price has a value in 0 of 20 rows now, and had one in 20 of 20 in the last accepted "
            "Run: selector '.price' matches in 0 of 20 items"
        )
    assert crawling.remedies(run) == ["preview", "revise", "accept_loss"]


@pytest.mark.parametrize(
    ("items", "per_page"),
    [
        (20, 10),  # half of the rows, which is no mass loss
        (20, 9),  # over half of them, which would be confirmed the next night
        (50, 5),
    ],
)
def test_a_next_link_that_lost_its_class_is_held_every_time(
    crawling: Crawling, site: Site, items: int, per_page: int
) -> None:
    site_items = some_items(items)
    shop_ = Rebuilt(crawling, site, site_items)
    site.pages(shop(site_items, per_page=per_page))
    crawling.run(shop_.dataset, allow=shop_.allow)
    shop_.rewrite(lambda body: body.replace('class="next"', 'class="more"'), per_page=per_page)
    for _ in range(2):
        run = shop_.again()
        assert run["status"] == "held"
        assert str(run["error"]).startswith(f"The list ends on page 1 ({site.at('/page/1.html')})")
        assert "still links to" in str(run["error"])


def test_a_list_of_which_a_page_lost_its_link_is_held_though_the_page_is_less_full(
    crawling: Crawling, site: Site
) -> None:
    shop_ = Rebuilt(crawling, site)
    pages = shop([ITEMS[0], *ITEMS[2:]], per_page=5)
    body = pages["/page/2.html"].replace('class="next"', 'class="more"')
    site.pages({**pages, "/page/2.html": body.replace('<li class="product"', "<li", 1)})
    run = shop_.again()
    assert f"page 2 still links to {site.at('/page/3.html')}" in str(run["error"])


def test_an_end_marker_that_matches_too_early_is_held(crawling: Crawling, site: Site) -> None:
    pattern = {**PATTERN, "pattern": site.at("/page/{page}.html")}
    shop_ = Rebuilt(crawling, site, pagination=pattern)
    shop_.rewrite(lambda body: body.replace("<h1>", '<h1 class="end">'))
    run = shop_.again()
    assert run["status"] == "held"
    assert "endSelector '.end' matches there already" in str(run["error"])


def test_a_list_that_really_became_shorter_is_taken(crawling: Crawling, site: Site) -> None:
    shop_ = Rebuilt(crawling, site)
    site.pages(shop(ITEMS[:13]))
    run = shop_.again()
    assert (run["status"], run["rowDeltas"]["gone"]) == ("succeeded", 7)
    assert list(shop_.odd(run)) == ["fewer_pages"]


def test_a_run_like_the_one_before_has_nothing_odd(crawling: Crawling, site: Site) -> None:
    shop_ = Rebuilt(crawling, site)
    # Above the list and below it, as most lists have their next link.
    shop_.rewrite(lambda body: body.replace("<ul", _next_link(body) + "<ul", 1))
    assert (shop_.odd(shop_.first), shop_.odd(shop_.again())) == ({}, {})


def _next_link(body: str) -> str:
    return next((line for line in body.splitlines() if 'class="next"' in line), "")


NEXT = '<a class="next" href="{}">Next</a>'


@pytest.mark.parametrize(
    ("old", "new", "code", "says"),
    [
        ("<h2>", f"<h2>{NEXT}", "next_link_in_item", "lies within an item"),
        ("</ul>", f"</ul>{NEXT}", "several_next_links", "matches links to 2 different addresses"),
    ],
)
def test_a_next_link_that_may_lead_astray_is_told(
    crawling: Crawling, site: Site, old: str, new: str, code: str, says: str
) -> None:
    shop_ = Rebuilt(crawling, site)
    address = "/page/2.html" if code == "next_link_in_item" else "/page/2.html?sort=price"
    first = shop(ITEMS)["/page/1.html"].replace(old, new.format(address), 1)
    site.page("/page/1.html", first)
    run = shop_.again()
    told = shop_.odd(run)
    assert (run["status"], list(told)) == ("succeeded", [code])
    assert says in told[code]
    assert f"page 1 ({site.at('/page/1.html')})" in told[code]


def test_a_next_link_to_another_host_is_told(crawling: Crawling, site: Site) -> None:
    shop_ = Rebuilt(crawling, site)
    elsewhere = site.at("/page/2.html").replace("127.0.0.1", "localhost")
    site.page("/page/1.html", shop(ITEMS)["/page/1.html"].replace("/page/2.html", elsewhere))
    run = shop_.again()
    assert run["status"] == "succeeded"
    assert f"leads to another host: {elsewhere}" in shop_.odd(run)["next_link_to_other_host"]


def test_a_list_that_is_redirected_is_told_once(crawling: Crawling, site: Site) -> None:
    shop_ = Rebuilt(crawling, site)
    site.route("/page/1.html", faults.redirect("/"))
    run = shop_.again()
    assert run["status"] == "succeeded"
    asked, address = site.at("/page/1.html"), site.at("/")
    assert shop_.odd(run) == {
        "list_redirected": f"The list was redirected: {asked} led to {address}."
    }
    # Now it is what the last accepted Run found.
    assert shop_.odd(shop_.again()) == {}


@pytest.mark.parametrize(
    ("now", "code", "says"),
    [
        (
            [*NO_PRICE[:3], *ITEMS[3:]],
            "more_cells_unreadable",
            (
                "price: 3 of 20 cells could not be read as a number, and 0 of 20 in the last "
                "accepted Run; the first is 'on request'."
            ),
        ),
        (
            [*(replace(item, price="") for item in ITEMS[:5]), *ITEMS[5:]],
            "field_less_filled",
            "price has a value in 15 of 20 rows now, and had one in 20 of 20",
        ),
        ([*(replace(item, price="") for item in ITEMS[:4]), *ITEMS[4:]], None, ""),
    ],
)
def test_a_field_that_reads_fewer_cells_is_told(
    crawling: Crawling, site: Site, now: list[Item], code: str | None, says: str
) -> None:
    shop_ = Rebuilt(crawling, site)
    site.pages(shop(now))
    run = shop_.again()
    assert run["status"] == "succeeded"
    told = shop_.odd(run)
    assert list(told) == ([code] if code else [])
    assert says in told.get(str(code), "")


def test_other_texts_that_cannot_be_read_are_told(crawling: Crawling, site: Site) -> None:
    shop_ = Rebuilt(crawling, site, [NO_PRICE[0], *ITEMS[1:]])
    assert "1 of 20 cells could not be read as a number; the first is" in str(
        shop_.odd(shop_.first)
    )
    assert shop_.odd(shop_.again()) == {}
    site.pages(shop([replace(ITEMS[0], price="3 for 2"), *ITEMS[1:]]))
    assert shop_.odd(shop_.again()) == {
        "other_texts_unreadable": (
            "price: cells that cannot be read as a number have other texts than in the last "
            "accepted Run, such as '3 for 2'."
        )
    }


def test_new_rows_with_nothing_but_a_key_are_told(crawling: Crawling, site: Site) -> None:
    fields = [
        {"name": "sku", "read": {"kind": "attribute", "attribute": "data-sku"}, "required": True},
        {"name": "name", "read": {"selector": "h2"}},
        {"name": "price", "read": {"selector": ".price"}},
        {"name": "stock", "read": {"selector": ".stock"}},
    ]
    shop_ = Rebuilt(crawling, site, fields=fields)
    assert shop_.odd(shop_.first) == {}
    advert = '<li class="product" data-sku="ad1"><p>Your advert here</p></li>'
    shop_.rewrite(lambda body: body.replace("</ul>", f"{advert}</ul>"))
    run = shop_.again()
    assert run["status"] == "succeeded"
    assert shop_.odd(run) == {
        "bare_rows": "The new row 'ad1' has nothing but a key, where other rows have more: it may "
        "be no record."
    }
    # The row is not new any more.
    assert shop_.odd(shop_.again()) == {}


WHOLE = [
    {"name": "sku", "read": {"kind": "attribute", "attribute": "data-sku"}, "required": True},
    {"name": "name", "read": {"selector": "h2"}},
    {"name": "price", "read": {"selector": ".price"}},
    {"name": "stock", "read": {"selector": ".stock"}},
]


@pytest.mark.parametrize(
    ("added", "odd"),
    [
        (
            ["<li class=product data-sku=ad1><b class=price>3.00</b></li>"],
            (
                "The new row 'ad1' has none of name, stock, which nearly all other rows have: it "
                "may be no record."
            ),
        ),
        (
            [
                f"<li class=product data-sku=ad{number}><b class=price>3.00</b></li>"
                for number in (1, 2)
            ],
            (
                "2 new rows lack most of what nearly all other rows have, such as 'ad1', which has "
                "none of name, stock: it may be no record."
            ),
        ),
        # One of three: a price on application.
        (
            ["<li class=product data-sku=new><h2>New</h2><b class=stock>in stock</b></li>"],
            None,
        ),
    ],
)
def test_new_rows_without_most_of_what_others_have_are_told(
    crawling: Crawling, site: Site, added: list[str], odd: str | None
) -> None:
    shop_ = Rebuilt(crawling, site, fields=WHOLE)
    shop_.rewrite(lambda body: body.replace("</ul>", f"{''.join(added)}</ul>"))
    run = shop_.again()
    assert run["status"] == "succeeded"
    assert shop_.odd(run) == ({} if odd is None else {"sparse_rows": odd})


def test_new_rows_are_bare_where_rows_usually_are(crawling: Crawling, site: Site) -> None:
    fields = [
        {"name": "sku", "read": {"kind": "attribute", "attribute": "data-sku"}},
        {"name": "name", "read": {"selector": ".sale"}},
        {"name": "price", "read": {"selector": ".sale"}},
        {"name": "stock", "read": {"selector": ".sale"}},
    ]
    shop_ = Rebuilt(crawling, site, fields=fields)
    assert shop_.odd(shop_.first) == {}


def test_what_looks_odd_is_a_finding_of_its_area(crawling: Crawling, site: Site) -> None:
    shop_ = Rebuilt(crawling, site)
    # 9 of the rows are gone, one price cannot be read, and pages are missing.
    site.pages(shop([NO_PRICE[0], *ITEMS[1:11]]))
    run = shop_.again()
    answer = diagnostics.diagnostics(crawling.store, "local", ids.RunId(ids.raw_id(run["id"])))
    assert [finding["code"] for finding in answer["sources"]["findings"]] == ["fewer_pages"]
    codes = [finding["code"] for finding in answer["cells"]["findings"]]
    assert codes == ["cells_unreadable", "more_cells_unreadable"]


def test_prices_in_a_field_of_which_every_text_changed_are_held_with_the_text(
    crawling: Crawling, site: Site
) -> None:
    shop_ = Rebuilt(crawling, site, fields=[{"name": n, "read": r} for n, r in FIELDS.items()])
    site.pages(shop(NO_PRICE))
    assert "but what stands there is no number: 'on request'" in str(shop_.again()["error"])
