"""A research Run that is killed in any phase is taken up, and pays for no answer twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from livedata.store.database.store import Store
from tests.makers import FIRST, SECOND, dataset, makers_page, read_makers
from tests.servers.model import ModelServer
from tests.servers.search import Found, SearchServer
from tests.site import Site

pytestmark = [pytest.mark.slow, pytest.mark.sqlite]  # it dies in the driver


def test_a_kill_in_any_phase_is_taken_up_and_paid_once(
    store: Store, site: Site, tmp_path: Path
) -> None:
    site.page("/a", makers_page(FIRST, "West"))
    site.page("/b", makers_page(SECOND, "East"))
    dataset(store, planned=False)
    store.close()
    found = {"lamps": [Found(site.at("/a")), Found(site.at("/b"))]}
    with ModelServer(read_makers) as model, SearchServer(found) as search:
        environ = {
            "LIVEDATA_ALLOW_HOSTS": site.host,
            "LIVEDATA_MODEL": "scripted",
            "LIVEDATA_MODEL_BASE_URL": model.base_url,
            "LIVEDATA_SEARCH": "searxng",
            "LIVEDATA_SEARCH_URL": search.base_url,
        }
        rounds = _rounds(tmp_path, environ, model)
    assert len(rounds) == 8
    for killed in rounds:
        left, then = killed["left"], killed["then"]
        assert killed["code"] == -9, killed
        assert left["problems"] == then["problems"] == [], killed
        assert (left["charges"], left["rows"]) == (0, 0), killed
        assert (killed["again"], then["status"], then["rows"]) == (0, "succeeded", 4), killed
        assert (then["attempt"], then["charges"]) == (2, 1), killed
        # Asked once more is only what was not answered, or not recorded yet.
        assert killed["asked again"] <= 3 - len(set(left["answered"])), killed


def _rounds(home: Path, environ: dict[str, str], model: ModelServer) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.research_kills", str(home)]
    rounds = []
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environ},
    ) as killing:
        assert killing.stdin is not None
        assert killing.stdout is not None
        while left := killing.stdout.readline():
            model.asked.clear()
            killing.stdin.write("\n")
            killing.stdin.flush()
            then = killing.stdout.readline()
            rounds.append({**json.loads(left), **json.loads(then), "asked again": len(model.asked)})
            killing.stdin.write("\n")
            killing.stdin.flush()
    assert killing.returncode == 0
    return rounds
