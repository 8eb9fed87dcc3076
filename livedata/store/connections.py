"""Connections that write: every transaction takes the write lock at its start."""

from __future__ import annotations

import sqlite3

from sqlalchemy import Connection, Engine, create_engine, event

from livedata.store.version import BUSY_SECONDS


def make_engine(url: str, *, foreign_keys: bool = True) -> Engine:
    """An engine for the store at `url`.

    A transaction that reads first and writes later would fail on a stale snapshot whatever the
    busy timeout, so each begins as a writer; ``synchronous=FULL`` because what was promised must
    survive a power cut.
    """
    # What people keep in their tables has no place in a log.
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS}, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _connect(driver: sqlite3.Connection, _record: object) -> None:
        driver.isolation_level = None
        driver.execute("PRAGMA journal_mode=WAL")
        driver.execute("PRAGMA synchronous=FULL")
        driver.execute(f"PRAGMA foreign_keys={'ON' if foreign_keys else 'OFF'}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
