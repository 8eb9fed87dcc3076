"""The settings of research come from the environment or the file, and a wrong one is named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from livedata import config
from livedata.model.errors import Invalid
from livedata.model.research.settings import ResearchSettings


def research(home: Path, **variables: str) -> ResearchSettings:
    given = {f"LIVEDATA_{name.upper()}": value for name, value in variables.items()}
    return config.load({"LIVEDATA_HOME": str(home), **given}).research


def test_nothing_set_is_no_model_and_no_search(tmp_path: Path) -> None:
    assert research(tmp_path) == ResearchSettings()


def test_each_setting_is_read_from_the_environment(tmp_path: Path) -> None:
    assert research(
        tmp_path,
        model="qwen",
        model_base_url="http://127.0.0.1:11434/v1/",
        model_api_key="sk-1",
        model_output="Prompted",
        model_price_in="0.5",
        model_price_out="2",
        model_seconds="30",
        search="searxng",
        search_url="http://127.0.0.1:8080",
        search_key="k",
        research_seconds="600",
    ) == ResearchSettings(
        "qwen",
        "http://127.0.0.1:11434/v1",
        "sk-1",
        "prompted",
        0.5,
        2.0,
        30.0,
        "searxng",
        "http://127.0.0.1:8080",
        "k",
        600.0,
    )


def test_each_setting_is_read_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        'model = "m"\nsearch = "tavily"\nmodel_price_in = 1\nmodel_price_out = 2.5\n'
    )
    settings = research(tmp_path)
    assert (settings.model, settings.search) == ("m", "tavily")
    assert (settings.model_price_in, settings.model_price_out) == (1.0, 2.5)
    assert settings.has_prices


WRONG: dict[str, tuple[Mapping[str, str], str]] = {
    "an output that is none": (
        {"model_output": "json"},
        'must be "native", "object", "tool" or "prompted"',
    ),
    "a search that is none": ({"search": "google"}, '"tavily", "searxng", "brave" or "none"'),
    "an address that is none": ({"model_base_url": "localhost"}, "LIVEDATA_MODEL_BASE_URL must be"),
    "a password in an address": ({"search_url": "http://u:p@h"}, "without a user"),
    "a key of two lines": ({"model_api_key": "a\nb"}, "LIVEDATA_MODEL_API_KEY must be a key"),
    "a negative price": ({"model_price_in": "-1"}, "LIVEDATA_MODEL_PRICE_IN must be a number"),
    "half a price": ({"model_price_in": "1"}, "LIVEDATA_MODEL_PRICE_OUT"),
    "a day too short for a question": (
        {"research_tokens_a_day": "1000"},
        "LIVEDATA_RESEARCH_TOKENS_A_DAY must be a number from 50000",
    ),
    "money for a day without a price": ({"research_usd_a_day": "2"}, "MODEL_PRICE_IN"),
    "no time at all": ({"model_seconds": "0"}, "LIVEDATA_MODEL_SECONDS must be a number from 1"),
    "SearXNG without its address": ({"search": "searxng"}, "LIVEDATA_SEARCH_URL must name"),
    "Brave without its key": ({"search": "brave"}, "LIVEDATA_SEARCH_KEY must hold"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_setting_is_named_and_no_secret_repeated(name: str, tmp_path: Path) -> None:
    variables, words = WRONG[name]
    with pytest.raises(Invalid) as error:
        research(tmp_path, **variables)
    assert words in error.value.message
    assert "u:p" not in error.value.message


def test_the_settings_show_neither_keys_nor_addresses(tmp_path: Path) -> None:
    settings = config.load(
        {
            "LIVEDATA_HOME": str(tmp_path),
            "LIVEDATA_MODEL_API_KEY": "sk-secret",
            "LIVEDATA_SEARCH_KEY": "tvly-secret",
        }
    )
    assert "secret" not in f"{settings!r} {settings.research!r} {settings.research}"
