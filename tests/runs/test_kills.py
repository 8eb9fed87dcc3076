"""A kill at any point of a Run leaves all or nothing, and the Run ends when started again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import Crawling, shop_source
from tests.shop import shop, some_items
from tests.site import Site


@pytest.mark.slow
@pytest.mark.sqlite  # it dies in the driver
@pytest.mark.timeout(600)
def test_a_kill_at_any_statement_or_page_leaves_all_or_nothing(
    crawling: Crawling, site: Site, tmp_path: Path
) -> None:
    site.pages(shop(some_items(6)))
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    assert crawling.run(dataset, allow=site.host)["status"] == "succeeded"
    crawling.store.close()
    site.pages(shop([*some_items(8)[2:5], *some_items(8, seed=1)[5:]]))
    rounds = _rounds(tmp_path, site.host)
    before, after = rounds[0]["left"]["counts"], rounds[-1]["then"]["counts"]
    assert after["revisions"] > before["revisions"]
    assert rounds[-1]["code"] == 0
    assert len(rounds) > 40
    halves = {"nothing": 0, "all": 0}
    for kill in rounds:
        assert kill["left"]["problems"] == kill["then"]["problems"] == []
        halves[_half(kill["left"], before, after)] += 1
        _ended_well(kill, after)
    assert min(halves.values()) > 0


def _half(left: dict[str, Any], before: dict[str, int], after: dict[str, int]) -> str:
    """Whether a killed Run left all that it wrote, or nothing of it; never something between."""
    if left["counts"] == after:
        assert left["last"][0] == "succeeded"
        return "all"
    assert left["counts"] == before
    return "nothing"


def _ended_well(each: dict[str, Any], after: dict[str, int]) -> None:
    """Started again, the Run came to its end; a killed one that had committed was left alone."""
    assert each["again"] == 0, each
    assert each["then"]["last"][0] == "succeeded"
    committed = each["left"]["counts"] == after
    extra = 1 if committed and each["code"] != 0 else 0
    assert each["then"]["counts"] == {**after, "ledger": after["ledger"] + extra}
    assert each["then"]["last"][1] <= 2


def _rounds(home: Path, allowed: str) -> list[dict[str, Any]]:
    stored = home / "home"
    stored.mkdir()
    (home / "livedata.db").rename(stored / "livedata.db")
    completed = subprocess.run(
        [sys.executable, "-m", "tests.kills", str(stored), allowed],
        capture_output=True,
        check=False,
        text=True,
        timeout=500,
    )
    assert completed.returncode == 0, completed.stderr
    return [json.loads(line) for line in completed.stdout.splitlines()]
