"""A dead selector is mended by a new recipe version; rows and history stay."""

from __future__ import annotations

import re
from typing import Any

import pytest

from livedata.messages.validation import read
from livedata.model.errors import Invalid, RunInProgress
from livedata.model.ids import DatasetId
from livedata.model.requests import CreateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets, feed, queries, runs
from livedata.services.audit.check import check_store
from tests.crawling import Crawling, shop_source
from tests.shop import shop, some_items
from tests.site import Site


def revise(
    crawling: Crawling, dataset: DatasetId, declared: dict[str, Any], allow: str
) -> int | None:
    body = read(CreateDataset, declared)
    return datasets.revise(
        crawling.store, "local", dataset, body, TargetPolicy.parse(allow)
    ).version


def test_a_mended_selector_reads_the_same_rows_on(crawling: Crawling, site: Site) -> None:
    site.pages(shop(some_items(6)))
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    crawling.run(dataset, allow=site.host)
    redesigned = shop(some_items(6))
    site.pages({path: page.replace('"product"', '"card"') for path, page in redesigned.items()})
    assert crawling.run(dataset, allow=site.host)["status"] == "failed"
    mended = shop_source(site.at("/page/1.html"), itemSelector="li.card")
    assert revise(crawling, dataset, mended, site.host) == 2
    run = crawling.run(dataset, allow=site.host)
    assert run["status"] == "succeeded", run["error"]
    assert run["rowDeltas"] == {"new": 0, "changed": 0, "gone": 0}
    assert feed.head(crawling.store, "local", dataset) == 6


def composite(site: Site) -> dict[str, Any]:
    """The shop's declaration with another identity."""
    declared = shop_source(
        site.at("/page/1.html"), identity={"kind": "composite", "fields": ["name", "sku"]}
    )
    declared["columns"][1] = {**declared["columns"][1], "key": True}
    return declared


def test_another_identity_is_refused_in_the_words_of_the_source(
    crawling: Crawling, site: Site
) -> None:
    site.pages(shop(some_items(6)))
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    crawling.run(dataset, allow=site.host)
    stays = re.escape('source.identity must stay { kind = "source-key", field = "sku" }, or every')
    with pytest.raises(Invalid, match=stays):
        revise(crawling, dataset, composite(site), site.host)


def test_a_dataset_without_rows_takes_another_identity(crawling: Crawling, site: Site) -> None:
    site.pages(shop(some_items(6)))
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    assert revise(crawling, dataset, composite(site), site.host) == 2
    answer = queries.dataset(crawling.store, "local", dataset)
    assert [column["name"] for column in answer["columns"] if column["key"]] == ["sku", "name"]
    assert answer["schemaVersion"] == 2
    assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
    row = queries.rows(crawling.store, "local", dataset, 1)[0][0]
    assert row["rowKey"].startswith('["')
    assert check_store(crawling.store).problems == []


def test_an_open_run_keeps_the_identity_that_it_began_with(crawling: Crawling, site: Site) -> None:
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    runs.enqueue(crawling.store, "local", dataset)
    with pytest.raises(RunInProgress, match="let it end, then change the identity"):
        revise(crawling, dataset, composite(site), site.host)


def test_another_type_is_refused(crawling: Crawling, site: Site) -> None:
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    other = shop_source(site.at("/page/1.html"))
    other["columns"][2] = {"name": "price", "type": "string"}
    with pytest.raises(Invalid, match=r'columns\[2\].type must stay "number", not become "string"'):
        revise(crawling, dataset, other, site.host)
