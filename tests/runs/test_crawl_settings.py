"""The settings of a crawl: what all of one worker share, and what a browser waits for."""

from __future__ import annotations

import pytest

from livedata.messages.validation import read
from livedata.model.ids import RunId, raw_id
from livedata.model.recipe import Recipe
from livedata.model.requests import CreateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import attempts, runs
from spiders.cli.trial import trial_recipe
from spiders.crawl.settings import FetchConfig, settings_for
from tests.crawling import Crawling, shop_source
from tests.runs.test_pagination_none import SINGLE, listing
from tests.site import Site

pytestmark = pytest.mark.one_database


def test_a_crawl_leaves_the_settings_of_all_others_as_they_were(
    crawling: Crawling, site: Site
) -> None:
    site.page("/a", listing("a"))
    source = shop_source(site.at("/a"), pagination=SINGLE)
    dataset = crawling.create(source, allow=site.host)
    run, _ = runs.enqueue(crawling.store, "local", dataset)
    attempt = attempts.begin(crawling.store, RunId(raw_id(run)))
    assert attempt is not None
    assert isinstance(attempt.recipe, Recipe)
    attempts.give_back(crawling.store, attempt)
    fetching = FetchConfig(TargetPolicy.parse(site.host), "livedata-tests", timeout=5.0)
    settings = settings_for(attempt.recipe, fetching)
    before = dict(settings)
    for _ in range(2):
        assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
    assert settings_for(attempt.recipe, fetching) is settings
    assert dict(settings) == before
    assert not settings.frozen


AWAITED = [
    ("tr[livedata-row='data']", "tr"),
    ("ul > tr[livedata-row=data][id] > [livedata-index='2']", "ul > tr[id] > *"),
    ("li.product", "li.product"),
    ("li[data-livedata-row]", "li[data-livedata-row]"),
]


@pytest.mark.parametrize(("selector", "awaited"), AWAITED)
def test_a_browser_does_not_wait_for_what_is_derived(selector: str, awaited: str) -> None:
    def words(**changes: object) -> dict[str, str]:
        body = read(
            CreateDataset, shop_source("https://shop.example/1", render="browser", **changes)
        )
        recipe = trial_recipe(body, TargetPolicy())
        settings = settings_for(recipe, FetchConfig(TargetPolicy(), "livedata-tests"))
        return dict(settings["LIVEDATA_AWAITED"])

    following = {"kind": "next-link", "selector": selector}
    assert words(itemSelector=selector)["items"] == awaited
    assert words(pagination=following)["next"] == awaited
    # A marker that says less than it should would end the wait for items.
    numbers = {
        "kind": "url-pattern",
        "pattern": "https://shop.example/{page}",
        "startPage": 1,
        "endSelector": selector,
    }
    assert words(pagination=numbers)["end"] == ("" if awaited != selector else selector)
