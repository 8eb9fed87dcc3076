"""Kills ``livedata run`` in each phase of a research Run, each time on a fresh copy of a home.

``python -m tests.research_kills HOME`` expects a store with a dataset named makers in HOME, and the
settings of research in the environment. In each phase it dies (SIGKILL) as a step begins, or once
it is recorded; it looks at what is left, runs again, and looks once more. One JSON object for each
look on stdout, after which it waits for a line on stdin.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import livedata.research.providers.openai  # noqa: F401
import spiders.worker.researcher  # noqa: F401  (imported once here, forked with it many times)
from livedata.cli import main
from livedata.model.research.record import ResearchStep
from livedata.services import attempts
from livedata.services.audit.check import check_store
from livedata.store.database.store import Database
from spiders.research.recorder import StoreRecorder
from tests.dying import die, in_child

POINTS = (
    *("planning ended", "pin ended", "search begins", "read ended 2"),
    *("extract begins 2", "extract ended 2", "preview ended", "accept written"),
)
"""Where a Run dies: in which phase, when, and at which of its steps."""


def die_in(point: str) -> None:
    """From now on, die at a point of a Run of this process."""
    phase, when, *number = point.split()
    if phase == "accept":
        _die_before_commit()
        return
    left = [int(number[0]) if number else 1]
    name = "begin" if when == "begins" else "end"
    work = getattr(StoreRecorder, name)

    def at(step_phase: str) -> None:
        left[0] -= step_phase == phase
        if left[0] == 0:
            die()

    def begin(recorder: StoreRecorder, step_phase: Any, url: str | None = None) -> ResearchStep:
        at(step_phase)
        step: ResearchStep = work(recorder, step_phase, url)
        return step

    async def end(recorder: StoreRecorder, step: ResearchStep) -> None:
        await work(recorder, step)
        at(step.phase)

    setattr(StoreRecorder, name, begin if name == "begin" else end)


def _die_before_commit() -> None:
    """Die once all of a Run's end is written, in the transaction that is still open."""
    write = attempts.close

    def doomed(*values: Any) -> None:
        write(*values)
        die()

    setattr(attempts, "close", doomed)  # noqa: B010  (mypy knows a function, too)


def look(home: Path) -> dict[str, Any]:
    """What is in the store: problems, the last Run, what was charged, and what was answered."""
    database = Database(f"sqlite:///{home / 'livedata.db'}")
    problems = list(check_store(database).problems)
    with database.reading() as reader:
        status, attempt = reader.rows("SELECT status, attempt FROM runs")[0]
        kinds = "('planning.output', 'extraction.output')"
        answered = reader.rows(f"SELECT source_url FROM artifacts WHERE kind IN {kinds}")
        rows = reader.value("SELECT count(*) FROM rows")
        charges = reader.value("SELECT count(*) FROM ledger WHERE run_id IS NOT NULL")
    database.close()
    return {
        "problems": problems,
        "status": status,
        "attempt": attempt,
        "answered": [url for (url,) in answered],
        "rows": rows,
        "charges": charges,
    }


def rounds(home: Path) -> None:
    """One line of JSON for each point; the caller tells the model that it was killed."""
    for point in POINTS:
        copy = home.parent / f"copy of {home.name}"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(home, copy)
        os.environ["LIVEDATA_HOME"] = str(copy)

        def doomed(point: str = point) -> None:
            die_in(point)
            main(["run", "makers"])

        code = in_child(doomed)
        left = look(copy)
        print(json.dumps({"point": point, "code": code, "left": left}), flush=True)  # noqa: T201
        sys.stdin.readline()
        again = in_child(lambda: main(["run", "makers"]))
        print(json.dumps({"again": again, "then": look(copy)}), flush=True)  # noqa: T201
        sys.stdin.readline()


if __name__ == "__main__":
    rounds(Path(sys.argv[1]))
