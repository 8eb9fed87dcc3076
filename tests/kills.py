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
import sqlite3
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import spiders.cli.run  # noqa: F401  (imported once here, forked with it many times)
from livedata.cli import main
from livedata.extraction.page import Page
from livedata.services.audit.check import check_store
from livedata.store.database.store import Database


def die_at(point: int) -> None:
    """From now on, die at the `point`-th statement or page of this process."""
    left = [point]

    def tick(_statement: object = None) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    connect = sqlite3.dbapi2.connect

    def mortal_connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **kwargs)
        connection.set_trace_callback(tick)
        return connection

    sqlite3.connect = sqlite3.dbapi2.connect = mortal_connect  # type: ignore[assignment]
    read = Page.__init__

    def mortal_read(page: Page, body: bytes, content_type: str | None, url: str) -> None:
        tick()
        read(page, body, content_type, url)

    setattr(Page, "__init__", mortal_read)  # noqa: B010  (mypy knows a method when it sees one)


def in_child(act: Callable[[], None]) -> int:
    """Do something in a process of its own; its exit code, or the negative signal it died of."""
    child = os.fork()
    if child == 0:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        try:
            act()
        except SystemExit as end:
            os._exit(int(end.code or 0))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


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
