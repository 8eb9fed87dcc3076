"""Children that die where a test wants them to."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from typing import Any

import psycopg

from livedata.extraction.page import Page


def die() -> None:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(point: int) -> None:
    """From now on, die at the `point`-th statement or page of this process."""
    fail_at(point, die)


def fail_at(point: int, fail: Callable[[], None]) -> None:
    """From now on, let something fail at the `point`-th statement or page of this process."""
    left = [point]

    def tick(_statement: object = None) -> None:
        left[0] -= 1
        if left[0] == 0:
            fail()

    connect = sqlite3.dbapi2.connect

    def mortal_connect(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **kwargs)
        connection.set_trace_callback(tick)
        return connection

    sqlite3.connect = sqlite3.dbapi2.connect = mortal_connect  # type: ignore[assignment]
    _before(psycopg.Cursor, "execute", tick)
    _before(psycopg.Cursor, "executemany", tick)
    _before(Page, "__init__", tick)


def _before(kind: type[Any], name: str, tick: Callable[[], None]) -> None:
    """Let a method count before it does its work."""
    work = getattr(kind, name)

    def counted(*args: Any, **kwargs: Any) -> Any:
        tick()
        return work(*args, **kwargs)

    setattr(kind, name, counted)


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
