"""Agents that ask over real connections, and a table that they ask about."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp import Client, StdioServerParameters

from livedata.store.database.store import Store
from tests.mcp.asking import Agent
from tests.services.table import A, B, C, Table

ROOT = Path(__file__).parents[2]
Era = Literal["auto", "legacy"]
ERAS: tuple[Era, ...] = ("auto", "legacy")


@pytest.fixture
def table(store: Store) -> Table:
    """A table of three rows, which one Run found."""
    table = Table(store)
    table.take(A, B, C)
    return table


@pytest.fixture
def agent(table: Table) -> Agent:
    """An agent of the owner of the table."""
    return Agent(table.store)


def over_stdio(home: Path, era: Era, ask: Callable[[Client], Any], *options: str) -> Any:
    """What `ask` makes of ``livedata mcp`` as a process, by the official client of an era."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "livedata", "mcp", *options],
        env={**os.environ, "LIVEDATA_HOME": str(home), "PYTHONPATH": str(ROOT)},
    )

    async def asked() -> Any:
        async with Client(server, mode=era) as client:
            return await ask(client)

    return anyio.run(asked)
