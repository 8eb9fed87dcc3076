"""``dataset report``: one file that opens anywhere, and does nothing."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING

import pytest

from tests import made
from tests.browsing.payloads import ALL
from tests.browsing.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from livedata.store.database.store import Store
    from tests.cli.shell import Shell


def test_the_report_has_the_table_the_changes_and_how_numbers_developed(
    livedata: Shell, store: Store, tmp_path: Path
) -> None:
    World(store).shop()
    dataset = made.make_dataset(store, name="prices")
    lamp, *others = made.ITEMS
    for price in (10, 12, None, 9):
        made.take(store, dataset, [{**lamp, "price": price}, *others])
    file = tmp_path / "report.html"
    said = livedata("dataset", "report", "prices", "-o", str(file)).stderr
    assert said.startswith("Wrote 3 rows and 6 changes since ")
    text = file.read_text()
    assert 'aria-label="From 10 to 9; the lowest is 9, the highest 12."' in text
    # Of a gap the line begins anew.
    (line,) = re.findall(r'<path d="([^"]+)"', text)
    assert line.count("M") == 2
    assert text.count("succeeded</span>") == 1
    assert "<del><data" in text
    shop = livedata.json("dataset", "report", "shop", "-o", str(tmp_path / "shop.html"))
    assert (shop["rows"], shop["changes"]) == (40, 48)


def test_it_tells_what_changed_since_a_moment(
    livedata: Shell, store: Store, tmp_path: Path
) -> None:
    World(store).shop()
    file = str(tmp_path / "report.html")
    told = livedata.json("dataset", "report", "shop", "-o", file, "--since", "2999-01-01T00:00:00Z")
    assert told["changes"] == 0
    assert "Nothing changed." in (tmp_path / "report.html").read_text()


def test_nothing_in_the_file_can_load_or_run_anything(
    livedata: Shell, store: Store, tmp_path: Path
) -> None:
    dataset = made.make_dataset(store)
    items = [{"sku": f"{number} {text}", "title": text} for number, text in enumerate(ALL)]
    made.take(store, dataset, items)
    file = tmp_path / "report.html"
    livedata("dataset", "report", "shop", "-o", str(file))
    text = file.read_text()
    (style,) = re.findall(r"<style>(.*?)</style>", text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in text
    assert re.findall(r"<(?:script|img|link|iframe|object|embed|form|base)\b", text) == []
    assert re.findall(r'(?:src|action)="', text) == []
    assert re.findall(r'href="(?!https?://|#[a-z]+")', text) == []


def test_an_empty_dataset_has_a_report_too(livedata: Shell, store: Store, tmp_path: Path) -> None:
    made.make_dataset(store)
    livedata("dataset", "report", "shop", "-o", str(tmp_path / "report.html"))
    assert "There are no rows yet." in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("shop", "-o", "{folder}/there.html"), "there.html exists; --force replaces it"),
        (("shop", "-o", "{folder}/none/x.html"), "there is no folder"),
        (("shop", "-o", "{folder}"), "is a folder; -o names a file"),
        (("lamps", "-o", "{folder}/x.html"), "There is no dataset 'lamps'"),
    ],
)
def test_a_report_that_cannot_be_written_is_one_sentence(
    livedata: Shell, store: Store, tmp_path: Path, args: tuple[str, ...], said: str
) -> None:
    made.make_dataset(store)
    (tmp_path / "there.html").write_text("kept")
    told = livedata.error("dataset", "report", *(arg.format(folder=tmp_path) for arg in args))
    assert said in told
    assert len(told.splitlines()) == 1
    assert (tmp_path / "there.html").read_text() == "kept"


def test_a_report_replaces_a_file_if_it_is_told_to(
    livedata: Shell, store: Store, tmp_path: Path
) -> None:
    made.make_dataset(store)
    file = tmp_path / "report.html"
    file.write_text("old")
    livedata("dataset", "report", "shop", "-o", str(file), "--force")
    assert file.read_text().startswith("<!doctype html>")
