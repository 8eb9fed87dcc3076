"""Agents that ask over real connections, and a table that they ask about."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import anyio
import jsonschema_rs
import pytest
from mcp import Client, StdioServerParameters

from livedata.mcp.access import DatasetAccess
from livedata.mcp.server import make_server
from livedata.mcp.tools import READING, WRITING, Tool
from livedata.store.database.store import Store
from tests.mcp.asking import check
from tests.services.table import A, B, C, Table

ROOT = Path(__file__).parents[2]
Era = Literal["auto", "legacy"]
ERAS: tuple[Era, ...] = ("auto", "legacy")
Call = tuple[str, dict[str, Any]]


@pytest.fixture
def table(store: Store) -> Table:
    """A table of three rows, which one Run found."""
    table = Table(store)
    table.take(A, B, C)
    return table


class Agent:
    """An agent in this process: the official client at the server, without a pipe between."""

    def __init__(
        self, store: Store, *names: str, owner: str = "local", tools: Sequence[Tool] = READING
    ) -> None:
        self.access, self.tools = DatasetAccess.of(store, owner, "UTC", names), tools
        self.progress: list[str | None] = []

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The answer of a tool, which is valid and says the same twice."""
        answer = self._call(tool, arguments)
        assert not answer.is_error, answer.content[0].text
        return checked(tool, answer)

    def error(self, tool: str, **arguments: Any) -> str:
        """The sentence of a tool that refuses."""
        answer = self._call(tool, arguments)
        assert answer.is_error
        assert answer.structured_content is None
        sentence: str = answer.content[0].text
        return sentence

    async def _hear(self, progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG002
        self.progress.append(message)

    def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        async def call() -> Any:
            async with Client(make_server(self.access, self.tools)) as client:
                return await client.call_tool(tool, arguments, progress_callback=self._hear)

        return anyio.run(call)


@pytest.fixture
def agent(table: Table) -> Agent:
    """An agent of the owner of the table."""
    return Agent(table.store)


def checked(tool: str, answer: Any) -> dict[str, Any]:
    """The answer, which is sound and as its tool announces it."""
    check(answer)
    body: dict[str, Any] = answer.structured_content
    schema = next(each for each in (*READING, *WRITING) if each.name == tool).output_schema()
    jsonschema_rs.validator_for(schema).validate(body)
    return body


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
