"""Crawls of one worker share the settings that are alike for all."""

from __future__ import annotations

import pytest

from livedata.model.ids import RunId, raw_id
from livedata.model.recipe import Recipe
from livedata.rules.network.targets import TargetPolicy
from livedata.services import attempts, runs
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
