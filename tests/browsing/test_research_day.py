"""What the page of usage says of the day of research, and of its budget."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from livedata.api import close_app, create_app
from livedata.model.research.settings import ResearchSettings
from livedata.pages import add_pages
from livedata.services.research import days
from tests.browsing.visitor import Visitor

if TYPE_CHECKING:
    from livedata.store.database.store import Store

pytestmark = pytest.mark.one_database


def test_the_budget_of_the_day_stands_beside_what_research_has_used_of_it(
    store: Store,
) -> None:
    def told(settings: ResearchSettings) -> tuple[str, Any]:
        application = create_app(store, research=settings)
        add_pages(application)
        visitor = Visitor.meet(application, store, "alice")
        page = visitor.get("/usage")
        said = re.search(r"<p>Of today research (.*?)</p>", page)
        today = visitor.as_json("/usage")["researchToday"]
        close_app(application)
        return re.sub("<[^>]+>", "", said[1]) if said else "", today

    unlimited = ResearchSettings()
    assert told(unlimited)[0] == ""
    days.set_aside(store, "alice", unlimited, 49_000, 0.126)
    assert told(unlimited)[0].startswith(
        "has used 49000 tokens and 0.13 US dollars; the next day begins "
    )
    said, today = told(ResearchSettings(research_tokens_a_day=50_000, research_usd_a_day=2.5))
    assert said.startswith("has used 49000 of 50000 tokens and 0.13 of 2.50 US dollars; the next")
    assert said.endswith("A Run that would need more than is left asks no model and says so.")
    assert (today["tokens"], today["most_tokens"], today["most_usd"]) == (49_000, 50_000, 2.5)
