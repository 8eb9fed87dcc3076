"""Items that are no records: told first, as one cause, and not as a fault of every field."""

from __future__ import annotations

import pytest

from livedata.model import ids
from livedata.model.diagnosis.explanation import cause_code
from livedata.model.problem import Remedy
from livedata.services import explanation
from tests.crawling import Crawling, shop_source
from tests.services.test_causes import ITEMS, Shop, replaced, required
from tests.shop import shop
from tests.site import Site

pytestmark = pytest.mark.one_database

ADVERT = '<li class="product"><p>Your advert here</p></li>'
KEYED = '<li class="product" data-sku="ad{}"><h2><a href="/ad"><span></span></a></h2></li>'
BEGIN, END = '<ul class="products">', "</ul>"


def test_adverts_among_the_records_are_one_cause(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site, fields=required("sku", "name", "price"))
    broken.rewrite(lambda body: body.replace(END, ADVERT + END))
    (cause,) = broken.again().causes
    assert cause_code(cause) == "strangers"
    # 12 items on three pages: 5, 5 and 2.
    assert cause.params == {
        "page": 1,
        "item": 6,
        "others": 2,
        "lacks": ["sku", "name", "price", "stock"],
    }
    assert [remedy.code for remedy in cause.remedies] == ["leave_out_by", "revise", "show_page"]


@pytest.mark.parametrize(
    ("advert", "selector"),
    [
        ('<li class="product"><p>Your advert here</p></li>', "li.product[data-sku]"),
        ('<li class="product ad" data-sku="a1"><p>Your advert</p></li>', 'li[class="product"]'),
        (
            '<li class="product" data-sku="a1"><p>Your advert</p></li>',
            'li.product[livedata-has~="h2"]',
        ),
    ],
)
def test_what_leaves_the_adverts_out_is_named(
    crawling: Crawling, site: Site, advert: str, selector: str
) -> None:
    broken = Shop(crawling, site, fields=required("name", "price"))
    broken.rewrite(lambda body: body.replace(END, advert + END))
    explained = broken.again()
    assert explained.causes[0].remedies[0] == Remedy("leave_out_by", {"selector": selector})
    assert replaced(explained) == [("itemSelector", "li.product", selector)]
    assert explained.suggestion is not None
    assert (explained.suggestion["records"], explained.suggestion["rows"]) == (5, 5)


def test_the_first_run_of_all_is_told_what_leaves_the_adverts_out(
    crawling: Crawling, site: Site
) -> None:
    pages = shop(ITEMS)
    site.pages({path: body.replace(END, ADVERT + END) for path, body in pages.items()})
    source = shop_source(site.at("/page/1.html"), fields=required("name", "price"))
    run = crawling.run(crawling.create(source, allow=site.host), allow=site.host)
    run_id = ids.RunId(ids.raw_id(run["id"]))
    explained = explanation.explanation(crawling.store, "local", run_id)
    leave_out = Remedy("leave_out_by", {"selector": "li.product[data-sku]"})
    assert explained.causes[0].remedies[0] == leave_out


def test_adverts_that_have_a_key_are_one_cause_too(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site, fields=required("name", "price"))
    broken.rewrite(lambda body: body.replace(BEGIN, BEGIN + KEYED.format(1)))
    (cause,) = broken.again().causes
    # They are called as the records are, and no selector leaves them out.
    assert [remedy.code for remedy in cause.remedies] == ["leave_out", "revise", "show_page"]
    assert cause.params == {"page": 1, "item": 1, "others": 2, "lacks": ["name", "price", "stock"]}


def test_an_advert_with_nothing_but_the_link_that_is_the_key_is_one_cause_too(
    crawling: Crawling, site: Site
) -> None:
    broken = Shop(crawling, site, fields=required("sku", "name"))
    advert = KEYED.format(1).replace("product", "product ad")
    broken.rewrite(lambda body: body.replace(BEGIN, BEGIN + advert))
    explained = broken.again()
    (cause,) = explained.causes
    assert cause_code(cause) == "strangers"
    assert replaced(explained) == [("itemSelector", "li.product", 'li[class="product"]')]


def test_what_else_is_wrong_is_told_after_the_strangers(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site, fields=required("sku", "name", "price"))
    price = f'<span class="price">{ITEMS[3].price}</span>'
    broken.rewrite(lambda body: body.replace(BEGIN, BEGIN + ADVERT).replace(price, ""))
    codes = [cause_code(cause) for cause in broken.again().causes]
    assert codes == ["strangers", "field_partly_gone:price"]


@pytest.mark.parametrize(
    "change",
    [
        # One empty cell makes nobody a stranger.
        lambda body: body.replace(f">{ITEMS[3].name}<", "><"),
        # Nor are the many strangers: then the selectors died.
        lambda body: body.replace(BEGIN, BEGIN + ADVERT * 20),
    ],
)
def test_what_is_no_stranger_is_told_as_before(
    crawling: Crawling, site: Site, change: object
) -> None:
    assert callable(change)
    broken = Shop(crawling, site, fields=required("name", "price"))
    broken.rewrite(change)
    causes = broken.again().causes
    assert causes
    assert "strangers" not in map(cause_code, causes)
