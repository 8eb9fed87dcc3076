"""Kills a look at the schedules at every statement, each time on a fresh copy of the store.

``python -m tests.fire_kills HOME ACT`` expects a store in HOME with one dataset that is due. For
the Nth round it dies (SIGKILL) at the Nth statement, notes what is left, and looks at the schedules
again; it goes on until a look gets through alive. One JSON object a round on stdout.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path

from livedata.model import ids
from livedata.services.scheduling import scheduler
from livedata.store.database.store import Store
from tests.kills import die_at, in_child

ACTS: Mapping[str, Callable[[Store], object]] = {
    "tick": lambda store: list(scheduler.tick(store, "UTC")),
    "run": lambda store: scheduler.claim_due(store, "local"),
}


def rounds(home: Path, act: Callable[[Store], object]) -> None:
    """One line of JSON for each statement at which a look can die, until one lives."""
    for point in count(1):
        copy = home.parent / f"{home.name}-copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(home, copy)
        url = f"sqlite:///{copy / 'livedata.db'}"

        def doomed(point: int = point, url: str = url) -> None:
            die_at(point)
            act(Store(url))

        code = in_child(doomed)
        store = Store(url)
        with store.reading() as reader:
            left = {
                "due": reader.value("SELECT next_run_at FROM datasets") < ids.now(),
                "runs": reader.value("SELECT count(*) FROM runs"),
            }
        act(store)
        with store.reading() as reader:
            then = reader.value("SELECT count(*) FROM runs")
        store.close()
        print(json.dumps(left | {"then": then}), flush=True)  # noqa: T201
        if code != -signal.SIGKILL:
            return


if __name__ == "__main__":
    rounds(Path(sys.argv[1]), ACTS[sys.argv[2]])
