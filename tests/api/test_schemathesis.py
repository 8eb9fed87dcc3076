"""Requests made from the document, sound and unsound, against the server: no failure, no 500.

``LIVEDATA_SCHEMATHESIS_CASES=5000 pytest tests/api/test_schemathesis.py`` sends that many.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from livedata.services import accounts
from livedata.store.database.store import Store
from tests import made
from tests.api.contract import ENDPOINTS
from tests.api.serving import Serving

pytestmark = pytest.mark.one_database

RULES = Path(__file__).parent / "schemathesis.toml"
CASES = int(os.environ.get("LIVEDATA_SCHEMATHESIS_CASES", "300"))

SETTINGS = {
    "LIVEDATA_MODEL": "scripted",
    "LIVEDATA_MODEL_BASE_URL": "http://127.0.0.1:9/v1",
    "LIVEDATA_MODEL_PRICE_IN": "1",
    "LIVEDATA_MODEL_PRICE_OUT": "2",
    "LIVEDATA_SEARCH": "searxng",
    "LIVEDATA_SEARCH_URL": "http://127.0.0.1:9",
}


@pytest.mark.slow
@pytest.mark.timeout(120 + CASES)
def test_no_request_made_from_the_document_finds_a_failure(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A question is taken, but nobody asks the model: no Run is executed here.
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    dataset = made.make_dataset(store, "alice")
    made.take(store, dataset, owner="alice")
    key = str(accounts.create_key(store, "alice", None)["key"])
    with Serving(tmp_path, key) as served:
        ended = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(RULES)),
                *("run", "--no-color"),
                f"http://127.0.0.1:{served.port}/v1/openapi.json",
                *("--header", f"Authorization: Bearer {key}"),
                *("--checks", "all", "--seed", "1"),
                *("--max-examples", str(max(1, CASES // len(ENDPOINTS)))),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        log = served.log()
    assert ended.returncode == 0, ended.stdout
    sent = re.search(r"(\d+) generated", ended.stdout)
    assert sent is not None, ended.stdout
    assert int(sent[1]) >= CASES
    assert not re.search(r" 5\d\d \d", log), log
