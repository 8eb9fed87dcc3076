from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from livedata.cli.source.source_file import read_source

if TYPE_CHECKING:
    from tests.cli.shell import Shell


def test_what_the_template_says_can_be_created(livedata: Shell, tmp_path: Path) -> None:
    file = tmp_path / "source.toml"
    livedata("init", "--template", "https://books.example/list?a=1", "-o", str(file))
    assert read_source(file).source.url == "https://books.example/list?a=1"
    livedata("dataset", "create", str(file))


def test_the_template_needs_no_url(
    livedata: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert livedata.out("init", "--template") == "Wrote source.toml.\n"
    assert read_source(Path("source.toml")).name == "products"


def test_init_never_overwrites_unless_told(livedata: Shell, tmp_path: Path) -> None:
    file = tmp_path / "source.toml"
    file.write_text("mine")
    assert "--force" in livedata.error("init", "--template", "-o", str(file))
    assert "--force" in livedata.error("init", "https://shop.example/", "-o", str(file))
    assert file.read_text() == "mine"
    livedata("init", "--template", "-o", str(file), "--force")
    assert read_source(file).name == "products"


def test_init_refuses_what_no_run_could_read(livedata: Shell, tmp_path: Path) -> None:
    file = tmp_path / "source.toml"
    assert "private address" in livedata.error("init", "http://127.0.0.1/", "-o", str(file))
    assert not file.exists()


def test_without_an_address_it_says_what_to_give(livedata: Shell) -> None:
    message = livedata.error("init", code=2)
    assert "--template" in message
    assert "https://shop.example/" in message


def test_every_property_of_a_source_is_explained(livedata: Shell, tmp_path: Path) -> None:
    file = tmp_path / "source.toml"
    livedata("init", "--template", "-o", str(file))
    text = file.read_text()
    for name in (
        "question", "label", "description", "ownership", "key", "version", "url", "render",
        "itemSelector", "maxPages", "maxItems", "minimumItems", "proxy", "ignoreRobots",
        "selector", "attribute", "required", "source-key", "composite", "none", "next-link",
        "url-pattern", "pattern", "startPage", "endSelector",
    ):  # fmt: skip
        assert name in text
