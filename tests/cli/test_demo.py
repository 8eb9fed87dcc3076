"""The demo as a person sees it."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.test_readme import README, blocks

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 10
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.mark.timed
def test_the_demo_shows_all_that_matters_in_seconds_and_leaves_nothing(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "livedata", "demo"],
        env={**os.environ, "TMPDIR": str(tmp_path), "LIVEDATA_HOME": str(tmp_path / "none")},
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # The processor's seconds: other work on the machine makes the demo wait.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < SECONDS
    assert list(tmp_path.iterdir()) == []
    told = [
        "demo-shop: succeeded, 4 new, 0 changed, 0 gone (2 pages, 2 credits)",
        "Kettle (K-100)  price: 34.9 → 29.9",
        "price: stays 29.9, edited by hand; the source now says 36.5",
        "missing   Teapot (T-400)",
        "price: 49\n  read as: € 49.00\n  on: http://127.0.0.1:",
        "demo-shop: failed. name is required and empty in 4 of 4 rows",
        "$ livedata runs explain demo-shop\n",
        "1. ",
        "The store is sound: 1 dataset, 5 rows, ",
    ]
    position = 0
    for text in told:
        position = done.stdout.index(text, position)
    printed = MOMENT.sub("", done.stdout)
    assert [line for line in shown_in_the_readme() if line not in printed] == []


def shown_in_the_readme() -> list[str]:
    """The lines of the README's sample; "..." stands for what it leaves out."""
    (sample,) = [block for block in blocks(README.read_text(), "") if "demo-shop" in block]
    return [MOMENT.sub("", line).removesuffix("...").rstrip() for line in sample.splitlines()]
