"""Pages that mean harm or are broken: the whole list is read right, or the Run is refused."""

from __future__ import annotations

import random
from typing import Any

import pytest

from livedata.model.ids import DatasetId
from livedata.model.run import Run
from livedata.services import queries
from tests.crawling import Crawling, shop_source
from tests.runs.test_cancel import Work
from tests.runs.test_pagination_none import SINGLE, failed_checks, listing
from tests.runs.test_refusals import contents, read_failures
from tests.shop import page, some_items
from tests.site import HTML, Site

pytestmark = pytest.mark.one_database

SKUS = [f"item-{number}" for number in range(40)]
ROWS = listing(SKUS)
MEBIBYTES = 5 << 20


def run_page(
    crawling: Crawling, site: Site, body: str | bytes, kind: str = HTML, **changes: Any
) -> Run:
    site.page("/", body, content_type=kind)
    source = shop_source(site.at("/"), **{"pagination": SINGLE, **changes})
    return crawling.run(crawling.create(source, allow=site.host), allow=site.host)


def names(crawling: Crawling, run: Run) -> set[str]:
    """The names of the rows that a Run has written."""
    raw = bytes.fromhex(run["datasetId"].replace("-", ""))
    columns = queries.dataset(crawling.store, "local", DatasetId(raw))["columns"]
    name = next(column["id"] for column in columns if column["name"] == "name")
    return {
        str(row["data"][name]) for row in queries.every_row(crawling.store, "local", DatasetId(raw))
    }


RIGHT = {
    "a thousand wrappers": "<div>" * 1000 + ROWS + "</div>" * 1000,
    "no closing tags": ROWS.replace("</li>", "").replace("</span>", "").replace("</ul>", ""),
    "no doctype, html or body": ROWS.replace("<!doctype html><html><head></head><body>", ""),
    "items in a table of one cell": ROWS.replace("<ul>", "<table><td><ul>"),
    "stray closing tags": "</div></p></table></li>" * 500 + ROWS,
    "NUL in tags and text": ROWS.replace("<h2>", "<h2>\0").replace("Thing", "Th\0ing"),
    "control characters around": "\x01\x02\x7f" + ROWS + "\x1a\x04",
    "a comment that never ends": ROWS + "<!-- " + "<li class=product>" * 1000,
    "a script full of items": "<script>var a='" + ROWS.replace("'", "") + "'</script>" + ROWS,
    "items in a template": "<template>" + ROWS + "</template>" + ROWS,
    "entities": ROWS.replace("Thing", "&#84;hing").replace("£", "&pound;"),
    "entities that mean to grow": '<!doctype x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>' + ROWS,
    "5 MiB": ROWS + "\n" * (MEBIBYTES - len(ROWS.encode())),
    "5 MiB of comment": f"<!--{'x' * (MEBIBYTES - 10_000)}-->{ROWS}",
    "an attribute of 4 MiB": f"<p title='{'x' * (4 << 20)}'>{ROWS}",
    "paragraphs": "<p>" * 100_000 + ROWS,
}

