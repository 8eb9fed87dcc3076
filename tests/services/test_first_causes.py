"""Renamed items stay the first cause on pages that have the words of other causes too."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from livedata.messages.render import sentence
from livedata.model import ids
from livedata.services import explanation
from livedata.store import runs
from livedata.store.database.codec import dump_compressed
from tests.crawling import Crawling, shop_source
from tests.services.test_causes import ITEMS, Shop, first, replaced, shown
from tests.shop import Item, shop, some_items
from tests.site import Site

pytestmark = pytest.mark.one_database

LOGIN = "<form><input name=u><input type=password name=p><button>Log in</button></form>"
LONG_HEAD = f"<style>{'.a{color:red}' * 6_000}</style>"
FORBIDDEN = "<title>403</title><h1>Access denied</h1><p>You may not see this page.</p>"

AROUND = {
    "a count of results": lambda body: body.replace("<ul", "<p>1000 results</p><ul"),
    "a count with a comma": lambda body: body.replace("<ul", "<p>1,000 results</p><ul"),
    "an empty cart": lambda body: body.replace("<ul", "<p>You have no items.</p><ul"),
    "a login in the head": lambda body: body.replace("<body>", f"<body>{LOGIN}"),
    "a cookie banner": lambda body: body.replace("<body>", "<body><p>We use cookies.</p>"),
    "a captcha at a form": lambda body: body.replace("<ul", "<p>Protected by reCAPTCHA</p><ul"),
    "a long head": lambda body: body.replace("</head>", f"{LONG_HEAD}</head>"),
    "scripts with the data": lambda body: body.replace(
        "</body>", f'<script>x=["{ITEMS[0].name}"]</script><script src=/a.js></script></body>'
    ),
}


def renamed(body: str) -> str:
    """The page with another class for each item."""
    return body.replace('class="product"', 'class="tile"')


@pytest.mark.parametrize("around", AROUND)
def test_renamed_items_are_the_first_cause(crawling: Crawling, site: Site, around: str) -> None:
    broken = Shop(crawling, site)
    broken.rewrite(lambda body: AROUND[around](renamed(body)))
    explained = broken.again()
    assert first(explained) == "items_gone"
    assert "the page shows 5 of 5 rows known from before" in shown(explained.causes[0])
    assert replaced(explained) == [("itemSelector", "li.product", "li.tile")]
    assert explained.suggestion is not None
    assert explained.suggestion["rows"] == 5


def test_the_part_with_the_items_is_kept_of_a_page_with_a_long_head(
    crawling: Crawling, site: Site
) -> None:
    broken = Shop(crawling, site)
    broken.rewrite(lambda body: renamed(body).replace("</head>", f"{LONG_HEAD}</head>"))
    run = ids.RunId(ids.raw_id(broken.again().run))
    page = explanation.failed_page(crawling.store, "local", run)
    assert page.cut
    assert page.markup.count('class="tile"') == 5


def test_the_part_with_the_items_is_kept_of_a_page_whose_field_died(
    crawling: Crawling, site: Site
) -> None:
    broken = Shop(crawling, site)
    broken.rewrite(
        lambda body: body.replace("</head>", f"{LONG_HEAD}</head>").replace(
            '<span class="price">', '<b class="amount">'
        )
    )
    explained = broken.again()
    assert first(explained) == "field_gone:price"
    assert replaced(explained) == [("price", ".price", "b.amount")]


def test_cells_of_a_table_are_found_in_a_part_of_it(crawling: Crawling, site: Site) -> None:
    items = some_items(12)
    source = shop_source(
        site.at("/"),
        itemSelector="tr.product",
        pagination={"kind": "none"},
        fields=[
            {"name": "sku", "read": {"kind": "attribute", "attribute": "data-sku"}},
            {"name": "name", "read": {"selector": ".name"}},
        ],
    )
    dataset = crawling.create({**source, "columns": source["columns"][:2]}, allow=site.host)
    site.page("/", table(items, "product"))
    assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
    site.page("/", table(items, "line", "<tr><td>nothing</td></tr>" * 4_000))
    run = crawling.run(dataset, allow=site.host)
    explained = explanation.explanation(crawling.store, "local", ids.RunId(ids.raw_id(run["id"])))
    assert first(explained) == "items_gone"
    assert replaced(explained) == [("itemSelector", "tr.product", "tr.line")]


def test_items_that_were_never_read_are_not_said_to_look_different(
    crawling: Crawling, site: Site
) -> None:
    site.page("/", table(some_items(3), "line"))
    source = shop_source(site.at("/"), pagination={"kind": "none"})
    dataset = crawling.create(source, allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    explained = explanation.explanation(crawling.store, "local", ids.RunId(ids.raw_id(run["id"])))
    assert sentence(explained.causes[0]) == (
        "itemSelector 'li.product' matches nothing on the page."
    )


def table(items: list[Item], name: str, above: str = "") -> str:
    rows = "".join(
        f'<tr class="{name}" data-sku="{item.sku}"><td class="name">{item.name}</td></tr>'
        for item in items
    )
    return f"<!doctype html><title>Shop</title><body><table>{above}{rows}{above}</table></body>"


def test_a_plain_refusal_is_no_challenge(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)
    site.page("/page/1.html", FORBIDDEN, status=403)
    assert first(broken.again()) == "forbidden"


def test_a_refusal_that_is_answered_as_a_page(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)
    broken.everywhere(FORBIDDEN)
    assert first(broken.again()) == "forbidden"


def test_the_words_of_a_page_decide_if_no_row_is_known_on_it(
    crawling: Crawling, site: Site
) -> None:
    broken = Shop(crawling, site)
    others = [Item(f"N{number}", f"New thing {number}", "£1.00") for number in range(12)]
    broken.rewrite(renamed, others)
    assert first(broken.again()) == "items_gone"
    some = "".join(f"<p>{item.name}</p>" for item in ITEMS[:1])
    broken.everywhere(f"<!doctype html><p>No products were found.</p>You might like:{some}")
    assert first(broken.again()) == "no_results"


@pytest.mark.parametrize(
    ("change", "code"),
    [(renamed, "items_gone"), (lambda _: f"<!doctype html>{LOGIN}", "login")],
)
def test_the_judgement_outlives_the_page(
    crawling: Crawling,
    site: Site,
    clock: Callable[[int], None],
    change: Callable[[str], str],
    code: str,
) -> None:
    broken = Shop(crawling, site)
    broken.rewrite(change)
    run = broken.again().run
    clock(31 * 86_400)
    explained = explanation.explanation(crawling.store, "local", ids.RunId(ids.raw_id(run)))
    assert explained.page is None
    assert first(explained) == code
    assert site.at("/page/1.html") in shown(explained.causes[0])
    assert "show_page" not in {remedy.code for remedy in explained.causes[0].remedies}
    assert all(sentence(fact) for fact in explained.causes[0].evidence)


def test_a_clock_that_was_set_back_hides_no_accepted_run(
    crawling: Crawling, site: Site, clock: Callable[[int], None]
) -> None:
    broken = Shop(crawling, site)
    broken.rewrite(renamed)
    clock(-7200)
    explained = broken.again()
    assert explained.compared_with == broken.accepted
    assert first(explained) == "items_gone"


def test_a_run_without_a_judgement_is_explained_by_its_page(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)
    broken.rewrite(lambda body: renamed(body).replace("<ul", "<p>1000 results</p><ul"))
    run = ids.RunId(ids.raw_id(broken.again().run))
    with crawling.store.writing() as writer:
        facts = runs.facts(writer, run)[1]
        del facts["judged"]
        runs.change(writer, run, facts=dump_compressed(facts))
    explained = explanation.explanation(crawling.store, "local", run)
    assert first(explained) == "items_gone"


def test_an_address_is_found_again_in_another_element(crawling: Crawling, site: Site) -> None:
    link = {"kind": "attribute", "selector": "h2 a", "attribute": "href"}
    fields = [
        {"name": "sku", "read": {"kind": "attribute", "attribute": "data-sku"}},
        {"name": "name", "read": link, "required": True},
    ]
    columns = shop_source(site.at("/"))["columns"][:2]
    site.pages(shop(ITEMS))
    source = shop_source(site.at("/page/1.html"), fields=fields)
    dataset = crawling.create({**source, "columns": columns}, allow=site.host)
    assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
    pages = shop(ITEMS)
    site.pages({path: body.replace("h2>", "h4>") for path, body in pages.items()})
    run = crawling.run(dataset, allow=site.host)
    explained = explanation.explanation(crawling.store, "local", ids.RunId(ids.raw_id(run["id"])))
    assert first(explained) == "field_gone:name"
    assert replaced(explained) == [("name", "h2 a @href", "a @href")]
