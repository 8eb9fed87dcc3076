"""Ten tasks for an agent: whether it answers right with the tools, and for how many tokens.

    python -m tests.agents.evaluate

A script stands for the agent: it follows what the tools say. A token is counted as 4 characters, of
what each call sends and gets; what the tools say of themselves is counted once. Beside it stands
what the pages of the list are, which an agent without livedata reads for an answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import anyio
from mcp import Client

from livedata.mcp.access import DatasetAccess
from livedata.mcp.server import make_server
from livedata.mcp.tools import READING, WRITING
from tests.agents.tasks import TASKS, Task
from tests.agents.world import World, world

CHARACTERS = 4
"""So many characters are counted as a token."""


class Outcome(NamedTuple):
    """How a task went: whether the answer was right, in how many calls and tokens.

    `tools` are the tokens of what the tools say of themselves, `pages` those of the pages that say
    the same, None if none does.
    """

    task: Task
    answer: object
    calls: int
    tokens: int
    tools: int
    pages: int | None

    @property
    def is_right(self) -> bool:
        return self.answer == self.task.right


async def attempt(task: Task, world: World) -> Outcome:
    """A task, by the official client at the server."""
    access = DatasetAccess.of(world.store, "local", "UTC", [])
    spent: list[int] = []
    async with Client(make_server(access, (*READING, *WRITING))) as client:
        tools = len((await client.list_tools()).model_dump_json(exclude_none=True))

        async def ask(tool: str, **arguments: Any) -> dict[str, Any]:
            answer = await client.call_tool(tool, arguments)
            text = getattr(answer.content[0], "text", "")
            spent.append(len(json.dumps(arguments)) + len(tool) + len(text))
            assert not answer.is_error, text
            body: dict[str, Any] = json.loads(text)
            return body

        answer = await task.script(ask, world)
    pages = world.page_bytes // CHARACTERS if task.pages else None
    return Outcome(task, answer, len(spent), sum(spent) // CHARACTERS, tools // CHARACTERS, pages)


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


def main() -> None:
    """Print how each task went; the exit code is 1 if an answer is wrong."""
    outcomes = evaluate()
    sys.stdout.write("\n".join([*lines(outcomes), ""]))
    sys.exit(not all(outcome.is_right for outcome in outcomes))


if __name__ == "__main__":
    main()
