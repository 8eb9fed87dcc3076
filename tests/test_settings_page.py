"""docs/settings.md has every setting, with its key and its default."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields
from typing_extensions import override

from livedata.config import Settings, load
from livedata.model.research.settings import ResearchSettings

PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"
SETTINGS = {
    **{field.name: field.default for field in fields(Settings) if field.name != "research"},
    **{field.name: field.default for field in fields(ResearchSettings)},
}
IN_WORDS = {
    "home",
    "database_url",
    "user_agent",
    "guards",
    "model_base_url",
    "browser",
    "search_url",
    *("owner_datasets", "owner_runs", "owner_requests"),
}
"""What the page says of these is made when livedata starts, or is put otherwise."""


def line_of(setting: str) -> str:
    """The line of the page about a setting; "" if there is none."""
    variable = f"`LIVEDATA_{setting.upper()}`"
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return next((line for line in lines if variable in line), "")


class Variables(dict[str, str]):
    """An environment that notes what is asked for."""

    def __init__(self, given: dict[str, str]) -> None:
        super().__init__(given)
        self.asked: set[str] = set()

    @override
    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)


@pytest.mark.parametrize("setting", SETTINGS)
def test_each_setting_has_its_line(setting: str) -> None:
    line = line_of(setting)
    assert line, f"docs/settings.md has no line about LIVEDATA_{setting.upper()}"
    _, key, default, about = (cell.strip() for cell in line.strip("|").split("|"))
    assert about
    if setting not in IN_WORDS:
        known = str(SETTINGS[setting]).removesuffix(".0").replace("None", "")
        assert (f"`{setting}`" in key, default) == (True, f"`{known}`" if known else "")


def test_no_line_is_about_a_setting_that_is_none() -> None:
    named = re.findall(r"^\| `LIVEDATA_(\w+)`", PAGE.read_text(), re.MULTILINE)
    assert {name.lower() for name in named} <= SETTINGS.keys()


def test_each_setting_is_asked_of_the_environment(tmp_path: Path) -> None:
    variables = Variables({"LIVEDATA_HOME": str(tmp_path)})
    load(variables)
    assert variables.asked == {f"LIVEDATA_{setting.upper()}" for setting in SETTINGS}
