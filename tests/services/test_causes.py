"""Prepared breakages: a site is read, breaks in one way, and that way is named first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from livedata.messages.remedies import advice
from livedata.messages.render import sentence
from livedata.model import ids
from livedata.model.diagnosis.explanation import RunExplanation, cause_code
from livedata.model.problem import Problem, Remedy
from livedata.services import explanation
from livedata.services.commit import AcceptancePolicy
from livedata.store.database.store import Store
from tests import faults
from tests.crawling import FIELDS, Crawling, shop_source
from tests.patience import LONG
from tests.shop import Item, shop, some_items
from tests.site import Answer, Request, Site

pytestmark = pytest.mark.one_database

ITEMS = some_items(12)
PATTERN = {
    "kind": "url-pattern",
    "pattern": "{site}/page/{{page}}.html",
    "startPage": 1,
    "endSelector": ".end",
}
UNGUARDED = AcceptancePolicy(guards=frozenset())
JSON = {"Content-Type": "application/json"}
Break = Callable[[Site], object]


def required(*names: str) -> list[dict[str, object]]:
    return [
        {"name": name, "read": read, "required": name in names} for name, read in FIELDS.items()
    ]


class Shop:
    """A shop that was read once; then it is broken, and read again."""

    def __init__(self, crawling: Crawling, site: Site, **changes: Any) -> None:
        self.crawling, self.site = crawling, site
        site.pages(shop(ITEMS))
        changes.setdefault("fields", required("name", "price"))
        pagination = changes.get("pagination", {})
        if "pattern" in pagination:
            pattern = pagination["pattern"].format(site=site.url)
            changes["pagination"] = {**pagination, "pattern": pattern}
        source = shop_source(site.at("/page/1.html"), **changes)
        self.dataset = crawling.create(source, allow=self.allow)
        run = crawling.run(self.dataset, allow=self.allow)
        assert run["status"] == "succeeded", run["error"]
        self.accepted = run["id"]

    @property
    def allow(self) -> str:
        return self.site.host

    def again(
        self,
        *,
        allow: str = "",
        timeout: float = 5.0,
        policy: AcceptancePolicy = AcceptancePolicy(),  # noqa: B008  (it is frozen)
    ) -> RunExplanation:
        """How the next Run is explained."""
        allow = allow or self.allow
        run = self.crawling.run(self.dataset, allow=allow, timeout=timeout, policy=policy)
        return explanation.explanation(
            self.crawling.store, "local", ids.RunId(ids.raw_id(run["id"]))
        )

    def rewrite(self, change: Callable[[str], str], items: list[Item] = ITEMS) -> None:
        """Change the markup of every page."""
        pages = shop(items)
        self.site.pages({path: change(body) for path, body in pages.items()})

    def everywhere(self, body: str, status: int = 200) -> None:
        """Every page becomes this one."""
        for path in shop(ITEMS):
            self.site.page(path, body, status=status)


def shown(cause: Problem) -> str:
    """The evidence of a cause, line by line."""
    return "\n".join(sentence(fact) for fact in cause.evidence)


def replaced(explained: RunExplanation) -> list[tuple[str, str, str]]:
    """What is suggested to be read otherwise, each with what it was and would be."""
    assert explained.suggestion is not None
    each = explained.suggestion["replaced"]
    return [(item["target"], item["before"], item["after"]) for item in each]


def first(explained: RunExplanation) -> str:
    """The code of the first cause; of a cause without evidence nobody learns anything."""
    assert explained.causes, explained
    cause = explained.causes[0]
    assert sentence(cause)
    assert all(sentence(fact) for fact in cause.evidence)
    assert cause.remedies
    assert all(advice(remedy) for remedy in cause.remedies)
    return cause_code(cause)


def test_renamed_items_are_named_and_found_again(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)
    broken.rewrite(lambda body: body.replace('class="product"', 'class="tile new"'))
    explained = broken.again()
    assert first(explained) == "items_gone"
    assert "last accepted Run found 12 items on 3 pages" in shown(explained.causes[0])
    assert explained.suggestion == {
        "records": 5,
        "searched": 5,
        "rows": 5,
        "replaced": [{"target": "itemSelector", "before": "li.product", "after": "li.tile"}],
        "lost": [],
    }


def test_a_dead_field_is_named_and_found_again(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)
    broken.rewrite(lambda body: body.replace('<span class="price">', '<b class="amount">'))
    explained = broken.again()
    assert first(explained) == "field_gone:price"
    assert replaced(explained) == [("price", ".price", "b.amount")]


def test_a_dead_optional_field_is_told_of_an_accepted_run(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site, fields=required("name"))
    broken.rewrite(lambda body: body.replace('class="price"', 'class="amount"'))
    explained = broken.again(policy=UNGUARDED)
    assert explained.status == "succeeded"
    assert first(explained) == "field_gone:price"


def test_a_field_that_moved_on_some_items(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)
    broken.rewrite(lambda body: body.replace('class="price">', 'class="sale">', 1))
    explained = broken.again()
    assert first(explained) == "field_partly_gone:price"
    assert sentence(explained.causes[0]) == (
        "3 of 12 items have no price: '.price' matches nothing there."
    )


def test_a_lost_next_link_is_told_although_the_run_was_complete(
    crawling: Crawling, site: Site
) -> None:
    broken = Shop(crawling, site)
    broken.rewrite(lambda body: body.replace('class="next"', 'class="more"'))
    explained = broken.again(policy=UNGUARDED)
    assert explained.status == "succeeded"
    assert first(explained) == "next_link_gone"


def test_a_lost_next_link_comes_before_the_mass_loss(crawling: Crawling, site: Site) -> None:
    many = some_items(30)
    site.pages(shop(many))
    source = shop_source(site.at("/page/1.html"))
    dataset = crawling.create({**source, "name": "many"}, allow=site.host)
    assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
    site.pages(shop(many, next_link=False))
    run = crawling.run(dataset, allow=site.host)
    assert run["status"] == "held"
    explained = explanation.explanation(crawling.store, "local", ids.RunId(ids.raw_id(run["id"])))
    assert [cause_code(cause) for cause in explained.causes] == ["next_link_gone", "mass_loss"]


def test_a_next_link_that_works_by_clicks_only(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)
    broken.rewrite(lambda body: body.replace('href="/page/2.html"', 'href="#"'))
    assert first(broken.again()) == "click_only"


@pytest.mark.parametrize("after", ["404", "empty", "repeat"])
def test_a_lost_end_marker(crawling: Crawling, site: Site, after: str) -> None:
    broken = Shop(crawling, site, pagination=PATTERN)
    pages = shop(ITEMS, end_marker=False)
    site.pages(pages)
    if after == "empty":
        site.page("/page/4.html", shop([])["/"].replace('class="end"', ""))
    if after == "repeat":
        site.page("/page/4.html", pages["/page/3.html"])
    assert first(broken.again()) == "end_marker_gone"


def test_a_server_that_repeats_an_early_page(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site, pagination=PATTERN)
    site.pages(shop(ITEMS, end_marker=False))
    site.page("/page/2.html", shop(ITEMS, end_marker=False)["/page/1.html"])
    assert first(broken.again()) == "repeated_page"


WALLS = {
    "challenge": "<title>Just a moment...</title><p>Checking your browser before you go on.</p>",
    "consent": "<title>Before you continue</title><p>We and our partners use cookies.</p>"
    "<button>Accept all</button>",
    "login": "<title>Welcome</title><form><input name=u><input type=password name=p></form>",
    "no_results": "<title>Shop</title><h1>Everything</h1><p>No products were found.</p>",
}


@pytest.mark.parametrize("wall", WALLS)
def test_a_page_that_is_something_else_now(crawling: Crawling, site: Site, wall: str) -> None:
    broken = Shop(crawling, site)
    broken.everywhere(f"<!doctype html><html><body>{WALLS[wall]}</body></html>")
    assert first(broken.again()) == wall


def test_a_list_that_scripts_make_now(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)
    data = ",".join(f'{{"name":"{item.name}"}}' for item in ITEMS)
    broken.everywhere(
        "<!doctype html><title>Shop</title><body><div id=root></div>"
        f"<script>window.__DATA__=[{data}]</script><script src=/app.js></script></body>"
    )
    explained = broken.again()
    assert first(explained) == "scripted"
    render = Remedy("set_option", {"name": "render", "value": "browser"})
    assert explained.causes[0].remedies[0] == render


def test_an_empty_key(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)
    broken.rewrite(lambda body: body.replace("data-sku", "data-id"))
    explained = broken.again()
    assert first(explained) == "key_empty:sku"
    before, after = "(the item itself) @data-sku", "(the item itself) @data-id"
    assert replaced(explained) == [("sku", before, after)]


def test_a_key_that_variants_share(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)
    twin = replace(ITEMS[0], name=f"{ITEMS[0].name}, red", price="£1.00")
    site.pages(shop([ITEMS[0], twin, *ITEMS[1:]]))
    explained = broken.again()
    assert first(explained) == "key_shared"
    assert "name, price" in sentence(explained.causes[0])


def test_numbers_in_another_format(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)
    site.pages(shop([replace(item, price="from 3 to 9") for item in ITEMS]))
    explained = broken.again()
    assert first(explained) == "field_format:price"
    assert "'from 3 to 9'" in sentence(explained.causes[0])


def test_a_site_that_moved_to_another_host(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)
    with Site() as other:
        other.page("/", "<!doctype html><title>New shop</title><p>Welcome to our new shop.</p>")
        for path in shop(ITEMS):
            site.route(path, faults.redirect(other.at("/")))
        explained = broken.again(allow=f"{site.host},{other.host}")
    assert first(explained) == "moved_host"


def test_robots_txt_that_forbids_now(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)
    site.page("/robots.txt", "User-agent: *\nDisallow: /", content_type="text/plain")
    explained = broken.again()
    assert first(explained) == "robots_disallowed"
    assert explained.page is None


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (404, "page_gone"),
        (410, "page_gone"),
        (500, "site_error"),
        (401, "no_access"),
        (403, "forbidden"),
        (429, "rate_limited"),
        (418, "http_error"),
    ],
)
def test_a_first_page_that_is_an_error(
    crawling: Crawling, site: Site, status: int, code: str
) -> None:
    broken = Shop(crawling, site)
    site.route("/page/1.html", faults.status(status))
    explained = broken.again()
    assert first(explained) == code
    assert explained.page is not None
    assert (explained.page["status"], explained.page["counts"]) == (status, None)


OTHER_FAILURES: Mapping[str, Break] = {
    "timeout": lambda site: site.route("/page/1.html", faults.never()),
    "challenge": lambda site: site.route("/page/1.html", faults.challenge()),
    "empty_body": lambda site: site.route("/page/1.html", faults.empty()),
    "connection_reset": lambda site: site.route("/page/1.html", faults.reset()),
    "invalid_content": lambda site: site.route(
        "/page/1.html", faults.fixed(body="{}", headers=JSON)
    ),
    "unsafe_target": lambda site: site.route(
        "/page/1.html", faults.redirect("http://127.0.0.1:9/")
    ),
    "next_page_gone": lambda site: site.remove("/page/3.html"),
}


@pytest.mark.parametrize("code", OTHER_FAILURES)
def test_a_page_that_cannot_be_read(crawling: Crawling, site: Site, code: str) -> None:
    broken = Shop(crawling, site)
    OTHER_FAILURES[code](site)
    assert first(broken.again(timeout=1 if code == "timeout" else LONG)) == code


def test_what_has_causes_of_many_kinds_is_told_as_the_failure_tells_it(
    crawling: Crawling, site: Site
) -> None:
    broken = Shop(crawling, site)
    site.route("/page/1.html", faults.redirect_loop())
    [cause] = broken.again().causes
    assert cause_code(cause) == "limit_exceeded"
    assert sentence(cause) == "It redirects more often than a Run follows."
    assert [advice(remedy) for remedy in cause.remedies] == [
        "Open it in a browser to see where it leads"
    ]


def test_the_markup_of_a_site_does_not_decide_what_is_said(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)
    odd = 'href="http://127.0.0.1:1/a: b; c d"'
    broken.rewrite(lambda body: body.replace('href="/page/2.html"', odd))
    cause = broken.again().causes[0]
    assert cause_code(cause) == "unsafe_target"
    assert sentence(cause) == "The address of 127.0.0.1:1 is private."
    assert cause.remedies[0] == Remedy("allow_host", {"host": "127.0.0.1:1"})


def test_a_redirect_to_the_login(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)
    site.route("/page/1.html", faults.login_redirect())
    site.route("/login", faults.login_page())
    assert first(broken.again()) == "login_redirect"


@pytest.mark.parametrize(
    ("limit", "code"), [({"maxPages": 3}, "max_pages"), ({"maxItems": 12}, "max_items")]
)
def test_a_list_that_outgrew_its_limits(
    crawling: Crawling, site: Site, limit: dict[str, int], code: str
) -> None:
    broken = Shop(crawling, site, **limit)
    site.pages(shop(some_items(20)))
    assert first(broken.again()) == code


MANY = some_items(24)


@pytest.mark.parametrize(
    ("items", "code"),
    [
        (MANY[:6], "fewer_items"),
        ([replace(item, sku=f"new-{item.sku}") for item in MANY], "keys_changed"),
    ],
)
def test_a_mass_loss(crawling: Crawling, site: Site, items: list[Item], code: str) -> None:
    site.pages(shop(MANY, per_page=30))
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    crawling.run(dataset, allow=site.host)
    site.pages(shop(items, per_page=30))
    run = crawling.run(dataset, allow=site.host)
    assert run["status"] == "held"
    explained = explanation.explanation(crawling.store, "local", ids.RunId(ids.raw_id(run["id"])))
    assert first(explained) == code
    assert explained.page is not None


def test_missing_credits(crawling: Crawling, site: Site, store: Store) -> None:
    broken = Shop(crawling, site)
    with store.writing() as writer:
        writer.execute("UPDATE owners SET balance = 1")
    assert first(broken.again()) == "credits"


def test_a_run_in_which_nothing_is_odd(crawling: Crawling, site: Site) -> None:
    explained = Shop(crawling, site).again()
    assert (explained.causes, explained.suggestion, explained.page) == ([], None, None)


def test_a_first_run_without_items_has_nothing_to_compare_with(
    crawling: Crawling, site: Site
) -> None:
    site.page("/", "<!doctype html><title>Shop</title><p>Welcome to this fine little shop.</p>")
    dataset = crawling.create(shop_source(site.at("/")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    explained = explanation.explanation(crawling.store, "local", ids.RunId(ids.raw_id(run["id"])))
    assert (first(explained), explained.compared_with) == ("items_gone", None)


def test_a_later_page_without_items(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)
    site.page("/page/2.html", "<!doctype html><title>Shop</title><p>Please come again soon.</p>")
    explained = broken.again()
    assert first(explained) == "empty_page"
    assert explained.page is not None
    assert explained.page["number"] == 2


def test_an_answer_without_a_body_that_can_be_shown(crawling: Crawling, site: Site) -> None:
    broken = Shop(crawling, site)

    def secret(request: Request) -> Answer:
        return Answer(403, f"no {request.headers['user-agent']}", {"Set-Cookie": "session=s3cret"})

    site.route("/page/1.html", secret)
    explained = broken.again()
    page = explanation.failed_page(crawling.store, "local", ids.RunId(ids.raw_id(explained.run)))
    assert "s3cret" not in repr(page)
