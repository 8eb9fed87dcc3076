"""The commands that tell what the research of an owner has used of a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from livedata.model.research.settings import ResearchSettings
from livedata.services.research import days
from livedata.store.research.usage import note_stop
from tests.cli.shell import lines

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

pytestmark = pytest.mark.one_database

PRICED = {"LIVEDATA_MODEL_PRICE_IN": "1", "LIVEDATA_MODEL_PRICE_OUT": "2"}


@pytest.fixture
def used(store: Store, monkeypatch: pytest.MonkeyPatch) -> str:
    """Today, of which `local` has used a part, and whose budget has stopped two Runs."""
    for name, value in {**PRICED, "LIVEDATA_RESEARCH_TOKENS_A_DAY": "50000"}.items():
        monkeypatch.setenv(name, value)
    days.set_aside(store, "local", ResearchSettings(), 49_000, 0.126)
    today = days.of_owner(store, "local", ResearchSettings()).day
    with store.writing() as writer:
        for _ in range(2):
            note_stop(writer, "local", today)
    return today


def test_usage_says_what_research_has_used_of_the_day(livedata: Shell, used: str) -> None:
    told = livedata.out("usage")
    assert "research today  49,000 of 50,000 tokens, $0.13, until " in told
    day = livedata.json("usage")["research"]
    assert day.pop("renewsAt") > used
    assert day == {
        "day": used,
        "tokens": 49_000,
        "tokensADay": 50_000,
        "usd": 0.126,
        "usdADay": None,
    }


def test_who_does_no_research_is_not_told_of_it(livedata: Shell) -> None:
    assert "research" not in livedata.out("usage")
    assert "research today" not in livedata.out("doctor")
    assert livedata.json("doctor")["research"] == []


def test_doctor_says_whose_day_has_stopped_runs(livedata: Shell, used: str) -> None:
    told = livedata("doctor", code=9).stdout
    assert ["research", "today", "local", "49,000", "of", "50,000"] in [
        line[:6] for line in lines(told)
    ]
    assert "- The budget of the day has stopped 2 Runs of research of local, which has used" in told
    assert "LIVEDATA_RESEARCH_TOKENS_A_DAY" in told
    answer = livedata("doctor", "--json", code=9).stdout
    assert f'"day": "{used}"' in answer.replace('":"', '": "')


def test_a_limit_of_money_needs_a_price(livedata: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVEDATA_RESEARCH_USD_A_DAY", "2.5")
    assert "what the model costs must be known" in livedata.error("usage")
    for name, value in PRICED.items():
        monkeypatch.setenv(name, value)
    assert "$0.00 of $2.50" in livedata.out("usage")
