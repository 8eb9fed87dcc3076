"""Listings that are made by scripts are read whole, and as those that are not."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from livedata.store.database.store import Store
from tests import faults
from tests.browser.scripted import SINGLE, rendered, scripted, single
from tests.crawling import Crawling, shop_source
from tests.runs.test_pagination_none import listing
from tests.runs.test_refusals import read_failures
from tests.shop import shop, some_items
from tests.site import Answer, Request, Site

PATTERN = {"kind": "url-pattern", "startPage": 1, "endSelector": "p.end"}


def rows(store: Store) -> list[tuple[Any, ...]]:
    with store.reading() as reader:
        return reader.rows("SELECT row_key, data FROM rows ORDER BY row_key")


def next_link(path: str) -> str:
    return f'<a class="next" href="{path}">Next</a>'


def test_a_list_made_by_scripts_is_read_page_by_page(crawling: Crawling, site: Site) -> None:
    site.page("/1", scripted(listing("ab", next_link("/2"))))
    site.page("/2", scripted(listing("cd", next_link("/3"))))
    site.page("/3", scripted(listing("e")))
    run = crawling.run(crawling.create(rendered(site.at("/1")), allow=site.host), allow=site.host)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 5), run["error"]
    assert [path for path in site.paths if path != "/favicon.ico"] == [
        "/robots.txt",
        "/1",
        "/2",
        "/3",
    ]


def test_without_a_browser_the_same_list_is_empty(crawling: Crawling, site: Site) -> None:
    site.page("/1", scripted(listing("ab")))
    run = crawling.run(
        crawling.create(shop_source(site.at("/1")), allow=site.host), allow=site.host
    )
    assert run["status"] == "failed"


def test_a_url_pattern_ends_at_a_marker_that_a_script_made(crawling: Crawling, site: Site) -> None:
    site.page("/p1", scripted(listing("ab")))
    site.page("/p2", scripted(listing("cd")))
    site.page("/p3", scripted('<p class="end">That is all.</p>', after=500), status=404)
    source = rendered(site.at("/p1"), pagination={**PATTERN, "pattern": site.at("/p{page}")})
    run = crawling.run(crawling.create(source, allow=site.host), allow=site.host)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 4), run["error"]
    assert crawling.story(run).charged == 2


def test_static_and_rendered_pages_give_the_same_rows(crawling: Crawling, site: Site) -> None:
    pages = shop(some_items(23), per_page=10)
    odd = "<table><tr class=x><td>1<p>2<p>3<b><i>4</b>5</table>"
    site.pages({path: body.replace("</ul>", f"</ul>{odd}") for path, body in pages.items()})
    dataset = crawling.create(shop_source(site.at("/")), allow=site.host)
    assert crawling.run(dataset, allow=site.host)["rowDeltas"]["new"] == 23
    static = rows(crawling.store)
    crawling.pages.clear()
    declared = {**rendered(site.at("/")), "name": "rendered"}
    run = crawling.run(crawling.create(declared, allow=site.host), allow=site.host)
    assert run["rowDeltas"]["new"] == 23, run["error"]
    both = rows(crawling.store)
    assert sorted(both) == sorted(static * 2)


def test_what_is_hidden_is_left_out_with_and_without_a_browser(
    crawling: Crawling, site: Site
) -> None:
    style = "<style>.key{visibility:hidden}</style>"
    keyed = '<i class="key">0001</i> <i hidden>New!</i>Thing '
    page = listing("abc", head=style).replace("Thing ", keyed)
    body = page.partition("<body>")[2].partition("</body>")[0]
    site.page("/static", page)
    site.page("/made", scripted(f"{style}{body}"))
    declared = shop_source(site.at("/static"), pagination=SINGLE)
    for name, source in (("static", declared), ("made", single(site.at("/made")))):
        dataset = crawling.create({**source, "name": name}, allow=site.host)
        assert crawling.run(dataset, allow=site.host)["rowDeltas"]["new"] == 3
    both = rows(crawling.store)
    assert both[::2] == both[1::2]
    assert "0001" not in str(both)
    assert "New!" not in str(both)
    assert "Thing a" in str(both)


@pytest.mark.slow
def test_a_table_without_classes_is_the_same_with_and_without_a_browser(
    crawling: Crawling, site: Site
) -> None:
    body = "".join(
        f"<tr><td>{sku}<td>{sku}{sku}<td>{number}.50" for number, sku in enumerate("abc")
    )
    table = f"<table><tr><th>Sku<th>Name<th>Price{body}</table>"
    site.pages({"/1": f"<!doctype html>{table}", "/2": scripted(table)})
    cells = {"sku": "Sku", "name": "Name", "price": "Price", "stock": "Sku"}
    fields = [
        {"name": name, "read": {"selector": f"td[livedata-header='{header}']"}}
        for name, header in cells.items()
    ]
    changes = {"itemSelector": "tr[livedata-row='data']", "fields": fields}
    tables = []
    for declared in (
        shop_source(site.at("/1"), pagination=SINGLE, **changes),
        {**single(site.at("/2"), **changes), "name": "rendered"},
    ):
        run = crawling.run(crawling.create(declared, allow=site.host), allow=site.host)
        assert run["status"] == "succeeded", run["error"]
        tables.append([record.values for record in crawling.pages[-1].records])
    assert tables[0] == tables[1]
    assert tables[0][1] == ["b", "bb", 1.5, None]


def test_items_that_come_one_after_the_other_are_all_awaited(
    crawling: Crawling, site: Site
) -> None:
    """The first is there at once; each further one takes a request that the site takes time for."""
    script = (
        "<script>(async () => { for (const sku of 'bcd') {"
        " const got = await fetch('/item?' + sku);"
        " document.querySelector('ul').insertAdjacentHTML('beforeend', await got.text()); } })()"
        "</script>"
    )
    site.page("/1", listing("a", script))

    def item(request: Request) -> Answer:
        request.wait(0.5)
        body = listing(request.target[-1]).partition("<ul>")[2].partition("</ul>")[0]
        return Answer(200, body)

    site.route("/item", item)
    run = crawling.run(crawling.create(single(site.at("/1")), allow=site.host), allow=site.host)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 4), run["error"]


def test_a_list_beside_which_something_never_stops_is_read(crawling: Crawling, site: Site) -> None:
    ticking = "<script>setInterval(() => fetch('/tick'), 50)</script>"
    site.page("/1", listing("ab", ticking))
    run = crawling.run(
        crawling.create(single(site.at("/1")), allow=site.host), allow=site.host, timeout=15
    )
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2), run["error"]


def test_an_empty_list_comes_to_its_end(crawling: Crawling, site: Site) -> None:
    site.page("/1", scripted("<p>Nothing here</p>"))
    source = single(site.at("/1"), minimumItems=0)
    run = crawling.run(crawling.create(source, allow=site.host), allow=site.host)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 0), run["error"]


@pytest.mark.parametrize("then", ["'/2'", "'/2#part'"])
def test_a_page_to_which_a_script_leads_is_the_one_that_is_read(
    crawling: Crawling, site: Site, then: str
) -> None:
    site.page("/1", f"<!doctype html><script>location = {then}</script>")
    site.page("/2", scripted(listing("ab")))
    run = crawling.run(crawling.create(single(site.at("/1")), allow=site.host), allow=site.host)
    assert run["status"] == "succeeded", run["error"]
    assert crawling.pages[0].canonical == site.at("/2")


def test_a_redirect_is_followed_and_its_end_is_what_robots_txt_is_asked_for(
    crawling: Crawling, site: Site
) -> None:
    site.route("/1", lambda _: Answer(302, b"", {"Location": "/private/2"}))
    site.page("/private/2", listing("ab"))
    dataset = crawling.create(single(site.at("/1")), allow=site.host)
    assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
    assert crawling.pages[0].final_url == site.at("/private/2")
    text = "User-agent: *\nDisallow: /private"
    site.page("/robots.txt", text, content_type="text/plain")
    run = crawling.run(dataset, allow=site.host)
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["robots_disallowed"]


@pytest.mark.parametrize(
    "noise",
    [
        "<script>alert('a'); confirm('b'); prompt('c')</script>",
        "<script>onbeforeunload = () => 'stay'</script>",
        "<script>for (let n = 0; n < 5; n++) open('/popup')</script>",
        "<script>print()</script>",
        "<iframe src='/never'></iframe><img src='/never'>",
    ],
    ids=["dialogs", "before unload", "popups", "print", "a frame that never comes"],
)
def test_what_a_page_does_to_be_seen_does_not_hold_it_up(
    crawling: Crawling, site: Site, noise: str
) -> None:
    site.route("/never", faults.never())
    site.page("/popup", "<script>open('/popup')</script>")
    site.page("/1", scripted(listing("ab", next_link("/2")), tail=noise))
    site.page("/2", listing("c", noise))
    source = rendered(site.at("/1"))
    run = crawling.run(crawling.create(source, allow=site.host), allow=site.host, timeout=15)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 3), run["error"]


def test_the_digest_is_of_the_serialised_page(crawling: Crawling, site: Site) -> None:
    site.page("/1", "<!doctype html><title>t</title><li class=product data-sku=é>x")
    run = crawling.run(crawling.create(single(site.at("/1")), allow=site.host), allow=site.host)
    assert run["status"] == "succeeded", run["error"]
    serialised = (
        "<!DOCTYPE html><html><head><title>t</title></head><body>"
        '<li class="product" data-sku="é">x</li></body></html>'
    )
    assert crawling.pages[0].digest == hashlib.sha256(serialised.encode()).hexdigest()


def test_a_page_cannot_hide_behind_what_it_redefines(crawling: Crawling, site: Site) -> None:
    liar = (
        "<script>Object.defineProperty(document, 'querySelectorAll', {value: () => []});"
        "Object.defineProperty(Element.prototype, 'outerHTML', {get: () => '<p>lie'});</script>"
    )
    site.page("/1", scripted(listing("ab"), tail=liar))
    run = crawling.run(crawling.create(single(site.at("/1")), allow=site.host), allow=site.host)
    assert run["rowDeltas"]["new"] == 2, run["error"]
