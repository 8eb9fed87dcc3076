"""A script that stands for an agent, and how it did each task."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import anyio
from mcp import Client
from mcp.server.lowlevel import Server
from msgspec.structs import replace

from livedata.mcp.access import DatasetAccess
from livedata.mcp.server import make_server
from livedata.mcp.tools import READING, WRITING
from tests.agents.tasks import TASKS, Task
from tests.agents.world import World, world

CHARACTERS = 4
"""So many characters are counted as a token."""


class Outcome(NamedTuple):
    """How a task went: whether the answer was right, in how many calls and tokens.

    It `holds` if what was to be done is done.
    `tools` are the tokens of what the tools say of themselves, `pages` those of the pages that say
    the same, None if none does.
    """

    task: Task
    answer: object
    holds: bool
    calls: int
    tokens: int
    tools: int
    pages: int | None

    @property
    def is_right(self) -> bool:
        return self.holds and self.answer == self.task.right


async def attempt(task: Task, world: World) -> Outcome:
    """A task, by the official client at the server."""
    spent: list[int] = []
    async with Client(server_of(world)) as client:
        tools = len((await client.list_tools()).model_dump_json(exclude_none=True))

        async def ask(tool: str, **arguments: Any) -> dict[str, Any]:
            answer = await client.call_tool(tool, arguments)
            text = getattr(answer.content[0], "text", "")
            spent.append(len(json.dumps(arguments)) + len(tool) + len(text))
            assert not answer.is_error, text
            body: dict[str, Any] = json.loads(text)
            return body

        answer = await task.script(ask, world.known)
    pages = world.page_bytes // CHARACTERS if task.pages else None
    return Outcome(
        task=task,
        answer=answer,
        holds=task.holds(world),
        calls=len(spent),
        tokens=sum(spent) // CHARACTERS,
        tools=tools // CHARACTERS,
        pages=pages,
    )


def server_of(world: World) -> Server[Any]:
    """All tools, over the store of a world."""
    access = replace(DatasetAccess.of(world.store, "local", "UTC", []), writes=True)
    return make_server(access, (*READING, *WRITING))


def evaluate() -> list[Outcome]:
    """Every task, each in a world of its own."""
    outcomes = []
    for task in TASKS:
        with world() as made:
            outcomes.append(anyio.run(attempt, task, made))
    return outcomes


def lines(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """How each task went, for people."""
    yield f"What the tools say of themselves: {outcomes[0].tools} tokens."
    for outcome in outcomes:
        pages = "no page says it" if outcome.pages is None else f"its pages are {outcome.pages}"
        state = "right" if outcome.is_right else f"WRONG: {outcome.answer!r}"
        yield outcome.task.question
        yield f"    {state}, in {outcome.calls} calls of {outcome.tokens} tokens; {pages}"
    yield f"{sum(outcome.is_right for outcome in outcomes)} of {len(outcomes)} are right."
