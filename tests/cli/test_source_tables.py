"""A source.toml may have tables beside its source, which only ``livedata apply`` follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from livedata.cli.source.source_file import read_source
from livedata.formats.source_toml import write_source
from livedata.messages.validation import read
from livedata.model.errors import Invalid
from livedata.model.requests import CreateDataset
from livedata.model.source_file import FileNotice
from livedata.rules.declaration.notices import CHANNELS
from tests.made import declared

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.shell import Shell

TABLES = """
[schedule]
cron = "0 6 * * *"
status = "active"

[[notice]]
name = "ops"
webhook = "env:HOOK"
on = "changes,silent"
silent-for = "2d"
when = ["price falls by 10%"]

[[share]]
label = "sheet"
columns = "sku,price"

[test]
pages = "shop.pages"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.toml"
    path.write_text(write_source(declared()) + TABLES)
    return path


def test_create_and_revise_take_the_file_and_say_what_only_apply_follows(
    livedata: Shell, file: Path
) -> None:
    said = (
        f"What {file} says in [schedule], [[notice]] and [[share]] takes effect by "
        f"livedata apply {file.parent}\n"
    )
    assert said in livedata("dataset", "create", str(file)).stderr
    assert livedata.json("dataset", "show", "shop")["schedule"] is None
    assert said in livedata("dataset", "revise", "shop", str(file)).stderr
    file.write_text(write_source(declared()))
    assert "apply" not in livedata("dataset", "revise", "shop", str(file)).stderr


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("cron =", "crons =", "schedule.crons: unknown property crons; did you mean cron?"),
        ('"active"', '"on"', 'schedule.status must be "draft", "active" or "paused", not "on"'),
        ("silent-for", "silentFor", "unknown property silentFor; did you mean silent-for?"),
        ('["price falls by 10%"]', '"price"', 'notice[0].when must be a list, not "price"'),
        ('"sku,price"', '["sku"]', "share[0].columns must be a string, not a list"),
        ('label = "sheet"', "", "share[0].label is required"),
        ("pages", "page", "test.page: unknown property page; did you mean pages?"),
    ],
)
def test_a_slip_is_told_with_its_line(file: Path, right: str, wrong: str, told: str) -> None:
    text = file.read_text()
    assert right in text
    file.write_text(text.replace(right, wrong))
    with pytest.raises(Invalid) as caught:
        read_source(file)
    assert told in caught.value.message
    place = caught.value.message.removeprefix(f"{file}:").partition(":")[0]
    assert 40 < int(place) <= len(file.read_text().splitlines())


def test_a_file_may_name_each_channel() -> None:
    assert {*CHANNELS} <= {*FileNotice.model_fields}


def test_the_body_of_a_request_has_no_such_tables() -> None:
    with pytest.raises(Invalid, match="unknown property schedule"):
        read(CreateDataset, {**declared(), "schedule": {"cron": "0 6 * * *"}})
