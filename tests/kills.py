"""Kills ``livedata run`` at every statement and every page of a Run, each time on a fresh copy.

``python -m tests.kills HOME ALLOWED`` expects a store with a dataset named shop in HOME. For the
Nth round it dies (SIGKILL) at the Nth statement or page, looks at what is left, runs again, and
looks once more; it goes on until a Run gets through alive. One JSON object a round on stdout.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from itertools import count
from pathlib import Path
from typing import Any

import spiders.cli.run  # noqa: F401  (imported once here, forked with it many times)
from livedata.cli import main
from livedata.services.audit.check import check_store
from livedata.store.database.store import Database
from tests.dying import die_at, in_child


def look(home: Path) -> dict[str, Any]:
    """What is in the store: problems, how much of everything, and how the last Run stands."""
    database = Database(f"sqlite:///{home / 'livedata.db'}")
    problems = list(check_store(database).problems)
    with database.reading() as reader:
        tables = ("rows", "revisions", "observations", "ledger")
        counts = {table: reader.value(f"SELECT count(*) FROM {table}") for table in tables}
        last = reader.row("SELECT status, attempt FROM runs ORDER BY queued_at DESC, id DESC")
        runs = reader.value("SELECT count(*) FROM runs")
    database.close()
    return {"problems": problems, "counts": counts, "last": last, "runs": runs}


def rounds(home: Path, allowed: str) -> None:
    """One line of JSON for each point at which a Run can die, until one lives."""
    for point in count(1):
        copy = home.parent / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(home, copy)
        os.environ |= {"LIVEDATA_HOME": str(copy), "LIVEDATA_ALLOW_HOSTS": allowed}

        def doomed(point: int = point) -> None:
            die_at(point)
            main(["run", "shop"])

        code = in_child(doomed)
        after_kill = look(copy)
        again = in_child(lambda: main(["run", "shop"])) if code != 0 else code
        result = {"point": point, "code": code, "left": after_kill, "again": again}
        print(json.dumps(result | {"then": look(copy)}), flush=True)  # noqa: T201
        if code != -signal.SIGKILL:
            return


if __name__ == "__main__":
    rounds(Path(sys.argv[1]), sys.argv[2])
