"""Checks: their order, when they are there, and what they say."""

from __future__ import annotations

from typing import Any

import pytest

from livedata.model.ids import DatasetId
from livedata.model.run import CheckResult, Run
from livedata.services import queries
from tests import faults
from tests.crawling import FIELDS, Crawling, shop_source
from tests.runs.test_pagination_none import failed_checks, listing
from tests.shop import Item, page, row, some_items
from tests.site import Site

pytestmark = pytest.mark.one_database

ALWAYS = ["coverage", "identity", "extraction", "minimum-items"]
NOTHING = {"new": 0, "changed": 0, "gone": 0}


def requiring(url: str, *names: str, **changes: Any) -> dict[str, Any]:
    fields = [
        {"name": name, "read": read, "required": name in names} for name, read in FIELDS.items()
    ]
    return shop_source(url, fields=fields, **changes)


def field_id(crawling: Crawling, dataset: DatasetId, name: str) -> str:
    columns = queries.dataset(crawling.store, "local", dataset)["columns"]
    return next(column["id"] for column in columns if column["name"] == name)


def items(*rows: Item) -> str:
    return f"<ul>{''.join(map(row, rows))}</ul>"


def check(run: Run, check_id: str) -> CheckResult:
    return next(check for check in run["checks"] if check["checkId"] == check_id)


def test_the_four_come_first_then_the_required_fields_by_column(
    crawling: Crawling, site: Site
) -> None:
    site.page("/", listing("ab"))
    body = requiring(site.at("/"), "price", "name")
    body["source"]["fields"].reverse()
    dataset = crawling.create(body, allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    wanted = [f"present:{field_id(crawling, dataset, name)}" for name in ("name", "price")]
    assert run["checks"] == [{"checkId": check, "passed": True} for check in [*ALWAYS, *wanted]]
    assert run["error"] is None


def test_all_checks_stand_also_where_one_fails(crawling: Crawling, site: Site) -> None:
    site.page("/", listing("ab"))
    dataset = crawling.create(requiring(site.at("/"), "price", minimumItems=3), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    price = f"present:{field_id(crawling, dataset, 'price')}"
    assert [check["checkId"] for check in run["checks"]] == [*ALWAYS, price]
    assert failed_checks(run) == ["minimum-items"]
    assert run["error"] == check(run, "minimum-items").get("message")
    assert run["rowDeltas"] == NOTHING


@pytest.mark.parametrize(("price", "seen"), [("", "found nothing"), ("on request", "on request")])
def test_a_required_cell_that_is_empty_or_cannot_be_read_is_found_again_by_its_message(
    crawling: Crawling, site: Site, price: str, seen: str
) -> None:
    site.page("/1", page(1, some_items(3), "/2", end=False))
    site.page("/2", items(Item("x", "Lamp", "£1"), Item("y", "Mug", price)))
    dataset = crawling.create(requiring(site.at("/1"), "price"), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    wanted = f"present:{field_id(crawling, dataset, 'price')}"
    assert (run["status"], failed_checks(run)) == ("failed", [wanted])
    message = check(run, wanted).get("message", "")
    assert f"item 2 of page 2 ({site.at('/2')})" in message
    assert "1 of 5 rows" in message
    assert seen in message


def test_an_optional_cell_that_cannot_be_read_fails_nothing(crawling: Crawling, site: Site) -> None:
    site.page("/", items(Item("x", "Lamp", "on request", "who knows")))
    run = crawling.run(crawling.create(shop_source(site.at("/")), allow=site.host), allow=site.host)
    assert (run["status"], failed_checks(run)) == ("succeeded", [])


def test_minimum_items_counts_distinct_rows(crawling: Crawling, site: Site) -> None:
    site.page("/", listing("aab"))
    dataset = crawling.create(shop_source(site.at("/"), minimumItems=3), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert (run["status"], failed_checks(run)) == ("failed", ["minimum-items"])
    assert "2 of at least 3" in str(run["error"])


def test_a_record_without_its_key_fails_identity_and_is_found_again(
    crawling: Crawling, site: Site
) -> None:
    site.page("/", items(Item("x", "Lamp", "£1"), Item("", "Mug", "£2")))
    run = crawling.run(crawling.create(shop_source(site.at("/")), allow=site.host), allow=site.host)
    assert (run["status"], failed_checks(run)) == ("failed", ["identity"])
    assert f"item 2 of page 1 ({site.at('/')})" in str(run["error"])


def test_one_key_with_two_records_fails_identity_and_names_both_places(
    crawling: Crawling, site: Site
) -> None:
    site.page("/1", page(1, [Item("x", "Lamp", "£1")], "/2", end=False))
    site.page("/2", items(Item("y", "Mug", "£2"), Item("x", "Lamp", "£3")))
    dataset = crawling.create(shop_source(site.at("/1")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert (run["status"], failed_checks(run)) == ("failed", ["identity"])
    assert f"item 1 of page 1 ({site.at('/1')})" in str(run["error"])
    assert f"item 2 of page 2 ({site.at('/2')})" in str(run["error"])


def test_one_key_with_equal_records_is_one_row(crawling: Crawling, site: Site) -> None:
    site.page("/", listing("aba"))
    run = crawling.run(crawling.create(shop_source(site.at("/")), allow=site.host), allow=site.host)
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2)


def test_a_key_that_differs_by_white_space_and_form_only_is_one_key(
    crawling: Crawling, site: Site
) -> None:
    site.page("/", items(Item("caf\u00e9", "Lamp", "£1"), Item(" cafe\u0301 ", "Mug", "£1")))
    run = crawling.run(crawling.create(shop_source(site.at("/")), allow=site.host), allow=site.host)
    assert failed_checks(run) == ["identity"]


def test_a_blocked_run_has_no_checks(crawling: Crawling, site: Site) -> None:
    site.route("/", faults.status(403))
    run = crawling.run(crawling.create(shop_source(site.at("/")), allow=site.host), allow=site.host)
    assert (run["status"], run["checks"], run["rowDeltas"]) == ("blocked", [], NOTHING)
    assert run["error"]


def test_failed_comes_before_held(crawling: Crawling, site: Site) -> None:
    site.page("/", items(Item("x", "Lamp", "£1"), Item("", "Mug", "£2"), Item("z", "Cup", "£2")))
    dataset = crawling.create(shop_source(site.at("/"), maxItems=1), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    assert (run["status"], failed_checks(run)) == ("failed", ["coverage", "identity"])
    assert crawling.story(run).stop["rule"] == "check_failed"
    assert "key" in str(run["error"])


@pytest.mark.parametrize(
    ("more", "status"), [("", "succeeded"), ('<a class="next" href="/gone">n</a>', "failed")]
)
def test_error_is_null_and_deltas_are_not_zero_only_where_a_run_succeeded(
    crawling: Crawling, site: Site, more: str, status: str
) -> None:
    site.page("/", listing("ab", more))
    run = crawling.run(crawling.create(shop_source(site.at("/")), allow=site.host), allow=site.host)
    assert run["status"] == status
    assert (run["error"] is None) is (status == "succeeded")
    assert (run["rowDeltas"] == NOTHING) is (status != "succeeded")
    assert run["startedAt"] is not None
    assert run["completedAt"] is not None