REFUSED = {
    "divs without end": "<div>" * 400_000 + ROWS,
    "bold without end": "<b>" * 400_000 + ROWS,
    "links around blocks": "<a><div>" * 200_000 + ROWS,
    "items behind the depth": "<div>" * 300_000 + ROWS + "</div>" * 300_000,
    "over 5 MiB": ROWS + " " * MEBIBYTES,
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_strange_page_is_read_whole(crawling: Crawling, site: Site, name: str) -> None:
    run = run_page(crawling, site, RIGHT[name])
    assert run["status"] == "succeeded", run["error"]
    assert names(crawling, run) == {f"Thing {sku}" for sku in SKUS}


@pytest.mark.parametrize("name", REFUSED)
def test_a_page_that_would_stall_the_worker_is_refused(
    crawling: Crawling, site: Site, name: str
) -> None:
    before = contents(crawling.store)
    run = run_page(crawling, site, REFUSED[name])
    assert (run["status"], failed_checks(run)[0]) == ("failed", "coverage")
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["limit_exceeded"]
    after = contents(crawling.store)
    assert [after[table] for table in ("rows", "revisions", "ledger")] == [
        before[table] for table in ("rows", "revisions", "ledger")
    ]


@pytest.mark.parametrize(
    ("encoded", "declared"),
    [
        ("utf-8", HTML),
        ("utf-8", "text/html"),
        ("cp1252", "text/html; charset=windows-1252"),
        ("cp1252", "text/html; charset=iso-8859-1"),
        ("cp1252", "text/html"),
        ("utf-8-sig", "text/html; charset=windows-1252"),
        ("utf-16", "text/html"),
        ("utf-8", "text/html; charset=nonsense"),
    ],
)
def test_an_encoding_is_recognised(
    crawling: Crawling, site: Site, encoded: str, declared: str
) -> None:
    body = ROWS.replace("Thing", "Crème").encode(encoded)
    run = run_page(crawling, site, body, declared)
    assert run["status"] == "succeeded", run["error"]
    assert names(crawling, run) == {f"Crème {sku}" for sku in SKUS}


def test_bytes_that_are_not_of_the_charset_lose_no_row(crawling: Crawling, site: Site) -> None:
    run = run_page(crawling, site, ROWS.replace("Thing", "Crème").encode("cp1252"))
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", len(SKUS))
    assert all("Cr\ufffdme" in name for name in names(crawling, run))


@pytest.mark.parametrize(
    ("items", "field"),
    [
        (" ".join(["div"] * 120), "h2 a"),
        ("li.product", " ".join(["div"] * 100) + " h2 a"),
        ("div div div div div div div div li.product", "* * * * * * * * a"),
        (".nope div div div div div div", "h2 a"),
    ],
)
def test_selectors_that_explode_elsewhere_end_soon(
    crawling: Crawling, site: Site, items: str, field: str
) -> None:
    fields = [
        {"name": "sku", "read": {"kind": "attribute", "attribute": "data-sku"}},
        *({"name": name, "read": {"selector": field}} for name in ("name", "price", "stock")),
    ]
    body = "<div>" * 1500 + ROWS
    run = run_page(crawling, site, body, itemSelector=items, fields=fields)
    wanted = "succeeded" if "li.product" in items else "failed"
    assert run["status"] == wanted, run["error"]
    assert run["rowDeltas"]["new"] == (len(SKUS) if wanted == "succeeded" else 0)


@pytest.mark.parametrize("name", ["divs without end", "items behind the depth"])
def test_another_run_of_the_same_worker_finishes_meanwhile(
    crawling: Crawling, site: Site, name: str
) -> None:
    with Site() as other:
        work = Work(crawling, site, other)
        site.page("/", REFUSED[name])
        other.pages({"/1": page(1, some_items(5), "/2", end=False), "/2": listing("ab")})
        work.add(site.at("/"), "hostile")
        work.add(other.at("/1"), "good")
        hostile, good = work.run()
    assert (hostile["status"], good["status"]) == ("failed", "succeeded")
    assert good["rowDeltas"]["new"] == 7


@pytest.mark.parametrize("seed", range(20))
def test_no_item_is_lost_on_a_page_that_is_damaged_between_its_items(
    crawling: Crawling, site: Site, seed: int
) -> None:
    chance = random.Random(seed)
    junk = (
        "",
        "< ",
        ">",
        "<p>",
        "</ul>",
        "<table>",
        "<tr><td>",
        "&#0;",
        "\0",
        "<b>",
        "</li>",
        "</p>",
    )
    pieces = ROWS.split("<li")
    broken = "<li".join(piece + chance.choice(junk) for piece in pieces)
    run = run_page(crawling, site, broken)
    assert run["status"] == "succeeded", run["error"]
    assert names(crawling, run) == {f"Thing {sku}" for sku in SKUS}
