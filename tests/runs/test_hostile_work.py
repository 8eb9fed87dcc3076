"""No page and no selector stalls a worker: whatever is read, others go on meanwhile."""

from __future__ import annotations

import threading
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from livedata.model import ids
from livedata.services import queries, runs
from spiders.crawl.spider import SourceSpider
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.hostile import Attack, attacks
from tests.hostile_runs import HELD, SPENT, WAITED, run_beside, seconds
from tests.made import meet_owner
from tests.patience import until
from tests.runs.test_pagination_none import SINGLE, listing
from tests.runs.test_refusals import read_failures
from tests.runs.test_worker import working
from tests.site import Site

pytestmark = [pytest.mark.timed, pytest.mark.one_database]

ATTACKS = dict(attacks())
BUSY = 2.5
"""How much longer all may take than `tests.hostile_runs` allows on a quiet machine.

Without the budget of work such pages took 30 s and more.
"""
PLACES = (" as items", " as field", " as next link", " as end marker")


def is_lesser(name: str) -> bool:
    """Whether another attack costs more of the same work, or is the same in another place.

    `python -m tests.hostile_runs` tries these too.
    """
    # Each selector is tried in the most fields, and one of them in every place.
    in_a_place = name.endswith(PLACES) and not name.startswith("stars as")
    return in_a_place or (name.startswith(("text:", "numbers:")) and name != "text: breaks")


IN_A_WORKER = ("stars as fields", "stars as next link", "text: breaks", "texts: words", "items")


@pytest.mark.parametrize("name", [name for name in ATTACKS if not is_lesser(name)])
def test_another_run_goes_on_beside(crawling: Crawling, name: str) -> None:
    busy = run_beside(crawling, ATTACKS[name])
    assert busy.other["status"] == "succeeded", busy.other["error"]
    reasons = {failure[0] for failure in read_failures(crawling.store, busy.hostile)}
    assert reasons <= {"limit_exceeded"}
    assert busy.held < BUSY * HELD
    assert busy.spent < BUSY * SPENT
    assert busy.waited < BUSY * WAITED


def test_the_links_of_a_last_page_are_counted(crawling: Crawling, site: Site) -> None:
    site.pages({"/1": listing("ab", "<a class=next href=/2>Next</a>"), "/2": listing("c")})
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
    links = "".join(f"<a class=x href='/2?{'a&' * 12_000}a{number}'></a>" for number in range(200))
    site.page("/1", listing("ab") + links)
    began = process_time()
    run = crawling.run(dataset, allow=site.host)
    assert process_time() - began < BUSY * SPENT
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["limit_exceeded"]


def test_a_redirect_to_no_host_is_not_taken_apart(crawling: Crawling, site: Site) -> None:
    marks = "a" + "\u0301\u0323" * 50_000
    site.route("/1", faults.redirect(f"http://{marks}.test/"))
    dataset = crawling.create(shop_source(site.at("/1"), pagination=SINGLE), allow=site.host)
    began = process_time()
    run = crawling.run(dataset, allow=site.host)
    assert process_time() - began < BUSY * SPENT
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["http_error"]


def test_the_selector_is_named(crawling: Crawling, site: Site) -> None:
    attack = ATTACKS["every element an item"]
    site.page("/", attack.markup)
    dataset = crawling.create(attack.declared(site.at("/")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert run["status"] == "failed"
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["limit_exceeded"]
    assert "the selector '*' takes more than" in str(run["error"])
    assert "1,250,000 steps" in str(run["error"])
    assert crawling.remedies(run) == ["narrow_selector", "choose_smaller_page"]


@pytest.mark.parametrize("name", IN_A_WORKER)
def test_a_worker_finishes_anothers_run_within_two_seconds(
    crawling: Crawling,
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    attack = ATTACKS[name]
    site.page("/", attack.markup)
    with Site() as other:
        other.page("/", listing("ab"))
        allow = f"{site.host},{other.host}"
        hostile = crawling.create(attack.declared(site.at("/")), allow=allow)
        good = {**shop_source(other.at("/"), pagination=SINGLE), "name": "good"}
        meet_owner(crawling.store, "another", 1000)
        dataset = crawling.create(good, allow=allow, owner="another")
        with working(tmp_path, allow, monkeypatch):
            runs.enqueue(crawling.store, "local", hostile)
            until(lambda: "/" in site.paths)
            run = ids.RunId(ids.raw_id(runs.enqueue(crawling.store, "another", dataset)[0]))
            until(lambda: queries.run(crawling.store, "another", run)["status"] == "succeeded")
        done = queries.run(crawling.store, "another", run)
    assert seconds(done) < BUSY * WAITED


def rows_read(crawling: Crawling, site: Site, attack: Attack) -> int:
    """How many rows an accepted Run of a page finds."""
    site.page("/", attack.markup)
    dataset = crawling.create(attack.declared(site.at("/")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert run["status"] == "succeeded", run["error"]
    return run["rowDeltas"]["new"]


@pytest.mark.parametrize("selector", ["li span.value.f{}", "ul li.item span.value.f{}", ".f{}"])
def test_the_largest_honest_page_is_read(crawling: Crawling, site: Site, selector: str) -> None:
    """1,000 items of 50 fields on 5 MB."""
    spans = "".join(
        f'<span class="value f{n} text-sm font-medium text-gray-900" title="{n}">x {n}</span>'
        for n in range(49)
    )
    items = "".join(f"<li class=item id=i{n}>{spans}</li>" for n in range(1000))
    fields = tuple(selector.format(n) for n in range(49))
    attack = Attack(f"<!doctype html><ul>{items}</ul>", fields=fields)
    assert 3_900_000 < len(attack.markup) < 5 << 20
    assert rows_read(crawling, site, attack) == 1000


def test_a_page_with_one_long_article_is_read(crawling: Crawling, site: Site) -> None:
    """9,000 paragraphs on 5 MB."""
    words = "lorem ipsum dolor sit amet consectetur " * 6
    paragraph = f"<p class=text>{words}<a href='/about'>a link</a> {words}<b>x</b></p>"
    body = paragraph * 9000
    markup = f"<!doctype html><div class=item id=a><h1>A title</h1><div>{body}</div></div>"
    assert 4_600_000 < len(markup) < 5 << 20
    attack = Attack(markup, item="div.item", fields=("h1", "div > p", "p a", None))
    assert rows_read(crawling, site, attack) == 1


def test_the_marks_in_keys_are_counted(crawling: Crawling, site: Site) -> None:
    marks = ("a" + "\u0323\u0302\u0301\u0328" * 7) * 1_030
    items = "".join(f"<li class=product data-sku='{number}{marks}'></li>" for number in range(80))
    site.page("/1", items)
    dataset = crawling.create(shop_source(site.at("/1"), pagination=SINGLE), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert [failure[0] for failure in read_failures(crawling.store, run)] == ["limit_exceeded"]


@pytest.mark.parametrize("name", ["text: comments", "wall: titles"])
def test_what_is_kept_of_a_page_that_failed_is_cut_beside_the_loop(
    crawling: Crawling, site: Site, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    keep = SourceSpider._keep
    threads = []

    def noted(spider: SourceSpider, *given: Any) -> None:
        threads.append(threading.current_thread())
        keep(spider, *given)

    monkeypatch.setattr(SourceSpider, "_keep", noted)
    attack = ATTACKS[name]
    site.page("/", attack.markup, status=200 if attack.item == ".item" else 403)
    dataset = crawling.create(attack.declared(site.at("/")), allow=site.host)
    assert crawling.run(dataset, allow=site.host)["status"] != "succeeded"
    assert threads
    assert threading.main_thread() not in threads
