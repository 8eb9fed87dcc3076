"""A model that plays the script of each task: it calls the next tool, and answers at the end."""

from __future__ import annotations

import json
import re
from typing import Any

import anyio

from tests.agents.tasks import LAMPS, TASKS, Task
from tests.agents.world import Known
from tests.servers.model import Asked, Scripted, Text, ToolCall

WORDS = (
    "L-20 fell too little.\n**Answer:** `L-07`: 12.0, `L-33`: 20.0",
    "It is not old.\nAnswer: Yes.",
    "Answer: the last Run failed, because the page has no items any more.",
    "Answer: Lamp No. 61, for 5",
    "Answer: 10",
    "It costs 12 now.\nAnswer: 17.00",
    "Answer: L-03, L-07, L-20 and L-33 changed, L-50 is gone, L-61 is new",
    "Answer: somebody edited it by hand; the page says 'Lamp No. 3'.",
    f"Answer:\n{', '.join(LAMPS)}, Reading lamp.",
    "It is watched.\nAnswer: 60",
)
"""How each task is answered in words."""


class WantedCall(Exception):
    """What the script calls next."""

    def __init__(self, tool: str, arguments: dict[str, Any]) -> None:
        super().__init__(tool)
        self.call = ToolCall(tool, json.dumps(arguments))


def number_of(asked: Asked) -> int:
    """The place of the task that is asked about."""
    return next(
        number for number, task in enumerate(TASKS) if str(asked.task).startswith(task.question)
    )


def results_of(asked: Asked) -> list[str]:
    """What the tools have answered so far."""
    return [message["content"] for message in asked.messages if message["role"] == "tool"]


def play(asked: Asked) -> Scripted:
    """The next call of the script, or the answer in words."""
    task, results = TASKS[number_of(asked)], iter(results_of(asked))

    async def ask(tool: str, **arguments: Any) -> dict[str, Any]:
        for result in results:
            body: dict[str, Any] = json.loads(result)
            return body
        raise WantedCall(tool, arguments)

    try:
        anyio.run(task.script, ask, _known(task, str(asked.task)))
    except WantedCall as wanted:
        return wanted.call
    return Text(WORDS[number_of(asked)])


def _known(task: Task, question: str) -> Known:
    match = re.search(r"`through` was (\d+)\. .* (http\S+)\.$", question)
    assert match is not None, task
    return Known(int(match[1]), match[2])
