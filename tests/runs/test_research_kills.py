"""A research Run that is killed in any phase is taken up, and pays for no answer twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from livedata.model.ids import DatasetId
from livedata.services.audit.check import check_store
from livedata.store.database.store import Store
from tests.makers import FIRST, SECOND, dataset, makers_page, read_makers
from tests.research_kills import POINTS
from tests.servers.model import ModelServer
from tests.servers.search import Found, SearchServer
from tests.site import Site

pytestmark = pytest.mark.slow

KILLED = -signal.SIGKILL
ASKED = 3
"""The questions of a whole Run: the plan, and one about each of two pages."""


class Commands:
    """Executes commands in children that may die, with a model that notes what it is asked."""

    def __init__(self, process: subprocess.Popen[str], model: ModelServer) -> None:
        self._process = process
        self._model = model

    def __call__(self, *words: str, dies_when: str | None = None) -> tuple[int, int]:
        """How a command ended, and how often it has asked the model."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._model.asked.clear()
        self._process.stdin.write(json.dumps([dies_when, words]) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline()), len(self._model.asked)


@pytest.fixture
def livedata(store_url: str, site: Site, tmp_path: Path) -> Iterator[Commands]:
    """Commands on the store, for a question that two pages answer."""
    site.page("/a", makers_page(FIRST, "West"))
    site.page("/b", makers_page(SECOND, "East"))
    results = {"lamps": [Found(site.at("/a")), Found(site.at("/b"))]}
    with ModelServer(read_makers) as model, SearchServer(results) as search:
        environ = {
            "LIVEDATA_HOME": str(tmp_path),
            "LIVEDATA_DATABASE_URL": store_url,
            "LIVEDATA_ALLOW_HOSTS": site.host,
            "LIVEDATA_MODEL": "scripted",
            "LIVEDATA_MODEL_BASE_URL": model.base_url,
            "LIVEDATA_SEARCH": "searxng",
            "LIVEDATA_SEARCH_URL": search.base_url,
        }
        with subprocess.Popen(
            [sys.executable, "-m", "tests.research_kills"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environ},
        ) as process:
            yield Commands(process, model)
    assert process.returncode == 0


class Left(NamedTuple):
    """What is in the store of a dataset that has one Run."""

    status: str
    attempt: int
    rows: int
    charges: int
    calls: int
    """Of the model, as they are paid."""
    answers: int
    """Each that need not be asked for again."""
    steps: int
    """Those that asked the model, or took an answer from before."""


def look(store: Store, dataset: DatasetId) -> Left:
    """What is in the store of a dataset; it is whole."""
    assert check_store(store).problems == []
    own = "run_id IN (SELECT id FROM runs WHERE dataset_id = :dataset)"
    answered = "answered_at IS NOT NULL"
    counts = (
        "SELECT count(*) FROM rows WHERE dataset_id = :dataset",
        f"SELECT count(*) FROM ledger WHERE {own}",
        f"SELECT count(*) FROM model_calls WHERE {own} AND phase IN ('planning', 'extract')",
        f"SELECT count(DISTINCT request_digest) FROM artifacts WHERE {own} AND {answered}",
    )
    with store.reading() as reader:
        run = reader.row("SELECT status, attempt FROM runs WHERE dataset_id = :d", d=dataset)
        rows, charges, calls, answers = (reader.value(sql, dataset=dataset) for sql in counts)
        steps = reader.rows(f"SELECT step FROM research_steps WHERE {own}", dataset=dataset)
    assert run is not None
    asking = [step for (step,) in steps if json.loads(step)[0] in {"planning", "extract"}]
    return Left(run[0], run[1], rows, charges, calls, answers, len(asking))


def test_a_run_that_is_killed_anywhere_is_taken_up_and_pays_once(
    livedata: Commands, store: Store
) -> None:
    for number, point in enumerate(POINTS):
        name = f"makers-{number}"
        made = dataset(store, planned=False, name=name)
        died, _ = livedata("run", name, dies_when=point)
        left = look(store, made)
        assert (died, left.status in {"queued", "running"}) == (KILLED, True), point
        assert (left.rows, left.charges) == (0, 0), point
        # A question is recorded with its answer and with what it took, or not at all.
        assert left.calls == left.answers == left.steps, (point, left)
        assert livedata("run", name) == (0, ASKED - left.answers), (point, left)
        then = look(store, made)
        assert then[:-1] == ("succeeded", left.attempt + 1, 4, 1, ASKED, ASKED), (point, then)
    # An answer that was lost with its process was paid for: the day counts it too.
    with store.reading() as reader:
        took = [json.loads(took) for (took,) in reader.rows("SELECT took FROM model_calls")]
        # All days: one may end meanwhile.
        counted = reader.value("SELECT sum(tokens) FROM research_days")
    told = sum((each["input_tokens"] or 0) + (each["output_tokens"] or 0) for each in took)
    assert counted > told > 0


@pytest.mark.one_database
@pytest.mark.parametrize("asked_first", [True, False], ids=["when it is queued", "once it is open"])
@pytest.mark.parametrize("point", ["the attempt begins", "nothing is remembered"])
def test_a_run_that_is_to_be_fresh_is_so_though_it_is_killed_before_it_remembers(
    livedata: Commands, store: Store, point: str, asked_first: bool
) -> None:
    dataset(store, planned=False)
    assert livedata("run", "makers") == (0, ASKED)
    assert livedata("run", "makers") == (0, 0)
    fresh = ("run", "makers", "--fresh")
    first, then = (fresh, fresh[:2]) if asked_first else (fresh[:2], fresh)
    assert livedata(*first, dies_when=point) == (KILLED, 0)
    # The plan is pinned: only the pages are asked about.
    assert livedata(*then) == (0, 2)
    assert livedata("run", "makers") == (0, 0)
