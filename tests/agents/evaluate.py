"""Ten tasks for an agent: whether it answers right with the tools, and for how many tokens.

    python -m tests.agents.evaluate
    python -m tests.agents.evaluate --model

A script stands for the agent: it follows what the tools say. A token is counted as 4 characters, of
what each call sends and gets; what the tools say of themselves is counted once. Beside it stands
what the pages of the list are, which an agent without livedata reads for an answer.

With --model the model of the settings is the agent, and its server counts the tokens.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterable, Sequence
from typing import NoReturn

import anyio
from mcp import Client

from livedata.config import load
from livedata.model.errors import LivedataError
from livedata.model.research.settings import ResearchSettings
from livedata.research.providers import require_packages
from tests.agents.judged import Answered, Judged, summary
from tests.agents.scripted import evaluate, lines, server_of
from tests.agents.tasks import TASKS, Task
from tests.agents.world import World, world


async def ask_model(task: Task, world: World, settings: ResearchSettings) -> Answered:
    """A task, by the model of the settings."""
    from tests.agents.model_agent import answer  # late: it imports the client of the model

    async with Client(server_of(world)) as client:
        return await answer(task.asked(world.known), client, settings)


def evaluate_model(settings: ResearchSettings) -> bool:
    """Print how the model does each task; whether all are right. Raises SystemExit."""
    judged: list[Judged] = []
    for number, task in enumerate(TASKS, 1):
        with world() as made:
            answered = anyio.run(ask_model, task, made, settings)
            judged.append(Judged(task, answered, task.holds(made)))
        if answered.unreachable:
            stop(
                f"The model could not be asked at task {number} of {len(TASKS)}: {answered.trouble}"
            )
        _print(judged[-1].lines())
    _print([summary(settings.model, judged)])
    return not any(each.faults for each in judged)


def model_settings() -> ResearchSettings:
    """The settings of the model. Raises SystemExit if none is set."""
    try:
        settings = load().research
        require_packages()
    except LivedataError as error:
        stop(error.message)
    if not settings.model:
        stop("No model is set: LIVEDATA_MODEL names one, and LIVEDATA_MODEL_BASE_URL its server.")
    return settings


def stop(sentence: str) -> NoReturn:
    """Say why no model was evaluated; the exit code is 2."""
    sys.stderr.write(f"{sentence}\n")
    sys.exit(2)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(words: Sequence[str] | None = None) -> None:
    """Print how each task went; the exit code is 1 if an answer is wrong."""
    parser = ArgumentParser(
        prog="python -m tests.agents.evaluate",
        description=__doc__,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", action="store_true", help="ask the model of LIVEDATA_MODEL")
    if parser.parse_args(words).model:
        sys.exit(not evaluate_model(model_settings()))
    outcomes = evaluate()
    _print(lines(outcomes))
    sys.exit(not all(outcome.is_right for outcome in outcomes))


if __name__ == "__main__":
    main()
